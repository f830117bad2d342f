"""DeLong's structural components of models on the same rows: exact sums of whole rows, or values of weighted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from confide.blocks import BLOCK, in_threads
from confide.counts import CountArray, FloatArray
from confide.errors import DataError
from confide.intervals.influence import share_below
from confide.sources.rows import CodedScores

if TYPE_CHECKING:
    from confide.sources.paired_sums import PlacementSums

TOO_FEW = "comparing AUCs needs at least two rows of each class; add rows"
"""Message where a class has no variance."""


class Components(Protocol):
    """AUCs of several models on the same rows, with what their covariance follows from."""

    @property
    def aucs(self) -> FloatArray:
        """AUC of each model."""

    def covariance(self) -> FloatArray:
        """Return the covariance of the AUCs."""

    def contrasts(self, matrix: FloatArray) -> Components:
        """Return the components of linear combinations of models, a combination a line."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


def exact_placements(labels: NDArray[np.bool_], coded: Sequence[CodedScores]) -> _ExactPlacements:
    """Add up the components of whole rows.

    Products are added in 64 bits over so few rows that nothing overflows.
    """
    n, m = (int(total) for total in coded[0].counts.both_classes())
    if n <= 1 or m <= 1:
        raise DataError(TOO_FEW)
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


def summed_placements(sums: PlacementSums) -> _ExactPlacements:
    """Return the components whose sums an engine added up."""
    ours, theirs = sums.positives, sums.negatives
    if ours.rows <= 1 or theirs.rows <= 1:
        raise DataError(TOO_FEW)
    return _ExactPlacements(
        _ClassSums(ours.rows, 2 * theirs.rows, ours.sums, ours.products),
        _ClassSums(theirs.rows, 2 * ours.rows, theirs.sums, theirs.products),
    )


def _class_sums(size: int, scale: int, totals: list[int], models: int) -> _ClassSums:
    below = iter(totals[models:])
    products = [[0] * models for _ in range(models)]
    for i in range(models):
        for j in range(i + 1):
            products[i][j] = products[j][i] = next(below)
    return _ClassSums(size, scale, totals[:models], products)


def placements(
    labels: NDArray[np.bool_], scores: Sequence[FloatArray], weights: CountArray | None = None
) -> _Placements:
    """Return the components of each row, in floating point; rows may be weighted."""
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    ours, theirs = weight[labels], weight[~labels]
    if ours.sum() <= 1.0 or theirs.sum() <= 1.0:
        raise DataError(TOO_FEW)
    below = np.array([share_below(s[labels], s[~labels], theirs) for s in scores])
    above = np.array([1.0 - share_below(s[~labels], s[labels], ours) for s in scores])
    return _Placements(below, above, ours, theirs)
