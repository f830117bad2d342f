"""`confide release` as a user types it: what it prints, charges, writes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from confide import Ledger
from confide.cli import main, release
from confide.privacy.queries import SYSTEM_NOISE, Noise
from tests.noises import FORBIDDEN, Deaf
from tests.shell.commands import STRICT, Answer

COLUMNS = ("--label", "died", "--score", "risk")
SCORES = np.random.default_rng(0).permutation(np.linspace(0.0123456789, 0.9876543210, 83))
LABELS = (np.random.default_rng(1).random(83) < 0.2 + 0.5 * SCORES).astype(int)


@dataclass
class Desk:
    """A folder with data and a ledger of its own; `ask` runs the command in this process."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    book: Path = field(init=False)
    undo: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.book = self.folder / "ledger.sqlite"
        self.write("rows.csv")

    def write(self, name: str, labels: Any = LABELS, scores: Any = SCORES) -> Path:
        lines = [f"{label},{score!r}" for label, score in zip(labels, map(float, scores), strict=True)]
        path = self.folder / name
        path.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
        return path

    def ask(self, *options: object, file: str = "rows.csv", columns: tuple[str, ...] = COLUMNS) -> Answer:
        arguments = ["confide", "release", file, *columns, *(str(option) for option in options)]
        self.patch.setattr(sys, "argv", arguments)
        self.capture.readouterr()
        code = 0
        try:
            main.run()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = self.capture.readouterr()
        return Answer(code, shown.out, shown.err)

    def document(self, *options: object, **given: Any) -> dict[str, Any]:
        answer = self.ask(*options, "--json", **given)
        assert answer.code == 0, answer.err
        parsed: dict[str, Any] = json.loads(answer.out)
        return parsed

    def hear(self, noise: Noise) -> None:
        """Let releases draw from another noise than the system's."""
        for name in ("discrete_laplace", "discrete_gaussian", "laplace", "cauchy", "student_t", "exponential_choice"):
            self.undo.append((name, getattr(SYSTEM_NOISE, name)))
            object.__setattr__(SYSTEM_NOISE, name, getattr(noise, name))

    def hear_the_system_again(self) -> None:
        while self.undo:
            object.__setattr__(SYSTEM_NOISE, *self.undo.pop())

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    for variable, value in (("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(variable, str(tmp_path.with_name(f"{tmp_path.name}-{value}")))
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    monkeypatch.setattr(release, "STEP_SECONDS", 0.001)
    made = Desk(tmp_path, capsys, monkeypatch)
    yield made
    made.hear_the_system_again()


class TestWhatItPrints:
    def test_json_has_the_published_schema(self, desk: Desk) -> None:
        found = desk.document("--epsilon", 1, "--account", "trial")
        assert list(found) == [
            "schema", "metric", "value", "intervals", "guarantee", "mechanism", "parts", "options", "ledger", "data",
        ]  # fmt: skip
        assert (found["schema"], found["metric"], found["mechanism"]) == ("confide.release/1", "auc", "rank-sum")
        assert 0.0 <= found["value"] <= 1.0
        for name in ("sample", "population"):
            assert set(found["intervals"][name]) == {"lower", "upper", "level", "method"}
            assert found["intervals"][name]["level"] == 0.95
        assert found["guarantee"] == {
            "epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one", "unit": "row", "public": ["number of rows"],
        }  # fmt: skip
        assert {"account": "trial", "spent": 1.0, "remaining": 9.0}.items() <= found["ledger"].items()

    def test_several_metrics_are_listed_with_the_split(self, desk: Desk) -> None:
        asked = ("-m", "auc,recall", "-m", "precision", "--epsilon", "0.3", "--account", "trial")
        found = desk.document(*asked)
        assert found["schema"] == "confide.release/1"
        assert [part["metric"] for part in found["releases"]] == ["auc", "recall", "precision"]
        assert found["guarantee"]["epsilon"] == 0.3
        assert [part["guarantee"]["epsilon"] for part in found["releases"]] == [0.15] * 3
        assert found["ledger"]["spent"] == 0.3
        table = desk.ask(*asked).out
        assert "recall, precision" in table
        assert table.count("0.15") >= 2

    def test_the_split_adds_up_exactly(self, desk: Desk) -> None:
        desk.document("-m", "auc,brier,prevalence", "-e", "1", "--account", "trial")
        with Ledger(desk.book) as ledger:
            charges = [entry.amount.epsilon for entry in ledger.history("trial") if entry.kind == "charge"]
            assert charges == [Fraction(1, 3)] * 3
            assert ledger.account("trial").spent.epsilon == 1

    def test_data_go_to_stdout_and_talk_to_stderr(self, desk: Desk) -> None:
        answer = desk.ask("-e", 1, "--json")
        json.loads(answer.out)
        assert "--account" in answer.err
        quiet = desk.ask("-e", 1, "--account", "trial")
        assert "opened account trial" in quiet.err
        assert desk.ask("-e", 1, "--account", "trial", "--level", 0.9).err == ""
        for word in ("AUC", "sample, 95 %", "population, 95 %", "epsilon = 1", "Not hidden: number of rows", "trial"):
            assert word in quiet.out, word

    @pytest.mark.parametrize("metric", ["average_precision", "brier", "prevalence", "confusion", "f1"])
    def test_every_kind_of_metric(self, desk: Desk, metric: str) -> None:
        found = desk.document("-m", metric, "-e", 1, "--account", "trial", "--neighbours", "add-remove-one")
        assert found["ledger"]["spent"] == 1.0
        assert found["guarantee"]["neighbours"] == "add-remove-one"

    def test_options_reach_the_release(self, desk: Desk) -> None:
        found = desk.document(
            "-m", "average_precision", "-e", "1/2", "--mechanism", "private-counts", "--grid", "uniform:4", "--level",
            "0.9", "--unit", "person", "--neighbours", "label-only", "--account", "trial",
        )  # fmt: skip
        assert found["options"]["grid"] == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert found["intervals"]["sample"]["level"] == 0.9
        assert found["guarantee"]["unit"] == "person"
        assert found["guarantee"]["public"] == [
            "number of rows",
            "scores",
            "grid of scores",
            "that nobody has more than one row",
        ]
        gaussian = desk.document(
            "-m", "recall", "-e", 1, "--mechanism", "gaussian", "--delta", "1e-6", "--account", "b", "-t", 0.3
        )
        assert gaussian["guarantee"]["delta"] == 1e-6
        assert 0 < gaussian["guarantee"]["rho"] < 1
        assert gaussian["options"] == {"threshold": 0.3}


class TestWhatItCosts:
    def test_the_same_request_costs_once(self, desk: Desk) -> None:
        first = desk.document("-e", "0.1", "--account", "trial")
        desk.hear(FORBIDDEN)
        for epsilon in ("0.1", "1/10", ".10"):
            again = desk.document("-e", epsilon, "--account", "trial")
            assert again["value"] == first["value"]
            assert again["intervals"] == first["intervals"]
            assert again["ledger"]["spent"] == 0.1
            assert again["ledger"]["reused"]
            assert again["ledger"]["charged"] == 0.0

    @pytest.mark.parametrize(
        "other",
        [("-m", "brier"), ("--mechanism", "student-t"), ("--level", "0.9"), ("-e", "0.2"), ("-m", "recall")],
        ids=" ".join,
    )
    def test_another_request_costs_again(self, desk: Desk, other: tuple[str, ...]) -> None:
        desk.document("-e", "0.1", "--account", "trial")
        again = desk.document("-e", "0.1", "--account", "trial", *other)
        assert again["ledger"]["charged"] == (0.2 if "-e" in other else 0.1)
        assert not again["ledger"]["reused"]

    def test_another_threshold_or_grid_costs_again(self, desk: Desk) -> None:
        for spent, options in enumerate(
            [
                ("-m", "recall", "-t", "0.4"),
                ("-m", "recall", "-t", "0.5"),
                ("-m", "average_precision", "--mechanism", "private-counts", "--grid", "uniform:4"),
                ("-m", "average_precision", "--mechanism", "private-counts", "--grid", "logit:4"),
            ],
            start=1,
        ):
            assert desk.document("-e", 1, "--account", "trial", *options)["ledger"]["spent"] == spent

    def test_other_data_in_the_same_account_cost_again(self, desk: Desk) -> None:
        desk.document("-e", 1, "--account", "trial")
        desk.write("other.csv", 1 - LABELS)
        assert desk.document("-e", 1, "--account", "trial", file="other.csv")["ledger"]["spent"] == 2.0

    def test_the_account_of_a_file_is_that_of_its_content(self, desk: Desk) -> None:
        first = desk.document("-e", 1)["ledger"]["account"]
        desk.write("copy.csv")
        assert desk.document("-e", 2, file="copy.csv")["ledger"] == {
            "account": first, "charged": 2.0, "spent": 3.0, "remaining": 7.0, "spent_delta": 0.0,
            "remaining_delta": 1e-5, "reused": False,
        }  # fmt: skip
        desk.write("other.csv", 1 - LABELS)
        assert desk.document("-e", 1, file="other.csv")["ledger"]["account"] != first

    def test_add_remove_one_costs_twice_in_an_account_of_replace_one(self, desk: Desk) -> None:
        desk.document("-e", 1, "--account", "trial")
        found = desk.document("-e", 1, "--account", "trial", "--neighbours", "add-remove-one")
        assert found["ledger"]["spent"] == 3.0
        refused = desk.ask("-e", 1, "--account", "trial", "--neighbours", "label-only")
        assert refused.code == 2
        assert "open another account" in refused.err

    def test_a_dry_run_writes_nothing_and_names_the_price(self, desk: Desk) -> None:
        before = desk.files()
        asked = ("-m", "auc,brier,recall", "-e", "0.7", "--account", "trial", "--report", "out.html")
        desk.hear(FORBIDDEN)
        quote = desk.document(*asked, "--dry-run")
        assert desk.files() == before
        assert quote["schema"] == "confide.quote/1"
        assert quote["fits"]
        assert quote["price"]["epsilon"] == 0.7
        shown = desk.ask(*asked, "--dry-run")
        assert desk.files() == before
        assert "Nothing was charged" in shown.out
        desk.hear_the_system_again()
        paid = desk.document(*asked)["ledger"]
        assert paid["charged"] == quote["price"]["epsilon"]
        assert paid["remaining"] == quote["remaining_after"]["epsilon"]
        then = desk.files()
        assert desk.document(*asked, "--dry-run")["answered"]
        assert desk.files() == then

    def test_a_refusal_says_what_is_missing_and_what_would_fit(self, desk: Desk) -> None:
        desk.document("-e", 8, "--account", "trial")
        before = desk.files()
        desk.hear(FORBIDDEN)
        for options in ((), ("--json",), ("--report", "out.html")):
            refused = desk.ask("-e", "2.5", "--account", "trial", "-m", "brier", *options)
            assert refused.code == 3
            assert refused.out == ""
            for words in ("has epsilon 2 left", "2.5 was requested", "0.5 is missing", "epsilon 2 would fit"):
                assert words in refused.err, words
        quote = desk.ask("-e", "2.5", "--account", "trial", "-m", "brier", "--dry-run", "--json")
        assert quote.code == 3
        assert json.loads(quote.out)["refusal"] in refused.err
        assert desk.files() == before

    def test_what_would_fit_fits(self, desk: Desk) -> None:
        desk.document("-e", "29/3", "--account", "trial")
        refused = desk.ask("-e", 1, "--account", "trial", "-m", "brier")
        assert refused.code == 3
        assert "epsilon 1/3 would fit" in refused.err
        assert desk.document("-e", "1/3", "--account", "trial", "-m", "brier")["ledger"]["remaining"] == 0.0

    def test_analysts_have_their_own_caps(self, desk: Desk) -> None:
        with Ledger(desk.book) as ledger:
            ledger.open_account("trial", epsilon=5, analyst_epsilon=1)
        assert desk.ask("-e", 1, "--account", "trial").code == 2
        assert desk.document("-e", 1, "--account", "trial", "--analyst", "ana")["ledger"]["remaining"] == 0.0
        assert desk.ask("-e", 1, "--account", "trial", "--analyst", "ana", "-m", "brier").code == 3
        assert desk.ask("-e", 1, "--account", "trial", "--analyst", "bo", "-m", "brier").code == 0


WRONG = [
    ("-e", "0"),
    ("-e", "-1"),
    ("-e", "nan"),
    ("-e", "inf"),
    ("-e", "lots"),
    ("-e", "1", "--delta", "1"),
    ("-e", "1", "--delta", "-1"),
    ("-e", "1", "--neighbours", "everybody"),
    ("-e", "1", "--unit", "family"),
    ("-e", "1", "--mechanism", "magic"),
    ("-e", "1", "--mechanism", "rank-sum", "--neighbours", "add-remove-one"),
    ("-e", "1", "--metric", "acu"),
    ("-e", "1", "--metric", ","),
    ("-e", "1", "--level", "95"),
    ("-e", "1", "--metric", "recall", "-t", "nan"),
    ("-e", "1", "--grid", "hexagons:3"),
    ("-e", "1", "--grid", "uniform:0"),
    ("-e", "1", "--prevalence-guess", "1.5"),
    ("-e", "1", "--mechanism", "published-laplace"),
    ("-e", "1", "--rows-per-person", "2"),
    ("-e", "1e-18"),
    ("-e", "1e400"),
]


class TestWhatItRefuses:
    @pytest.mark.parametrize("wrong", WRONG, ids=" ".join)
    def test_wrong_terms_before_the_file_is_read(self, desk: Desk, wrong: tuple[str, ...]) -> None:
        before = desk.files()
        desk.hear(FORBIDDEN)
        answer = desk.ask(*wrong, "--account", "trial", file="does-not-exist.csv")
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith("error: ")
        assert "does-not-exist" not in answer.err
        assert desk.files() == before

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            (("--report", "no-folder/out.html"), 2),
            (("--report", "out.txt"), 2),
            (("--report", "rows.csv"), 2),
            (("--report", "folder.html"), 2),
            (("--account", ""), 2),
            (("--account", "two\nlines"), 2),
            (("--analyst", " "), 2),
        ],
        ids=str,
    )
    def test_what_could_not_be_done_afterwards_is_refused_before_the_charge(
        self, desk: Desk, options: tuple[str, ...], code: int
    ) -> None:
        (desk.folder / "folder.html").mkdir()
        desk.hear(FORBIDDEN)
        answer = desk.ask("-e", 1, *options)
        assert answer.code == code
        assert not desk.book.exists()

    def test_a_report_never_overwrites_the_ledger(self, desk: Desk) -> None:
        for option in (("--ledger", "book.html"), ("--ledger", "sqlite:///book.html")):
            answer = desk.ask("-e", 1, *option, "--report", "book.html", "--account", "trial")
            assert answer.code == 2
            assert not (desk.folder / "book.html").exists()

    @pytest.mark.parametrize(
        ("columns", "content", "code"),
        [
            (("-l", "dead", "-s", "risk"), None, 2),
            (("-l", "risk", "-s", "risk"), None, 2),
            (COLUMNS, "died,risk\n1,0.123456789\n0,\n", 1),
            (COLUMNS, "died,risk\n1,0.123456789\n0,inf\n", 1),
            (COLUMNS, "died,risk\n1,0.123456789\n0,Quixote\n", 1),
            (COLUMNS, "died,risk\nQuixote,0.123456789\nDulcinea,0.2\n", 1),
            ((*COLUMNS, "--positive", "Sancho"), "died,risk\nQuixote,0.123456789\nDulcinea,0.2\n", 2),
            (COLUMNS, "died,risk\n0,0.123456789\n1,0.2\nQuixote,0.3\n", 1),
            (COLUMNS, "", 1),
        ],
        ids=["no column", "same column", "missing", "infinite", "text", "labels", "positive", "three", "empty"],
    )
    def test_bad_data_are_an_error_without_a_charge_that_shows_nothing(
        self, desk: Desk, columns: tuple[str, ...], content: str | None, code: int
    ) -> None:
        if content is not None:
            (desk.folder / "bad.csv").write_text(content, encoding="utf-8")
        answer = desk.ask("-e", 1, file="rows.csv" if content is None else "bad.csv", columns=columns)
        assert answer.code == code
        assert answer.out == ""
        for private in ("0.12345", "Quixote", "Dulcinea"):
            assert private not in answer.err
        assert not desk.book.exists()


