"""Whole weights that 64 bits cannot add up are refused in the same words, whichever the source; no sum wraps around."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from confide import ScoreCounts, evaluate
from confide.errors import ConfideError, ScoreError, WeightError
from tests.databases import in_file, on_server
from tests.servers import running_server
from tests.sources.readers import csv_text
from tests.sources.refusals import refused

ROWS = 400
LABELS = [place // 4 % 2 for place in range(ROWS)]
FEW = [place % 4 / 4 for place in range(ROWS)]
MANY = [place / ROWS for place in range(ROWS)]
SAYS = r"whole weights must not add up to more than 2\^61"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with running_server() as running:
        yield on_server(running.get_uri())


def columns(weight: int, scores: list[float]) -> dict[str, list[Any]]:
    return {"died": LABELS, "risk": scores, "times": [weight] * ROWS, "site": ["a", "b"] * (ROWS // 2)}


def refused_in_words(data: Any, **options: Any) -> None:
    with refused(WeightError, says=SAYS):
        evaluate(data, label="died", score="risk", replicates=0, **options)


@pytest.mark.few(1)
@pytest.mark.parametrize("scores", [FEW, MANY], ids=["few scores", "many scores"])
@pytest.mark.parametrize("weight", [2**53 + 1, 2**62, 2**63 - 1])
@pytest.mark.parametrize(
    "options", [{"weight": "times"}, {"survey_weight": "times"}, {"weight": "times", "group": "site"}]
)
def test_every_source_refuses_them(tmp_path: Path, weight: int, scores: list[float], options: dict[str, str]) -> None:
    rows = columns(weight, scores)
    (tmp_path / "rows.csv").write_text(csv_text(rows))
    lines = (json.dumps(dict(zip(rows, row, strict=True))) for row in zip(*rows.values(), strict=True))
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "rows.parquet")
    database = in_file(tmp_path / "heart.db")
    database.fill("scores", rows)
    files = [tmp_path / f"rows.{ending}" for ending in ("csv", "jsonl", "parquet")]
    for data in (frame, pd.DataFrame(rows), frame.to_arrow(), *files, database.table_url("scores")):
        refused_in_words(data, **options)


@pytest.mark.few(1)
@pytest.mark.parametrize("scores", [FEW, MANY], ids=["few scores", "many scores"])
@pytest.mark.parametrize("weight", [2**53 + 1, 2**63 - 1])
def test_postgresql_does_too(server: Any, weight: int, scores: list[float]) -> None:
    server.fill("scores", columns(weight, scores))
    refused_in_words(server.table_url("scores"), weight="times")
    refused_in_words(server.table_url("scores"), weight="times", group="site")


@pytest.mark.parametrize("weight", [2**63 + 1, 2**64 - 1])
def test_unsigned_numbers_that_no_signed_ones_hold(tmp_path: Path, weight: int) -> None:
    database = in_file(tmp_path / "heart.db")
    database.run(
        f"CREATE TABLE scores AS SELECT i % 2 AS died, i / 9 AS risk, {weight}::UBIGINT AS times FROM range(9) s(i)"  # noqa: S608
    )
    refused_in_words(database.table_url("scores"), weight="times")
    refused_in_words(pl.DataFrame(columns(weight, FEW), schema_overrides={"times": pl.UInt64}), weight="times")


@pytest.mark.parametrize("weight", [2**62 + 1, 2**64 + 1, 10**400])
def test_python_has_integers_of_any_size(weight: int) -> None:
    """Four times `2**62 + 1` is 4 in 64 bits: such counts were taken for true."""
    with refused(WeightError, says=SAYS):
        ScoreCounts.from_arrays([0, 1, 1, 1, 1], [0.1, 0.5, 0.5, 0.5, 0.5], [1, *[weight] * 4])
    with refused(WeightError, says=SAYS):
        evaluate(LABELS, MANY, weights=[weight] * ROWS)
    refused_in_words(pd.DataFrame(columns(weight, MANY)), weight="times")


def test_integers_of_128_bits_are_numbers() -> None:
    frame = pl.DataFrame(columns(1, MANY)).with_columns(pl.col("times").cast(pl.Int128), pl.col("died").cast(pl.Int128))
    found = evaluate(frame, label="died", score="risk", weight="times", replicates=0)
    assert found.models[0].auc.value == evaluate(LABELS, MANY, replicates=0).models[0].auc.value


def test_floats_may_be_as_large(tmp_path: Path) -> None:
    database = in_file(tmp_path / "heart.db")
    database.fill("scores", {**columns(1, FEW), "times": [2.0**70] * ROWS})
    found = evaluate(database.table_url("scores"), label="died", score="risk", weight="times", replicates=0)
    assert found.models[0].auc.value == evaluate(LABELS, FEW, weights=np.full(ROWS, 2.0**70)).models[0].auc.value


def test_scores_too_large_for_a_float_are_refused() -> None:
    with refused(ScoreError, says="too large"):
        evaluate([0, 1], [10**400, 1])
    with pytest.raises(ConfideError):
        evaluate([0, 1], [0.1, 0.5], weights=[10**400, 1.5])
