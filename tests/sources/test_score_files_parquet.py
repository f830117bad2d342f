"""Submitted Parquet: what writers write is read, and what is wrong is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.errors import SubmissionError
from confide.sources.submissions import IdIndex, ScoreLimits, read_scores
from tests.sources.submitted import IDS, INDEX, SCORES, codes, read, read_parquet, table

OWN = pytest.mark.parametrize("own", [False, True], ids=["server", "participant"])
"""Strangers' files are decoded by PyArrow, and a participant's own by DuckDB."""

WRITTEN: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "as PyArrow writes": (table(), {}),
    "plain, not compressed": (table(), {"use_dictionary": False, "compression": "none"}),
    "zstd, new pages": (table(), {"compression": "zstd", "data_page_version": "2.0"}),
    "many row groups": (table(), {"row_group_size": 1}),
    "byte stream split": (table(), {"use_dictionary": False, "column_encoding": {"score": "BYTE_STREAM_SPLIT"}}),
    "large texts": (table(pa.array(IDS, type=pa.large_string())), {}),
    "a dictionary": (table(pa.array(IDS).dictionary_encode()), {}),
    "reordered": (table(IDS[::-1], SCORES[::-1]), {}),
    "other columns, also nested": (table().append_column("x", pa.array([[1]] * 5)), {}),
    "ids that must not be missing": (
        table().cast(pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("score", pa.float64())])),
        {},
    ),
}


@OWN
@pytest.mark.parametrize(("written", "options"), WRITTEN.values(), ids=WRITTEN.keys())
def test_what_writers_write_is_read(tmp_path: Path, written: pa.Table, options: dict[str, Any], own: bool) -> None:
    assert read_parquet(tmp_path, written, **options, own=own).tolist() == list(SCORES)


@OWN
def test_single_precision_is_read_exactly(tmp_path: Path, own: bool) -> None:
    scores = np.array(SCORES, dtype=np.float32)
    assert read_parquet(tmp_path, table(scores=scores), own=own).tolist() == scores.astype(np.float64).tolist()


@OWN
def test_whole_numbers_are_ids_as_text_and_scores(tmp_path: Path, own: bool) -> None:
    index = IdIndex(["1", "20", "-3"])
    whole = pa.table({"id": pa.array([20, -3, 1], type=pa.int32()), "score": [5, 6, 7]})
    assert read_parquet(tmp_path, whole, index=index, own=own).tolist() == [7.0, 5.0, 6.0]


def test_polars_and_duckdb_files_are_read(tmp_path: Path) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = polars.DataFrame({"id": list(IDS), "score": list(SCORES)})
    frame.write_parquet(tmp_path / "polars.parquet")
    duckdb.sql(f"COPY (FROM '{tmp_path / 'polars.parquet'}') TO '{tmp_path / 'duckdb.parquet'}'")
    for name in ("polars", "duckdb"):
        assert read_scores(tmp_path / f"{name}.parquet", "parquet", INDEX).tolist() == list(SCORES)


REFUSED: dict[str, tuple[pa.Table, dict[str, Any], list[str], str]] = {
    "a missing id": (table(["a", "b", "c,d", "é", None]), {}, ["unknown-ids", "missing-ids"], "''"),
    "a missing score": (table(scores=pa.array([0.1, None, 0.2, 0.3, 0.4])), {}, ["not-a-number"], "at id 'b'"),
    "NaN": (table(scores=(0.1, np.nan, 0.2, 0.3, 0.4)), {}, ["not-a-number"], "at id 'b'"),
    "infinite": (table(scores=(0.1, np.inf, 0.2, 0.3, 0.4)), {}, ["infinite"], "at id 'b'"),
    "fractions as ids": (table([0.5, 1.5, 2.5, 3.5, 4.5]), {}, ["columns"], "neither text nor whole numbers"),
    "lists as ids": (table([[one] for one in IDS]), {}, ["columns"], "neither text nor whole numbers"),
    "structs as ids": (table([{"id": one} for one in IDS]), {}, ["columns"], "neither text nor whole numbers"),
    "lists as scores": (table(scores=[[1.0]] * 5), {}, ["columns"], "does not hold numbers"),
    "texts as scores": (table(scores=["0.5"] * 5), {}, ["columns"], "does not hold numbers"),
    "another name": (table().rename_columns(["Id", "score"]), {}, ["columns"], "did you mean 'Id'?"),
    "two columns of one name": (
        pa.Table.from_arrays([pa.array(IDS), pa.array(SCORES), pa.array(IDS)], names=["id", "score", "id"]),
        {},
        ["columns"],
        "more than one column 'id'",
    ),
    "no rows": (table().slice(0, 0), {}, ["no-rows"], "no rows"),
    "too many rows": (table([*IDS, "6"], (*SCORES, 0.0)), {}, ["too-many-rows"], "6 rows, and the template 5"),
    "row groups without end": (
        table(),
        {"row_group_size": 1, "limits": ScoreLimits(most_row_groups=4)},
        ["unreadable"],
        "row groups",
    ),
    "an unusual encoding": (
        table(),
        {"use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}},
        ["unreadable"],
        "write it again with usual settings",
    ),
    "a long footer": (table().replace_schema_metadata({"x": "y" * 300_000}), {}, ["unreadable"], "footer"),
}


@OWN
@pytest.mark.parametrize(("written", "options", "expected", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_named(
    tmp_path: Path, written: pa.Table, options: dict[str, Any], expected: list[str], words: str, own: bool
) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_parquet(tmp_path, written, **options, own=own)
    assert codes(refused.value) == expected
    assert words in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"PAR1" + bytes(8) + b"PAR1", b"id,score\na,1\n", b"PARE" * 4])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SubmissionError) as refused:
        read(tmp_path, content, "parquet")
    assert codes(refused.value) == ["unreadable"]


POOLS: list[pa.MemoryPool] = []  # kept, as what was allocated from a pool is given back to it later


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    """Fail if PyArrow allocates more than this at any time."""
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    POOLS.append(counted)
    pa.set_memory_pool(counted)
    try:
        yield
    finally:
        pa.set_memory_pool(usual)
    assert counted.max_memory() < most


def test_a_text_that_is_repeated_by_a_dictionary_is_not_written_out(tmp_path: Path) -> None:
    """A small file whose ids, each a megabyte, would fill two gigabytes."""
    ids = pa.DictionaryArray.from_arrays(pa.array([0] * 2000), ["x" * (1 << 20)])
    pq.write_table(pa.table({"id": ids, "score": np.zeros(2000)}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 200_000
    index = IdIndex([str(row) for row in range(2000)])
    with little_memory(64 << 20), pytest.raises(SubmissionError) as refused:
        read_scores(tmp_path / "bomb.parquet", "parquet", index)
    assert codes(refused.value) == ["unknown-ids", "missing-ids"]
    assert len(str(refused.value)) < 1000
