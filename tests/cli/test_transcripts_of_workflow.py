"""Neighbouring files look alike: exit code, both streams and what is written, whatever one row holds.

Noise that ignores what it is given makes all answers alike, so any difference is told by something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import Answer
from tests.cli.desk import Desk
from tests.cli.workflow_bench import Bench, bench_at
from tests.noises import Deaf

ROWS = 60
RELEASE = ("release", "FILE", "-l", "died", "-s", "risk", "-e", "1")
TRAIN = ("train", "FILE", "-l", "died", "-c", "smoker", "-c", "age=40,60", "-c", "sex=f|m")
SELECT = ("select", "FILE", "-l", "died", "-c", "smoker", "-c", "age=40,60", "-k", "2")

Row = dict[str, Any]
Writer = Callable[[Path, Sequence[Row]], None]
Transcript = tuple[Answer, dict[str, bytes]]


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


def ordinary() -> list[Row]:
    return [
        {
            "id": str(place),
            "died": str(place * 7 % 5 % 2),
            "risk": f"{place * 37 % 101 / 101:.6f}",
            "smoker": str(place % 2),
            "age": str(20 + place),
            "sex": "fm"[place % 3 % 2],
            "note": "fine",
        }
        for place in range(ROWS)
    ]


def replaced(**values: Any) -> list[Row]:
    """The ordinary rows with other values in row 20."""
    rows = ordinary()
    rows[20] = {**rows[20], **values}
    return rows


def write_csv(file: Path, rows: Sequence[Row]) -> None:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_json(file: Path, rows: Sequence[Row]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_parquet(file: Path, kind: Any, value: Any, at: int | None) -> None:
    """Write the ordinary rows with one more column, in which the row at a place alone has a value."""
    columns = {name: [row[name] for row in ordinary()] for name in ordinary()[0]}
    extra = pa.array([value if place == at else None for place in range(ROWS)], kind)
    pq.write_table(pa.table({**columns, "extra": extra}), file)


WRITERS: dict[str, Writer] = {"csv": write_csv, "jsonl": write_json}


def transcript(bench: Bench, command: Sequence[object], write: Callable[[Path], None], ending: str) -> Transcript:
    """Run a command with a file and a ledger of its own, and return all that can be seen of it."""
    for file in bench.folder.iterdir():
        file.unlink()
    write(bench.folder / f"rows.{ending}")
    bench.hear(Deaf().noise())
    given = [f"rows.{ending}" if part == "FILE" else part for part in command]
    written = ("-o", "out.json") if command[0] != "release" else ("--report", "out.html")
    asked = (*given, "--account", "trial", *(() if "--dry-run" in command else written))
    bench.open_for(*asked)
    answer = bench.run(*asked)
    seen = {name: content for name, content in bench.files().items() if name.startswith("out.")}
    return answer, seen


def look_alike(
    bench: Bench, command: Sequence[object], one: Sequence[Row], other: Sequence[Row], ending: str = "csv"
) -> Answer:
    """Compare two files. Many tests compare with the same first file, so its transcript is made once."""
    first, second = remembered(bench, command, one, ending), transcript_of(bench, command, other, ending)
    assert first == second
    return first[0]


_REMEMBERED: dict[str, Transcript] = {}


def remembered(bench: Bench, command: Sequence[object], rows: Sequence[Row], ending: str) -> Transcript:
    key = repr((command, rows, ending))
    if key not in _REMEMBERED:
        _REMEMBERED[key] = transcript_of(bench, command, rows, ending)
    return _REMEMBERED[key]


def transcript_of(bench: Bench, command: Sequence[object], rows: Sequence[Row], ending: str) -> Transcript:
    return transcript(bench, command, partial(written, ending, rows), ending)


def written(ending: str, rows: Sequence[Row], file: Path) -> None:
    WRITERS[ending](file, rows)


class TestReplacedRows:
    """A row's value is replaced by one that reads oddly; the file is fit for use with and without it."""

    @pytest.mark.few(2)
    @pytest.mark.parametrize("value", ["1.0", " 1", "TRUE", "2", "-1", "+1"], ids=lambda value: f"label {value!r}")
    @pytest.mark.parametrize("command", [RELEASE, TRAIN, SELECT], ids=lambda command: command[0])
    def test_labels_beside_the_positive_one(self, bench: Bench, command: tuple[str, ...], value: str) -> None:
        """A named label is one against the rest: which others there are, and how many, is not told."""
        asked = (*command, "--positive", "1")
        assert look_alike(bench, asked, ordinary(), replaced(died=value)).code == 0

    @pytest.mark.few(1)
    @pytest.mark.parametrize("command", [RELEASE, TRAIN], ids=lambda command: command[0])
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_a_positive_label_that_nobody_has(self, bench: Bench, command: tuple[str, ...], ending: str) -> None:
        """Otherwise an error would tell that there are two other labels, and so that both classes have rows."""
        all_alive = [{**row, "died": "0"} for row in ordinary()]
        one_died = [{**row, "died": "1" if place == 20 else "0"} for place, row in enumerate(all_alive)]
        assert look_alike(bench, (*command, "--positive", "3"), all_alive, one_died, ending).code == 0

    @pytest.mark.few(4)
    @pytest.mark.parametrize("value", ["1", " 0.5", "5e-1", "+0.5", "00.5"])
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_scores(self, bench: Bench, value: str, ending: str) -> None:
        asked = (*RELEASE, "--dry-run")
        assert look_alike(bench, asked, ordinary(), replaced(risk=value), ending).code == 0

    @pytest.mark.few(3)
    @pytest.mark.parametrize(
        "values",
        [
            {"smoker": "yes"},
            {"smoker": "2"},
            {"smoker": ""},
            {"age": "forty"},
            {"age": "41.5"},
            {"age": ""},
            {"age": "0041"},
            {"sex": "divers"},
            {"sex": "1"},
            {"sex": ""},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("command", [TRAIN, SELECT], ids=lambda command: command[0])
    def test_features_that_their_rule_does_not_know(
        self, bench: Bench, command: tuple[str, ...], values: dict[str, str]
    ) -> None:
        """An error would tell an analyst, who pays nothing for it, that somebody has such a value."""
        assert look_alike(bench, command, ordinary(), replaced(**values)).code == 0

    @pytest.mark.few(3)
    @pytest.mark.parametrize(
        ("column", "note"),
        [
            ("id", "#1"),
            ("id", ""),
            ("note", '"a; b; c | d"'),
            ("note", "'tis"),
            ("note", "a;b|c\td"),
            ("note", '5" wide'),
            ("note", '"two\nlines"'),
            ("note", "2020-01-01"),
        ],
    )
    @pytest.mark.parametrize("command", [RELEASE, TRAIN], ids=lambda command: command[0])
    def test_columns_that_nobody_asked_for(
        self, bench: Bench, command: tuple[str, ...], column: str, note: str
    ) -> None:
        """Neither separators nor quotes nor comments are guessed from what stands in rows."""
        assert look_alike(bench, command, ordinary(), replaced(**{column: note})).code == 0


class TestJsonLines:
    @pytest.mark.few(2)
    @pytest.mark.parametrize("command", [RELEASE, TRAIN], ids=lambda command: command[0])
    @pytest.mark.parametrize(
        "values", [{"died": 1}, {"died": "1"}, {"died": 1.0}, {"note": {"a": [1]}}, {"note": None}]
    )
    def test_types_of_single_values(self, bench: Bench, command: tuple[str, ...], values: Row) -> None:
        assert look_alike(bench, command, ordinary(), replaced(**values), "jsonl").code == 0

    def test_a_score_written_as_text(self, bench: Bench) -> None:
        plain = [{**row, "risk": float(row["risk"])} for row in ordinary()]
        other = [{**row, "risk": "0.25"} if place == 20 else row for place, row in enumerate(plain)]
        assert look_alike(bench, RELEASE, plain, other, "jsonl").code == 0

    @pytest.mark.parametrize("command", [RELEASE, TRAIN], ids=lambda command: command[0])
    def test_a_key_that_one_row_has(self, bench: Bench, command: tuple[str, ...]) -> None:
        assert look_alike(bench, command, ordinary(), replaced(complication="sepsis"), "jsonl").code == 0

    @pytest.mark.parametrize("option", [("-c", "complication=sepsis|"), ("--hold-out-by", "complication")], ids=str)
    def test_a_key_that_one_row_has_is_asked_for(self, bench: Bench, option: tuple[str, str]) -> None:
        """No row, or one alone: the same refusal, which does not list the keys either."""
        answer = look_alike(bench, (*TRAIN, *option), ordinary(), replaced(complication="sepsis"), "jsonl")
        assert answer.code == 2
        assert "not every row" in answer.err
        assert "sepsis" not in answer.err

    def test_many_keys_of_one_row(self, bench: Bench) -> None:
        many = {f"key{number}": number for number in range(300)}
        assert look_alike(bench, RELEASE, ordinary(), replaced(**many), "jsonl").code == 0


class TestParquet:
    """Whether a column can be used follows from its type, whether or not any row has a value."""

    TYPES: ClassVar[dict[str, tuple[Any, Any]]] = {
        "timestamp": (pa.timestamp("us"), 1_577_836_800_000_000),
        "list": (pa.list_(pa.int64()), [1]),
        "struct": (pa.struct([("a", pa.int64())]), {"a": 1}),
        "binary": (pa.binary(), b"x"),
        "decimal": (pa.decimal128(8, 2), 1),
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), "x"),
        "boolean": (pa.bool_(), True),
        "unsigned": (pa.uint64(), 2**64 - 1),
    }
    REFUSED = ("timestamp", "list", "struct", "binary")

    @pytest.mark.few(4)
    @pytest.mark.parametrize("kind", TYPES)
    @pytest.mark.parametrize(
        "option", [("-c", "extra"), ("-c", "extra=1,2"), ("-c", "extra=a|b"), ("--hold-out-by", "extra")], ids=str
    )
    def test_a_type_is_refused_or_taken_whatever_the_values_are(
        self, bench: Bench, kind: str, option: tuple[str, str]
    ) -> None:
        answer = self.alike(bench, (*TRAIN, *option, "--dry-run"), *self.TYPES[kind])
        assert answer.code == (2 if kind in self.REFUSED else 0), answer.err

    @pytest.mark.parametrize("kind", ["timestamp", "list", "decimal", "string"])
    def test_text_columns_too(self, bench: Bench, kind: str) -> None:
        typed = (pa.string(), "word") if kind == "string" else self.TYPES[kind]
        asked = ("train", "FILE", "-l", "died", "--text", "extra", "--bits", "4", "--dry-run")
        assert self.alike(bench, asked, *typed).code == (0 if kind == "string" else 2)

    @pytest.mark.parametrize("rule", ["extra", "extra=1,2", "extra=a|b"])
    def test_a_column_without_type_is_like_one_of_text(self, bench: Bench, rule: str) -> None:
        """Writers give the type null to a column in which nobody has a value, and text to one in which somebody has."""
        asked = (*TRAIN, "-c", rule, "--dry-run")
        answers = [
            transcript(bench, asked, partial(write_parquet, kind=kind, value="a", at=at), "parquet")
            for kind, at in ((pa.null(), None), (pa.string(), 20))
        ]
        assert answers[0] == answers[1]
        assert answers[0][0].code == 0, answers[0][0].err

    def alike(self, bench: Bench, command: Sequence[object], kind: Any, value: Any) -> Answer:
        first, second = (
            transcript(bench, command, partial(write_parquet, kind=kind, value=value, at=at), "parquet")
            for at in (None, 20)
        )
        assert first == second
        return first[0]


