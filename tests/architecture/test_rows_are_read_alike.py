"""Every public function reads labels, scores and groups alike, and refuses bad ones with a next step.

`CALLS` says how to hand rows to each exported function, and `WITHOUT_ROWS` names the exports that take none. An export
that is in neither fails the test, so that none is forgotten.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

from confide import ScoreCounts
from confide.errors import ConfideError

pytestmark = pytest.mark.filterwarnings("ignore::confide.errors.SmallSampleWarning")

ROOMS = ("confide", "confide.intervals", "confide.metrics", "confide.curves")
SIZE = 80


@dataclass(frozen=True)
class Given:
    """Rows as a user hands them over."""

    labels: Any
    scores: Any
    others: Any
    groups: Any
    weights: Any = None

    @property
    def counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores, self.weights)


def drawn() -> Given:
    rng = np.random.default_rng(11)
    scores = rng.beta(2.0, 3.0, SIZE).round(3)
    labels = rng.random(SIZE) < scores
    groups = np.repeat(np.arange(8), SIZE // 8)
    return Given(labels, scores, np.clip(scores + rng.normal(0.0, 0.1, SIZE), 0.01, 0.99), groups)


ROWS = drawn()

Call = Callable[[Callable[..., Any], Given], Any]


def of_predictions(*args: Any, **options: Any) -> Call:
    """Call a function of counts with labels and scores in their place."""

    def call(function: Callable[..., Any], rows: Given) -> Any:
        weight = {} if rows.weights is None else {"sample_weight": rows.weights}
        return function(rows.labels, rows.scores, *args, **weight, **options)

    return call


def of_rows(*names: str, **options: Any) -> Call:
    """Call a function with parts of the rows by position, and weights by name."""

    def call(function: Callable[..., Any], rows: Given) -> Any:
        weight = {} if rows.weights is None else {"weights": rows.weights}
        return function(*(getattr(rows, name, name) for name in names), **weight, **options)

    return call


def of_models(*args: Any, **options: Any) -> Call:
    def call(function: Callable[..., Any], rows: Given) -> Any:
        weight = {} if rows.weights is None else {"weights": rows.weights}
        return function(rows.labels, {"a": rows.scores, "b": rows.others}, *args, **weight, **options)

    return call


def clustered_models(function: Callable[..., Any], rows: Given) -> Any:
    return function(rows.labels, {"a": rows.scores, "b": rows.others}, rows.groups, weights=rows.weights)


def unpaired_curves(function: Callable[..., Any], rows: Given) -> Any:
    return function((rows.labels, rows.scores), (rows.labels, rows.others), permutations=100, rng=1)


def survey(function: Callable[..., Any], rows: Given) -> Any:
    weights = np.arange(1.0, SIZE + 1.0) if rows.weights is None else rows.weights
    return function("auc", rows.labels, rows.scores, weights, clusters=rows.groups)


def two_counts(function: Callable[..., Any], rows: Given) -> Any:
    return function(rows.counts, ROWS.counts)


PLAIN = of_predictions()

CALLS: Mapping[str, Call] = {
    "confide.ScoreCounts.from_arrays": lambda function, rows: function(rows.labels, rows.scores, rows.weights),
    "confide.RocCurveDisplay.from_predictions": PLAIN,
    "confide.PrecisionRecallDisplay.from_predictions": PLAIN,
    "confide.CalibrationDisplay.from_predictions": PLAIN,
    "confide.DecisionCurveDisplay.from_predictions": PLAIN,
    "confide.evaluate": lambda function, rows: function(
        rows.labels,
        {"a": rows.scores, "b": rows.others},
        groups={"group": rows.groups},
        replicates=0,
        weights=rows.weights,
    ),
    **{
        f"confide.{name}": PLAIN
        for name in [
            "auc_score",
            "aucpr_score",
            "average_precision_score",
            "brier_score",
            "log_loss",
            "pr_curve",
            "roc_curve",
            "delong_interval",
        ]
    },
    "confide.bootstrap_interval": of_predictions("auc", replicates=100, rng=1),
    "confide.confusion_matrix": of_predictions(0.5),
    "confide.metric_score": of_predictions("auc"),
    "confide.compare_auc": of_rows("labels", "scores", "others"),
    "confide.intervals.against_rest": of_rows("labels", "scores", "groups", "brier"),
    "confide.intervals.binomial_interval": PLAIN,
    "confide.intervals.binormal_interval": PLAIN,
    "confide.intervals.bootstrap_estimate": of_predictions("auc", replicates=100, rng=1),
    "confide.intervals.bootstrap_interval": of_predictions("auc", replicates=100, rng=1),
    "confide.intervals.cluster_codes": of_rows("groups"),
    "confide.intervals.cluster_estimate": of_rows("labels", "scores", "groups", "auc"),
    "confide.intervals.compare_auc": of_rows("labels", "scores", "others"),
    "confide.intervals.compare_auc_unpaired": two_counts,
    "confide.intervals.compare_aucs": of_models(),
    "confide.intervals.compare_aucs_clustered": clustered_models,
    "confide.intervals.compare_curves": of_rows("labels", "scores", "others", permutations=100, rng=1),
    "confide.intervals.compare_curves_unpaired": unpaired_curves,
    "confide.intervals.compare_models": of_models("brier"),
    "confide.intervals.cross_validated_auc": of_rows("labels", "scores", "groups"),
    "confide.intervals.cross_validation_estimate": lambda function, rows: function([rows.counts, ROWS.counts], "auc"),
    "confide.intervals.cross_validation_interval": lambda function, rows: function([rows.counts, ROWS.counts], "auc"),
    "confide.intervals.curve_bands": of_predictions(replicates=100, rng=1),
    "confide.intervals.decision_bands": PLAIN,
    "confide.intervals.delong_interval": PLAIN,
    "confide.intervals.delong_variance": PLAIN,
    "confide.intervals.estimate": of_predictions("calibration_slope"),
    "confide.intervals.estimates": of_predictions(["brier", "auc"]),
    "confide.intervals.fold_estimate": of_rows("labels", "scores", "groups", "average_precision"),
    "confide.intervals.hanley_mcneil_interval": PLAIN,
    "confide.intervals.logit_interval": PLAIN,
    "confide.intervals.rank_summary": of_rows("labels", "scores"),
    "confide.intervals.split_folds": lambda function, rows: function(rows.counts, 2, 1),
    "confide.intervals.survey_estimate": survey,
    **{
        f"confide.metrics.{name}": PLAIN
        for name in [
            "auc_score",
            "aucnpr_score",
            "aucpr_minimum",
            "aucpr_score",
            "average_precision_minimum",
            "average_precision_score",
            "brier_score",
            "calibration_e50",
            "calibration_e90",
            "calibration_emax",
            "calibration_errors",
            "calibration_intercept",
            "calibration_slope",
            "cost_threshold",
            "expected_calibration_error",
            "hull_auc_score",
            "integrated_calibration_index",
            "joint_intercept",
            "log_loss",
            "normalised_average_precision_score",
            "observed_expected_ratio",
            "scaled_brier_score",
            "youden_index",
            "youden_threshold",
        ]
    },
    "confide.metrics.partial_auc_score": of_predictions(specificity=(0.5, 1.0)),
    "confide.metrics.confusion_matrix": of_predictions(0.5),
    "confide.metrics.mean_over_parts": lambda function, rows: function([rows.counts, ROWS.counts]),
    "confide.metrics.metric_score": of_predictions("auc"),
    **{
        f"confide.curves.{name}": PLAIN
        for name in [
            "decision_curve",
            "pr_curve",
            "reliability_bins",
            "roc_curve",
            "roc_hull",
            "smooth_calibration",
            "smooth_roc",
        ]
    },
}

WITHOUT_ROWS = frozenset(
    {
        # results, settings and errors
        *[
            "confide.BudgetError",
            "confide.ConfideError",
            "confide.ConfideWarning",
            "confide.LedgerError",
            "confide.Estimate",
        ],
        *[
            "confide.Evaluation",
            "confide.Grid",
            "confide.Guarantee",
            "confide.Interval",
            "confide.Ledger",
            "confide.Neighbours",
        ],
        *["confide.OracleClient", "confide.PublicQuestion", "confide.Release", "confide.TableLocation"],
        *(f"confide.intervals.{name}" for name in ["Comparison", "CurveEquality", "Estimate", "Interval"]),
        *(
            f"confide.metrics.{name}"
            for name in ["Aggregate", "CalibrationErrors", "ConfusionMatrix", "Metric", "METRICS"]
        ),
        *(f"confide.metrics.{name}" for name in ["ESTIMATORS", "PRROC_ESTIMATORS"]),
        *(f"confide.curves.{name}" for name in ["BinormalRoc", "DecisionCurve", "Loess", "PrCurve", "ReliabilityBins"]),
        *(f"confide.curves.{name}" for name in ["RocCurve", "SmoothCalibration", "Spline"]),
        # functions of numbers, of estimates or of a confusion matrix
        *(f"confide.intervals.{name}" for name in ["auc_power", "auc_sample_size", "auc_test", "comparison_power"]),
        *(f"confide.intervals.{name}" for name in ["comparison_sample_size", "compare_estimates_unpaired", "pool"]),
        *(f"confide.intervals.{name}" for name in ["matrix_estimate", "validation_sample_size"]),
        *["confide.metrics.calibrated_threshold", "confide.metrics.metric_names", "confide.curves.minimum_precision"],
        # tasks that read sources, whose rows the tests of sources judge; those that add noise read counts or sources
        *(
            f"confide.{name}"
            for name in ["attack", "audit", "plan", "predict", "release", "select", "train", "validate"]
        ),
        *(f"confide.release_{name}" for name in ["auc", "average_precision", "brier", "confusion", "curves"]),
    }
)

WEIGHTLESS = frozenset(
    {
        *("confide.intervals.compare_curves", "confide.intervals.compare_curves_unpaired"),
        *("confide.intervals.cluster_codes", "confide.intervals.split_folds"),
    }
)
"""Exports with rows, but without weights."""


def exports() -> list[str]:
    return [f"{room}.{name}" for room in ROOMS for name in importlib.import_module(room).__all__]


def found(path: str) -> Callable[..., Any]:
    room = max((room for room in ROOMS if path.startswith(f"{room}.")), key=len)
    value: Any = importlib.import_module(room)
    for name in path.removeprefix(f"{room}.").split("."):
        value = getattr(value, name)
    return value  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """Return a result as lists and numbers that can be compared."""
    if isinstance(value, enum.Enum | str | bool | int | None):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not (field.name.startswith("_") or field.name.endswith("_"))  # caches, and what was drawn
        }
    return repr(value)


def answer(path: str, rows: Given) -> Any:
    try:
        return CALLS[path](found(path), rows)
    finally:
        pyplot.close("all")


def test_every_export_is_known() -> None:
    known = {path.rsplit(".from_", 1)[0] for path in CALLS} | WITHOUT_ROWS
    assert set(exports()) == known


TRUTH = np.asarray(ROWS.labels)
READINGS: Mapping[str, Any] = {
    "0/1 integers": TRUTH.astype(np.int64),
    "0/1 bytes": TRUTH.astype(np.uint8),
    "0/1 floats": TRUTH.astype(np.float64),
    "-1/1 integers": np.where(TRUTH, 1, -1),
    "list of booleans": TRUTH.tolist(),
    "list of integers": TRUTH.astype(int).tolist(),
    "tuple": tuple(TRUTH.tolist()),
    "objects": TRUTH.astype(object),
}


@pytest.mark.few(7)
@pytest.mark.parametrize("path", CALLS)
def test_labels_are_read_alike(path: str) -> None:
    expected = plain(answer(path, ROWS))
    for name, labels in READINGS.items():
        assert plain(answer(path, replace(ROWS, labels=labels))) == expected, name
    lists = replace(ROWS, scores=np.asarray(ROWS.scores).tolist(), others=np.asarray(ROWS.others).tolist())
    assert plain(answer(path, replace(lists, groups=np.asarray(ROWS.groups).tolist()))) == expected


def spoilt(array: Any, value: Any) -> Any:
    held = np.asarray(array).astype(object if value is None or isinstance(value, str) else np.float64)
    held[3] = value
    return held


BAD: Mapping[str, Given] = {
    "a label is NaN": replace(ROWS, labels=spoilt(TRUTH, np.nan)),
    "a label is None": replace(ROWS, labels=spoilt(TRUTH, None)),
    "three labels": replace(ROWS, labels=spoilt(TRUTH, 2.0)),
    "one class": replace(ROWS, labels=np.ones(SIZE, dtype=np.bool_)),
    "labels in two dimensions": replace(ROWS, labels=TRUTH[:, None]),
    "labels too few": replace(ROWS, labels=TRUTH[:-1]),
    "a score is NaN": replace(ROWS, scores=spoilt(ROWS.scores, np.nan)),
    "a score is infinite": replace(ROWS, scores=spoilt(ROWS.scores, np.inf)),
    "a score is None": replace(ROWS, scores=spoilt(ROWS.scores, None)),
    "a score is text": replace(ROWS, scores=spoilt(ROWS.scores, "high")),
    "scores in two dimensions": replace(ROWS, scores=np.asarray(ROWS.scores)[:, None]),
    "scores of different lengths": replace(ROWS, scores=[[0.1], [0.2, 0.3]]),
    "scores too few": replace(ROWS, scores=ROWS.scores[:-1]),
    "one number": replace(ROWS, scores=0.5),
    "nothing": Given([], [], [], []),
}
BAD_GROUPS: Mapping[str, Given] = {
    "groups in two dimensions": replace(ROWS, groups=np.asarray(ROWS.groups)[:, None]),
    "groups too few": replace(ROWS, groups=ROWS.groups[:-1]),
}
BAD_MEMBERS: Mapping[str, Given] = {
    "a cluster is NaN": replace(ROWS, groups=spoilt(ROWS.groups, np.nan)),
    "a cluster is None": replace(ROWS, groups=spoilt(ROWS.groups, None)),
}
BAD_OTHERS: Mapping[str, Given] = {
    "a second score is NaN": replace(ROWS, others=spoilt(ROWS.others, np.nan)),
    "second scores too few": replace(ROWS, others=ROWS.others[:-1]),
    "second scores in two dimensions": replace(ROWS, others=np.asarray(ROWS.others)[:, None]),
}
EVEN = np.full(SIZE, 2.0)
BAD_WEIGHTS: Mapping[str, Given] = {
    "a weight is NaN": replace(ROWS, weights=spoilt(EVEN, np.nan)),
    "a weight is infinite": replace(ROWS, weights=spoilt(EVEN, np.inf)),
    "a weight is negative": replace(ROWS, weights=spoilt(EVEN, -1.0)),
    "weights too few": replace(ROWS, weights=EVEN[:-1]),
    "weights in two dimensions": replace(ROWS, weights=EVEN[:, None]),
}


def refusal(path: str, rows: Given, name: str) -> str:
    try:
        answer(path, rows)
    except ConfideError as error:
        return str(error)
    return pytest.fail(f"{name}: nothing was refused")


def refused(path: str, cases: Mapping[str, Given]) -> None:
    for name, rows in cases.items():
        message = refusal(path, rows, name)
        assert len(message) > 30, (name, message)
        assert any(sign in message for sign in (";", ".", ":")), f"{name}: no next step in {message!r}"


@pytest.mark.few(20)
@pytest.mark.parametrize("path", [path for path in CALLS if path not in WEIGHTLESS])
def test_weights_are_taken(path: str) -> None:
    """So a refusal of bad weights is about the weights, not about the way they were handed over."""
    whole = replace(ROWS, weights=np.arange(SIZE) % 3 + 1)
    weighted = plain(answer(path, whole))
    assert weighted != plain(answer(path, ROWS)) or path.endswith("_threshold")  # which may stay where it is


@pytest.mark.few(3)
@pytest.mark.parametrize("path", [path for path in CALLS if path not in WEIGHTLESS])
def test_weights_of_any_allowed_size_end_in_no_raw_error(path: str) -> None:
    shape = np.random.default_rng(2).gamma(2.0, 1.0, SIZE)
    halves = np.where(np.arange(SIZE) < SIZE // 2, 1e20, 1e-20)
    for weights in (1e-20 * shape, 1e40 * shape, shape / shape.sum(), halves):
        with contextlib.suppress(ConfideError), np.errstate(all="ignore"):
            answer(path, replace(ROWS, weights=weights))


def parts_read(path: str) -> set[str]:
    """Return the parts of the rows that a call reads."""
    seen: set[str] = set()

    class Probe:
        def __getattr__(self, name: str) -> Any:
            seen.add(name)
            return getattr(ROWS, name)

    answer(path, Probe())  # type: ignore[arg-type]
    return seen


@pytest.mark.parametrize("path", [path for path in CALLS if path != "confide.intervals.cluster_codes"])
def test_bad_rows_are_refused_with_a_next_step(path: str) -> None:
    refused(path, BAD)


@pytest.mark.parametrize("path", CALLS)
def test_bad_groups_and_second_scores_are_refused_with_a_next_step(path: str) -> None:
    parts = parts_read(path)
    if "groups" in parts:
        cases = {"groups in two dimensions": BAD_GROUPS["groups in two dimensions"]}
        refused(path, cases if path == "confide.intervals.cluster_codes" else BAD_GROUPS)
        if path not in ("confide.evaluate", "confide.intervals.against_rest"):  # there, missing is a group of its own
            refused(path, BAD_MEMBERS)
    if "others" in parts:
        refused(path, BAD_OTHERS)


@pytest.mark.parametrize("path", [path for path in CALLS if path not in WEIGHTLESS])
def test_bad_weights_are_refused_with_a_next_step(path: str) -> None:
    refused(path, BAD_WEIGHTS)


@pytest.mark.parametrize("path", [path for path in CALLS if path.count(".") == 2])
def test_numbers_in_place_of_rows_are_refused(path: str) -> None:
    if path == "confide.intervals.cluster_codes":  # numbers name clusters
        return
    for arguments in ((5,), (5, 5), (None, None), ("a", "b"), ([1, 2], 3, 4)):
        with pytest.raises((ConfideError, TypeError), match=r"argument|; |\. |: "):
            found(path)(*arguments)
