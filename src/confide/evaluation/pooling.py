"""Rubin's rules for whole models: the evaluations of imputed datasets become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.evaluation.evaluation import (
    Calibration,
    ChosenThreshold,
    ModelEvaluation,
    Named,
    PartialArea,
    ThresholdEvaluation,
)
from confide.evaluation.model import CALIBRATION_METRICS
from confide.intervals.imputation import pool
from confide.intervals.interval import Estimate
from confide.intervals.metric_estimates import natural_scale
from confide.intervals.scales import IDENTITY
from confide.metrics.threshold import ConfusionMatrix

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
