"""Are AUCs different? DeLong's tests and intervals, also for many models at once.

Statistics `z_m = a_m . y` are unit vectors `a_m` times a standard normal vector `y` of `d` dimensions. Length and
direction of `y` are independent, so with `M(u) = max_m |a_m . u|` over directions `u`::

    P(max_m |z_m| <= c) = E_u F_d(c^2 / M(u)^2),

where `F_d` is the distribution function of chi-squared. Only directions are left to integrate over: those of the plane
by the midpoint rule, others by a scrambled Sobol sequence with a fixed seed. Singular covariances need no care: `d` is
the rank of the vectors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts, require_counts
from confide.errors import ParameterError
from confide.intervals.delong import delong_variance
from confide.intervals.interval import Interval, check_level, normal_quantile, student_quantile, student_tail
from confide.intervals.placements import Components, exact_placements, placements, summed_placements
from confide.metrics.ranking import auc_score
from confide.sources.arrays import code_checked
from confide.sources.rows import CodedScores, Rows

_DIRECTIONS = ((5, 1 << 17), (8, 1 << 19))  # up to a rank, so many
_MOST_DIRECTIONS = 1 << 20
_AT_A_TIME = 1 << 12
_BINS = 4_096
_BISECTIONS = 50
_SEED = 20_240_613  # any fixed number: the same vectors must give the same quantile


def largest_normal_quantile(vectors: FloatArray, level: float) -> float:
    """Return the `level` quantile of `max |a_m . y|`, where the unit vectors `a_m` are lines of `vectors`.

    The relative error is below 1e-7 for vectors of rank 2 and below 1e-4 up to rank 11 (all differences between twelve
    models), for levels from 0.5 to 0.999. The result depends on the vectors alone.

    >>> plane = np.array([[1.0, 0.0], [0.5, 0.75**0.5], [-0.5, 0.75**0.5]])  # three independent means of equal variance
    >>> round(largest_normal_quantile(plane, 0.95), 4)  # Tukey's 3.3145 / sqrt(2)
    2.3437
    """
    _, sizes, axes = np.linalg.svd(vectors, full_matrices=False)
    rank = int(np.sum(sizes > 1e-9 * sizes[0]))
    if rank == 1:
        return normal_quantile(level)
    largest, share = _largest_products(vectors @ axes[:rank].T)
    bonferroni = normal_quantile(1.0 - (1.0 - level) / len(vectors))
    return _quantile(largest, share, rank, level, normal_quantile(level), bonferroni)


def _largest_products(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values of `M(u)` and their shares, in bins so narrow that their means lose nothing."""
    total, weighted = np.zeros(_BINS), np.zeros(_BINS)
    for directions in _directions(vectors.shape[1]):
        largest = np.abs(vectors @ directions).max(axis=0)
        place = np.minimum((largest * _BINS).astype(np.int64), _BINS - 1)
        total += np.bincount(place, minlength=_BINS)
        weighted += np.bincount(place, weights=largest, minlength=_BINS)
    seen = total > 0
    return weighted[seen] / total[seen], total[seen] / total.sum()


