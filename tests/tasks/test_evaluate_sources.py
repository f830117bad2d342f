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
from confide.evaluation import evaluate as evaluation_module
from confide.examples import HEART_ATTACK
from confide.intervals import delong
from confide.metrics import precision_recall
from tests.cli.commands import confide as command_line

pytestmark = pytest.mark.commands

FRAME = pd.read_csv(HEART_ATTACK)
ONE: dict[str, Any] = {"label": "died", "score": "logistic"}
MANY: dict[str, Any] = {"label": "died", "score": ["logistic", "age_only"], "group": "sex"}

TABLES: dict[str, Any] = {
    "path": HEART_ATTACK,
    "text": str(HEART_ATTACK),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "lazy": pl.from_pandas(FRAME).lazy(),
    "arrow": pa.Table.from_pandas(FRAME),
    "ibis": ibis.memtable(FRAME),
}


@pytest.mark.parametrize("columns", [ONE, MANY], ids=["one score", "two scores and groups"])
@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_numbers(kind: str, columns: dict[str, Any]) -> None:
    expected = confide.evaluate(HEART_ATTACK, **columns).to_dict()
    assert confide.evaluate(TABLES[kind], **columns).to_dict() == expected


def test_arrays_give_the_same_numbers() -> None:
    expected = confide.evaluate(HEART_ATTACK, **MANY).to_dict()
    models = {name: FRAME[name].to_numpy() for name in MANY["score"]}
    for scores in (models, FRAME[MANY["score"]], pl.from_pandas(FRAME)[MANY["score"]]):
        found = confide.evaluate(FRAME["died"].to_numpy(), scores, groups=FRAME["sex"].to_numpy()).to_dict()
        assert found == expected


def test_weights_are_a_column_or_an_array(tmp_path: Path) -> None:
    frame = FRAME.assign(weight=np.arange(len(FRAME)) % 3 + 1)
    frame.to_csv(tmp_path / "weighted.csv", index=False)
    by_file = confide.evaluate(tmp_path / "weighted.csv", weight="weight", **ONE).to_dict()
    assert confide.evaluate(frame, weight="weight", **ONE).to_dict() == by_file
    by_array = confide.evaluate(frame["died"], frame["logistic"], weights=frame["weight"].to_numpy()).to_dict()
    assert by_array == by_file


@pytest.mark.parametrize("more", [(), ("-s", "age_only", "--group", "sex", "-t", "0.1", "-t", "0.3", "--level", "0.9")])
def test_the_command_line_prints_what_python_returns(more: tuple[str, ...]) -> None:
    answer = command_line("evaluate", HEART_ATTACK, "-l", "died", "-s", "logistic", *more, "--json")
    given: dict[str, Any] = {**MANY, "thresholds": [0.1, 0.3], "level": 0.9} if more else ONE
    assert json.loads(answer.out) == confide.evaluate(HEART_ATTACK, **given).to_dict()


def test_a_series_names_its_model() -> None:
    labels, scores = FRAME["died"], FRAME["logistic"]
    assert confide.evaluate(labels, scores).models[0].score == "logistic"
    assert confide.evaluate(labels, pl.Series("risk", scores.to_numpy())).models[0].score == "risk"
    assert confide.evaluate(labels, scores.to_numpy()).models[0].score == "score"
    assert confide.evaluate(labels, scores.rename(None)).models[0].score == "score"


def test_average_precision_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    score = precision_recall.average_precision_score

    def counted(counts: ScoreCounts) -> float:
        calls.append(counts)
        return score(counts)

    for module in (precision_recall, delong, evaluation_module):
        monkeypatch.setattr(module, "average_precision_score", counted)
    confide.evaluate(FRAME["died"], FRAME["logistic"])
    assert len(calls) == 1


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
