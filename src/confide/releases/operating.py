"""Choosing an operating threshold from private curves, with intervals that hold for a threshold that was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import Interval
from confide.metrics.names import metric_named
from confide.privacy.guarantee import Guarantee
from confide.releases.release import PrivateIntervals, Release

if TYPE_CHECKING:
    from confide.privacy.noisy_counts import CurveRegion
    from confide.releases.curves_release import CurvesRelease

TARGETS = ("recall", "specificity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A recall or a specificity to reach; `safe` asks for it at the lower end of its interval."""

    measure: str
    value: float
    safe: bool = False

    def __post_init__(self) -> None:
        if self.measure not in TARGETS:
            raise ParameterError(f"a threshold can be chosen for {' or '.join(TARGETS)}; got {self.measure!r}")
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not (number and 0.0 < self.value < 1.0):
            raise ParameterError(f"a target lies strictly between 0 and 1, for example 0.9; got {self.value!r}")

    @classmethod
    def parse(cls, given: Mapping[str, float] | str, *, safe: bool = False) -> Target:
        """Read `recall=0.9`, or a mapping with one entry.

        >>> Target.parse("recall=0.9")
        Target(measure='recall', value=0.9, safe=False)
        """
        if isinstance(given, str):
            name, _, number = given.partition("=")
            try:
                return cls(measure=metric_named(name), value=float(number), safe=safe)
            except ValueError as error:
                if isinstance(error, ParameterError):
                    raise
                raise ParameterError(f"a target looks like recall=0.9; got {given!r}") from None
        if len(given) != 1:
            raise ParameterError("name one target, for example recall=0.9")
        ((name, value),) = given.items()
        return cls(measure=name, value=value, safe=safe)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """A threshold chosen from private curves, and what it achieves; the intervals allow for the choosing.

    `thresholds` are the lowest and the highest for which the target cannot be ruled out. A threshold
    without end means that nobody (infinity) or everybody (minus infinity) is called positive.
    """

    threshold: float
    target: Target
    recall: float
    specificity: float
    recall_intervals: PrivateIntervals
    specificity_intervals: PrivateIntervals
    thresholds: PrivateIntervals
    guarantee: Guarantee

    def release(self, curves: CurvesRelease) -> Release:
        """Return the threshold as a release of its own."""
        parts: dict[str, Any] = {"recall": self.recall, "specificity": self.specificity}
        for name, intervals in (("recall", self.recall_intervals), ("specificity", self.specificity_intervals)):
            parts[f"{name}_intervals"] = intervals.to_dict()
        return Release(
            metric="threshold",
            value=self.threshold,
            intervals=self.thresholds,
            guarantee=self.guarantee,
            mechanism=curves.mechanism,
            parts=parts,
            options={
                "target": self.target.measure,
                "at_least": self.target.value,
                "safe": self.target.safe,
                "strategy": curves.strategy,
                "cells": len(curves.grid),
                "range": [float(end) for end in curves.grid.edges[[0, -1]]],
                "shape": curves.shape,
            },
        )


def choose_threshold(curves: CurvesRelease, target: Target) -> OperatingPoint:
    """Choose among the edges of the grid: for a recall the highest that reaches it, for a specificity the lowest."""
    edges = curves.grid.edges[::-1].copy()  # from the top, as regions have them
    edges[[0, -1]] = np.inf, -np.inf  # nobody, and everybody: scores beyond the grid count in its end cells
    best = _rates(curves)
    wanted = _achieved(best, target)
    if target.safe:
        low, _ = _ends(curves.regions[0], target)
        wanted = np.minimum(wanted, low)
    reached = np.flatnonzero(wanted >= target.value)
    if target.measure == "recall":
        at = int(reached[0]) if reached.size else edges.size - 1
    else:
        at = int(reached[-1]) if reached.size else 0
    recall, alarm = (_both(curves, name, at) for name in ("recall", "alarm"))
    specificity = PrivateIntervals(sample=_turned(alarm.sample), population=_turned(alarm.population))
    return OperatingPoint(
        threshold=float(edges[at]),
        target=target,
        recall=float(best[0, at]),
        specificity=float(1.0 - best[1, at]),
        recall_intervals=recall,
        specificity_intervals=specificity,
        thresholds=_possible_thresholds(curves, target, edges, float(edges[at])),
        guarantee=curves.guarantee,
    )


def _rates(curves: CurvesRelease) -> FloatArray:
    """Recall and false-positive rate of the released counts at every edge, from the top."""
    table = np.zeros((2, len(curves.grid)))
    where = curves.grid.cells(curves.counts.scores)
    table[0, where], table[1, where] = curves.counts.positives, curves.counts.negatives
    sums = np.cumsum(table[:, ::-1], axis=1)
    rates: FloatArray = np.concatenate((np.zeros((2, 1)), sums / sums[:, -1:]), axis=1)
    return rates


def _achieved(rates: FloatArray, target: Target) -> FloatArray:
    achieved: FloatArray = rates[0] if target.measure == "recall" else 1.0 - rates[1]
    return achieved


def _ends(region: CurveRegion, target: Target) -> tuple[FloatArray, FloatArray]:
    if target.measure == "recall":
        return region.recall[0], region.recall[1]
    return 1.0 - region.alarm[1], 1.0 - region.alarm[0]


def _both(curves: CurvesRelease, name: str, at: int) -> PrivateIntervals:
    sample, population = (
        Interval(
            lower=float(getattr(region, name)[0, at]),
            upper=float(getattr(region, name)[1, at]),
            level=region.level,
            method=f"{kind}, all edges at once",
        )
        for region, kind in zip(curves.regions, ("noise alone", "noise and sampling"), strict=True)
    )
    return PrivateIntervals.nested(sample, population)


def _turned(interval: Interval) -> Interval:
    return Interval(
        lower=1.0 - interval.upper, upper=1.0 - interval.lower, level=interval.level, method=interval.method
    )


def _possible_thresholds(curves: CurvesRelease, target: Target, edges: FloatArray, chosen: float) -> PrivateIntervals:
    """Between which thresholds the one that just reaches the target lies, in the sample and in the population."""
    result = []
    for region, kind in zip(curves.regions, ("noise alone", "noise and sampling"), strict=True):
        low, high = _ends(region, target)
        surely, perhaps = low >= target.value, high >= target.value
        if target.measure == "recall":  # it falls as the threshold rises
            lower = edges[surely].max() if surely.any() else edges[-1]
            upper = edges[np.maximum(np.flatnonzero(perhaps)[0] - 1, 0)]
        else:
            upper = edges[surely].min() if surely.any() else edges[0]
            lower = edges[np.minimum(np.flatnonzero(perhaps)[-1] + 1, edges.size - 1)]
        result.append(
            Interval(
                lower=float(min(lower, chosen)),
                upper=float(max(upper, chosen)),
                level=region.level,
                method=f"{kind}, all edges at once",
            )
        )
    return PrivateIntervals.nested(*result)
