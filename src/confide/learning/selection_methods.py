"""Methods for private feature selection, behind one interface.

"score-perturbation" adds noise to every score and takes the highest scores, or those that reach a threshold.
"sparse-vector" tests features one after the other against a threshold and pays for at most k that reach it. "peeling"
and "permute-and-flip" choose k features one after the other, where higher scores are likelier, and release no score.
"clusters" adds noise to every score, groups features with similar noisy scores and takes whole groups. Grouping reads
only noisy scores, so it costs nothing more.

On a line, the clusters of an optimal k-means are intervals. So the least cost of the first j values in c clusters is
the minimum, over i, of the least cost of the first i values in c - 1 clusters plus the cost of values i to j in one
cluster. The best i rises with j, so divide and conquer finds all j in `clusters * n log n` steps (X. Wu,
"Optimal quantization by matrix searching", Journal of Algorithms 12, 1991).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.features import FeatureRows, Integers
from confide.learning.selection import METHODS as METHODS
from confide.learning.selection import Rule, Selection, check_part, checked_family, feature_guarantee
from confide.privacy.accounting import rho_for
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.feature_scores import units_of
from confide.privacy.mechanisms.score_perturbation import concentrated_scores, perturbed_scores
from confide.privacy.mechanisms.sparse_vector import sparse_vector
from confide.privacy.mechanisms.top_features import top_features
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.terms import Terms


def clustered(values: FloatArray, clusters: int) -> Integers:
    """Return the cluster of each value, numbered from the smallest values upwards.

    There are fewer clusters if fewer values differ.

    >>> clustered(np.array([7.0, 1.0, 8.0, 0.0]), 2)
    array([1, 0, 1, 0])
    """
    distinct, where, times = np.unique(values, return_inverse=True, return_counts=True)
    sums = _Sums.of(distinct, times)
    found = np.zeros(distinct.size, dtype=np.int64)
    found[_starts(sums, min(clusters, distinct.size))] = 1
    return (np.cumsum(found) - 1)[where]


def cluster_means(values: FloatArray, cluster: Integers) -> FloatArray:
    """Return the mean of each cluster."""
    means: FloatArray = np.bincount(cluster, weights=values) / np.bincount(cluster)
    return means


@dataclass(frozen=True, slots=True, repr=False)
class _Sums:
    """Cumulative sums over the distinct values: of weights, values and squares, relative to the median."""

    weights: FloatArray
    values: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, distinct: FloatArray, times: NDArray[np.int64]) -> _Sums:
        around = distinct - distinct[distinct.size // 2]
        return cls(*(np.append(0.0, np.cumsum(times * around**power)) for power in (0, 1, 2)))

    def cost(self, start: Integers, stop: Integers) -> FloatArray:
        """Return the sum of squares around the mean of the values from `start` to `stop`."""
        total = self.values[stop] - self.values[start]
        spread = self.squares[stop] - self.squares[start]
        around: FloatArray = spread - total**2 / (self.weights[stop] - self.weights[start])
        return np.maximum(around, 0.0)


def _starts(sums: _Sums, clusters: int) -> Integers:
    """Return the start of each cluster among the distinct values."""
    size = sums.weights.size - 1
    ends = np.arange(1, size + 1)
    least = np.append(np.inf, sums.cost(np.zeros(size, dtype=np.int64), ends))
    last_starts = []
    for cluster in range(1, clusters):
        least, last = _one_more(sums, least, cluster)
        last_starts.append(last)
    starts, stop = [], size
    for last in reversed(last_starts):
        stop = int(last[stop])
        starts.append(stop)
    return np.array([0, *reversed(starts)], dtype=np.int64)


def _one_more(sums: _Sums, least: FloatArray, clusters: int) -> tuple[FloatArray, Integers]:
    """Return the least cost of the first j values with one more cluster, and the start of the last cluster.

    All middles of one depth of the divide and conquer are computed together.
    """
    size = least.size - 1
    found, start = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
    low, high = np.array([clusters + 1]), np.array([size])
    first, last = np.array([clusters]), np.array([size - 1])
    while low.size:
        middle = (low + high) // 2
        found[middle], start[middle] = _best(sums, least, middle, first, np.minimum(last, middle - 1))
        low, high = np.append(low, middle + 1), np.append(middle - 1, high)
        first, last = np.append(first, start[middle]), np.append(start[middle], last)
        left = low <= high
        low, high, first, last = low[left], high[left], first[left], last[left]
    return found, start


def _best(
    sums: _Sums, least: FloatArray, stop: Integers, first: Integers, last: Integers
) -> tuple[FloatArray, Integers]:
    """Return, for each stop, the cost and the start of the cheapest last cluster, from `first` to `last`."""
    lengths = last - first + 1
    offsets = np.cumsum(lengths) - lengths
    starts = np.arange(lengths.sum()) - np.repeat(offsets - first, lengths)
    costs = least[starts] + sums.cost(starts, np.repeat(stop, lengths))
    cheapest = np.minimum.reduceat(costs, offsets)
    among = np.where(costs == np.repeat(cheapest, lengths), starts, np.iinfo(np.int64).max)
    return cheapest, np.minimum.reduceat(among, offsets)


Taken: TypeAlias = tuple[tuple[int, ...], tuple[float, ...] | None]
"""Selected features in ascending order, and their noisy scores if the method releases them."""


def prepare_selection(
    rows: FeatureRows,
    *,
    method: str,
    epsilon: object,
    score: str = "total-count",
    k: int | None = None,
    threshold: float | None = None,
    clusters: int | None = None,
    most_features: int | None = None,
    excluded: Collection[int] = (),
    mechanism: str = "laplace",
    delta: Exact = 0,
    neighbours: str = Neighbours.ADD_REMOVE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    part: Part | None = None,
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[Selection]:
    """Check a request to select features and compute its price.

    Guarantees are pure, without delta, unless `mechanism` is "gaussian": "score-perturbation" and "clusters" then add
    Gaussian noise to the scores, which needs a `delta` and pays in accounts of composition zcdp.

    "score-perturbation" takes `k`, the number of features, or `threshold`. "sparse-vector" takes `threshold` and `k`,
    the most features to select. "peeling" and "permute-and-flip" take `k`. "clusters" takes `threshold` and the number
    of `clusters`, by default 8. From a row with more than `most_features` features, a public hash draws as many. By
    default 10 count where a limit reduces the noise, and all elsewhere. Features in `excluded` are not selected, and
    rows count as if they did not have them. The list of features and all these numbers must be public: do not choose
    them by looking at the same data.
    """
    rule = Rule.checked(
        method=method, score=score, k=k, threshold=threshold, clusters=clusters, most_features=most_features
    )
    terms = Terms.checked(
        epsilon=epsilon, delta=delta, neighbours=neighbours, unit=unit, rows_per_person=rows_per_person
    )
    rho = _concentrated(rule, mechanism, terms)
    check_part(part, terms)
    candidates = _candidates(rows, excluded, rule)
    guarantee = feature_guarantee(terms, () if rule.threshold is None else ("threshold",), rho=rho)
    take = _taking(rows if len(candidates) == rows.width else rows.only(candidates), rule, terms, rho)
    fewer = {} if len(candidates) == rows.width else {"candidates": len(candidates)}

    def draw(noise: Noise = noise) -> tuple[Selection, ...]:
        features, scores = take(noise)
        selection = Selection(
            features=tuple(candidates[list(features)].tolist()),
            width=rows.width,
            method=rule.method,
            score=rule.score,
            scores=scores,
            guarantee=guarantee,
            options={**rule.options, **fewer},
        )
        return (selection,)

    request = terms.request("selection", rule.method, score=rule.score, width=rows.width, **rule.options)
    if fewer:
        request["excluded"] = sorted(int(feature) for feature in excluded)
    if rho is not None:
        request["noise"] = "gaussian"
    return Prepared(
        guarantee=guarantee,
        request=request,
        draw=draw,
        read=Selection.from_dict,
        part=part,
        numbers=2 * (len(candidates) if rule.k is None else rule.k),
    )


def _concentrated(rule: Rule, mechanism: str, terms: Terms) -> Fraction | None:
    """Return the rho of Gaussian noise on scores; None if there is Laplace noise."""
    if checked_family(mechanism, terms) == "laplace":
        return None
    if rule.method not in ("score-perturbation", "clusters"):
        raise ParameterError(f"method {rule.method!r} adds no Gaussian noise; leave `mechanism` and delta out")
    return rho_for(terms.epsilon, terms.delta)


def _candidates(rows: object, excluded: Collection[int], rule: Rule) -> Integers:
    """Return the features that may be selected, ascending. Refuse a number of features that is larger."""
    if not isinstance(rows, FeatureRows):
        raise ParameterError(f"rows must be FeatureRows, got {type(rows).__name__}; see FeatureRows.from_matrix")
    if not all(0 <= feature < rows.width for feature in excluded):
        raise ParameterError(f"excluded must hold features, numbers from 0 to {rows.width - 1}")
    candidates: Integers = np.setdiff1d(np.arange(rows.width, dtype=np.int64), np.array([*excluded], dtype=np.int64))
    if rule.k is not None and rule.k > len(candidates):
        others = f" ({rows.width - len(candidates)} excluded)" if len(excluded) else ""
        raise ParameterError(f"k must be at most the number of features, {len(candidates)}{others}; got {rule.k}")
    return candidates


def _taking(rows: FeatureRows, rule: Rule, terms: Terms, rho: Fraction | None) -> Callable[[Noise], Taken]:
    """Return the function that draws the features.

    A mechanism refuses wrong parameters here, before anything is charged.
    """
    asked = (rows, rule.score, terms.epsilon, terms.neighbours)
    if rule.k is not None and rule.method == "sparse-vector":
        found = sparse_vector(*asked, most_features=rule.most_features, threshold=rule.least, cutoff=rule.k)
        return lambda noise: (tuple(sorted(found.draw(noise))), None)
    if rule.k is not None and (rule.method == "peeling" or rule.method == "permute-and-flip"):
        top = top_features(*asked, most_features=rule.most_features, k=rule.k, how=rule.method)
        return lambda noise: (tuple(sorted(top.draw(noise))), None)
    query = (
        perturbed_scores(*asked, most_features=rule.most_features)
        if rho is None
        else concentrated_scores(rows, rule.score, rho, terms.neighbours, most_features=rule.most_features)
    )
    return lambda noise: _taken(rule, query.draw(noise))


def _taken(rule: Rule, noisy: Sequence[int]) -> Taken:
    """Return the features that noisy scores, in whole units, select."""
    units = units_of(rule.score)
    features = sorted(_chosen(rule, noisy, units))
    return tuple(features), tuple(noisy[feature] / units for feature in features)


def _chosen(rule: Rule, noisy: Sequence[int], units: int) -> list[int]:
    if rule.clusters is not None and rule.threshold is not None:
        values = np.array(noisy, dtype=np.float64) / units
        cluster = clustered(values, rule.clusters)
        reaching = cluster_means(values, cluster) >= rule.threshold
        return np.flatnonzero(reaching[cluster]).tolist()
    if rule.k is not None:  # of equal scores the first feature comes first
        return nlargest(rule.k, range(len(noisy)), key=noisy.__getitem__)
    return [feature for feature, score in enumerate(noisy) if score >= rule.least]
