"""Aggregation of a metric over several folds or tasks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.counts import ScoreCounts, require_counts
from confide.errors import ParameterError, SkewWarning
from confide.metrics.precision_recall import ESTIMATORS, PRROC_ESTIMATORS
from confide.metrics.registry import get_metric

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
