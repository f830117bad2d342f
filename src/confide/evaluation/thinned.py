"""Evaluate many distinct scores where they lie: ranking from all rows, curves from cells of neighbouring scores."""

from __future__ import annotations

import math
from dataclasses import replace

from confide.counts import ScoreCounts
from confide.evaluation.cautions import assumptions, cautions
from confide.evaluation.evaluate import evaluate_counts
from confide.evaluation.evaluation import Evaluation, ModelEvaluation, Named
from confide.evaluation.settings import Settings
from confide.intervals.delong import auc_interval
from confide.intervals.interval import Estimate, Interval
from confide.intervals.proportions import binomial_interval_of, logit_interval_of
from confide.kernels.array_rows import SortedRows, sum_sorted
from confide.kernels.sums import RankSums
from confide.metrics.precision_recall import attained_share
from confide.sources.device_rows import thinned_counts
from confide.sources.rows import MissingScores


def evaluate_device_rows(rows: SortedRows, settings: Settings, *, name: str = "score") -> Evaluation:
    """Evaluate one score of unweighted, independent rows on a device.

    Counts of few distinct scores are copied to the host, and every number is the host's. If there are many, AUC and
    average precision with their standard errors come from all rows, and everything else from cells.
    """
    thresholds = settings.thresholds_between(float(rows.scores[0]), float(rows.scores[-1]))
    counts, error = thinned_counts(rows, thresholds)
    if not error:
        return evaluate_counts(counts, settings, name=name)
    return evaluate_thinned(counts, sum_sorted(rows), settings, error=error, where="on their device", name=name)


def evaluate_thinned(
    counts: ScoreCounts,
    sums: RankSums,
    settings: Settings,
    *,
    error: float,
    where: str,
    name: str = "score",
    missing: MissingScores | None = None,
) -> Evaluation:
    """Evaluate one score of unweighted, independent rows from the rank sums of all rows and counts of cells.

    `where` says where the rows were counted.
    """
    evaluation = evaluate_counts(counts, settings, name=name, missing=missing)
    (model,) = evaluation.models
    exact = replace(evaluation, models=(_exact_ranking(model, sums, settings),))
    return replace(
        exact,
        warnings=tuple(cautions(exact)),
        assumptions=(*assumptions(exact), _statement(len(counts), error, where)),
    )


def _statement(points: int, error: float, where: str) -> str:
    return (
        f"Scores were evaluated {where}. AUC, average precision and their standard errors come from all rows, "
        "and so do the matrices at the requested thresholds. Curves and all other numbers come from "
        f"{points:,} points: every rate is within {error:.5f} of the one from all rows, and so is every area under the "
        "ROC curve."
    )


def _exact_ranking(model: ModelEvaluation, sums: RankSums, settings: Settings) -> ModelEvaluation:
    """Replace numbers of ranking by those from all rows."""
    value = sums.average_precision
    aucpr = Named(tuple((name, value if name == "average_precision" else area) for name, area in model.aucpr.items()))
    return replace(
        model,
        auc=_auc(model.auc, sums, settings),
        average_precision=_average_precision(model.average_precision, sums, settings),
        aucpr=aucpr,
        aucnpr=attained_share(value, model.aucpr_minimum),
    )


def _auc(thinned: Estimate, sums: RankSums, settings: Settings) -> Estimate:
    n, m = sums.positives, sums.negatives
    if settings.interval == "bootstrap" or min(n, m) < 2:
        return _moved(thinned, sums.auc)
    interval = auc_interval(
        sums.auc,
        sums.auc_variance,
        n,
        m,
        level=settings.level,
        transform="none" if settings.interval == "plain" else "logit",
    )
    return Estimate(value=sums.auc, standard_error=math.sqrt(sums.auc_variance), interval=interval)


def _average_precision(thinned: Estimate, sums: RankSums, settings: Settings) -> Estimate:
    value, n = sums.average_precision, sums.positives
    if settings.interval == "bootstrap":
        return _moved(thinned, value)
    interval_of = binomial_interval_of if settings.interval == "plain" else logit_interval_of
    error = math.sqrt(max(value * (1.0 - value), 0.0) / n)
    return Estimate(value=value, standard_error=error, interval=interval_of(value, n, level=settings.level))


def _moved(thinned: Estimate, value: float) -> Estimate:
    """Move a bootstrap interval by what thinning changed."""
    if thinned.interval is None:
        return replace(thinned, value=value)
    by = value - thinned.value
    return replace(thinned, value=value, interval=_shifted(thinned.interval, by))


def _shifted(interval: Interval, by: float) -> Interval:
    return replace(
        interval, lower=min(max(interval.lower + by, 0.0), 1.0), upper=min(max(interval.upper + by, 0.0), 1.0)
    )
