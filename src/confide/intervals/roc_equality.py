"""Are two ROC curves equal everywhere? Venkatraman's permutation tests; equal areas do not suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.influence import Labels
from confide.intervals.resample import check_replicates
from confide.sources.rows import Rows

Ties = Literal["random", "first"]

_CHUNK = 1_000_000  # scores permuted at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEquality:
    """Test that two ROC curves are equal: statistic and permutation p-value."""

    statistic: float
    p_value: float
    permutations: int
    method: str

    def to_dict(self) -> dict[str, object]:
        """Return the test as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def compare_curves(
    labels: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    positive: object = None,
    permutations: int = 2_000,
    ties: Ties = "random",
    rng: np.random.Generator | int | None = None,
) -> CurveEquality:
    """Test whether two models have the same ROC curve on the same rows (Venkatraman & Begg 1996).

    The statistic adds up, over all cuts of the ranks, the absolute difference between the two models' numbers of
    misclassified rows. Under the hypothesis the ranks of a row may be exchanged between the models. The p-value is
    `(1 + exceeding) / (1 + permutations)`. Tied scores are ranked at random, or with `ties="first"` in the order of
    rows, as R's pROC does; then the statistic is pROC's. Assumes independent rows.

    Reference: Venkatraman & Begg (1996), Biometrika 83:835.
    """
    check_replicates(permutations)
    generator = _generator(rng)
    rows = Rows.checked(labels, ("first", "second"), (first, second), positive=positive)
    label, ranks = rows.labels, [_ranks(scores, ties, generator) for scores in rows.scores]
    observed = _paired_statistic(label, ranks[0][None], ranks[1][None])[0]
    exceeding = 0
    step = max(1, _CHUNK // label.size)
    for start in range(0, permutations, step):
        shape = (min(step, permutations - start), label.size)
        swapped = generator.random(shape) < 0.5
        # Two rows may now share a rank; noise below 1 ranks them at random.
        mixed = [
            np.where(swapped, *pair) + generator.random(shape) for pair in ((ranks[1], ranks[0]), (ranks[0], ranks[1]))
        ]
        exceeding += int(np.sum(_paired_statistic(label, *mixed) >= observed))
    return CurveEquality(
        statistic=float(observed),
        p_value=(1.0 + exceeding) / (1.0 + permutations),
        permutations=permutations,
        method="Venkatraman, paired",
    )


def compare_curves_unpaired(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    positive: object = None,
    permutations: int = 2_000,
    ties: Ties = "random",
    rng: np.random.Generator | int | None = None,
) -> CurveEquality:
    """Test whether the ROC curve is the same on two different sets of rows (Venkatraman 2000).

    Each set is labels and scores. Both are brought to a common prevalence `k`, that of all rows. At each cut, `k F + (1
    - k) G` of a set is called negative and `k F + (1 - k)(1 - G)` misclassified, with `F` and `G` the shares of its
    positives and negatives at or below the cut. The statistic is the area between the sets' curves of the second in the
    first, from the first cut on, as in R's pROC (which takes the first set's size for both in `k`). Under the
    hypothesis the places of rows may be exchanged between sets, within each class.

    Reference: Venkatraman (2000), Biometrics 56:1134.
    """
    check_replicates(permutations)
    generator = _generator(rng)
    sets = [_checked_set(name, each, positive) for name, each in (("first", first), ("second", second))]
    prevalence = sum(int(labels.sum()) for labels, _ in sets) / sum(labels.size for labels, _ in sets)
    ordered = [labels[np.argsort(_ranks(scores, ties, generator))] for labels, scores in sets]
    curves = [_misclassified(labels, prevalence) for labels in ordered]
    observed = _area_between(*curves)
    # A row's place is the share called negative at its own cut: comparable between sets of any size.
    places = _ranks(np.concatenate([curve[0] for curve in curves]), "random", generator)
    label = np.concatenate(ordered)
    sizes = [int(labels.sum()) for labels in ordered], [int((~labels).sum()) for labels in ordered]
    exceeding = 0
    for _ in range(permutations):
        ours, theirs = (generator.permutation(places[side]) for side in (label, ~label))
        halves = (
            (ours[: sizes[0][0]], theirs[: sizes[1][0]]),
            (ours[sizes[0][0] :], theirs[sizes[1][0] :]),
        )
        mixed = (_ordered_labels(*half) for half in halves)
        exceeding += _area_between(*(_misclassified(each, prevalence) for each in mixed)) >= observed
    return CurveEquality(
        statistic=observed,
        p_value=(1.0 + exceeding) / (1.0 + permutations),
        permutations=permutations,
        method="Venkatraman, unpaired",
    )


def _checked_set(name: str, pair: object, positive: object) -> tuple[Labels, FloatArray]:
    """Validate one set of rows."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterError(f"`{name}` must be a pair, (labels, scores); give both for each set of rows")
    rows = Rows.checked(pair[0], ("score",), (pair[1],), positive=positive)
    return rows.labels, rows.scores[0]


def _generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)


def _ranks(scores: FloatArray, ties: Ties, rng: np.random.Generator) -> FloatArray:
    """Rank scores from 0, without ties."""
    if ties not in ("random", "first"):
        raise ParameterError(f"ties must be 'random' or 'first', got {ties!r}")
    order = np.argsort(scores, kind="stable") if ties == "first" else np.lexsort((rng.random(scores.size), scores))
    ranks = np.empty(scores.size)
    ranks[order] = np.arange(scores.size)
    return ranks


def _paired_statistic(labels: Labels, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the statistic of each line: twice the summed distance between cumulative numbers of positives."""
    through = [np.cumsum(labels[np.argsort(ranks, axis=1)], axis=1, dtype=np.int32) for ranks in (first, second)]
    total: FloatArray = 2.0 * np.abs(through[0] - through[1]).sum(axis=1)
    return total


def _ordered_labels(positives: FloatArray, negatives: FloatArray) -> Labels:
    """Return the labels of rows in ascending order of their places."""
    order: Labels = np.argsort(np.concatenate((positives, negatives))) < positives.size
    return order


def _misclassified(ordered: Labels, prevalence: float) -> tuple[FloatArray, FloatArray]:
    """Return, at the cut after each row in ascending order, the share called negative and the share misclassified."""
    of_positives = np.cumsum(ordered) / ordered.sum()
    of_negatives = np.cumsum(~ordered) / (~ordered).sum()
    missed = prevalence * of_positives
    return missed + (1.0 - prevalence) * of_negatives, missed + (1.0 - prevalence) * (1.0 - of_negatives)


def _area_between(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> float:
    """Return the area between two broken lines, by trapezoids at the corners of both, where both are defined."""
    at = np.sort(np.concatenate((first[0], second[0])), kind="stable")  # merges two sorted runs
    at = at[(at >= max(first[0][0], second[0][0])) & (at <= min(first[0][-1], second[0][-1]))]
    gap = np.abs(np.interp(at, *first) - np.interp(at, *second))
    return float(np.sum((gap[1:] + gap[:-1]) * np.diff(at)) / 2.0)
