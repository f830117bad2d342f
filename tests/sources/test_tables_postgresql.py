"""A real PostgreSQL server counts as DuckDB and NumPy do, and its errors stay discreet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from confide import ScoreCounts
from confide.errors import ColumnError, DataError, ScoreError
from tests.servers import running_server

ROWS = 3_000
RNG = np.random.default_rng(8)
LABELS = (RNG.random(ROWS) < 0.3).astype(int)
FRAME = pl.DataFrame(
    {
        "died": LABELS,
        "rounded": np.round(RNG.random(ROWS) + 0.3 * LABELS, 2),
        "distinct": RNG.standard_normal(ROWS) + LABELS,
        "times": RNG.integers(1, 4, ROWS),
        "share": RNG.integers(1, 8, ROWS) / 4,
        "outcome": np.where(LABELS == 1, "Poor", "Good"),
        "holes": np.where(RNG.random(ROWS) < 0.01, np.nan, 0.5),
    }
)


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    import ibis

    with running_server() as server:
        connection = ibis.connect(server.get_uri())
        connection.create_table("scores", FRAME.to_arrow())
        yield connection.table("scores")
        connection.disconnect()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "columns",
    [
        {"label": "died", "score": "rounded"},
        {"label": "died", "score": "distinct"},
        {"label": "died", "score": "rounded", "weight": "times"},
        {"label": "died", "score": "distinct", "weight": "times"},
        {"label": "died", "score": "rounded", "weight": "share"},
        {"label": "outcome", "score": "rounded", "positive": "Poor"},
    ],
)
def test_counts_are_the_same(table: Any, columns: dict[str, Any]) -> None:
    assert ScoreCounts.from_table(table, **columns) == ScoreCounts.from_frame(FRAME, **columns)


def test_bad_columns_are_refused(table: Any) -> None:
    with pytest.raises(ScoreError, match="NaN"):
        ScoreCounts.from_table(table, label="died", score="holes")
    with pytest.raises(ColumnError, match="Did you mean 'rounded'"):
        ScoreCounts.from_table(table, label="died", score="round")


def test_an_error_of_the_server_is_not_passed_on(table: Any) -> None:
    broken = table.mutate(score=table.outcome.cast("float64"))
    with pytest.raises(DataError, match="could not count") as caught:
        ScoreCounts.from_table(broken, label="died", score="score")
    assert "Poor" not in str(caught.value)
    assert "Good" not in str(caught.value)
    assert caught.value.__suppress_context__
