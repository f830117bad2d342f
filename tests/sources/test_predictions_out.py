"""A file's rows copied with a column of scores: all of them, in order, to the last digit, whole or not at all."""

from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, DataError, ParameterError, ScoreError, UsageError
from confide.sources import predictions_out
from confide.sources.predictions_out import write_with_scores
from tests.examples import examples
from tests.sources.refusals import refused

TEXT = 'id,note,died\n007,"a ""b"", c\nd",1\n8.50,,0\n"",é; |,1\n'
SCORES = [0.1, 1 / 3, 1e-300]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text(TEXT, encoding="utf-8", newline="")
    return file


def test_csv_is_copied_as_it_is_written(source: Path, tmp_path: Path) -> None:
    write_with_scores(source, tmp_path / "new.csv", "score", SCORES)
    written = (tmp_path / "new.csv").read_text(encoding="utf-8")
    assert written == ('id,note,died,score\n007,"a ""b"", c\nd",1,0.1\n8.50,,0,0.3333333333333333\n,é; |,1,1e-300\n')
    assert source.read_text(encoding="utf-8") == TEXT


def test_csv_to_parquet_has_types(source: Path, tmp_path: Path) -> None:
    write_with_scores(source, str(tmp_path / "new.PARQUET"), "score", np.array(SCORES))
    table = pq.read_table(tmp_path / "new.PARQUET")
    assert table.column_names == ["id", "note", "died", "score"]
    assert table["died"].to_pylist() == [1, 0, 1]
    assert table["note"].to_pylist() == ['a "b", c\nd', None, "é; |"]
    assert table["score"].to_pylist() == SCORES


