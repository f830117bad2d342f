"""Rows that cannot be evaluated are refused by every source in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import confide
from confide import ScoreCounts
from confide.errors import (
    ColumnError,
    ConfideError,
    DataError,
    LabelError,
    OneClassError,
    ParameterError,
    ScoreError,
    WeightError,
)
from tests.sources.readers import ARRAYS, FRAMES, NAMED, READERS, TABLES, Columns, Names
from tests.sources.refusals import refused

# Values that no message would hold by chance.
SCORES = [0.31771, 0.52613, 0.77417, 0.18803]
LABELS = [0, 1, 1, 0]
WEIGHTS = [7.40717, 6.30719, 5.20727, 4.10733]
WORDS = ["zebra", "quagga", "quagga", "zebra"]


PLAIN = Names()


@dataclass(frozen=True)
class Bad:
    """Columns that must be refused."""

    columns: Columns
    error: type[ConfideError]
    names: Names = PLAIN
    says: str | None = None

    def private(self) -> list[object]:
        """The values that must not be shown; 0, 1 and what is not a value are no secret."""
        values = {value for column in self.columns.values() for value in column if isinstance(value, float | int | str)}
        return [value for value in values if value not in (0, 1) and value == value and abs_finite(value)]


def abs_finite(value: object) -> bool:
    return isinstance(value, str) or math.isfinite(float(value))  # type: ignore[arg-type]


def with_score(odd: object) -> Columns:
    return {"label": LABELS, "score": [*SCORES[:3], odd]}


def with_label(odd: object, labels: list[Any] = LABELS) -> Columns:
    return {"label": [*labels[:3], odd], "score": SCORES}


def with_weight(odd: object) -> Columns:
    return {"label": LABELS, "score": SCORES, "share": [*WEIGHTS[:3], odd]}


SHARE = Names(weight="share")
BAD: dict[str, Bad] = {
    "one class": Bad({"label": [1] * 4, "score": SCORES}, OneClassError, says="same label"),
    "one class in words": Bad({"label": ["zebra"] * 4, "score": SCORES}, OneClassError),
    "NaN score": Bad(with_score(math.nan), ScoreError),
    "infinite score": Bad(with_score(math.inf), ScoreError),
    "minus infinite score": Bad(with_score(-math.inf), ScoreError),
    "missing score": Bad(with_score(None), ScoreError, says="missing"),
    "scores in words": Bad({"label": LABELS, "score": ["lowish", "highish", "highish", "lowish"]}, ScoreError),
    "three labels": Bad({"label": [0, 1, 2_718_281, 0], "score": SCORES}, LabelError, says="two values"),
    "three words": Bad(with_label("okapi", WORDS), LabelError, Names(positive="quagga"), says="more than two values"),
    "missing label": Bad(with_label(None), LabelError, says="missing"),
    "missing word": Bad(with_label(None, WORDS), LabelError, Names(positive="quagga"), says="missing"),
    "which is positive": Bad({"label": WORDS, "score": SCORES}, LabelError, says="positive"),
    "which number is positive": Bad({"label": [3, 5, 5, 3], "score": SCORES}, LabelError, says="positive"),
    "a positive that is not there": Bad(
        {"label": WORDS, "score": SCORES}, ParameterError, Names(positive="Quagga"), says="letter case"
    ),
    "negative weight": Bad(with_weight(-1.70711), WeightError, SHARE, says="negative"),
    "weight of zero": Bad(with_weight(0.0), WeightError, SHARE, says="zero"),
    "NaN weight": Bad(with_weight(math.nan), WeightError, SHARE),
    "infinite weight": Bad(with_weight(math.inf), WeightError, SHARE),
    "missing weight": Bad(with_weight(None), WeightError, SHARE, says="missing"),
    "negative whole weight": Bad(
        {"label": LABELS, "score": SCORES, "share": [2, 3, 4, -7_310]}, WeightError, SHARE, says="negative"
    ),
    "whole weight of zero": Bad(
        {"label": LABELS, "score": SCORES, "share": [2_201, 3_302, 4_403, 0]}, WeightError, SHARE, says="zero"
    ),
    "weights in words": Bad({"label": LABELS, "score": SCORES, "share": ["heavy", "light"] * 2}, WeightError, SHARE),
}


@pytest.mark.few(30)
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("source", READERS)
def test_refused(source: str, case: str, tmp_path: Path) -> None:
    bad = BAD[case]
    private = [value for value in bad.private() if value != bad.names.positive]
    with refused(bad.error, private=private, says=bad.says):
        READERS[source](bad.columns, bad.names, tmp_path)


@pytest.mark.parametrize(
    ("source", "kind"),
    [(source, "text") for source in sorted(set(READERS) - {"CSV", "CSV.gz"})]
    + [(source, "dates") for source in sorted(set(READERS) - {"CSV", "CSV.gz", "JSON lines"})],
)
def test_scores_of_another_type_are_refused(source: str, kind: str, tmp_path: Path) -> None:
    """Text stays text even where it could be read as a number; only a CSV file knows nothing but text."""
    texts, dates = [str(score) for score in SCORES], [date(2020, 1, day) for day in range(1, 5)]
    scores: list[Any] = texts if kind == "text" else dates
    with refused(ScoreError, private=SCORES, says="numbers"):
        READERS[source]({"label": LABELS, "score": scores}, Names(), tmp_path)


@pytest.mark.parametrize("source", sorted(set(READERS) - {"CSV", "CSV.gz", "JSON lines"}))
def test_no_rows_are_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        READERS[source]({"label": [], "score": []}, Names(), tmp_path)


@pytest.mark.parametrize("source", NAMED)
@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (Names(label="lable"), "Did you mean 'label'"),
        (Names(score="SCORES"), "Did you mean 'score'"),
        (Names(weight="wieght"), "Did you mean 'weight'"),
        (Names(score="probability"), "Check the name"),
    ],
)
def test_unknown_columns_are_refused(source: str, names: Names, hint: str, tmp_path: Path) -> None:
    columns: Columns = {"label": LABELS, "score": SCORES, "weight": WEIGHTS}
    with refused(ColumnError, private=[*SCORES, *WEIGHTS], says=hint):
        NAMED[source](columns, names, tmp_path)


@pytest.mark.parametrize("source", ARRAYS)
@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"label": LABELS, "score": SCORES[:3]}, Names()),
        ({"label": LABELS[:3], "score": SCORES}, Names()),
        ({"label": LABELS, "score": SCORES, "share": WEIGHTS[:3]}, SHARE),
    ],
)
def test_lengths_that_differ_are_refused(source: str, columns: Columns, names: Names, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="length") as caught:
        READERS[source](columns, names, tmp_path)
    # How many rows there are is a count of the data.
    assert not any(character.isdigit() for character in str(caught.value))


@pytest.mark.parametrize(
    ("labels", "scores", "weights"),
    [
        (np.zeros((2, 2)), [0.1, 0.2], None),
        ([0, 1], np.zeros((2, 2)), None),
        ([0, 1], 0.5, None),
        ([0, 1], [0.1, 0.2], np.ones((2, 1))),
    ],
)
def test_arrays_of_other_shapes_are_refused(labels: Any, scores: Any, weights: Any) -> None:
    with pytest.raises(ParameterError, match="one-dimensional"):
        ScoreCounts.from_arrays(labels, scores, weights)


def test_ragged_lists_are_refused() -> None:
    with pytest.raises(ConfideError):
        ScoreCounts.from_arrays([0, 1, 1], [[0.1], [0.2, 0.3], 0.4])  # type: ignore[arg-type]


def test_missing_labels_of_pandas_in_a_list_are_refused() -> None:
    with refused(LabelError, private=SCORES, says="missing"):
        ScoreCounts.from_arrays([0, 1, pd.NA, 0], SCORES)  # type: ignore[arg-type]


def test_masked_scores_are_missing() -> None:
    with refused(ScoreError, private=SCORES):
        ScoreCounts.from_arrays(LABELS, np.ma.masked_array(SCORES, [False, False, True, False]))


def test_complex_scores_are_refused() -> None:
    with refused(ScoreError, says="numbers"):
        ScoreCounts.from_arrays(LABELS, np.array(SCORES) + 1j)


@pytest.mark.parametrize("frame", [[1, 2], 12, "rows", None, np.zeros((2, 2))])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with refused(ParameterError, says="dataframe"):
        ScoreCounts.from_frame(frame, label="label", score="score")


@pytest.mark.parametrize("table", [[1, 2], 12, None, pd.DataFrame({"label": LABELS, "score": SCORES})])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with refused(ParameterError, private=SCORES, says="from_frame"):
        ScoreCounts.from_table(table, label="label", score="score")


@pytest.mark.parametrize("source", ["pandas", "CSV"])
def test_a_column_name_must_be_text(source: str, tmp_path: Path) -> None:
    with pytest.raises(ConfideError):
        NAMED[source]({"label": LABELS, "score": SCORES}, Names(label=1), tmp_path)  # type: ignore[arg-type]


def test_frames_whose_columns_are_numbered() -> None:
    frame = pd.DataFrame([[0, 0.31771], [1, 0.52613]])
    assert ScoreCounts.from_frame(frame, label=0, score=1) == ScoreCounts.from_arrays([0, 1], [0.31771, 0.52613])  # type: ignore[arg-type]
    with refused(ColumnError, private=SCORES):
        ScoreCounts.from_frame(frame, label="label", score="score")


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[0, 0.1, 0.2], [1, 0.3, 0.4]], columns=["label", "score", "score"])
    with pytest.raises(ConfideError):
        ScoreCounts.from_frame(frame, label="label", score="score")


def test_every_reader_is_under_contract() -> None:
    assert set(READERS) == {*ARRAYS, *FRAMES, *TABLES}


MODELS = {"first": SCORES, "second": [0.61187, 0.29311, 0.93719, 0.44453]}


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "wordy"])
def test_comparison_refuses_bad_scores_of_any_model(bad: object) -> None:
    for model in MODELS:
        scores = {**MODELS, model: [*MODELS[model][:3], bad]}
        for function in (confide.intervals.compare_aucs, confide.evaluate):
            with refused(ScoreError, private=[*SCORES, *MODELS["second"], "wordy"]):
                function(LABELS, scores)  # type: ignore[arg-type]


def test_comparison_refuses_other_lengths() -> None:
    for function in (confide.intervals.compare_aucs, confide.evaluate):
        with pytest.raises(ParameterError, match="'second'"):
            function(LABELS, {**MODELS, "second": SCORES[:3]})
    with pytest.raises(ParameterError, match="two or more models"):
        confide.intervals.compare_aucs(LABELS, {"first": SCORES})


def test_two_models_of_one_name_are_told_so() -> None:
    with pytest.raises(ParameterError, match="name"):
        confide.compare_auc(LABELS, *MODELS.values(), names=("same", "same"))


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, math.nan, "0.95"])
def test_levels_are_refused(level: Any) -> None:
    counts = ScoreCounts.from_arrays([0, 0, 1, 1], SCORES)
    calls: list[Callable[[], object]] = [
        lambda: confide.delong_interval(counts, level=level),
        lambda: confide.intervals.logit_interval(counts, level=level),
        lambda: confide.intervals.binomial_interval(counts, level=level),
        lambda: confide.intervals.hanley_mcneil_interval(counts, level=level),
        lambda: confide.intervals.bootstrap_estimate(counts, level=level),
        lambda: confide.intervals.cross_validation_estimate([counts, counts], level=level),
        lambda: confide.compare_auc(LABELS, *MODELS.values(), level=level),
        lambda: confide.intervals.compare_auc_unpaired(counts, counts, level=level),
        lambda: confide.intervals.curve_bands(counts, level=level),
        lambda: confide.evaluate(LABELS, SCORES, level=level),
        lambda: confide.evaluate(counts, level=level),
    ]
    for call in calls:
        with refused(ParameterError, private=SCORES, says="level"):
            call()
