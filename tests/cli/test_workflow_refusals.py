"""What the verbs of the private workflow refuse: before anything is read, charged or drawn, and with the next step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.desk import Desk
from tests.cli.workflow_bench import COLUMNS, TEXT, TRIAL, Bench, bench_at
from tests.noises import FORBIDDEN

WORDS = ("-l", "spam", "--text", "message")
SMOKER = ("-l", "died", "-c", "smoker")

# What is asked for, and what the message must hold.
WRONG_FOR_BOTH: list[tuple[tuple[str, ...], str]] = [
    (("--text", "message"), "--label COL"),
    (("-l", "spam"), "--text COL"),
    (("-l", "spam", "-c", "spam"), "is the label"),
    ((*SMOKER, "-c", "smoker=a|b"), "two rules"),
    ((*SMOKER, "-c", "age=60,40"), "must ascend"),
    ((*SMOKER, "-c", "age=40,old"), "use | between or after values"),
    ((*SMOKER, "-c", "=1"), "name of the column is missing"),
    ((*SMOKER, "--bits", "5"), "no column of text"),
    ((*WORDS, "--bits", "0"), "from 1 to 24"),
    ((*WORDS, "--vocabulary", "nowhere.txt"), "check the path"),
    ((*WORDS, "--leave-out", "nowhere.txt"), "check the path"),
    ((*SMOKER, "-e", "0"), "greater than 0"),
    ((*SMOKER, "-e", "nan"), "finite number"),
    ((*SMOKER, "--budget", "-1"), "greater than 0"),
    ((*SMOKER, "--hold-out", "1"), "between 0 (none) and 1"),
    ((*SMOKER, "--hold-out", "-0.1"), "between 0 (none) and 1"),
    ((*SMOKER, "--hold-out", "some"), "finite number"),
    ((*SMOKER, "--hold-out", "0", "--hold-out-by", "id"), "--hold-out 0.3"),
    ((*SMOKER, "--hold-out-by", "died"), "tells persons apart"),
    ((*SMOKER, "--neighbours", "replace-one"), "--hold-out 0"),
    ((*SMOKER, "--neighbours", "replace"), "replace-one, add-remove-one, label-only"),
    ((*SMOKER, "--unit", "house"), "row, person"),
    ((*SMOKER, "--rows-per-person", "2"), "--unit person"),
    ((*SMOKER, "--unit", "person", "--rows-per-person", "0"), "at least 1"),
    ((*SMOKER, "-c", "sex=f|\udcff"), "UTF-8"),
    ((*SMOKER, "--out", "out.txt"), ".json"),
    ((*SMOKER, "--out", "nowhere/out.json"), "create it first"),
    ((*SMOKER, "--out", "folder.json"), "is a folder"),
]
WRONG_SELECTIONS: list[tuple[tuple[str, ...], str]] = [
    ((*SMOKER, "--method", "peelin"), "Did you mean 'peeling'?"),
    ((*SMOKER, "--score", "total-cuont"), "Did you mean 'total-count'?"),
    ((*SMOKER, "-k", "0"), "from 1 to"),
    ((*SMOKER, "-k", "2"), "at most the number of features, 1"),
    ((*SMOKER, "-k", "1", "--threshold", "5"), "exactly one"),
    ((*SMOKER, "--threshold", "nan"), "threshold must be a number"),
    ((*SMOKER, "--method", "clusters"), "clusters needs threshold"),
    ((*SMOKER, "--method", "peeling", "--threshold", "5"), "takes no threshold"),
    ((*SMOKER, "--clusters", "3"), "takes no clusters"),
    ((*SMOKER, "--features-per-row", "0"), "from 1 to"),
    ((*SMOKER, "--score", "information-gain"), "unless the number of rows is public"),
    ((*SMOKER, "-e", "1"), "larger --budget"),
]
WRONG_MODELS: list[tuple[tuple[str, ...], str]] = [
    ((*SMOKER, "--model", "naive-baise"), "Did you mean 'naive-bayes'?"),
    ((*SMOKER, "--regularization", "2"), "takes no --regularization"),
    ((*SMOKER, "--perturb", "output"), "takes no --perturb"),
    ((*SMOKER, "--limit", "spred"), "Did you mean 'spread'?"),
    ((*SMOKER, "--row-weight", "0"), "from 1 to"),
    ((*SMOKER, "--keep", "-1"), "at least 0"),
    ((*SMOKER, "--calibration", "1"), "[0, 1)"),
    ((*SMOKER, "--calibration", "much"), "finite number"),
    ((*SMOKER, "--model", "logistic-regression", "--keep", "2"), "takes no --keep"),
    ((*SMOKER, "--model", "logistic-regression", "--limit", "spread"), "takes no --limit"),
    ((*SMOKER, "--model", "logistic-regression", "--calibration", "0"), "takes no --calibration"),
    ((*SMOKER, "--model", "logistic-regression", "--perturb", "outputs"), "Did you mean 'output'?"),
    ((*SMOKER, "--model", "logistic-regression", "--regularization", "0"), "regularization"),
    ((*SMOKER, "--report", "out.txt"), ".html"),
    ((*SMOKER, "--report", "nowhere/out.html"), "create it first"),
    (("--features", "nothing.json"), "there is no file"),
    (("--features", "folder.json"), "there is no file"),
]
WRONG = [
    *(("select", *wrong) for wrong in WRONG_FOR_BOTH + WRONG_SELECTIONS),
    *(("train", *wrong) for wrong in WRONG_FOR_BOTH + WRONG_MODELS),
]


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


def refused(bench: Bench, *arguments: object, code: int = 2) -> str:
    """The message of a refusal, after which everything is as it was and no noise was drawn."""
    if "--ledger" not in arguments and not bench.desk.book.exists():
        bench.desk.open_account("trial", neighbours="add-remove-one")
    before = bench.files()
    bench.hear(FORBIDDEN)
    answer = bench.run(*arguments)
    bench.desk.hear_the_system_again()
    assert answer.code == code, answer.err
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert bench.files() == before
    return answer.err


@pytest.mark.few(22)
@pytest.mark.parametrize(("verb", "wrong", "said"), WRONG, ids=lambda part: part if isinstance(part, str) else None)
def test_wrong_parameters_before_the_file_is_read(bench: Bench, verb: str, wrong: tuple[str, ...], said: str) -> None:
    (bench.folder / "folder.json").mkdir()
    message = refused(bench, verb, "does-not-exist.csv", *wrong, *TRIAL)
    assert said in message
    assert "does-not-exist" not in message


class TestWhatIsWritten:
    @pytest.mark.parametrize("verb", ["select", "train"])
    def test_neither_the_data_nor_the_ledger_is_overwritten(self, bench: Bench, verb: str) -> None:
        data = bench.folder / "rows.json"
        data.write_text('{"died": 1, "smoker": 1}\n{"died": 0, "smoker": 0}\n' * 20)
        (bench.folder / "link.json").hardlink_to(data)
        for out in ("rows.json", "link.json", "./rows.json"):
            assert "is the private file" in refused(bench, verb, "rows.json", *SMOKER, *TRIAL, "-o", out)
        for ledger in ("book.json", "sqlite:///book.json"):
            new = (verb, "rows.json", *SMOKER, *TRIAL, "--ledger", ledger, "-o", "book.json")
            assert "is the ledger" in refused(bench, *new)
        bench.done(verb, "rows.json", *SMOKER, *TRIAL, "--ledger", "book.json")
        assert "is the ledger" in refused(bench, *new)

    def test_nor_by_the_page(self, bench: Bench) -> None:
        for ledger in ("book.html", "sqlite:///book.html"):
            new = ("train", "rows.csv", "-l", "died", "-c", "risk=0.5", *TRIAL, "--ledger", ledger)
            assert "is the ledger" in refused(bench, *new, "--report", "book.html")
        bench.done(*new)
        assert "is the ledger" in refused(bench, *new, "--report", "book.html")


class TestFilesOfTheWorkflow:
    def begun(self, bench: Bench) -> dict[str, Any]:
        bench.patients()
        bench.done("select", "patients.csv", *COLUMNS, "-k", 3, *TRIAL, "-o", "features.json")
        plain: dict[str, Any] = json.loads((bench.folder / "features.json").read_text())
        return plain

    def test_what_the_selection_said_is_not_said_again(self, bench: Bench) -> None:
        self.begun(bench)
        for option in (
            ("-l", "died"), ("--text", "message"), ("-c", "smoker"), ("--bits", "5"), ("--leave-out", "words.txt"),
            ("--vocabulary", "words.txt"), ("--hold-out", "0.3"), ("--hold-out-by", "id"), ("--budget", "1"),
            ("--positive", "1"), ("--unit", "row"), ("--rows-per-person", "1"),
        ):  # fmt: skip
            message = refused(bench, "train", "patients.csv", "--features", "features.json", *option, *TRIAL)
            assert "comes from the file of --features; leave it out" in message

    def test_other_neighbours_than_the_selection_s(self, bench: Bench) -> None:
        self.begun(bench)
        train = ("train", "patients.csv", "--features", "features.json", *TRIAL)
        for other in ("label-only", "replace-one"):
            assert "selected under add-remove-one" in refused(bench, *train, "--neighbours", other)
        bench.done(*train, "--neighbours", "add-remove-one")

    def test_a_model_is_no_selection_and_a_selection_no_model(self, bench: Bench) -> None:
        self.begun(bench)
        bench.done("train", "patients.csv", *COLUMNS, *TRIAL, "-o", "model.json")
        message = refused(bench, "train", "patients.csv", "--features", "model.json", *TRIAL)
        assert "give the file that `confide select` wrote" in message
        message = refused(bench, "release", "patients.csv", "--model", "features.json", *TRIAL)
        assert "run `confide train`" in message

    def test_logistic_regression_of_no_feature(self, bench: Bench) -> None:
        bench.patients()
        none = ("--threshold", "1000000", *TRIAL, "-o", "features.json")
        bench.done("select", "patients.csv", *COLUMNS, *none)
        train = ("train", "patients.csv", "--features", "features.json", *TRIAL)
        assert "none was selected" in refused(bench, *train, "--model", "logistic-regression")
        assert bench.document(*train)["model"]["features"] == []

    def test_files_that_are_something_else(self, bench: Bench) -> None:
        plain = self.begun(bench)
        selection = plain["selection"]
        for broken, code in (
            ("", 1),
            ("{", 1),
            ("[]", 1),
            ("null", 1),
            ("[" * 100_000, 1),
            ("{}", 1),
            (json.dumps({**plain, "schema": "confide.workflow/2"}), 1),
            (json.dumps({**plain, "held_out": "1/0"}), 1),
            (json.dumps({**plain, "held_out": "2"}), 2),
            (json.dumps({**plain, "selection": []}), 1),
            (json.dumps({**plain, "encoding": {}}), 2),
            (json.dumps({**plain, "selection": {**selection, "width": 99}}), 2),
            (json.dumps({**plain, "selection": {**selection, "exact": {}}}), 1),
            (json.dumps({key: value for key, value in plain.items() if key != "budget"}), 1),
        ):
            (bench.folder / "broken.json").write_text(broken)
            refused(bench, "train", "patients.csv", "--features", "broken.json", *TRIAL, code=code)
        (bench.folder / "broken.json").write_bytes(b"\xff\xfe{}")
        refused(bench, "train", "patients.csv", "--features", "broken.json", *TRIAL, code=1)


class TestReleasesOfAModel:
    def test_what_its_file_says_and_what_does_not_go_with_it(self, bench: Bench) -> None:
        bench.messages()
        bench.done("train", "messages.csv", *TEXT, *TRIAL, "-o", "model.json")
        release = ("release", "messages.csv", "--model", "model.json", *TRIAL)
        for option in (("-l", "spam"), ("-s", "id"), ("--positive", "1")):
            assert "is defined by the file of --model" in refused(bench, *release, *option)
        assert "could change sides" in refused(bench, *release, "--neighbours", "replace-one")
        assert "trained to protect each row" in refused(bench, *release, "--unit", "person")
        assert "no column 'spam'" in refused(bench, "release", "rows.csv", "--model", "model.json", *TRIAL)
        assert "there is no file" in refused(bench, "release", "rows.csv", "--model", "nothing.json")
        refusal = refused(bench, *release, "--neighbours", "label-only")
        assert "counts in terms of add-remove-one neighbours" in refusal


class TestColumns:
    @pytest.mark.parametrize("verb", ["select", "train"])
    def test_those_that_are_not_there(self, bench: Bench, verb: str) -> None:
        bench.patients()
        for columns, said in (
            (("-l", "dead", "-c", "smoker"), "Did you mean 'died'?"),
            (("-l", "died", "-c", "smokers"), "Did you mean 'smoker'?"),
            (("-l", "died", "--text", "note"), "no column 'note'"),
            ((*SMOKER, "--hold-out-by", "idd"), "Did you mean 'id'?"),
        ):
            assert said in refused(bench, verb, "patients.csv", *columns, *TRIAL)
        assert "does not exist" in refused(bench, verb, "nowhere.csv", *SMOKER, *TRIAL)