class TestUnfitFiles:
    """That a file is unfit is public; where, and how many rows there are, is not."""

    @pytest.mark.parametrize("command", [RELEASE, TRAIN, SELECT], ids=lambda command: command[0])
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_the_place_of_a_bad_row_is_not_told(self, bench: Bench, command: tuple[str, ...], ending: str) -> None:
        seen = []
        for size in (ROWS, ROWS - 1):

            def write(file: Path, size: int = size) -> None:
                WRITERS[ending](file, ordinary()[:size])
                with file.open("a", encoding="utf-8") as text:
                    text.write('zebra,"quagga\n')

            seen.append(transcript(bench, command, write, ending))
        assert seen[0] == seen[1]
        assert seen[0][0].code == 1
        assert "line" not in seen[0][0].err.replace("the first line", "")

    @pytest.mark.few(1)
    @pytest.mark.parametrize("value", ["", "n/a", "NaN", "inf", "0,5"])
    def test_a_bad_score_is_refused_in_the_same_words(self, bench: Bench, value: str) -> None:
        said = {look_alike(bench, RELEASE, replaced(risk=bad), replaced(risk=bad)).err for bad in ("-", f'"{value}"')}
        assert len(said) == 1

    def test_the_data_holder_may_see_more(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")

        def write(file: Path) -> None:
            write_csv(file, ordinary())
            file.write_text(file.read_text() + "one,row\n")

        answer, _ = transcript(bench, TRAIN, write, "csv")
        assert f"near line {ROWS + 2};" in answer.err
        for values in ({"smoker": "zebra"}, {"age": "zebra"}):
            answer, _ = transcript(bench, TRAIN, partial(written, "csv", replaced(**values)), "csv")
            assert answer.code == 1
            assert f"column '{next(iter(values))}'" in answer.err
            assert "zebra" not in answer.err
        answer, _ = transcript(bench, (*RELEASE, "--positive", "3"), partial(written, "csv", ordinary()), "csv")
        assert answer.code == 2
        assert "check the spelling" in answer.err
