"""Numbers of one model, and Rubin's rules for those of imputed datasets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from confide.counts import ScoreCounts
from confide.evaluation.evaluation import (
    NET_BENEFIT,
    Calibration,
    ChosenThreshold,
    ModelEvaluation,
    Named,
    PartialArea,
    ThresholdEvaluation,
)
from confide.evaluation.settings import Settings
from confide.intervals.imputation import pool
from confide.intervals.interval import IDENTITY, Estimate
from confide.intervals.metric_estimates import natural_scale
from confide.metrics.precision_recall import attained_share, aucpr_minimum, aucpr_scores
from confide.metrics.threshold import MEASURES, ConfusionMatrix, confusion_matrix, cost_threshold, youden_threshold

_OF_PROBABILITIES = ("brier", "scaled_brier", "log_loss", "observed_expected")
CALIBRATION_METRICS = {
    "intercept": "calibration_intercept",
    "slope": "calibration_slope",
    "joint_intercept": "joint_intercept",
    "expected_calibration_error": "expected_calibration_error",
    "integrated_calibration_index": "integrated_calibration_index",
    "e50": "calibration_e50",
    "e90": "calibration_e90",
    "emax": "calibration_emax",
}
"""Metric of the registry of each field of `Calibration`."""

_MAY_NOT_EXIST = ("intercept", "slope", "joint_intercept")


@dataclass(frozen=True, slots=True)
class Request:
    """A metric of the registry with its options."""

    metric: str
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, metric: str, **options: Any) -> Request:
        """Name a metric and its options."""
        return cls(metric, tuple(options.items()))


class Sample(Protocol):
    """Rows of one model, which know how to estimate its metrics under their sampling design."""

    @property
    def counts(self) -> ScoreCounts:
        """Counts of all rows."""
        ...

    @property
    def per_row(self) -> ScoreCounts:
        """Counts in which a row weighs 1 on average, if weights are sampling weights; else all counts as they are."""
        ...

    def estimates(self, requests: Sequence[Request]) -> Sequence[Estimate]:
        """Estimate metrics; NaN where a metric does not exist."""
        ...


def evaluate_model(name: str, sample: Sample, settings: Settings, *, probabilities: bool) -> ModelEvaluation:
    """Evaluate one model. `probabilities` tells whether its scores are probabilities."""
    counts = sample.counts
    chosen, stated = _chosen_thresholds(counts, settings), settings.thresholds_of(probabilities=probabilities)
    requests = _requests(settings, [*stated, *chosen.values()], probabilities)
    requests += [Request.of(f"{rule}_threshold", **_rule_options(rule, settings)) for rule in chosen]
    distinct = list(dict.fromkeys(requests))
    found = dict(zip(distinct, sample.estimates(distinct), strict=True))
    average_precision = found[Request.of("average_precision")]
    least, areas = aucpr_minimum(counts), _areas(sample.per_row)
    rules = {
        rule: ChosenThreshold(
            rule=rule,
            threshold=found[Request.of(f"{rule}_threshold", **_rule_options(rule, settings))],
            at=_at_threshold(counts, threshold, found),
        )
        for rule, threshold in chosen.items()
    }
    numbers = {metric: _existing(found.get(Request.of(metric))) for metric in _OF_PROBABILITIES}
    return ModelEvaluation(
        score=name,
        auc=found[Request.of("auc")],
        average_precision=average_precision,
        partial_auc=tuple(
            PartialArea(
                region=region,
                area=found[Request.of("partial_auc", **region.options)],
                corrected=found[Request.of("partial_auc", **region.options, corrected=True)],
            )
            for region in settings.regions
        ),
        aucpr=areas,
        aucpr_minimum=least,
        aucnpr=attained_share(areas["average_precision"], least),
        calibration=_calibration(found) if probabilities else None,
        thresholds=tuple(_at_threshold(counts, each, found) for each in stated),
        youden=rules["youden"],
        least_cost=rules.get("cost"),
        counts=sample.per_row,
        **numbers,
    )


def _chosen_thresholds(counts: ScoreCounts, settings: Settings) -> dict[str, float]:
    """Return the thresholds that are chosen on the rows, by rule."""
    chosen = {"youden": youden_threshold(counts)}
    if settings.cost_ratio is not None:
        chosen["cost"] = cost_threshold(counts, cost_ratio=settings.cost_ratio)
    return chosen


def _rule_options(rule: str, settings: Settings) -> dict[str, Any]:
    return {"cost_ratio": settings.cost_ratio} if rule == "cost" else {}


def _requests(settings: Settings, thresholds: Sequence[float], probabilities: bool) -> list[Request]:
    requests = [Request.of("auc"), Request.of("average_precision")]
    for region in settings.regions:
        requests.append(Request.of("partial_auc", **region.options))
        requests.append(Request.of("partial_auc", **region.options, corrected=True))
    if probabilities:
        requests += [Request.of(metric) for metric in (*_OF_PROBABILITIES, *CALIBRATION_METRICS.values())]
    for threshold in thresholds:
        requests += [Request.of(metric, threshold=threshold) for metric in (*MEASURES, "skew_aware_f")]
        if probabilities and 0.0 <= threshold < 1.0:
            requests.append(Request.of(NET_BENEFIT, threshold=threshold))
    return requests


def _at_threshold(counts: ScoreCounts, threshold: float, found: Mapping[Request, Estimate]) -> ThresholdEvaluation:
    names = (*MEASURES, "skew_aware_f", NET_BENEFIT)
    measures = ((name, found.get(Request.of(name, threshold=threshold))) for name in names)
    return ThresholdEvaluation(
        threshold=float(threshold),
        matrix=confusion_matrix(counts, threshold),
        measures=Named(tuple((name, estimate) for name, estimate in measures if estimate is not None)),
    )


def _calibration(found: Mapping[Request, Estimate]) -> Calibration:
    values: dict[str, Any] = {
        field: _existing(found[Request.of(metric)]) if field in _MAY_NOT_EXIST else found[Request.of(metric)]
        for field, metric in CALIBRATION_METRICS.items()
    }
    return Calibration(**values)


def _existing(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate, or None if its value does not exist."""
    return None if estimate is None or math.isnan(estimate.value) else estimate


