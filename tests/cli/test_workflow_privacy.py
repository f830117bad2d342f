"""What the verbs of the private workflow keep private: held-out rows from training, and everything from everybody."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confide.privacy.queries import Noise
from tests.cli.desk import Desk
from tests.cli.workflow_bench import TEXT, TRIAL, Bench, bench_at, made_messages
from tests.noises import SILENT, Deaf

SELECT = ("select", "messages.csv", *TEXT, "-k", 8, *TRIAL, "-o", "features.json")
TRAIN = ("train", "messages.csv", "--features", "features.json", *TRIAL, "-o", "model.json")
RELEASE = ("release", "messages.csv", "--model", "model.json", "-m", "accuracy", *TRIAL)


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


def rows_of(file: Path) -> list[list[str]]:
    with file.open(newline="") as text:
        return list(csv.reader(text))[1:]


class TestSides:
    """Every change leaves the changed row on its side. Without noise, what reads the other side answers the same.

    Noise is none at all, so that one changed row shows wherever it is read: `counts` is what is released of it.
    """

    COUNTS = ("release", "messages.csv", "--model", "model.json", "-m", "counts", "--grid", "uniform:16", *TRIAL)

    @pytest.fixture(autouse=True)
    def without_noise(self, bench: Bench) -> None:
        bench.hear(SILENT)

    def begun(self, bench: Bench) -> tuple[list[list[str]], list[bool]]:
        file = bench.messages()
        for command in (SELECT, TRAIN):
            bench.done(*command)
        held = bench.held_out(file, "model.json")
        assert 0 < sum(held) < len(held)
        return rows_of(file), held

    def answers(self, bench: Bench) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What is selected, trained and evaluated, all of it drawn from the file as it is now.

        The model that is evaluated is the first one, so that the evaluation follows from the rows alone.
        """
        first = (bench.folder / "model.json").read_bytes()
        selected, trained = bench.document(*SELECT), bench.document(*TRAIN)
        (bench.folder / "model.json").write_bytes(first)
        evaluated = bench.document(*self.COUNTS)
        return selected["selection"], trained["model"], evaluated["curve"]["points"]

    def changed(self, bench: Bench, rows: list[list[str]], place: int, held: list[bool], text: bool) -> None:
        """Give one row another label or text, and keep it on its side."""
        other = [row.copy() for row in rows]
        if not text:
            other[place][2] = "1" if other[place][2] == "0" else "0"
        for attempt in range(100):
            if text:
                other[place][1] = f"entirely different words {attempt}"
            file = bench.messages(rows=other)
            if bench.held_out(file, "model.json") == held:
                return
        pytest.fail("no text keeps the row where it was")

    @pytest.mark.few(1)
    @pytest.mark.parametrize("text", [False, True], ids=["label", "text"])
    def test_training_does_not_read_held_out_rows(self, bench: Bench, text: bool) -> None:
        rows, held = self.begun(bench)
        selected, trained, evaluated = self.answers(bench)
        self.changed(bench, rows, held.index(True), held, text)
        assert self.answers(bench)[:2] == (selected, trained)
        assert self.answers(bench)[2] != evaluated
        assert bench.spent() == 2  # other bytes are other data, whatever was changed in them

    @pytest.mark.few(1)
    @pytest.mark.parametrize("text", [False, True], ids=["label", "text"])
    def test_evaluation_reads_held_out_rows_alone(self, bench: Bench, text: bool) -> None:
        rows, held = self.begun(bench)
        selected, trained, evaluated = self.answers(bench)
        self.changed(bench, rows, held.index(False), held, text)
        other = self.answers(bench)
        assert other[2] == evaluated
        assert other[1] != trained
        if text:
            assert other[0] != selected

    def test_the_rows_of_a_person_stay_together_whatever_else_is_in_them(self, bench: Bench) -> None:
        rows = [(f"m{number % 60}", text, label) for number, (_, text, label) in enumerate(made_messages())]
        file = bench.messages(rows=rows)
        bench.done("select", file.name, *TEXT, *TRIAL, "--hold-out-by", "id", "-o", "features.json")
        held = bench.held_out(file, "features.json")
        assert held == held[:60] * 4
        assert 0 < sum(held) < len(held)
        assert bench.held_out(bench.messages(rows=[(key, "", 0) for key, _, _ in rows]), "features.json") == held

    def test_other_rules_are_other_partitions(self, bench: Bench) -> None:
        """Two workflows that divide the rows differently have nothing in parallel."""
        bench.messages()
        train = ("train", "messages.csv", *TEXT, *TRIAL)
        bench.done(*train, "-o", "model.json")
        for spent, other in enumerate((("--hold-out", "0.4"), ("--hold-out-by", "id"), ("--hold-out", "0")), start=2):
            bench.done(*train, *other, "-e", "1")
            assert bench.spent() == spent
        bench.done(*RELEASE)
        assert bench.spent() == 4


