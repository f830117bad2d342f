"""Registry of metrics: names, needs and titles; and the aggregation of a metric over folds or tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from confide.counts import ScoreCounts, require_counts
from confide.curves.reliability import check_probabilities
from confide.errors import ParameterError, SkewWarning, did_you_mean
from confide.metrics import calibration, precision_recall, ranking
from confide.metrics.precision_recall import ESTIMATORS, PRROC_ESTIMATORS
from confide.metrics.threshold import MEASURES, confusion_matrix, cost_threshold, youden_index, youden_threshold
from confide.predictions import accepts_predictions

Resampling = Literal["rows", "classes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number that follows from counts.

    `options` are the keywords that `function` takes beside the counts. `ranks_only` promises that a
    strictly increasing transformation of the scores changes nothing; `probabilities` means that
    scores must lie in [0, 1]; `whole_rows` that float weights are refused. `higher_is_better` is
    None where neither end is best, as for a ratio that should be 1. `resampling` says what a bootstrap
    redraws: rows, or rows within each class where the metric is a property of the two distributions of
    scores and the prevalence does not enter it. A metric with the option `threshold` depends on the
    confusion matrix at that threshold alone. `family` is a function of the same options that computes this metric
    together with others, and the name of the attribute that holds it: what the members share is computed once.
    """

    name: str
    title: str
    function: Callable[..., float]
    higher_is_better: bool | None
    ranks_only: bool = False
    probabilities: bool = False
    whole_rows: bool = False
    resampling: Resampling = "rows"
    options: tuple[str, ...] = ()
    family: tuple[Callable[..., object], str] | None = None

    def __call__(self, counts: ScoreCounts, **options: Any) -> float:
        """Compute the metric, refusing options that it does not have."""
        self.check_options(options)
        return self.function(counts, **options)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the metric does not have."""
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            allowed = ", ".join(self.options) or "none"
            raise ParameterError(f"{self.name} has no option {unknown[0]!r}; its options: {allowed}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SharedScores:
    """Metrics of one set of counts; what the members of a family share is computed once."""

    counts: ScoreCounts
    _wholes: list[tuple[Callable[..., object], Mapping[str, Any], object]] = field(default_factory=list)

    def score(self, metric: Metric, options: Mapping[str, Any]) -> float:
        """Compute a metric, with the errors of the metric itself."""
        if metric.family is None:
            return float(metric(self.counts, **options))
        metric.check_options(options)
        function, attribute = metric.family
        known = [whole for each, shared, whole in self._wholes if each is function and shared == options]
        if not known:
            known = [function(self.counts, **options)]
            self._wholes.append((function, options, known[0]))
        return float(getattr(known[0], attribute))


def _at_threshold(measure: str) -> Callable[..., float]:
    def score(counts: ScoreCounts, *, threshold: float = 0.5) -> float:
        value: float = getattr(confusion_matrix(counts, threshold), measure)
        return value

    return score


def _f_beta(counts: ScoreCounts, *, threshold: float = 0.5, beta: float = 1.0) -> float:
    return confusion_matrix(counts, threshold).f_beta(beta)


def _skew_aware_f(counts: ScoreCounts, *, threshold: float = 0.5, beta: float = 1.0) -> float:
    return confusion_matrix(counts, threshold).skew_aware_f(beta)


def _net_benefit(counts: ScoreCounts, *, threshold: float = 0.5) -> float:
    check_probabilities(counts)
    return confusion_matrix(counts, threshold).net_benefit(threshold)


def _ranking() -> list[Metric]:
    ranked = partial(Metric, higher_is_better=True, ranks_only=True)
    floor = partial(Metric, higher_is_better=None, ranks_only=True)  # properties of the data, not of the score
    area = ("recall",)
    result = [
        ranked(name="auc", title="AUC", function=ranking.auc_score, resampling="classes"),
        ranked(
            name="partial_auc",
            title="Partial AUC",
            function=ranking.partial_auc_score,
            resampling="classes",
            options=("specificity", "sensitivity", "corrected"),
        ),
        ranked(
            name="hull_auc",
            title="AUC of the convex hull",
            function=ranking.hull_auc_score,
            resampling="classes",
        ),
        floor(
            name="average_precision_minimum",
            title="Minimum average precision",
            function=precision_recall.average_precision_minimum,
            whole_rows=True,
        ),
        floor(name="aucpr_minimum", title="Minimum AUCPR", function=precision_recall.aucpr_minimum, options=area),
        ranked(
            name="aucnpr",
            title="AUCNPR",
            function=precision_recall.aucnpr_score,
            options=("estimator", "recall"),
        ),
        ranked(
            name="normalised_average_precision",
            title="Normalised average precision",
            function=precision_recall.normalised_average_precision_score,
            whole_rows=True,
        ),
        ranked(name="aucpr", title="AUCPR", function=precision_recall.aucpr_score, options=("estimator", "recall")),
    ]
    for estimator in (*precision_recall.ESTIMATORS, *precision_recall.PRROC_ESTIMATORS):
        function = partial(precision_recall.aucpr_score, estimator=estimator)
        title = estimator.replace("_", " ").capitalize()
        result.append(
            Metric(
                name=estimator,
                title=title,
                function=function,
                higher_is_better=True,
                ranks_only=estimator != "binormal",
                whole_rows=estimator == "davis_goadrich",
                options=area,
            )
        )
    return result


_OF_CLASSES = frozenset(
    {
        *("recall", "false_positive_rate", "specificity", "balanced_accuracy", "youden"),
        *("positive_likelihood_ratio", "negative_likelihood_ratio"),
    }
)
"""Measures of recall and specificity alone."""


def _thresholded() -> list[Metric]:
    lower_is_better = {"false_positive_rate", "negative_likelihood_ratio"}
    at = ("threshold",)
    result = [
        Metric(
            name=name,
            title=name.replace("_", " ").capitalize(),
            function=_at_threshold(name),
            higher_is_better=name not in lower_is_better,
            resampling="classes" if name in _OF_CLASSES else "rows",
            options=at,
        )
        for name in MEASURES
    ]
    both = ("threshold", "beta")
    return [
        *result,
        Metric(name="f_beta", title="F beta", function=_f_beta, higher_is_better=True, options=both),
        Metric(name="skew_aware_f", title="Skew-aware F", function=_skew_aware_f, higher_is_better=True, options=both),
        Metric(
            name="net_benefit",
            title="Net benefit",
            function=_net_benefit,
            higher_is_better=True,
            probabilities=True,
            options=at,
        ),
        Metric(
            name="youden_threshold",
            title="Youden's threshold",
            function=youden_threshold,
            higher_is_better=None,
            resampling="classes",
        ),
        Metric(
            name="cost_threshold",
            title="Threshold of least cost",
            function=cost_threshold,
            higher_is_better=None,
            options=("cost_ratio", "prevalence"),
        ),
        Metric(
            name="youden_index",
            title="Youden's index",
            function=youden_index,
            higher_is_better=True,
            ranks_only=True,
            resampling="classes",
        ),
    ]


def _calibration() -> list[Metric]:
    loss = partial(Metric, higher_is_better=False, probabilities=True)
    neither = partial(Metric, higher_is_better=None, probabilities=True)
    return [
        loss(name="brier", title="Brier score", function=calibration.brier_score),
        Metric(
            name="scaled_brier",
            title="Scaled Brier score",
            function=calibration.scaled_brier_score,
            higher_is_better=True,
            probabilities=True,
        ),
        loss(name="log_loss", title="Log loss", function=calibration.log_loss),
        neither(name="observed_expected", title="Observed : expected", function=calibration.observed_expected_ratio),
        neither(
            name="calibration_intercept", title="Calibration intercept", function=calibration.calibration_intercept
        ),
        neither(
            name="calibration_slope",
            title="Calibration slope",
            function=calibration.calibration_slope,
            family=(calibration.calibration_line, "slope"),
        ),
        neither(
            name="joint_intercept",
            title="Intercept fitted with the slope",
            function=calibration.joint_intercept,
            family=(calibration.calibration_line, "intercept"),
        ),
        loss(
            name="expected_calibration_error",
            title="Expected calibration error",
            function=calibration.expected_calibration_error,
            options=("bins", "binning"),
        ),
        loss(
            name="integrated_calibration_index",
            title="Integrated calibration index",
            function=calibration.integrated_calibration_index,
            family=(calibration.calibration_errors, "ici"),
            options=("smoother",),
        ),
        *(
            loss(
                name=f"calibration_{name.lower()}",
                title=name,
                function=function,
                family=(calibration.calibration_errors, name.lower()),
                options=("smoother",),
            )
            for name, function in (
                ("E50", calibration.calibration_e50),
                ("E90", calibration.calibration_e90),
                ("Emax", calibration.calibration_emax),
            )
        ),
    ]


METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in (*_ranking(), *_thresholded(), *_calibration())}
)


def get_metric(name: str) -> Metric:
    """Look a metric up by name."""
    if name in METRICS:
        return METRICS[name]
    raise ParameterError(
        f"no metric is called {name!r}. {did_you_mean(name, METRICS)}confide.metrics.metric_names() lists all"
    )


def metric_names() -> tuple[str, ...]:
    """Return the name of every metric."""
    return tuple(METRICS)


@accepts_predictions
def metric_score(counts: ScoreCounts, /, name: str, **options: Any) -> float:
    """Compute a metric by name.

    >>> metric_score(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), "auc")
    0.75
    """
    return get_metric(name)(counts, **options)


_SKEW_DEPENDENT = frozenset((*ESTIMATORS, *PRROC_ESTIMATORS, "aucpr"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Mean of a metric over parts, with each part's value and prevalence."""

    metric: str
    mean: float
    standard_deviation: float
    values: tuple[float, ...]
    prevalences: tuple[float, ...]


def mean_over_parts(parts: Sequence[ScoreCounts], metric: str = "aucnpr", **options: Any) -> Aggregate:
    """Average a metric over folds or tasks, each counting once.

    AUCNPR is the default: areas under PR curves have a floor that depends on each part's skew, so
    averaging them over different skews compares what is not comparable (dissertation, section 3.4);
    doing so warns. Parts without both classes are refused, as they say nothing about ranking.
    """
    if not isinstance(parts, Sequence) or len(parts) == 0:
        raise ParameterError("parts must hold at least one ScoreCounts; give a list of them")
    chosen = get_metric(metric)
    for part in parts:
        require_counts(part, "parts").both_classes()
    prevalences = tuple(part.prevalence for part in parts)
    if metric in _SKEW_DEPENDENT and not np.allclose(prevalences, prevalences[0], rtol=0.01, atol=0.0):
        warnings.warn(
            f"{metric} is averaged over parts whose skew differs; its smallest possible value differs with it. "
            "Average aucnpr instead",
            SkewWarning,
            stacklevel=2,
        )
    values = tuple(chosen(part, **options) for part in parts)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Aggregate(
        metric=metric,
        mean=float(np.mean(values)),
        standard_deviation=spread,
        values=values,
        prevalences=prevalences,
    )
