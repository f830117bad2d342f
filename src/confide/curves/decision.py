"""Decision curve: net benefit of acting on the score, compared with acting on everybody or on nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.reliability import check_probabilities
from confide.errors import ParameterError
from confide.predictions import accepts_predictions


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit per row at each threshold probability; treating nobody has net benefit 0."""

    threshold: FloatArray
    net_benefit: FloatArray
    treat_all: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


@accepts_predictions
def decision_curve(counts: ScoreCounts, thresholds: ArrayLike | None = None) -> DecisionCurve:
    """Net benefit `tp/N - fp/N t/(1-t)` of treating where `score >= t` (Vickers & Elkin 2006).

    The default thresholds are 0.01 to 0.99 in steps of 0.01.
    """
    check_probabilities(counts)
    counts.both_classes()
    at = np.arange(1, 100) / 100 if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    if at.ndim != 1 or not ((at >= 0.0) & (at < 1.0)).all():
        raise ParameterError("thresholds must be probabilities in [0, 1)")
    first = np.searchsorted(counts.scores, at, side="left")
    caught, alarmed = (np.concatenate(([0], np.cumsum(c[::-1])))[::-1] for c in (counts.positives, counts.negatives))
    odds, total = at / (1.0 - at), caught[0] + alarmed[0]
    return DecisionCurve(at, (caught[first] - odds * alarmed[first]) / total, (caught[0] - odds * alarmed[0]) / total)