class TestAllDataLookAlike:
    """With noise that drowns everything, outputs are the same byte by byte, and so is what noise is asked for."""

    DATA: dict[str, list[tuple[object, ...]]] = {  # noqa: RUF012
        "many": made_messages(),
        "positives": [(key, text, 1) for key, text, _ in made_messages()],
        "negatives": [(key, text, 0) for key, text, _ in made_messages()],
        "no words": [(key, "", label) for key, _, label in made_messages()],
        "long texts": [
            (key, f"{text} " * 9 + " ".join(map(chr, range(192, 500))), y) for key, text, y in made_messages()
        ],
        "one row": made_messages(1),
        "few rows": made_messages(3),
    }

    @pytest.mark.long
    def test_all_steps(self, bench: Bench) -> None:
        seen = []
        for name, rows in self.DATA.items():
            bench.messages(rows=rows)
            deaf = Deaf()
            bench.hear(_choosing(deaf))
            book = ("--ledger", f"{name}.sqlite")
            answers = [bench.done(*command, *book) for command in (SELECT, TRAIN, RELEASE)]
            seen.append((answers, deaf.heard, [bench.files()[file] for file in ("features.json", "model.json")]))
            bench.desk.hear_the_system_again()
        assert all(other == seen[0] for other in seen)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("share", ["0.999999999999", "1e-12"], ids=["all held out", "none held out"])
    def test_sides_without_rows(self, bench: Bench, share: str) -> None:
        bench.messages()
        train = ("train", "messages.csv", *TEXT, "--hold-out", share, *TRIAL, "-o", "model.json")
        seen = []
        for rows in (made_messages(), made_messages(1)):
            file = bench.messages(rows=rows)
            bench.hear(_choosing(Deaf()))
            book = ("--ledger", f"{len(rows)}.sqlite")
            seen.append([bench.done(*command, *book) for command in (train, RELEASE)])
            bench.desk.hear_the_system_again()
            assert set(bench.held_out(file, "model.json")) == {share.startswith("0")}
        assert seen[0] == seen[1]


def _choosing(deaf: Deaf) -> Noise:
    """Noise that answers the same whatever it is given; choices in turn take the first features."""
    return replace(
        deaf.noise(),
        exponential_top=lambda costs, rate, k: list(range(k)),
        permute_and_flip_top=lambda costs, rate, k: list(range(k)),
    )