class TestWhatItKeepsPrivate:
    DATA: ClassVar[dict[str, Any]] = {
        "both.csv": LABELS,
        "all.csv": np.ones(83, dtype=int),
        "none.csv": np.zeros(83, dtype=int),
        "one.csv": (np.arange(83) == 7).astype(int),
    }

    @pytest.mark.parametrize(
        "options",
        [("-m", "auc,average_precision,brier,prevalence,recall"), ("--dry-run",), ("-m", "confusion", "--json")],
        ids=str,
    )
    def test_with_noise_that_drowns_everything_all_data_look_alike(self, desk: Desk, options: tuple[str, ...]) -> None:
        """Exit code, both streams and the report are the same, byte by byte, whatever the labels are."""
        seen = []
        for name, labels in self.DATA.items():
            desk.write(name, labels)
            desk.hear(Deaf().noise())
            book = ("--ledger", f"{name}.sqlite", "--account", "trial", "--report", "out.html")
            answer = desk.ask("-e", 1, *book, *options, file=name)
            assert answer.code == 0, answer.err
            report = desk.folder / "out.html"
            seen.append((answer, report.read_text(encoding="utf-8") if report.exists() else ""))
            report.unlink(missing_ok=True)
        assert all(other == seen[0] for other in seen)

    @pytest.mark.parametrize("metric", ["auc", "average_precision", "brier", "prevalence", "recall"])
    def test_under_add_remove_one_the_number_of_rows_looks_alike_too(self, desk: Desk, metric: str) -> None:
        seen = []
        for rows in (83, 40, 2, 1):
            desk.write("some.csv", LABELS[:rows], SCORES[:rows])
            desk.hear(Deaf().noise())
            book = ("--ledger", f"{rows}.sqlite", "--account", "trial", "--neighbours", "add-remove-one")
            seen.append(desk.ask("-e", 1, "-m", metric, *book, "--json", file="some.csv"))
        assert [answer.code for answer in seen] == [0] * 4
        assert all(other == seen[0] for other in seen)

    def test_labels_in_words_with_one_class_only(self, desk: Desk) -> None:
        for labels in (["Good"] * 83, ["Poor"] * 83, ["Good", "Poor"] * 41 + ["Good"]):
            desk.write("words.csv", labels)
            found = desk.document("-e", 1, "--positive", "Poor", "--account", "words", file="words.csv")
            assert 0.0 <= found["value"] <= 1.0

    def test_a_typo_among_two_labels_is_an_error(self, desk: Desk) -> None:
        desk.write("words.csv", ["Good", "Poor"] * 41 + ["Good"])
        answer = desk.ask("-e", 1, "--positive", "Pooor", file="words.csv")
        assert answer.code == 2
        assert "check the spelling" in answer.err
        assert "Good" not in answer.err

    def test_nothing_of_the_data_is_anywhere(self, desk: Desk) -> None:
        """Scores and class sizes that nothing else could bring about, looked for in all that was written."""
        scores = np.repeat([0.123456789, 0.314159265, 0.918273645], [1237, 1013, 1009])
        labels = np.concatenate([np.arange(size) % 7 == 0 for size in (1237, 1013, 1009)]).astype(int)
        data = desk.write("marked.csv", labels, scores)
        positives, rows = int(labels.sum()), labels.size
        everything = ""
        for options in (
            ("-e", "0.5", "-m", "auc,brier,recall,prevalence", "--report", "out.html"),
            ("-e", "0.5", "-m", "average_precision", "--json"),
            ("-e", "0.5", "--dry-run"),
            ("-e", "50"),
            ("-e", "1", "--positive", "Quixote"),
        ):
            answer = desk.ask(*options, "--account", "trial", "--neighbours", "add-remove-one", file="marked.csv")
            everything += answer.out + answer.err
        data.unlink()
        everything += "".join(content.decode("latin-1") for content in desk.files().values())
        assert "trial" in everything
        from confide import ScoreCounts, auc_score, brier_score

        counts = ScoreCounts.from_arrays(labels, scores)
        exact = [f"{value:.7f}" for value in (auc_score(counts), brier_score(counts), counts.prevalence)]
        for private in ("0.12345", "0.31415", "0.91827", *exact, f"{rows},", f"{rows} ", f"{rows}<", "marked.csv"):
            assert private not in everything, private
        assert positives  # noisy sizes may equal it by chance, so it is not looked for


