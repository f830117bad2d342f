"""Calibration of predicted probabilities against masked labels: observed frequencies in bins, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.contest.masked import MaskedLabels
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import Interval, normal_quantile

METHOD = "Wilson"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Rows with similar probabilities: their range and mean, and the observed frequency of positives among them."""

    lower: float
    upper: float
    rows: int
    predicted: float
    observed: float
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "rows": self.rows,
            "predicted": self.predicted,
            "observed": self.observed,
            "interval": self.interval.to_dict(),
        }


def calibration_bins(
    probabilities: FloatArray, labels: MaskedLabels, *, bins: int = 10, level: float = 0.95
) -> tuple[CalibrationBin, ...]:
    """Compare probabilities with observed frequencies, in bins of about as many rows each.

    Rows with equal probabilities share a bin, so there may be fewer than `bins`. The observed frequency is the mean of
    the debiased labels, cut to [0, 1]. Its interval is for the population and for each bin by itself: it accounts for
    masking and sampling.

    >>> from fractions import Fraction
    >>> masked = MaskedLabels(np.array([False, True] * 100), Fraction(1, 10))
    >>> [one.rows for one in calibration_bins(np.repeat([0.2, 0.6], 100), masked)]
    [100, 100]
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != (len(labels),):
        raise ParameterError(f"`probabilities` must be one column of {len(labels)} numbers, one for each row")
    if values.size == 0 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ParameterError("`probabilities` must lie in [0, 1]")
    if bins < 1:
        raise ParameterError(f"`bins` must be at least 1; got {bins!r}")
    quantile = normal_quantile(level)
    inner = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="higher")) if bins > 1 else np.empty(0)
    positions = np.searchsorted(inner, values, side="right")
    found = []
    for position in np.unique(positions):
        chosen = positions == position
        mean = float(labels.debiased[chosen].mean())
        rows = int(chosen.sum())
        low, high = _wilson(mean, rows, labels.noise_variance, quantile)
        found.append(
            CalibrationBin(
                lower=float(values[chosen].min()),
                upper=float(values[chosen].max()),
                rows=rows,
                predicted=float(values[chosen].mean()),
                observed=min(max(mean, 0.0), 1.0),
                interval=Interval(lower=low, upper=high, level=level, method=METHOD),
            )
        )
    return tuple(found)


def _wilson(mean: float, rows: int, noise_variance: float, quantile: float) -> tuple[float, float]:
    """Return the frequencies p in [0, 1] with `(mean - p)^2 <= c^2 (p (1 - p) + v) / rows`, the mean cut to [0, 1].

    Frequencies that differ within a bin make the variance smaller, never larger.
    """
    centre, square = min(max(mean, 0.0), 1.0), quantile**2 / rows
    middle = (centre + square / 2.0) / (1.0 + square)
    reach = math.sqrt(square * (centre * (1.0 - centre) + square / 4.0 + noise_variance * (1.0 + square)))
    reach /= 1.0 + square
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
