"""Evaluate rows or counts exactly; the result is one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import DataError, OneClassError, ScoreError
from confide.evaluation.cautions import assumptions, cautions
from confide.evaluation.evaluation import (
    Areas,
    Calibration,
    Evaluation,
    GroupEvaluation,
    ModelEvaluation,
    ThresholdEvaluation,
)
from confide.intervals.comparison import compare_checked
from confide.intervals.delong import RankSummary, rank_summary
from confide.intervals.interval import Estimate, check_level
from confide.intervals.proportion import logit_interval_of
from confide.metrics import calibration as calibrate
from confide.metrics.precision_recall import (
    ESTIMATORS,
    attained_share,
    aucpr_minimum,
    aucpr_score,
    average_precision_score,
)
from confide.metrics.ranking import auc_score
from confide.metrics.threshold import confusion_matrix, youden_threshold
from confide.sources.rows import Rows

_DEFAULT_THRESHOLD = 0.5


def evaluate_counts(
    counts: ScoreCounts,
    *,
    rows: int | None = None,
    weighted: bool = False,
    name: str = "score",
    thresholds: Sequence[float] | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate one score from its counts. If rows are weighted, `rows` is the number of rows."""
    check_level(level)
    total = counts.both_classes()
    models = (_evaluate_model(name, counts, thresholds, level, probabilities=counts.probabilities),)
    if rows is None and not counts.weighted:
        rows = int(sum(total))
    return _evaluation(rows, counts, models, weighted=weighted or counts.weighted, level=level)


def evaluate_rows(rows: Rows, *, thresholds: Sequence[float] | None = None, level: float = 0.95) -> Evaluation:
    """Evaluate every column of scores, compare them pairwise, and evaluate each group."""
    check_level(level)
    counts = rows.counts()
    counts[0].both_classes()
    models = tuple(
        _evaluate_model(name, each, thresholds, level, probabilities=each.probabilities)
        for name, each in zip(rows.names, counts, strict=True)
    )
    probabilities = [each.probabilities for each in counts]  # decided once, for all rows and so for every group
    joint = None
    if len(models) > 1 and min(counts[0].both_classes()) > 1:
        joint = compare_checked(rows.labels, rows.names, rows.scores, rows.weights, level=level)
    return _evaluation(
        len(rows),
        counts[0],
        models,
        weighted=rows.weights is not None,
        level=level,
        comparisons=() if joint is None else joint.differences,
        joint=joint if len(models) > 2 else None,
        groups=tuple(_evaluate_group(name, part, thresholds, level, probabilities) for name, part in rows.by_group()),
    )


def _evaluation(rows: int | None, counts: ScoreCounts, models: tuple[ModelEvaluation, ...], **parts: Any) -> Evaluation:
    evaluation = Evaluation(
        rows=rows, positives=counts.total_positives, negatives=counts.total_negatives, models=models, **parts
    )
    return replace(evaluation, warnings=tuple(cautions(evaluation)), assumptions=tuple(assumptions(evaluation)))


def _evaluate_group(
    name: str, rows: Rows, thresholds: Sequence[float] | None, level: float, probabilities: Sequence[bool]
) -> GroupEvaluation:
    """Evaluate the rows of a group; `probabilities` tells for each model whether all its scores are probabilities."""
    counts = rows.counts()
    models: tuple[ModelEvaluation, ...] = ()
    if min(counts[0].total_positives, counts[0].total_negatives) > 0:
        models = tuple(
            _evaluate_model(score, each, thresholds, level, probabilities=such)
            for score, each, such in zip(rows.names, counts, probabilities, strict=True)
        )
    return GroupEvaluation(
        group=name,
        rows=len(rows),
        positives=counts[0].total_positives,
        negatives=counts[0].total_negatives,
        models=models,
    )


def _evaluate_model(
    name: str, counts: ScoreCounts, thresholds: Sequence[float] | None, level: float, *, probabilities: bool
) -> ModelEvaluation:
    summary = _rank_summary(counts)
    average_precision = average_precision_score(counts) if summary is None else summary.average_precision
    least = aucpr_minimum(counts)
    if thresholds is None:
        thresholds = (_DEFAULT_THRESHOLD,) if probabilities else ()
    return ModelEvaluation(
        score=name,
        auc=_auc(counts, summary, level),
        average_precision=Estimate(
            value=average_precision,
            interval=logit_interval_of(average_precision, counts.total_positives, level=level),
        ),
        aucpr=_areas(counts, average_precision),
        aucpr_minimum=least,
        aucnpr=attained_share(average_precision, least),
        brier=calibrate.brier_score(counts) if probabilities else None,
        scaled_brier=calibrate.scaled_brier_score(counts) if probabilities else None,
        log_loss=calibrate.log_loss(counts) if probabilities else None,
        observed_expected=calibrate.observed_expected_ratio(counts) if probabilities else None,
        calibration=_calibration(counts) if probabilities else None,
        thresholds=tuple(_at_threshold(counts, threshold, probabilities) for threshold in thresholds),
        youden=_at_threshold(counts, youden_threshold(counts), probabilities),
        counts=counts,
    )


def _rank_summary(counts: ScoreCounts) -> RankSummary | None:
    """Return AUC, its variance and average precision; None if a class has one row, so that there is no variance."""
    try:
        return rank_summary(counts)
    except OneClassError:
        raise
    except DataError:
        return None


def _areas(counts: ScoreCounts, average_precision: float) -> Areas:
    """Return the area under the PR curve by every estimator."""
    others = ((name, aucpr_score(counts, estimator=name)) for name in ESTIMATORS if name != "average_precision")
    areas = {"average_precision": average_precision, **dict(others)}
    return Areas(tuple((name, areas[name]) for name in ESTIMATORS))


def _auc(counts: ScoreCounts, summary: RankSummary | None, level: float) -> Estimate:
    if summary is None:
        return Estimate(value=auc_score(counts))
    return Estimate(
        value=summary.auc,
        standard_error=float(np.sqrt(summary.auc_variance)),
        interval=summary.auc_interval(level=level),
    )


def _calibration(counts: ScoreCounts) -> Calibration:
    return Calibration(
        intercept=_or_none(calibrate.calibration_intercept, counts),
        slope=_or_none(calibrate.calibration_slope, counts),
        expected_calibration_error=calibrate.expected_calibration_error(counts),
        integrated_calibration_index=calibrate.integrated_calibration_index(counts),
    )


def _or_none(function: Callable[[ScoreCounts], float], counts: ScoreCounts) -> float | None:
    try:
        value = function(counts)
    except ScoreError:  # scores of exactly 0 or 1
        return None
    return None if np.isnan(value) else value


def _at_threshold(counts: ScoreCounts, threshold: float, probabilities: bool) -> ThresholdEvaluation:
    matrix = confusion_matrix(counts, threshold)
    meaningful = probabilities and 0.0 <= threshold < 1.0
    return ThresholdEvaluation(
        threshold=float(threshold),
        matrix=matrix,
        net_benefit=matrix.net_benefit(threshold) if meaningful else None,
    )