def _directions(rank: int) -> Iterator[FloatArray]:
    """Yield unit vectors, some at a time; a vector is a column."""
    size = next((size for most, size in _DIRECTIONS if rank <= most), _MOST_DIRECTIONS)
    if rank == 2:
        for first in range(0, size, _AT_A_TIME):
            angle = np.pi * (np.arange(first, first + _AT_A_TIME) + 0.5) / size
            yield np.stack((np.cos(angle), np.sin(angle)))
        return
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    points = Sobol(rank, scramble=True, seed=_SEED)
    for _ in range(size // _AT_A_TIME):
        normal = ndtri(np.clip(points.random(_AT_A_TIME), 1e-12, 1.0 - 1e-12)).T
        yield normal / np.sqrt(np.sum(normal**2, axis=0))


def _quantile(largest: FloatArray, share: FloatArray, rank: int, level: float, low: float, high: float) -> float:
    from scipy.special import chdtr

    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if float(np.dot(share, chdtr(rank, (middle / largest) ** 2))) < level:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


_NO_VARIANCE = 1e-28  # what rounding leaves of a variance that is zero


Contrast = Literal["difference", "log ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Difference between two values of a metric, first less second.

    `z` is the difference over its standard error. `threshold` is set for metrics at a threshold. If `contrast` is
    "log ratio", as for observed : expected, `difference`, `standard_error` and the intervals are those of
    `log(first / second)`. `simultaneous` is set where several differences were estimated at once: those intervals
    hold together at their level.
    """

    first: str
    second: str
    difference: float
    standard_error: float
    z: float
    p_value: float
    interval: Interval
    simultaneous: Interval | None = None
    metric: str = "auc"
    threshold: float | None = None
    contrast: Contrast = "difference"

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data."""
        plain: dict[str, object] = {
            "first": self.first,
            "second": self.second,
            "metric": self.metric,
            "contrast": self.contrast,
            "difference": self.difference,
            "standard_error": self.standard_error,
            "z": self.z,
            "p_value": self.p_value,
            "interval": self.interval.to_dict(),
        }
        if self.threshold is not None:
            plain["threshold"] = self.threshold
        if self.simultaneous is not None:
            plain["simultaneous_interval"] = self.simultaneous.to_dict()
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class JointComparison:
    """Joint comparison of models: a test that all AUCs are equal, and every difference."""

    names: tuple[str, ...]
    aucs: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    chi_squared: float
    degrees_of_freedom: int
    p_value: float
    differences: tuple[Comparison, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the joint test as plain data."""
        return {
            "names": list(self.names),
            "chi_squared": self.chi_squared,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
        }


def compare_auc(
    labels: ArrayLike | Any,
    first: ArrayLike | str,
    second: ArrayLike | str,
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    names: tuple[str, str] = ("first", "second"),
    label: str | None = None,
) -> Comparison:
    """Test whether two models have the same AUC on the same rows (paired DeLong test).

    Assumes independent rows; weights count as repetitions. Needs the rows, as counts do not say
    which scores belong together.

    Or give an Ibis table, or the path of a file, the names of two columns of scores, and that of the column of labels
    as `label`. The engine of the table then ranks its rows, and only sums leave it.
    """
    if label is not None:
        return _compare_in_table(labels, label, (first, second), weights, positive=positive, level=level)
    if names[0] == names[1]:
        raise ParameterError("the two names must differ; give each model its own name")
    joint = compare_aucs(
        labels,
        dict(zip(names, (first, second), strict=True)),
        weights=weights,
        positive=positive,
        level=level,
    )
    return joint.differences[0]


def _compare_in_table(
    table: Any,
    label: str,
    scores: tuple[ArrayLike | str, ArrayLike | str],
    weights: ArrayLike | None,
    *,
    positive: object,
    level: float,
) -> Comparison:
    """Compare two columns of a table by sums from its engine."""
    from confide.sources.rank_tables import table_placements

    first, second = scores
    if not isinstance(first, str) or not isinstance(second, str) or first == second:
        raise ParameterError("with a table, name two columns of scores, as in compare_auc(table, 'a', 'b', label='y')")
    if weights is not None:
        raise ParameterError("`weights` are for arrays; a table is compared without weights")
    sums = table_placements(table, label=label, scores=(first, second), positive=positive)
    if isinstance(sums, Rows):
        return compare_checked(sums.labels, sums.names, sums.scores, None, level=level).differences[0]
    components = summed_placements(sums)
    return compare_components(components, (first, second), level=level, method="paired DeLong").differences[0]


def compare_aucs(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
) -> JointComparison:
    """Compare two or more models on the same rows: one joint test and an interval for every difference.

    The joint test is `(L A)' (L S L')^- (L A)`, chi-squared with the rank of the contrasts as
    degrees of freedom. Simultaneous intervals use the quantile of the largest absolute z over all
    differences under their estimated joint normal distribution, to a relative error below 1e-4 for
    up to twelve models.
    """
    if not isinstance(scores, Mapping):
        raise ParameterError("scores must map each model's name to its scores, for example {'a': ..., 'b': ...}")
    if len(scores) < 2:
        raise ParameterError("scores must hold two or more models; add one, as in {'a': ..., 'b': ...}")
    rows = Rows.checked(labels, tuple(scores), tuple(scores.values()), weights=weights, positive=positive)
    return compare_checked(rows.labels, rows.names, rows.scores, rows.weights, level=level)


def compare_checked(
    labels: NDArray[np.bool_],
    names: Sequence[str],
    scores: Sequence[FloatArray],
    weights: CountArray | None,
    *,
    level: float,
    coded: Sequence[CodedScores] | None = None,
) -> JointComparison:
    """Compare models on rows that were validated already; `coded` are the scores of whole rows, if at hand."""
    components: Components
    if weights is None and labels.any() and not labels.all():
        known = coded or [CodedScores(*code_checked(labels, each)) for each in scores]
        components = exact_placements(labels, known)
    else:
        components = placements(labels, scores, weights)
    return compare_components(components, names, level=level, method="paired DeLong")


def compare_components(
    components: Components, names: Sequence[str], *, level: float, method: str, degrees: float = math.inf
) -> JointComparison:
    """Compare models whose AUCs and components are known.

    `degrees` are those of Student's t for each difference. With finite degrees the joint test takes Hotelling's
    `F = T (d - q + 1) / (q d)` with q and d - q + 1 degrees of freedom in place of chi-squared, for `q` contrasts.
    """
    check_level(level)
    aucs, covariance = components.aucs, components.covariance()
    models = np.eye(len(names))
    chi_squared, contrasts = _joint_statistic(components.contrasts(models[1:] - models[0]))
    pairs = list(itertools.combinations(range(len(names)), 2))
    variances = [float(components.contrasts((models[i] - models[j])[None]).covariance()[0, 0]) for i, j in pairs]
    reach = _simultaneous_quantile(covariance, pairs, variances, level) if len(pairs) > 1 else None
    differences = tuple(
        normal_comparison(
            names[i],
            names[j],
            float(aucs[i] - aucs[j]),
            variance,
            level,
            reach=None if reach is None else simultaneous_reach(reach, degrees),
            method=method,
            degrees=degrees,
        )
        for (i, j), variance in zip(pairs, variances, strict=True)
    )
    return JointComparison(
        names=tuple(names),
        aucs=tuple(float(auc) for auc in aucs),
        covariance=tuple(tuple(float(entry) for entry in row) for row in covariance),
        chi_squared=chi_squared,
        degrees_of_freedom=contrasts,
        p_value=_joint_tail(chi_squared, contrasts, degrees),
        differences=differences,
    )


def compare_auc_unpaired(
    first: ScoreCounts,
    second: ScoreCounts,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """Test whether AUC is the same on two different sets of rows (unpaired DeLong test).

    Assumes that no row is in both. The statistic is referred to Student's t with Welch's degrees of
    freedom over the rows, as in pROC.
    """
    from scipy.special import stdtr, stdtrit

    check_level(level)
    variances = [
        delong_variance(require_counts(counts, name)) for counts, name in ((first, "first"), (second, "second"))
    ]
    sizes = [counts.total_positives + counts.total_negatives for counts in (first, second)]
    difference, variance = auc_score(first) - auc_score(second), sum(variances)
    if variance <= 0.0:
        return normal_comparison(*names, difference, 0.0, level, method="unpaired DeLong")
    degrees = variance**2 / sum(v**2 / (size - 1.0) for v, size in zip(variances, sizes, strict=True))
    error = math.sqrt(variance)
    t = difference / error
    reach = float(stdtrit(degrees, 0.5 + level / 2.0)) * error
    return Comparison(
        first=names[0],
        second=names[1],
        difference=difference,
        standard_error=error,
        z=t,
        p_value=float(2.0 * stdtr(degrees, -abs(t))),
        interval=Interval(
            lower=difference - reach, upper=difference + reach, level=level, method="unpaired DeLong, Welch t"
        ),
    )


def normal_comparison(
    first: str,
    second: str,
    difference: float,
    variance: float,
    level: float,
    *,
    method: str,
    reach: float | None = None,
    degrees: float = math.inf,
    **labels: Any,
) -> Comparison:
    """Compare a difference with 0 by the normal distribution, or by Student's t where `degrees` are finite.

    `reach` is the half-width, in standard errors, of simultaneous intervals. `labels` are the other fields of
    `Comparison`: metric, threshold, contrast.
    """
    # Two models that rank every row alike differ by rounding only.
    error = math.sqrt(variance) if variance > _NO_VARIANCE else 0.0
    without_error = 0.0 if abs(difference) < 1e-12 else math.copysign(math.inf, difference)
    z = difference / error if error > 0.0 else without_error
    half = student_quantile(degrees, level) * error
    together = None
    if reach is not None:
        together = Interval(
            lower=difference - reach * error,
            upper=difference + reach * error,
            level=level,
            method=f"{method}, simultaneous",
        )
    return Comparison(
        first=first,
        second=second,
        difference=difference,
        standard_error=error,
        z=z,
        p_value=2.0 * student_tail(z, degrees),
        interval=Interval(lower=difference - half, upper=difference + half, level=level, method=method),
        simultaneous=together,
        **labels,
    )


def _joint_statistic(contrasts: Components) -> tuple[float, int]:
    """Return the chi-squared statistic that every contrast is 0, and its degrees of freedom."""
    values, vectors = np.linalg.eigh(contrasts.covariance())
    least = max(1e-12 * float(values[-1]), _NO_VARIANCE)
    projected = vectors.T @ contrasts.aucs
    kept = values > least
    certain = ~kept & (projected**2 > 1e4 * least)  # a difference that no resampling could undo
    if certain.any():
        return math.inf, int((kept | certain).sum())
    return float(np.sum(projected[kept] ** 2 / values[kept])), int(kept.sum())


def _joint_tail(value: float, contrasts: int, degrees: float) -> float:
    """Return the p-value of a joint test: chi-squared, or Hotelling's F; 1 where clusters are too few for it."""
    from scipy.special import chdtrc, fdtrc

    if not contrasts:
        return 1.0
    if math.isinf(degrees):
        return float(chdtrc(contrasts, value))
    rest = degrees - contrasts + 1.0
    if rest < 1.0:
        return 1.0
    return float(fdtrc(contrasts, rest, value * rest / (contrasts * degrees)))


def simultaneous_reach(reach: float, degrees: float) -> float:
    """Widen the half-width of simultaneous normal intervals to that of Student's t with the same tail.

    This is close to the quantile of the multivariate t, and a little above it: the differences share one estimate of
    their spread, which the tails of single differences leave out.
    """
    from scipy.special import stdtrit

    return reach if math.isinf(degrees) else -float(stdtrit(degrees, student_tail(reach, math.inf)))


def _simultaneous_quantile(
    covariance: FloatArray, pairs: list[tuple[int, int]], variances: list[float], level: float
) -> float:
    """Return the `level` quantile of max |z| over all differences, when all AUCs are equal."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    negligible = 1e-12 * float(values[-1])  # below that, rounding of the root would be magnified
    lines = [root[i] - root[j] for (i, j), variance in zip(pairs, variances, strict=True) if variance > negligible]
    if not lines:
        return normal_quantile(level)
    return largest_normal_quantile(np.array([line / np.linalg.norm(line) for line in lines]), level)
