"""Missing scores are refused, or dropped and counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import confide
from confide.errors import DataError
from tests.evaluation.design_rows import CLUSTERS, FIRST, LABELS, PLACES, SECOND, SIZE


def frames() -> Mapping[str, Callable[[list[float | None]], Any]]:
    import pandas
    import polars

    return {
        "list": lambda values: [math.nan if value is None else value for value in values],
        "list with None": lambda values: np.array(values, dtype=object),
        "pandas NaN": lambda values: pandas.Series(values, dtype="float64"),
        "pandas NA": lambda values: pandas.Series(values, dtype="Float64"),
        "polars null": lambda values: polars.Series(values, dtype=polars.Float64),
        "polars NaN": lambda values: polars.Series([math.nan if value is None else value for value in values]),
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", frames())
def test_missing_scores_are_refused_or_dropped_and_counted(kind: str) -> None:
    holes = [None if place in (3, 17) else float(score) for place, score in enumerate(FIRST)]
    others = [None if place in (17, 40, 41) else float(score) for place, score in enumerate(SECOND)]
    series = frames()[kind]
    scores = {"a": series(holes), "b": series(others)}
    with pytest.raises(DataError):
        confide.evaluate(LABELS, scores, replicates=0)
    found = confide.evaluate(LABELS, scores, clusters=CLUSTERS, groups=PLACES % 2, missing="drop", replicates=0)
    assert found.missing is not None
    assert found.missing.to_dict() == {"rows": 4, "by_score": {"a": 2, "b": 3}}
    kept = ~np.isin(PLACES, (3, 17, 40, 41))
    expected = confide.evaluate(
        LABELS[kept],
        {"a": FIRST[kept], "b": SECOND[kept]},
        clusters=CLUSTERS[kept],
        groups=PLACES[kept] % 2,
        replicates=0,
    )
    assert found.models == expected.models
    assert (found.groups, found.comparisons) == (expected.groups, expected.comparisons)


@pytest.mark.parametrize("reader", ["csv", "pandas", "polars", "parquet"])
@pytest.mark.parametrize("score", ["a", ["a", "b"]])
def test_missing_scores_of_tables_are_dropped_and_counted(tmp_path: Any, reader: str, score: Any) -> None:
    import pandas
    import polars

    frame = pandas.DataFrame({"y": LABELS.astype(int), "a": FIRST, "b": SECOND})
    frame.loc[[3, 17], "a"] = np.nan
    frame.loc[[17, 40], "b"] = np.nan
    table: Any = frame
    if reader == "csv":
        frame.to_csv(tmp_path / "rows.csv", index=False)
        table = tmp_path / "rows.csv"
    elif reader == "parquet":
        frame.to_parquet(tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    elif reader == "polars":
        table = polars.from_pandas(frame)
    with pytest.raises(DataError):
        confide.evaluate(table, label="y", score=score, replicates=0)
    found = confide.evaluate(table, label="y", score=score, missing="drop", replicates=0)
    names = [score] if isinstance(score, str) else score
    kept = frame.dropna(subset=names)
    assert found.missing is not None
    assert found.missing.to_dict() == {
        "rows": SIZE - len(kept), "by_score": dict.fromkeys(names, 2),
    }  # fmt: skip
    assert found.rows == len(kept)
    expected = confide.evaluate(kept["y"].to_numpy(), {name: kept[name].to_numpy() for name in names}, replicates=0)
    assert [model.to_dict() for model in found.models] == [model.to_dict() for model in expected.models]


def test_rows_that_all_lack_a_score_are_refused() -> None:
    with pytest.raises(DataError, match="every row lacks a score"):
        confide.evaluate(LABELS, np.full(SIZE, math.nan), missing="drop")
