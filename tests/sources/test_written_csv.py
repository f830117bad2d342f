"""CSV as it is written: the quick reader and Python's strict one read the same, and refuse the same."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from confide.errors import UnreadableError
from confide.sources import written_files
from confide.sources.duckdb_files import open_file
from confide.sources.written_files import distinct, is_regular, long_values
from tests.examples import examples

MARKS = st.text("ab\",\n\r é\t;#\\'\0", max_size=12)


def strictly(content: str) -> list[list[str]] | None:
    """Read with Python's strict reader; None where a row is refused."""
    rows = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        head, *body = [row for row in rows if row]
    except (csv.Error, ValueError):
        return None
    return None if any(len(row) != len(head) for row in body) else body


@examples(400)
@given(body=MARKS, packed=st.booleans())
@example(body='"a,b\n1,2\n"c,d', packed=False)
@example(body='"a"b,c\n', packed=False)
@example(body='a"b,c\n"d""e",f', packed=False)
@example(body='a,"', packed=False)
@example(body='a,"b\nc,d\n', packed=True)
def test_both_readers_agree(tmp_path_factory: pytest.TempPathFactory, body: str, packed: bool) -> None:
    content = "one,two\n" + body
    file = tmp_path_factory.getbasetemp() / ("marks.csv.gz" if packed else "marks.csv")
    file.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    expected = strictly(content)
    if expected is None:
        with pytest.raises(UnreadableError):
            open_file(file, as_written=True)
        return
    assert [list(row.values()) for row in open_file(file, as_written=True).rows()] == expected
    assert open_file(file, as_written=True, columns=["two"]).columns == ("two",)


@examples(300)
@given(content=st.text('a",\n', max_size=16), block=st.integers(1, 5))
def test_quotes_are_found_regular_whatever_the_blocks(content: str, block: int) -> None:
    """What is regular is read by the strict reader; what is not may be, or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written_files, "_BLOCK", block)
        found = is_regular(io.BytesIO(content.encode()), ",", 2)
    assert found == is_regular(io.BytesIO(content.encode()), ",", 2)
    if found:
        assert all(len(row) == 2 for row in csv.reader(io.StringIO(content, newline=""), strict=True))


@pytest.mark.parametrize("content", [b"a,\xff", "a,b".encode("utf-16"), b"a,\xc3", b"\xc3"])
def test_text_that_is_not_utf_8_is_not_regular(content: bytes) -> None:
    assert not is_regular(io.BytesIO(content), ",", 2)


def test_a_row_longer_than_a_block(tmp_path: Path) -> None:
    """Rows of more than a megabyte are read by Python."""
    long = "word " * 600_000
    (tmp_path / "rows.csv").write_text(f'one,two\n1,{long}\n2,"{long}, end"\n')
    assert [row["two"] for row in open_file(tmp_path / "rows.csv", as_written=True).rows()] == [long, f"{long}, end"]


def test_names_are_distinct() -> None:
    assert distinct(["a", "A", "", "a"]) == ["a", "A_1", "column2", "a_2"]


def test_readers_that_overlap_leave_the_limit_as_it_was() -> None:
    before = csv.field_size_limit()
    first, second = long_values(), long_values()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert csv.field_size_limit() > before
    second.__exit__(None, None, None)
    assert csv.field_size_limit() == before
