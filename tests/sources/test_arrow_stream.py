"""Numbers that DuckDB sends by Arrow's C interface arrive as they are, whoever made the stream."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.sources.arrow_stream import ArrowStreamError, number_batches
from tests.examples import examples

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
ODD = np.array([-0.0, 5e-324, np.nextafter(0.4, 1), np.inf, -np.inf, 1.7e308], dtype=np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_ends_of_each_type_and_slices(kind: str) -> None:
    info: Any = np.iinfo(kind) if kind[0] in "iu" else np.finfo(kind)
    values = np.array([info.min, 0, 1, info.max, 7], dtype=kind)
    batch = pa.record_batch({"a": values, "b": values[::-1].copy()})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch.slice(1, 3), batch.slice(2, 0)])
    found = list(number_batches(reader))
    assert [each["a"].tolist() for each in found] == [values.tolist(), values[1:4].tolist()]
    assert [each["b"].tolist() for each in found] == [values[::-1].tolist(), values[::-1][1:4].tolist()]
    assert found[0]["a"].dtype == np.dtype(kind)


def test_bits_of_floats_are_kept() -> None:
    payload = np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64)
    values = np.concatenate([ODD, payload])
    (found,) = number_batches(pa.table({"a": values}))
    assert found["a"].view(np.uint64).tolist() == values.view(np.uint64).tolist()


@examples(60)
@given(
    values=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
    first=st.integers(0, 20),
    length=st.integers(0, 20),
)
def test_a_missing_value_is_refused_wherever_it_is(values: list[int | None], first: int, length: int) -> None:
    table = pa.table({"a": pa.array(values, pa.int64())}).slice(first, length)
    kept = values[first : first + length]
    if None in kept:
        with pytest.raises(ArrowStreamError, match="missing"):
            list(number_batches(table))
    else:
        assert [one for each in number_batches(table) for one in each["a"].tolist()] == kept


@pytest.mark.parametrize("column", [["x"], [True], [None], [[1]]])
def test_what_is_no_number_is_refused(column: list[Any]) -> None:
    with pytest.raises(ArrowStreamError):
        list(number_batches(pa.table({"a": column})))


def test_an_error_of_the_source_is_raised() -> None:
    def failing() -> Any:
        yield pa.record_batch({"a": [1]})
        raise ValueError("no more")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), failing())
    with pytest.raises(ArrowStreamError, match="no more"):
        list(number_batches(reader))


def test_many_rows_of_duckdb() -> None:
    connection = duckdb.connect()
    batches = list(number_batches(connection.sql("SELECT i AS a, sqrt(i) AS b FROM range(1500000) AS t(i)")))
    assert (np.concatenate([each["a"] for each in batches]) == np.arange(1_500_000)).all()
    assert (np.concatenate([each["b"] for each in batches]) == np.sqrt(np.arange(1_500_000))).all()