def _areas(counts: ScoreCounts) -> Named[float]:
    """Return the area under the PR curve by every estimator."""
    return Named(tuple(aucpr_scores(counts).items()))


_SQUARES_OVERFLOW = 1e150  # a standard error of a threshold on scores of such a size
_CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


def pooled_model(name: str, imputed: Sequence[ModelEvaluation], *, level: float, rows: int) -> ModelEvaluation:
    """Pool the evaluations of one model on imputed datasets.

    Every estimate is pooled by Rubin's rules. Numbers without interval and the cells of confusion matrices are means.
    The counts, from which curves are drawn, are those of all datasets together, each row weighing one over their
    number. Measures at a chosen threshold pool those at the thresholds that each dataset chose.
    """
    first = imputed[0]

    def known(metric: str, estimates: Sequence[Estimate]) -> Estimate:
        return _pooled(metric, estimates, level, rows)

    costs = [model.least_cost for model in imputed if model.least_cost is not None]
    numbers = {
        metric: pooled_estimate(metric, [getattr(model, metric) for model in imputed], level=level, rows=rows)
        for metric in ("brier", "scaled_brier", "log_loss", "observed_expected")
    }
    return ModelEvaluation(
        score=name,
        auc=known("auc", [model.auc for model in imputed]),
        average_precision=known("average_precision", [model.average_precision for model in imputed]),
        partial_auc=tuple(
            PartialArea(
                region=part.region,
                area=known("partial_auc", [model.partial_auc[k].area for model in imputed]),
                corrected=known("partial_auc", [model.partial_auc[k].corrected for model in imputed]),
            )
            for k, part in enumerate(first.partial_auc)
        ),
        aucpr=Named(tuple((key, _mean([model.aucpr[key] for model in imputed])) for key in first.aucpr)),
        aucpr_minimum=first.aucpr_minimum,
        aucnpr=_mean([model.aucnpr for model in imputed]),
        calibration=_pooled_calibration([model.calibration for model in imputed], level, rows),
        thresholds=tuple(
            _pooled_threshold([model.thresholds[k] for model in imputed], level, rows)
            for k in range(len(first.thresholds))
        ),
        youden=_pooled_choice([model.youden for model in imputed], level, rows),
        least_cost=_pooled_choice(costs, level, rows) if costs else None,
        counts=_stacked([model.counts for model in imputed]),
        **numbers,
    )


def pooled_estimate(metric: str, estimates: Sequence[Estimate | None], *, level: float, rows: int) -> Estimate | None:
    """Pool the estimates of a metric; None if a dataset has none, without interval if a standard error is missing."""
    found = [estimate for estimate in estimates if estimate is not None]
    return _pooled(metric, found, level, rows) if len(found) == len(estimates) else None


def _pooled(metric: str, found: Sequence[Estimate], level: float, rows: int) -> Estimate:
    mean = _mean([estimate.value for estimate in found])
    if not all(each.standard_error and each.standard_error < _SQUARES_OVERFLOW for each in found):
        return Estimate(value=mean)
    scale = natural_scale(metric)
    inside = all(scale.inside(each.value) for each in found)
    return pool(found, scale=scale if inside else IDENTITY, level=level, rows=rows)


def _pooled_choice(entries: Sequence[ChosenThreshold], level: float, rows: int) -> ChosenThreshold:
    rule = entries[0].rule
    return ChosenThreshold(
        rule=rule,
        threshold=_pooled(f"{rule}_threshold", [entry.threshold for entry in entries], level, rows),
        at=_pooled_threshold([entry.at for entry in entries], level, rows),
    )


def _pooled_threshold(entries: Sequence[ThresholdEvaluation], level: float, rows: int) -> ThresholdEvaluation:
    names = [name for name in entries[0].measures if all(name in entry.measures for entry in entries)]
    pooled = {
        name: pooled_estimate(name, [entry.measures[name] for entry in entries], level=level, rows=rows)
        for name in names
    }
    cells: dict[str, Any] = {cell: _mean([getattr(entry.matrix, cell) for entry in entries]) for cell in _CELLS}
    return ThresholdEvaluation(
        threshold=_mean([entry.threshold for entry in entries]),
        matrix=ConfusionMatrix(**cells),
        measures=Named(tuple((name, each) for name, each in pooled.items() if each is not None)),
    )


def _pooled_calibration(found: Sequence[Calibration | None], level: float, rows: int) -> Calibration | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    pooled: dict[str, Any] = {
        name: pooled_estimate(metric, [getattr(each, name) for each in known], level=level, rows=rows)
        for name, metric in CALIBRATION_METRICS.items()
    }
    return Calibration(**pooled)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _stacked(counts: Sequence[ScoreCounts]) -> ScoreCounts:
    """Put the counts of all datasets together, each row weighing one over their number."""
    total = ScoreCounts.total(counts)
    return ScoreCounts(total.scores, total.positives / len(counts), total.negatives / len(counts))
