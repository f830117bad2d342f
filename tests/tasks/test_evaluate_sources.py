"""`confide.evaluate` gives the same numbers for arrays, files, dataframes, Ibis tables and counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import confide
from confide import ScoreCounts
from confide.errors import ColumnError, ConfideError, LabelError, ParameterError, ScoreError
from confide.examples import HEART_ATTACK
from tests.cli.commands import confide as command_line

FRAME = pd.read_csv(HEART_ATTACK)
ONE: dict[str, Any] = {"label": "died", "score": "logistic", "replicates": 0}
MANY: dict[str, Any] = {**ONE, "score": ["logistic", "age_only"], "group": "sex"}


def numbers(evaluation: confide.Evaluation) -> dict[str, Any]:
    """The evaluation as plain data without its provenance, which depends on the source."""
    return {key: value for key, value in evaluation.to_dict().items() if key != "provenance"}


TABLES: dict[str, Any] = {
    "path": HEART_ATTACK,
    "text": str(HEART_ATTACK),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "lazy": pl.from_pandas(FRAME).lazy(),
    "arrow": pa.Table.from_pandas(FRAME),
    "ibis": ibis.memtable(FRAME),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [ONE, MANY], ids=["one score", "two scores and groups"])
@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_numbers(kind: str, columns: dict[str, Any]) -> None:
    expected = numbers(confide.evaluate(HEART_ATTACK, **columns))
    assert numbers(confide.evaluate(TABLES[kind], **columns)) == expected


def test_arrays_give_the_same_numbers() -> None:
    expected = numbers(confide.evaluate(HEART_ATTACK, **MANY))
    models = {name: FRAME[name].to_numpy() for name in MANY["score"]}
    for scores in (models, FRAME[MANY["score"]], pl.from_pandas(FRAME)[MANY["score"]]):
        found = numbers(
            confide.evaluate(FRAME["died"].to_numpy(), scores, groups={"sex": FRAME["sex"].to_numpy()}, replicates=0)
        )
        assert found == expected


def test_weights_are_a_column_or_an_array(tmp_path: Path) -> None:
    frame = FRAME.assign(weight=np.arange(len(FRAME)) % 3 + 1)
    frame.to_csv(tmp_path / "weighted.csv", index=False)
    by_file = numbers(confide.evaluate(tmp_path / "weighted.csv", weight="weight", **ONE))
    assert numbers(confide.evaluate(frame, weight="weight", **ONE)) == by_file
    by_array = numbers(
        confide.evaluate(frame["died"], frame["logistic"], weights=frame["weight"].to_numpy(), replicates=0)
    )
    assert by_array == by_file


@pytest.mark.parametrize("more", [(), ("-s", "age_only", "--group", "sex", "-t", "0.1", "-t", "0.3", "--level", "0.9")])
def test_the_command_line_prints_what_python_returns(more: tuple[str, ...]) -> None:
    answer = command_line(
        "evaluate", HEART_ATTACK, "-l", "died", "-s", "logistic", "--replicates", "0", *more, "--json"
    )
    given: dict[str, Any] = {**MANY, "thresholds": [0.1, 0.3], "level": 0.9} if more else ONE
    found = {key: value for key, value in json.loads(answer.out).items() if key != "provenance"}
    assert found == numbers(confide.evaluate(HEART_ATTACK, **given))


@pytest.mark.long
def test_a_series_names_its_model() -> None:
    labels, scores = FRAME["died"], FRAME["logistic"]
    assert confide.evaluate(labels, scores).models[0].score == "logistic"
    assert confide.evaluate(labels, pl.Series("risk", scores.to_numpy())).models[0].score == "risk"
    assert confide.evaluate(labels, scores.to_numpy()).models[0].score == "score"
    assert confide.evaluate(labels, scores.rename(None)).models[0].score == "score"


@pytest.mark.parametrize(
    ("arguments", "given", "error", "message"),
    [
        ((HEART_ATTACK,), {}, ParameterError, "give `label` and `score`"),
        ((FRAME,), {"label": "died"}, ParameterError, "give `label` and `score`"),
        ((FRAME, FRAME["logistic"]), ONE, ParameterError, "`scores` is for arrays"),
        ((FRAME,), {**ONE, "weights": [1] * len(FRAME)}, ParameterError, "`weights` is for arrays"),
        (([0, 1], [0.1, 0.2]), {"label": "died"}, ParameterError, "`label` is for tables"),
        (([0, 1],), {}, ParameterError, "scores are needed"),
        (([0, 1], {}), {}, ParameterError, "at least one model"),
        ((FRAME,), {"label": "died", "score": ["logistic", "logistic"]}, ParameterError, "named twice"),
        ((FRAME,), {"label": "died", "score": "died"}, ParameterError, "both label and score"),
        ((FRAME,), {"label": "died", "score": "logistics"}, ColumnError, "Did you mean 'logistic'"),
        ((FRAME,), {**ONE, "level": 1.5}, ParameterError, "level"),
        ((FRAME.assign(died=None),), ONE, LabelError, "missing"),
        ((FRAME.assign(logistic=np.nan),), ONE, ScoreError, "missing"),
        ((ScoreCounts.from_arrays([0, 1], [0.1, 0.2]),), {"label": "died"}, ParameterError, "beside a ScoreCounts"),
        (("nowhere.csv",), ONE, ConfideError, "does not exist"),
    ],
)
def test_wrong_calls_are_explained(
    arguments: tuple[Any, ...], given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        confide.evaluate(*arguments, **given)
