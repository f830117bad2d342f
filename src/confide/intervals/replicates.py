"""Replicates of a bootstrap, and reductions of the counts that they resample.

A replicate draws two numbers for each cell, so few cells make a fast bootstrap. What a metric needs of the scores says
which cells suffice. Up to `CELLS` distinct scores are left as they are, but for measures at a threshold.

::

    | metric | cells | what changes |
    |---|---|---|
    | measures at a threshold | both sides of the threshold | nothing |
    | errors of the smooth calibration curve | equal width in log-odds (`SampledCurves`) | see below |
    | expected calibration error | ten bins, each of some cells of equal mass | ties within cells |
    | Youden's threshold and index | `CELLS` cells of equal mass, those that cannot be best as one | nothing but cells |
    | all others | `CELLS` cells of equal mass | ties within cells |

Replicates of the smooth curve's errors are not those of single scores. The spread of ICI and Emax changes by less than
1 %, of E90 by less than 3 %, and of E50 by less than 10 %: the median of an absolute difference hangs on few cells.

Rows are resampled from all rows, so that the prevalence varies as it does between samples, or within each class, which
is the choice for metrics that the prevalence does not enter. A resample changes how often each score occurs, so a
replicate is a line of counts over the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts
from confide.curves.reliability import equal_width_starts
from confide.errors import DataError, ParameterError
from confide.metrics.calibration import log_losses, squared_errors
from confide.metrics.calibration_samples import SAMPLED_ERRORS, SampledCurves
from confide.metrics.condensing import condense
from confide.metrics.ranking import partial_range
from confide.metrics.registry import Metric, Resampling, SharedScores
from confide.metrics.threshold import MEASURES, ConfusionMatrix

CELLS = 1_000
"""Distinct scores that replicates keep; of more, neighbours are put together in so many cells of equal mass."""

BIN_CELLS = 200
"""Cells of equal mass for errors in bins, beside the edges of the bins."""

BINS = 10
"""Bins of the expected calibration error by default."""

_FAR = 8.0  # standard deviations by which a cell that is left out falls short of the best one


class Cells(Enum):
    """Kinds of cells; see the table of this module."""

    MASS = "mass"
    CURVE = "curve"
    BINS = "bins"
    PEAK = "peak"


_KINDS = {
    **dict.fromkeys(SAMPLED_ERRORS, Cells.CURVE),
    "expected_calibration_error": Cells.BINS,
    "youden_threshold": Cells.PEAK,
    "youden_index": Cells.PEAK,
}


@dataclass(frozen=True, slots=True, repr=False)
class Reduction:
    """How `reduced` puts scores together: at a threshold, or in a kind of cells.

    Metrics that have it in common can share replicates.
    """

    cut: float | None = None
    cells: Cells = Cells.MASS


def reduction(metric: Metric, options: Mapping[str, Any]) -> Reduction:
    """Return how scores may be put together for a metric."""
    if "threshold" in metric.options:
        return Reduction(cut=float(options.get("threshold", 0.5)))
    return Reduction(cells=Cells.MASS if options else _KINDS.get(metric.name, Cells.MASS))


def reduced(counts: ScoreCounts, kind: Reduction) -> ScoreCounts:
    """Return the coarsest counts that replicates of a metric with this reduction need."""
    if kind.cut is not None:
        return split_at(counts, kind.cut)
    if kind.cells is Cells.CURVE:
        return SampledCurves.of(counts).cells
    if len(counts) <= CELLS:
        return counts
    if kind.cells is Cells.BINS:
        return counts.merged(_bin_cells(counts))
    cells = counts.coarsen(CELLS)
    return cells.merged(_peak_cells(cells)) if kind.cells is Cells.PEAK else cells


def split_at(counts: ScoreCounts, threshold: float) -> ScoreCounts:
    """Put scores together below a threshold, and at or above it: the confusion matrix there stays the same."""
    first = int(np.searchsorted(counts.scores, threshold, side="left"))
    starts = np.unique([0, min(first, len(counts) - 1)]) if 0 < first < len(counts) else np.array([0])
    return ScoreCounts(
        counts.scores[starts], np.add.reduceat(counts.positives, starts), np.add.reduceat(counts.negatives, starts)
    )


@dataclass(frozen=True, slots=True, eq=False)
class SmallerCounts:
    """Smaller counts with the same values of some metrics, each made once.

    Sums of float weights would round otherwise, so weighted counts stay as they are.
    """

    whole: ScoreCounts
    _made: dict[float | None, ScoreCounts] = field(default_factory=dict)

    def split(self, threshold: float) -> ScoreCounts:
        """Return the counts on both sides of a threshold."""
        if math.isnan(threshold):
            return self.whole
        return self._once(threshold, lambda: split_at(self.whole, threshold))

    def condensed(self) -> ScoreCounts:
        """Return counts with the same sums of smooth functions of the score."""
        return self._once(None, lambda: condense(self.whole))

    def _once(self, key: float | None, make: Callable[[], ScoreCounts]) -> ScoreCounts:
        if self.whole.weighted or not len(self.whole):
            return self.whole
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def _bin_cells(counts: ScoreCounts) -> NDArray[np.int64]:
    """Return where cells begin of which none crosses the edge of a bin."""
    even = equal_mass_starts(counts.positives + counts.negatives, BIN_CELLS)
    return np.union1d(even, equal_width_starts(counts.scores, BINS))


def _peak_cells(counts: ScoreCounts) -> NDArray[np.int64]:
    """Return where cells begin when those are put together at which recall + specificity cannot be highest.

    Let `J` be recall + specificity - 1 of calling positive each cell and those above it. The difference between `J` at
    a cell and at the best one depends on the rows between them only: with shares `p` and `q` of both classes there, its
    variance in a resample is at most `p/n + q/m`. A cell is far if it falls short by eight standard
    deviations, and only the outer cells, far one and all, are put together, those next to the others left alone.
    """
    n, m = counts.both_classes()
    caught, alarms = (
        np.cumsum(each[::-1])[::-1] / total for each, total in ((counts.positives, n), (counts.negatives, m))
    )
    height = caught - alarms
    best = int(np.argmax(height))
    variance = np.abs(caught - caught[best]) / n + np.abs(alarms - alarms[best]) / m
    near = np.flatnonzero((height[best] - height) <= _FAR * np.sqrt(variance))
    first, last = max(int(near[0]) - 1, 0), min(int(near[-1]) + 2, len(counts) - 1)
    return np.unique(np.concatenate(([0], np.arange(first, last + 1))))


Drawn = NDArray[np.int64]

_SQUARES_OVERFLOW = 1e150


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replicates:
    """Counts of each class at each score, one replicate a line, and the counts from which they were drawn."""

    source: ScoreCounts
    positives: Drawn
    negatives: Drawn

    @property
    def scores(self) -> FloatArray:
        """Scores, the same in all replicates."""
        return self.source.scores

    def __len__(self) -> int:
        return len(self.positives)

    @property
    def both_classes(self) -> NDArray[np.bool_]:
        """Tell for each replicate whether it has rows of both classes."""
        both: NDArray[np.bool_] = (self.positives.sum(axis=1) > 0) & (self.negatives.sum(axis=1) > 0)
        return both

    def samples(self) -> Iterator[ScoreCounts | None]:
        """Yield the counts of each replicate; None where it has one class only."""
        for ours, theirs, both in zip(self.positives, self.negatives, self.both_classes, strict=True):
            seen = ours + theirs > 0
            yield ScoreCounts(self.scores[seen], ours[seen], theirs[seen]) if both else None


def draw_replicates(
    counts: ScoreCounts, replicates: int, rng: np.random.Generator, resampling: Resampling
) -> Replicates:
    """Resample as many rows as there are, from all rows or within each class."""
    positives, negatives = (int(total) for total in counts.both_classes())
    if resampling == "rows":
        size = len(counts)
        share = np.concatenate((counts.positives, counts.negatives)) / (positives + negatives)
        drawn = rng.multinomial(positives + negatives, share, size=replicates)
        return Replicates(counts, drawn[:, :size], drawn[:, size:])
    return Replicates(
        counts,
        rng.multinomial(positives, counts.positives / positives, size=replicates),
        rng.multinomial(negatives, counts.negatives / negatives, size=replicates),
    )


def check_resampling(resampling: Resampling | None) -> None:
    """Refuse anything but rows and classes."""
    if resampling not in (None, "rows", "classes"):
        raise ParameterError(f"resampling must be 'rows' or 'classes', got {resampling!r}")


def moved(drawn: FloatArray, value: float, coarse_value: float) -> FloatArray:
    """Move replicates of coarser counts by what putting scores together changed, so that they surround the value.

    Areas under the PR curve need it: scores that are put together are tied, and tied positives have less precision.
    """
    change = value - coarse_value
    return drawn + change if np.isfinite(change) and change != 0.0 else drawn


def spread(drawn: FloatArray) -> float:
    """Compute the standard deviation of replicates, also where squares of huge numbers would overflow."""
    largest = float(np.abs(drawn).max())
    scale = largest if largest > _SQUARES_OVERFLOW else 1.0
    return float(np.std(drawn / scale, ddof=1)) * scale


def replicate_values(
    replicates: Replicates, metrics: Mapping[Any, tuple[Callable[..., float], Mapping[str, Any]]]
) -> dict[Any, FloatArray]:
    """Compute several metrics of each replicate: NaN where one is undefined, or one class is absent.

    The keys of `metrics` are the caller's; each value is a metric, or another function of counts, with its options.
    """
    found = {key: _at_once(replicates, metric, options) for key, (metric, options) in metrics.items()}
    found |= _calibration_errors(replicates, metrics)
    singly = {key: metrics[key] for key, values in found.items() if values is None}
    looped = {key: np.full(len(replicates), np.nan) for key in singly}
    if singly:
        for line, sample in enumerate(replicates.samples()):
            if sample is not None:
                for key, value in _scores(sample, singly).items():
                    looped[key][line] = value
    return {key: looped[key] if values is None else values for key, values in found.items()}


def _calibration_errors(
    replicates: Replicates, metrics: Mapping[Any, tuple[Callable[..., float], Mapping[str, Any]]]
) -> dict[Any, FloatArray]:
    """Fit the smooth calibration curves of all replicates at once, and return those errors that are wanted."""
    named = {
        key: SAMPLED_ERRORS[metric.name]
        for key, (metric, options) in metrics.items()
        if isinstance(metric, Metric) and metric.name in SAMPLED_ERRORS and not options
    }
    curves = SampledCurves.of(replicates.source) if named else None
    if curves is None or len(curves.cells) != len(replicates.scores):
        return {}
    errors = curves.errors(replicates.positives, replicates.negatives)
    return {key: getattr(errors, name) for key, name in named.items()}


def _scores(
    sample: ScoreCounts, metrics: Mapping[Any, tuple[Callable[..., float], Mapping[str, Any]]]
) -> dict[Any, float]:
    """Compute metrics of one replicate; what a family shares is computed once."""
    values: dict[Any, float] = {}
    shared = SharedScores(sample)
    for key, (metric, options) in metrics.items():
        try:
            if isinstance(metric, Metric):
                values[key] = shared.score(metric, options)
            else:
                values[key] = float(metric(sample, **options))
        except DataError:  # the metric does not exist in this replicate
            values[key] = np.nan
    return values


def _at_once(replicates: Replicates, metric: Callable[..., float], options: Mapping[str, Any]) -> FloatArray | None:
    """Compute a metric of all replicates in array operations; None where it has no such form."""
    if not isinstance(metric, Metric):
        return None
    metric.check_options(options)
    if metric.name == "partial_auc":
        return _partial_auc(replicates, **options)
    if set(options) - {"threshold"}:
        return None
    if metric.name in MEASURES or metric.name == "net_benefit":
        return _measures(replicates, metric.name, float(options.get("threshold", 0.5)))
    if metric.name in _ARRAYS and not options:
        return _ARRAYS[metric.name](replicates)
    return None


def _measures(replicates: Replicates, measure: str, threshold: float) -> FloatArray:
    first = int(np.searchsorted(replicates.scores, threshold, side="left"))
    ours, theirs = replicates.positives, replicates.negatives
    matrix = ConfusionMatrix(
        true_positives=ours[:, first:].sum(axis=1),
        false_positives=theirs[:, first:].sum(axis=1),
        false_negatives=ours[:, :first].sum(axis=1),
        true_negatives=theirs[:, :first].sum(axis=1),
    )
    values: Any = matrix.net_benefit(threshold) if measure == "net_benefit" else getattr(matrix, measure)
    return _where_defined(replicates, values)


def _auc(replicates: Replicates) -> FloatArray:
    ours, theirs = replicates.positives, replicates.negatives
    through = np.cumsum(theirs, axis=1)
    pairs = 2.0 * ours.sum(axis=1) * theirs.sum(axis=1)
    return _where_defined(replicates, np.sum(ours * (2 * through - theirs), axis=1), pairs)


def _average_precision(replicates: Replicates) -> FloatArray:
    ours, theirs = replicates.positives[:, ::-1], replicates.negatives[:, ::-1]
    caught = np.cumsum(ours, axis=1)
    called = caught + np.cumsum(theirs, axis=1)
    share = np.divide(caught, called, out=np.zeros(caught.shape), where=called > 0)
    return _where_defined(replicates, np.sum(ours * share, axis=1), ours.sum(axis=1))


def _partial_auc(
    replicates: Replicates,
    *,
    specificity: tuple[float, float] | None = None,
    sensitivity: tuple[float, float] | None = None,
    corrected: bool = False,
) -> FloatArray:
    """Integrate the ROC curve over a range, as `partial_auc_score` does for one sample."""
    low, high, least = partial_range(specificity, sensitivity)
    recall, alarm = rising_shares(replicates.positives), rising_shares(replicates.negatives)
    if sensitivity is not None:  # the area beside the curve: turn it by exchanging the axes
        area = (high - low) - _areas_between(recall, alarm, low, high)
    else:
        area = _areas_between(alarm, recall, 1.0 - high, 1.0 - low)
    return (1.0 + (area - least) / (high - low - least)) / 2.0 if corrected else area


def rising_shares(drawn: Drawn) -> FloatArray:
    """Return the share of a class at or above each score, from 0 above the highest; NaN where the class is absent."""
    total = drawn.sum(axis=1, keepdims=True)
    through = np.cumsum(drawn[:, ::-1], axis=1) / np.where(total > 0, total, np.nan)
    return np.hstack((np.zeros((len(drawn), 1)), through))


def _areas_between(x: FloatArray, y: FloatArray, low: float, high: float) -> FloatArray:
    """Integrate the lines through points of each replicate, with ascending `x`, from `low` to `high`."""
    left, right = x[:, :-1], x[:, 1:]
    width = right - left
    rise = np.divide(np.diff(y, axis=1), width, out=np.zeros(width.shape), where=width > 0.0)
    first, last = np.clip(left, low, high), np.clip(right, low, high)
    middle = y[:, :-1] + rise * ((first + last) / 2.0 - left)
    area: FloatArray = np.sum((last - first) * middle, axis=1)
    return area


def _youden(replicates: Replicates) -> tuple[FloatArray, FloatArray]:
    """Return Youden's threshold and index of each replicate."""
    ours, theirs = replicates.positives[:, ::-1], replicates.negatives[:, ::-1]
    n, m = ours.sum(axis=1), theirs.sum(axis=1)
    gain = np.cumsum(ours, axis=1) * m[:, None] - np.cumsum(theirs, axis=1) * n[:, None]
    best = np.argmax(np.where(ours + theirs > 0, gain, -1), axis=1)  # a score that was not drawn is no threshold
    highest = np.take_along_axis(gain, best[:, None], axis=1)[:, 0]
    thresholds = replicates.scores[::-1][best]
    return _where_defined(replicates, thresholds), _where_defined(replicates, highest, n * m)