class TestMarkedData:
    """Words, labels and values that nothing else could bring about, looked for in all that is shown or written."""

    TOKENS = ("zyxquorum", "vexlabel", "wexlabel", "qqvalue", "771234567", "person-55991")

    def marked(self) -> list[tuple[object, ...]]:
        return [
            (f"person-55991-{number}", f"zyxquorum {text}", "vexlabel" if label else "wexlabel", "qqvalue", 771234567)
            for number, (_, text, label) in enumerate(made_messages(80))
        ]

    def write(self, bench: Bench, rows: Sequence[Sequence[object]]) -> None:
        bench.write("marked.csv", ("id", "message", "spam", "group", "amount"), rows)

    def everything(self, bench: Bench, *outputs: str) -> str:
        (bench.folder / "marked.csv").unlink()
        files = "".join(content.decode("latin-1") for content in bench.files().values())
        return ("".join(outputs) + files).lower()

    def test_what_is_released(self, bench: Bench) -> None:
        words = ("-l", "spam", "--text", "message", "--positive", "Yes", "--account", "trial")
        columns = ("-c", "group=a|b", "-c", "amount=10,20", "--hold-out-by", "id")
        # The label is another one than the user names: of one class alone that is no error.
        self.write(bench, [(*row[:2], "vexlabel", *row[3:]) for row in self.marked()])
        outputs = []
        for command in (
            ("select", "marked.csv", *words, *columns, "-k", 9, "-o", "features.json"),
            ("train", "marked.csv", "--features", "features.json", "--account", "trial", "-o", "a.json", "--json"),
            ("train", "marked.csv", *words, *columns, "-o", "model.json", "--report", "page.html"),
            ("train", "marked.csv", *words, *columns, "--dry-run"),
            ("release", "marked.csv", "--model", "model.json", "--account", "trial", "--report", "eval.html"),
        ):
            answer = bench.done(*command)
            outputs += [answer.out, answer.err]
        shown = self.everything(bench, *outputs)
        assert "trial" in shown
        for token in self.TOKENS:
            assert token not in shown, token

    def test_a_vocabulary_is_public_and_its_words_are_shown(self, bench: Bench) -> None:
        self.write(bench, [(*row[:2], int(row[2] == "vexlabel"), *row[3:]) for row in self.marked()])
        (bench.folder / "words.txt").write_text("zyxquorum\ncash\n")
        train = ("train", "marked.csv", "-l", "spam", "--text", "message", *TRIAL, "--keep", "0")
        answer = bench.done(*train, "--vocabulary", "words.txt", "-o", "model.json")
        assert "zyxquorum" in answer.out
        assert json.loads((bench.folder / "model.json").read_text())["encoding"]["rules"][0]["words"] == [
            "zyxquorum",
            "cash",
        ]

    def test_errors(self, bench: Bench) -> None:
        """What is wrong with the data is told the data holder without showing them, and costs nothing."""
        bench.desk.patch.setenv("CONFIDE_SHOW_ERRORS", "1")
        rows: list[tuple[Any, ...]] = self.marked()
        last = rows[-1]
        good = ("-l", "spam", "--text", "message", "--positive", "vexlabel")
        bench.desk.open_account("trial", neighbours="add-remove-one")
        before = bench.desk.book.read_bytes()
        odd: list[tuple[Sequence[Sequence[object]], tuple[str, ...], str]] = [
            (rows, ("-l", "spam", "--text", "message"), "--positive"),
            (rows, (*good[:-1], "vexlabal"), "check the spelling"),
            (rows, (*good[:-1], "VexLabel"), "letter case"),
            ([*rows, (*last[:2], "zyxquorum", *last[3:])], good, "more than two values"),
            ([*rows, (*last[:2], "", *last[3:])], good, "labels are missing"),
            (rows, (*good, "-c", "group"), "other values than 0/1"),
            (rows, (*good, "-c", "group=1,2"), "does not hold numbers alone"),
            (rows, (*good, "-c", "missing=1,2"), "no column 'missing'"),
            ([*rows, last[:3]], good, "cannot be read as CSV"),
            (rows[:0], good, "no rows"),
        ]
        for number, (data, columns, said) in enumerate(odd):
            self.write(bench, data)
            verb = ("select", "train")[number % 2]
            answer = bench.run(verb, "marked.csv", *columns, *TRIAL)
            assert answer.code in (1, 2)
            assert answer.out == ""
            assert said in answer.err
            for token in ("zyxquorum", "wexlabel", "qqvalue", "771234567", "55991"):
                assert token not in answer.err.lower(), said
        assert bench.desk.book.read_bytes() == before

    def test_errors_about_files_that_are_not_what_they_seem(self, bench: Bench) -> None:
        train = ("-l", "spam", "--text", "message", *TRIAL)
        bench.desk.open_account("trial", neighbours="add-remove-one")
        before = bench.desk.book.read_bytes()
        for name, content in (
            ("headless.csv", b"zyxquorum,vexlabel\nqqvalue,wexlabel\n"),
            ("quote.csv", b'message,spam\n"zyxquorum vexlabel,1\nqqvalue,0\n'),
            ("latin.csv", b"message,spam\nzyxquorum \xff\xfe,1\n"),
            ("rows.jsonl", b'{"message": "zyxquorum", "spam": 1}\n{"message": qqvalue}\n'),
            ("rows.parquet", b"PAR1 zyxquorum vexlabel qqvalue PAR1"),
            ("rows.csv.gz", b"zyxquorum vexlabel"),
        ):
            (bench.folder / name).write_bytes(content)
            for command in (("train", name, *train), ("select", name, *train)):
                answer = bench.run(*command)
                assert answer.code in (1, 2), name
                assert answer.err.startswith("error: ")
                assert not any(token in answer.err.lower() for token in self.TOKENS), name
        assert bench.desk.book.read_bytes() == before

    def test_a_file_of_the_workflow_that_is_private_data(self, bench: Bench) -> None:
        """Given the rows instead of the model, the message does not quote them."""
        self.write(bench, self.marked())
        (bench.folder / "marked.json").write_text('{"message": "zyxquorum", "schema": "vexlabel"}')
        for file in ("marked.csv", "marked.json"):
            for command in (
                ("train", "marked.csv", "--features", file),
                ("release", "marked.csv", "--model", file),
                ("predict", file, "marked.csv", "-o", "out.csv"),
            ):
                answer = bench.run(*command)
                assert answer.code in (1, 2)
                assert not any(token in answer.err.lower() for token in self.TOKENS)
