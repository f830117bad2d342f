"""Hints about likely mistakes in exact evaluations."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import confide
from confide import metric_score
from confide.counts import ScoreCounts
from confide.errors import LabelError, ParameterError
from confide.sources.hints import check_thresholds, explaining_swaps, first_rows, look_swapped, score_hints
from confide.sources.labels import binary_labels


def counts(*scores: float) -> ScoreCounts:
    return ScoreCounts.from_arrays([index % 2 for index in range(len(scores))], scores)


RISKS = counts(0.1, 0.9, 0.4, 0.7)
PERCENTAGES = counts(10, 90, 40.5, 70)
LOGITS = counts(-2.0, 3.0, 0.5, 20.0)


@pytest.mark.parametrize(
    ("threshold", "hint"),
    [(20, "got 20. Did you mean 0.2?"), (1.5, "got 1.5. Did you mean 0.015?"), (200, "got 200."), (-1, "got -1.")],
)
def test_a_threshold_outside_the_scores_is_refused(threshold: float, hint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        check_thresholds([0.5, threshold], [RISKS, RISKS])
    assert str(caught.value).endswith(hint)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="got nan"):
        check_thresholds([float("nan")], [RISKS])


@pytest.mark.parametrize("threshold", [0, 0.2, 1])
def test_probabilities_are_taken(threshold: float) -> None:
    check_thresholds([threshold], [RISKS])


@pytest.mark.parametrize("models", [[PERCENTAGES], [LOGITS], [RISKS, PERCENTAGES]])
def test_other_scores_take_any_threshold(models: list[ScoreCounts]) -> None:
    check_thresholds([20, -3], models)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (counts(0.5, 0.5, 0.5), "the same score"),
        (counts(0, 1, 1, 0), "predicted classes"),
        (counts(-1, 1, 1, -1), "predicted classes"),
        (PERCENTAGES, "divide them by 100"),
    ],
)
def test_odd_scores_are_named(scores: ScoreCounts, words: str) -> None:
    (hint,) = score_hints("risk", scores)
    assert hint.startswith("risk ")
    assert words in hint


@pytest.mark.parametrize(
    "scores", [RISKS, LOGITS, counts(0.0, 1.0, 0.3, 0.4), counts(0.5, 8.0, 3.0), counts(5, 120, 30)]
)
def test_usual_scores_need_no_hint(scores: ScoreCounts) -> None:
    assert list(score_hints("risk", scores)) == []


def test_auc_of_two_values_is_what_the_hint_says() -> None:
    hard = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 0, 1])
    auc, recall, specificity = (metric_score(hard, name) for name in ("auc", "recall", "specificity"))
    assert auc == pytest.approx((recall + specificity) / 2)


def test_a_threshold_for_probabilities_is_small_beside_percentages() -> None:
    _, hint = score_hints("risk", PERCENTAGES, [0.2, 30])
    assert "did you mean 20?" in hint


@pytest.mark.parametrize(
    ("labels", "scores", "swapped"),
    [
        ([0.1, 0.5, 0.9], [0, 1, 1], True),
        ([0.1, 0.5, 0.9], ["no", "yes", "yes"], True),
        ([0, 1, 1], [0.1, 0.5, 0.9], False),
        ([0, 1, 2], [0.1, 0.5, 0.9], False),
        ([0, 1, 0], [0, 1, 1], False),
        (np.array([0.1, 0.5, 0.9]), np.array([False, True, True]), True),
    ],
)
def test_swapped_columns_are_told_by_their_values(labels: Any, scores: Any, swapped: bool) -> None:
    assert look_swapped(labels, scores) is swapped


def test_an_error_about_labels_says_that_they_look_swapped() -> None:
    risks, labels = [0.1, 0.5, 0.9], [0, 1, 1]
    advice, message = "give labels first", r"more than two values.*look swapped: give labels first"
    with pytest.raises(LabelError, match=message), explaining_swaps(lambda: (risks, labels), advice):
        binary_labels(risks)
    with pytest.raises(LabelError) as caught, explaining_swaps(lambda: (risks, risks), advice):
        binary_labels(risks)
    assert "swapped" not in str(caught.value)


def never() -> tuple[Any, Any]:
    raise AssertionError("columns were read again without an error")


def test_columns_are_read_again_after_an_error_alone() -> None:
    with explaining_swaps(never, ""):
        binary_labels([0, 1])
    with pytest.raises(ParameterError), explaining_swaps(never, ""):
        raise ParameterError("another one")


def as_file(frame: pd.DataFrame, folder: Path) -> object:
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


TABLES: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "file": as_file,
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "ibis": lambda frame, folder: ibis.memtable(frame),
}


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_every_table_are_read(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"died": [1, 0, 1], "risk": [0.9, 0.2, 0.4]})
    labels, scores = first_rows(TABLES[kind](frame, tmp_path), "risk", "died")
    assert sorted(labels) == [0.2, 0.4, 0.9]
    assert look_swapped(labels, scores)


def test_only_exact_evaluations_import_hints() -> None:
    """A hint depends on the rows: private releases, selections, training, prediction and sites give none."""
    package = Path(confide.__file__).parent
    importers = {
        str(file.relative_to(package).with_suffix(""))
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom | ast.Import) and "sources.hints" in ast.unparse(node)
    }
    assert importers
    assert all(name.startswith("evaluation/") or name == "tasks/evaluate" for name in importers)
