"""Rows without a score are dropped before labels and weights are checked, whichever the source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from confide import Evaluation, evaluate
from confide.errors import DataError, LabelError, WeightError
from tests.databases import in_file, on_server
from tests.servers import running_server
from tests.sources.readers import Columns, arrow, csv_text
from tests.sources.refusals import refused

KEPT: Columns = {"died": [0, 1, 1, 0, 1, 0], "risk": [0.1, 0.7, 0.9, 0.4, 0.3, 0.2], "times": [1, 2, 1, 3, 1, 1]}
Source = Callable[[Columns, Path], Any]


def with_row(died: object, times: object = 1) -> Columns:
    """Return the rows with one more, which has no score."""
    more = {"died": died, "risk": None, "times": times}
    return {name: [*values[:2], more[name], *values[2:]] for name, values in KEPT.items()}


def in_csv(columns: Columns, folder: Path) -> Path:
    (folder / "rows.csv").write_text(csv_text(columns))
    return folder / "rows.csv"


def in_json(columns: Columns, folder: Path) -> Path:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


def in_parquet(columns: Columns, folder: Path) -> Path:
    pq.write_table(arrow(columns), folder / "rows.parquet")
    return folder / "rows.parquet"


def in_duckdb(columns: Columns, folder: Path) -> str:
    database = in_file(folder / "heart.db")
    database.fill("scores", columns)
    return database.table_url("scores")


SOURCES: dict[str, Source] = {
    "pandas": lambda columns, _: pd.DataFrame(dict(columns)),
    "pandas nullable": lambda columns, _: pd.DataFrame(dict(columns)).convert_dtypes(),
    "Polars": lambda columns, _: pl.DataFrame(dict(columns)),
    "Polars lazy": lambda columns, _: pl.DataFrame(dict(columns)).lazy(),
    "PyArrow": lambda columns, _: arrow(columns),
    "CSV": in_csv,
    "JSON lines": in_json,
    "Parquet": in_parquet,
    "Ibis memory": lambda columns, _: ibis.memtable(arrow(columns)),
    "DuckDB": in_duckdb,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with running_server() as running:
        yield on_server(running.get_uri())


@pytest.fixture(params=[*SOURCES, "PostgreSQL"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Columns], Any]:
    if request.param == "PostgreSQL":
        database = request.getfixturevalue("server")

        def filled(columns: Columns) -> str:
            database.fill("scores", columns)
            return str(database.table_url("scores"))

        return filled
    return lambda columns: SOURCES[request.param](columns, tmp_path)


def evaluated(data: Any, **options: Any) -> Evaluation:
    return evaluate(data, label="died", score="risk", replicates=0, **options)


@pytest.mark.few(5)
@pytest.mark.parametrize("label", [2, None])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_label_of_a_row_without_a_score_does_not_matter(
    source: Callable[[Columns], Any], label: int | None, grouped: bool
) -> None:
    columns = with_row(label)
    options: dict[str, Any] = {"group": "times"} if grouped else {}
    found, wanted = evaluated(source(columns), missing="drop", **options), evaluated(pl.DataFrame(KEPT), **options)
    assert found.missing is not None
    assert found.missing.to_dict() == {"rows": 1, "by_score": {"risk": 1}}
    assert found.rows == wanted.rows == 6
    assert [model.to_dict() for model in found.models] == [model.to_dict() for model in wanted.models]
    with pytest.raises(DataError):
        evaluated(source(columns))


@pytest.mark.few(8)
@pytest.mark.parametrize("times", [0, None, 2**62])
def test_the_weight_of_a_row_without_a_score_does_not_matter(
    source: Callable[[Columns], Any], times: int | None
) -> None:
    found = evaluated(source(with_row(1, times)), weight="times", missing="drop")
    wanted = evaluated(pl.DataFrame(KEPT), weight="times")
    assert [model.to_dict() for model in found.models] == [model.to_dict() for model in wanted.models]


@pytest.mark.few(1)
def test_labels_and_weights_of_other_rows_are_checked(source: Callable[[Columns], Any]) -> None:
    columns = with_row(1)
    without_label = {**columns, "died": [0, None, *columns["died"][2:]]}
    with refused(LabelError, says="column 'died'.*missing"):
        evaluated(source(without_label), missing="drop")
    third = {**columns, "died": [0, 2, *columns["died"][2:]]}
    with refused(LabelError, says="more than two values"):
        evaluated(source(third), missing="drop")
    with refused(WeightError, says="zero"):
        evaluated(source({**columns, "times": [1, 0, *columns["times"][2:]]}), weight="times", missing="drop")


def test_arrays_follow_the_same_rule() -> None:
    columns = with_row(2, 0)
    died, risk, times = (np.array(columns[name], dtype=float) for name in ("died", "risk", "times"))
    found = evaluate(died, risk, weights=times, missing="drop", replicates=0)
    wanted = evaluate(np.array(KEPT["died"]), np.array(KEPT["risk"]), weights=np.array(KEPT["times"]), replicates=0)
    assert found.models[0].auc.value == wanted.models[0].auc.value


def test_a_table_without_rows_is_refused_as_such(tmp_path: Path) -> None:
    database = in_file(tmp_path / "heart.db")
    database.run("CREATE TABLE scores (died int, risk double)")
    frame = pl.DataFrame(schema={"died": pl.Int64, "risk": pl.Float64})
    for data in (database.table_url("scores"), frame):
        with refused(DataError if isinstance(data, str) else LabelError, says="no rows"):
            evaluated(data, missing="drop")