MIXED: dict[str, Any] = {
    "flag": [True, None, False],
    "when": [date(2020, 1, 2), None, date(1999, 12, 31)],
    "price": [Decimal("1.50"), Decimal("2.00"), None],
    "parts": [[1, 2], [], None],
    "both": [{"a": 1}, {"a": None}, None],
    "raw": [b"\x00\xff", b"", None],
    "number": [0.1, float("inf"), None],
    "note": ["x", "", None],
}


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    table = pa.table({**MIXED, "kind": pa.array(["a", "b", "a"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet")
    write_with_scores(tmp_path / "rows.parquet", tmp_path / "new.pq", "score", SCORES)
    found = pq.read_table(tmp_path / "new.pq")
    assert found.to_pylist() == [{**row, "score": s} for row, s in zip(table.to_pylist(), SCORES, strict=True)]
    for name in ("flag", "when", "price", "parts", "number"):
        assert found.schema.field(name).type == table.schema.field(name).type


def test_parquet_to_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({name: MIXED[name] for name in ("flag", "when", "number")}), tmp_path / "rows.parquet")
    write_with_scores(tmp_path / "rows.parquet", tmp_path / "new.csv", "score", SCORES)
    lines = (tmp_path / "new.csv").read_text().splitlines()
    assert lines[1] == "true,2020-01-02,0.1,0.1"
    assert lines[2:] == [",,inf,0.3333333333333333", "false,1999-12-31,,1e-300"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_json_lines(ending: str, tmp_path: Path) -> None:
    rows = [{"id": "007", "n": 1.5}, {"id": "8", "n": None}, {"id": "a,b", "n": 2}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_with_scores(tmp_path / "rows.jsonl", tmp_path / f"new.{ending}", "score", SCORES)
    if ending == "csv":
        found = (tmp_path / "new.csv").read_text().splitlines()[1:]
        assert found == ["007,1.5,0.1", "8,,0.3333333333333333", '"a,b",2,1e-300']
    else:
        assert pq.read_table(tmp_path / "new.parquet")["id"].to_pylist() == ["007", "8", "a,b"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_no_rows(ending: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,note\n")
    write_with_scores(tmp_path / "rows.csv", tmp_path / f"new.{ending}", "score", [])
    if ending == "csv":
        assert (tmp_path / "new.csv").read_text() == "id,note,score\n"
    else:
        assert pq.read_table(tmp_path / "new.parquet").column_names == ["id", "note", "score"]


@pytest.mark.long
@examples(40)
@given(
    st.lists(
        st.tuples(st.text("ab \"',;\n#0é", max_size=5), st.floats(allow_nan=False, allow_infinity=False)), min_size=1
    )
)
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]) -> None:
    folder = tmp_path_factory.getbasetemp()
    with (folder / "some.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "note"), *((place, note) for place, (note, _) in enumerate(rows))])
    write_with_scores(folder / "some.csv", folder / "scored.csv", "score", [score for _, score in rows])
    with (folder / "scored.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))
    assert found[0] == ["id", "note", "score"]
    assert [(int(i), note, float(s)) for i, note, s in found[1:]] == [(i, *row) for i, row in enumerate(rows)]


@pytest.mark.parametrize("names", [("rows.csv", "new.csv"), ("rows.parquet", "new.csv"), ("rows.csv", "new.parquet")])
def test_the_order_of_rows_is_kept(names: tuple[str, str], tmp_path: Path) -> None:
    places = np.arange(150_000)
    if names[0] == "rows.csv":
        (tmp_path / names[0]).write_text("id\n" + "\n".join(map(str, places)) + "\n")
    else:
        pq.write_table(pa.table({"id": places}), tmp_path / names[0], row_group_size=10_000)
    write_with_scores(tmp_path / names[0], tmp_path / names[1], "score", places / 7)
    if names[1] == "new.csv":
        found = np.loadtxt(tmp_path / names[1], delimiter=",", skiprows=1)
    else:
        table = pq.read_table(tmp_path / names[1])
        found = np.column_stack((table["id"].to_numpy(), table["score"].to_numpy()))
    assert (found[:, 0] == places).all()
    assert (found[:, 1] == places / 7).all()


def left_alone(folder: Path, before: set[str]) -> bool:
    return {file.name for file in folder.iterdir()} == before


def test_refusals(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(source)
    before = {file.name for file in tmp_path.iterdir()}
    for destination in (source, tmp_path / "link.csv", tmp_path / "." / "rows.csv"):
        with refused(UsageError, says="is the file that is read"):
            write_with_scores(source, destination, "score", SCORES)
    for name in ("note", "NOTE"):
        with refused(ParameterError, says="already"):
            write_with_scores(source, tmp_path / "new.csv", name, SCORES)
    with refused(ParameterError, says="no name"):
        write_with_scores(source, tmp_path / "new.csv", " ", SCORES)
    for scores in (SCORES[:2], [*SCORES, 0.5]):
        with refused(DataError, says="differ in number"):
            write_with_scores(source, tmp_path / "new.csv", "score", scores)
    with refused(ScoreError):
        write_with_scores(source, tmp_path / "new.csv", "score", [0.1, 0.2, float("nan")])
    for wrong in ("new.txt", "new.csv.gz", "new", "nowhere/new.csv"):
        with refused(UsageError):
            write_with_scores(source, tmp_path / wrong, "score", SCORES)
    (tmp_path / "folder.csv").mkdir()
    with refused(UsageError, says="folder"):
        write_with_scores(source, tmp_path / "folder.csv", "score", SCORES)
    assert left_alone(tmp_path, before | {"folder.csv"})
    assert source.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("fault", [OSError("31771"), ValueError("31771"), KeyboardInterrupt()])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_whole_or_not_at_all(
    fault: BaseException, ending: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there before stays if anything goes wrong on the way, and nothing is left beside it."""
    new = tmp_path / f"new.{ending}"
    new.write_text("older")
    before = {file.name for file in tmp_path.iterdir()}
    write = getattr(predictions_out, f"_write_{ending}")

    def broken(*arguments: Any) -> None:
        write(*arguments)
        raise fault

    monkeypatch.setattr(predictions_out, f"_write_{ending}", broken)
    with pytest.raises((ConfideError, KeyboardInterrupt)) as caught:
        write_with_scores(source, new, "score", SCORES)
    assert "31771" not in str(caught.value)
    assert new.read_text() == "older"
    assert left_alone(tmp_path, before)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_nobody_else_may_read_the_scores(ending: str, source: Path, tmp_path: Path) -> None:
    write_with_scores(source, tmp_path / f"new.{ending}", "score", SCORES)
    assert (tmp_path / f"new.{ending}").stat().st_mode & 0o777 == 0o600