class TestRealProcesses:
    def run(self, *arguments: object, code: str | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        start = ["-c", code] if code else ["-m", "confide"]
        return subprocess.run(
            [sys.executable, *STRICT, *start, *map(str, arguments)],
            capture_output=True, check=False, timeout=120, **options,
        )  # fmt: skip

    def test_standard_input_is_the_same_data_and_the_same_account(self, desk: Desk) -> None:
        found = desk.document("-e", 1)
        piped = self.run("release", "-", *COLUMNS, "-e", 1, "--json", input=(desk.folder / "rows.csv").read_bytes())
        assert piped.returncode == 0, piped.stderr
        again = json.loads(piped.stdout)
        assert again["value"] == found["value"]
        assert again["ledger"]["account"] == found["ledger"]["account"]
        assert again["ledger"]["reused"]

    def test_a_run_that_dies_after_the_charge_keeps_it(self, desk: Desk) -> None:
        script = (
            "import os, sys\n"
            "from confide.privacy.queries import SYSTEM_NOISE\n"
            "object.__setattr__(SYSTEM_NOISE, 'discrete_laplace', lambda values, scale: os._exit(9))\n"
            "sys.argv = ['confide', *sys.argv[1:]]\n"
            "from confide.cli.main import run\n"
            "run()\n"
        )
        asked = ("release", "rows.csv", *COLUMNS, "-e", "3", "--account", "trial", "--json")
        died = self.run(*asked, code=script, cwd=desk.folder)
        assert died.returncode == 9, died.stderr
        assert died.stdout == b""
        with Ledger(desk.book) as ledger:
            assert ledger.account("trial").spent.epsilon == 3
        # Nobody knows whether the noise was seen, so asking again is paid again.
        assert desk.document("-e", 3, "--account", "trial")["ledger"]["spent"] == 6.0

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_permission_is_refused_before_the_charge(self, desk: Desk) -> None:
        closed = desk.folder / "closed"
        closed.mkdir(mode=0o500)
        assert desk.ask("-e", 1, "--report", closed / "out.html").code == 2
        assert not desk.book.exists()