def _brier(replicates: Replicates) -> FloatArray:
    return _mean_loss(replicates, *squared_errors(replicates.scores))


def _log_loss(replicates: Replicates) -> FloatArray:
    return _mean_loss(replicates, *log_losses(replicates.scores))


def _mean_loss(replicates: Replicates, of_positives: FloatArray, of_negatives: FloatArray) -> FloatArray:
    missed = replicates.positives @ of_positives + replicates.negatives @ of_negatives
    return _where_defined(replicates, missed, _rows(replicates))


def _scaled_brier(replicates: Replicates) -> FloatArray:
    share = replicates.positives.sum(axis=1) / _rows(replicates)
    return 1.0 - _where_defined(replicates, _brier(replicates), share * (1.0 - share))


def _observed_expected(replicates: Replicates) -> FloatArray:
    expected = (replicates.positives + replicates.negatives) @ replicates.scores
    return _where_defined(replicates, replicates.positives.sum(axis=1), expected)


def _expected_calibration_error(replicates: Replicates) -> FloatArray:
    """Compute the error in ten bins of equal width, as `expected_calibration_error` does for one sample."""
    starts = equal_width_starts(replicates.scores, 10)
    observed = np.add.reduceat(replicates.positives, starts, axis=1)
    expected = np.add.reduceat((replicates.positives + replicates.negatives) * replicates.scores, starts, axis=1)
    return _where_defined(replicates, np.abs(observed - expected).sum(axis=1), _rows(replicates))


def _rows(replicates: Replicates) -> Drawn:
    rows: Drawn = replicates.positives.sum(axis=1) + replicates.negatives.sum(axis=1)
    return rows


def _where_defined(replicates: Replicates, numerator: NDArray[Any], denominator: Any = 1.0) -> FloatArray:
    """Divide, with NaN for replicates of one class only and where nothing is divided by."""
    below = np.broadcast_to(np.asarray(denominator, dtype=np.float64), numerator.shape)
    usable = replicates.both_classes & (below != 0.0)
    quotient: FloatArray = np.divide(numerator, below, out=np.full(numerator.shape, np.nan), where=usable)
    return quotient


_ARRAYS: Mapping[str, Callable[[Replicates], FloatArray]] = MappingProxyType(
    {
        "auc": _auc,
        "average_precision": _average_precision,
        "youden_threshold": lambda replicates: _youden(replicates)[0],
        "youden_index": lambda replicates: _youden(replicates)[1],
        "expected_calibration_error": _expected_calibration_error,
        "brier": _brier,
        "scaled_brier": _scaled_brier,
        "log_loss": _log_loss,
        "observed_expected": _observed_expected,
    }
)
"""Metrics in array operations; each equals the metric of the replicate's counts."""
