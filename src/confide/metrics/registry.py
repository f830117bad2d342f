"""Metrics by name, with the functions that compute them; and the aggregation of a metric over folds or tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from confide.counts import ScoreCounts, require_counts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.reliability import check_probabilities
from confide.errors import ParameterError, SkewWarning
from confide.metrics import calibration, precision_recall, ranking
from confide.metrics.names import METRIC_NAMES, Face, offered_metric
from confide.metrics.precision_recall import ESTIMATORS, PRROC_ESTIMATORS
from confide.metrics.threshold import MEASURES, confusion_matrix, cost_threshold, youden_index, youden_threshold

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


def _metric(name: str, function: Callable[..., float], **how: Any) -> Metric:
    """Return a metric with the facts that the registry of names has."""
    facts = METRIC_NAMES[name]
    return Metric(
        name=name,
        title=facts.heading,
        function=function,
        higher_is_better=facts.higher_is_better,
        probabilities=facts.probabilities,
        **how,
    )


_OF_SCORES: Mapping[str, Any] = {"ranks_only": True, "resampling": "classes"}
"""A property of the two distributions of scores, of which only the order matters."""


def _ranking() -> list[Metric]:
    area = ("recall",)
    result = [
        _metric("auc", ranking.auc_score, **_OF_SCORES),
        _metric(
            "partial_auc",
            ranking.partial_auc_score,
            options=("specificity", "sensitivity", "corrected"),
            **_OF_SCORES,
        ),
        _metric("hull_auc", ranking.hull_auc_score, **_OF_SCORES),
        _metric(
            "average_precision_minimum", precision_recall.average_precision_minimum, ranks_only=True, whole_rows=True
        ),
        _metric("aucpr_minimum", precision_recall.aucpr_minimum, ranks_only=True, options=area),
        _metric("aucnpr", precision_recall.aucnpr_score, ranks_only=True, options=("estimator", "recall")),
        _metric(
            "normalised_average_precision",
            precision_recall.normalised_average_precision_score,
            ranks_only=True,
            whole_rows=True,
        ),
        _metric("aucpr", precision_recall.aucpr_score, ranks_only=True, options=("estimator", "recall")),
    ]
    for estimator in (*ESTIMATORS, *PRROC_ESTIMATORS):
        result.append(
            _metric(
                estimator,
                partial(precision_recall.aucpr_score, estimator=estimator),
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


def _threshold_measures() -> list[Metric]:
    at = ("threshold",)
    both = ("threshold", "beta")
    return [
        *(
            _metric(name, _at_threshold(name), resampling="classes" if name in _OF_CLASSES else "rows", options=at)
            for name in MEASURES
        ),
        _metric("f_beta", _f_beta, options=both),
        _metric("skew_aware_f", _skew_aware_f, options=both),
        _metric("net_benefit", _net_benefit, options=at),
        _metric("youden_threshold", youden_threshold, resampling="classes"),
        _metric("cost_threshold", cost_threshold, options=("cost_ratio", "prevalence")),
        _metric("youden_index", youden_index, **_OF_SCORES),
    ]


def _calibration() -> list[Metric]:
    line, smooth = calibration.calibration_line, calibration.calibration_errors
    return [
        _metric("brier", calibration.brier_score),
        _metric("scaled_brier", calibration.scaled_brier_score),
        _metric("log_loss", calibration.log_loss),
        _metric("observed_expected", calibration.observed_expected_ratio),
        _metric("calibration_intercept", calibration.calibration_intercept),
        _metric("calibration_slope", calibration.calibration_slope, family=(line, "slope")),
        _metric("joint_intercept", calibration.joint_intercept, family=(line, "intercept")),
        _metric("expected_calibration_error", calibration.expected_calibration_error, options=("bins", "binning")),
        *(
            _metric(name, function, family=(smooth, attribute), options=("smoother",))
            for name, function, attribute in (
                ("integrated_calibration_index", calibration.integrated_calibration_index, "ici"),
                ("calibration_e50", calibration.calibration_e50, "e50"),
                ("calibration_e90", calibration.calibration_e90, "e90"),
                ("calibration_emax", calibration.calibration_emax, "emax"),
            )
        ),
    ]


METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in (*_ranking(), *_threshold_measures(), *_calibration())}
)


def get_metric(name: str) -> Metric:
    """Look a metric up by its name or an alias, such as "sensitivity" for "recall"."""
    return METRICS[name] if name in METRICS else METRICS[offered_metric(name, Face.EXACT, "no metric is called").name]


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
    if chosen.name in _SKEW_DEPENDENT and not np.allclose(prevalences, prevalences[0], rtol=0.01, atol=0.0):
        warnings.warn(
            f"{chosen.name} is averaged over parts whose skew differs; its smallest possible value differs with it. "
            "Average aucnpr instead",
            SkewWarning,
            stacklevel=2,
        )
    values = tuple(chosen(part, **options) for part in parts)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Aggregate(
        metric=chosen.name,
        mean=float(np.mean(values)),
        standard_deviation=spread,
        values=values,
        prevalences=prevalences,
    )
