"""Are AUCs different? DeLong's tests: two models on the same rows, on different rows, or many models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.blocks import BLOCK, in_threads
from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.delong import delong_variance
from confide.intervals.influence import share_below
from confide.intervals.interval import Interval, check_level, normal_quantile, plain_ends
from confide.intervals.simultaneous import largest_normal_quantile
from confide.metrics.ranking import auc_score
from confide.sources.arrays import code_checked
from confide.sources.coded import CodedScores

_TOO_FEW = "comparing AUCs needs at least two rows of each class; add rows"
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


class Components(Protocol):
    """AUCs of several models on the same rows, with what their covariance follows from."""

    @property
    def aucs(self) -> FloatArray:
        """AUC of each model."""

    def covariance(self) -> FloatArray:
        """Return the covariance of the AUCs."""

    def contrasts(self, matrix: FloatArray) -> Components:
        """Return the components of linear combinations of models, a combination a line."""


@dataclass(frozen=True, slots=True, eq=False)
class _Placements:
    """DeLong's structural components of several models on the same rows, a model a line."""

    of_positives: FloatArray
    of_negatives: FloatArray
    positive_weights: FloatArray
    negative_weights: FloatArray

    @property
    def aucs(self) -> FloatArray:
        """AUC of each model."""
        return np.average(self.of_positives, axis=1, weights=self.positive_weights)

    def covariance(self) -> FloatArray:
        """Return the AUCs' covariance (DeLong et al. 1988, equation 6)."""
        total = np.zeros((len(self.of_positives), len(self.of_positives)))
        for components, weights in (
            (self.of_positives, self.positive_weights),
            (self.of_negatives, self.negative_weights),
        ):
            size = weights.sum()
            centred = components - np.average(components, axis=1, weights=weights)[:, None]
            total += (centred * weights) @ centred.T / (size - 1.0) / size
        return total

    def contrasts(self, matrix: NDArray[np.float64]) -> _Placements:
        """Components of linear combinations of models: their variances lose nothing to cancellation."""
        return _Placements(
            matrix @ self.of_positives, matrix @ self.of_negatives, self.positive_weights, self.negative_weights
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ExactPlacements:
    """Sums of DeLong's structural components over whole rows, in exact integers.

    `of_positives` and `of_negatives` hold for each class its number of rows, the scale of its components (twice the
    rows of the other class), their sums by model and their sums of products by pair of models.
    """

    of_positives: _ClassSums
    of_negatives: _ClassSums

    @property
    def aucs(self) -> FloatArray:
        """AUC of each model."""
        ours = self.of_positives
        return np.array([float(Fraction(total, ours.size * ours.scale)) for total in ours.sums])

    def covariance(self) -> FloatArray:
        """Return the AUCs' covariance (DeLong et al. 1988, equation 6), rounded once."""
        parts = [side.covariance() for side in (self.of_positives, self.of_negatives)]
        exact = [
            [float(ours + theirs) for ours, theirs in zip(*lines, strict=True)] for lines in zip(*parts, strict=True)
        ]
        return np.array(exact)

    def contrasts(self, matrix: FloatArray) -> _ExactPlacements:
        """Return the sums of linear combinations of models, whose coefficients are whole numbers."""
        whole = [[int(coefficient) for coefficient in line] for line in matrix.tolist()]
        return _ExactPlacements(self.of_positives.contrasts(whole), self.of_negatives.contrasts(whole))


@dataclass(frozen=True, slots=True, eq=False)
class _ClassSums:
    size: int
    scale: int
    sums: list[int]
    products: list[list[int]]

    def covariance(self) -> list[list[Fraction]]:
        """Return the covariance of the means of the components."""
        below = self.size * self.size * (self.size - 1) * self.scale * self.scale
        return [
            [
                Fraction(self.size * product - first * second, below)
                for second, product in zip(self.sums, line, strict=True)
            ]
            for first, line in zip(self.sums, self.products, strict=True)
        ]

    def contrasts(self, matrix: list[list[int]]) -> _ClassSums:
        def combined(line: list[int], values: list[int]) -> int:
            return sum(weight * value for weight, value in zip(line, values, strict=True))

        turned = [[combined(line, products) for products in self.products] for line in matrix]
        return _ClassSums(
            self.size,
            self.scale,
            [combined(line, self.sums) for line in matrix],
            [[combined(other, line) for other in matrix] for line in turned],
        )


def _exact_placements(labels: NDArray[np.bool_], coded: Sequence[CodedScores]) -> _ExactPlacements:
    """Add up the components of whole rows.

    Products are added in 64 bits over so few rows that nothing overflows.
    """
    n, m = (int(total) for total in coded[0].counts.both_classes())
    if n <= 1 or m <= 1:
        raise DataError(_TOO_FEW)
    step = min(BLOCK, max(1, (1 << 62) // (2 * max(n, m)) ** 2))
    models = range(len(coded))

    def sums(first: int) -> list[int]:
        part = slice(first, first + step)
        every = [each.components[part].astype(np.int64) for each in coded]
        ours = [values * labels[part] for values in every]
        found: list[int] = []
        for values in (ours, every):
            found += [int(each.sum()) for each in values]
            found += [int(np.einsum("i,i->", values[i], every[j])) for i in models for j in range(i + 1)]
        return found

    parts = in_threads(sums, range(0, labels.size, step), rows=labels.size)
    totals = [sum(column) for column in zip(*parts, strict=True)]
    half = len(totals) // 2
    ours = totals[:half]
    theirs = [every - mine for every, mine in zip(totals[half:], ours, strict=True)]
    return _ExactPlacements(_class_sums(n, 2 * m, ours, len(coded)), _class_sums(m, 2 * n, theirs, len(coded)))


def _class_sums(size: int, scale: int, totals: list[int], models: int) -> _ClassSums:
    below = iter(totals[models:])
    products = [[0] * models for _ in range(models)]
    for i in range(models):
        for j in range(i + 1):
            products[i][j] = products[j][i] = next(below)
    return _ClassSums(size, scale, totals[:models], products)


def _placements(
    labels: NDArray[np.bool_], scores: Sequence[FloatArray], weights: CountArray | None = None
) -> _Placements:
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    ours, theirs = weight[labels], weight[~labels]
    if ours.sum() <= 1.0 or theirs.sum() <= 1.0:
        raise DataError(_TOO_FEW)
    below = np.array([share_below(s[labels], s[~labels], theirs) for s in scores])
    above = np.array([1.0 - share_below(s[~labels], s[labels], ours) for s in scores])
    return _Placements(below, above, ours, theirs)


def compare_auc(
    labels: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    names: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """Test whether two models have the same AUC on the same rows (paired DeLong test).

    Assumes independent rows; weights count as repetitions. Needs the rows, as counts do not say
    which scores belong together.
    """
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
    from confide.sources.arrays import checked_rows, checked_scores

    if not isinstance(scores, Mapping):
        raise ParameterError("scores must map each model's name to its scores, for example {'a': ..., 'b': ...}")
    if len(scores) < 2:
        raise ParameterError("scores must hold at least two models to compare")
    named = list(scores.items())
    label, score, weight = checked_rows(labels, named[0][1], weights, positive=positive)
    columns = [score, *(checked_scores(values) for _, values in named[1:])]
    for (name, _), column in zip(named, columns, strict=True):
        if column.size != label.size:
            raise ParameterError(f"the scores of {name!r} have another length than the labels")
    return compare_checked(label, [name for name, _ in named], columns, weight, level=level)


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
        components = _exact_placements(labels, known)
    else:
        components = _placements(labels, scores, weights)
    return compare_components(components, names, level=level, method="paired DeLong")


def compare_components(components: Components, names: Sequence[str], *, level: float, method: str) -> JointComparison:
    """Compare models whose AUCs and components are known."""
    check_level(level)
    aucs, covariance = components.aucs, components.covariance()
    models = np.eye(len(names))
    chi_squared, degrees = _joint_statistic(components.contrasts(models[1:] - models[0]))
    pairs = list(itertools.combinations(range(len(names)), 2))
    variances = [float(components.contrasts((models[i] - models[j])[None]).covariance()[0, 0]) for i, j in pairs]
    reach = _simultaneous_quantile(covariance, pairs, variances, level) if len(pairs) > 1 else None
    differences = tuple(
        normal_comparison(names[i], names[j], float(aucs[i] - aucs[j]), variance, level, reach=reach, method=method)
        for (i, j), variance in zip(pairs, variances, strict=True)
    )
    return JointComparison(
        names=tuple(names),
        aucs=tuple(float(auc) for auc in aucs),
        covariance=tuple(tuple(float(entry) for entry in row) for row in covariance),
        chi_squared=chi_squared,
        degrees_of_freedom=degrees,
        p_value=_chi_squared_tail(chi_squared, degrees),
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
    variances = [delong_variance(counts) for counts in (first, second)]
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
    **labels: Any,
) -> Comparison:
    """Compare a difference with 0 by the normal distribution.

    `reach` is the half-width, in standard errors, of simultaneous intervals. `labels` are the other fields of
    `Comparison`: metric, threshold, contrast.
    """
    from scipy.special import ndtr

    # Two models that rank every row alike differ by rounding only.
    error = math.sqrt(variance) if variance > _NO_VARIANCE else 0.0
    without_error = 0.0 if abs(difference) < 1e-12 else math.copysign(math.inf, difference)
    z = difference / error if error > 0.0 else without_error
    lower, upper = plain_ends(difference, error, level)
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
        p_value=float(2.0 * ndtr(-abs(z))),
        interval=Interval(lower=lower, upper=upper, level=level, method=method),
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


def _chi_squared_tail(value: float, degrees: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(degrees, value)) if degrees else 1.0


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
