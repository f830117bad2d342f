"""Decimals of Parquet that DuckDB would read as other numbers are refused by their type."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from confide import ScoreCounts
from confide.errors import ColumnError


@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize(("label", "score"), [("died", "wide"), ("wide", "risk")])
def test_decimals_of_more_than_38_digits_are_refused(tmp_path: Path, label: str, score: str, one_class: bool) -> None:
    file = _written(tmp_path)
    with pytest.raises(ColumnError, match="'wide' has decimals of more than 38 digits"):
        ScoreCounts.from_table(file, label=label, score=score, one_class=one_class)


def test_other_columns_of_such_a_file_are_read(tmp_path: Path) -> None:
    counts = ScoreCounts.from_table(_written(tmp_path), label="died", score="risk", one_class=True)
    assert counts.scores.tolist() == [0.25, 1.5, 2.0]


def _written(folder: Path) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    wide = pa.array([Decimal("1.10"), Decimal("0"), Decimal("1")], pa.decimal256(60, 2))
    risk = pa.array([Decimal("1.50"), Decimal("0.25"), Decimal("2")], pa.decimal128(38, 2))
    pq.write_table(pa.table({"died": [1, 0, 1], "wide": wide, "risk": risk}), folder / "rows.parquet")
    return folder / "rows.parquet"
