"""The ways to select features privately, each asked for in the same words.

"score-perturbation" gives every feature's score noise, and takes the highest or those that reach a threshold.
"sparse-vector" asks one feature after the other whether it reaches a threshold, and pays for at most k that do.
"peeling" and "permute-and-flip" choose k features one after the other, higher scores being likelier, and release no
score. "clusters" gives every score noise, groups features of like noisy scores, and takes whole groups; grouping reads
nothing but noisy scores, so it costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import TypeAlias

import numpy as np

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import units_of
from confide.privacy.mechanisms.score_perturbation import perturbed_scores
from confide.privacy.mechanisms.sparse_vector import sparse_vector
from confide.privacy.mechanisms.top_features import top_features
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.terms import Terms
from confide.selection.clusters import cluster_means, clustered
from confide.selection.feature_terms import check_part, feature_guarantee
from confide.selection.rules import METHODS as METHODS
from confide.selection.rules import Rule
from confide.selection.selection import Selection

Taken: TypeAlias = tuple[tuple[int, ...], tuple[float, ...] | None]
"""The features that were taken, ascending, and their noisy scores where these are released."""


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
    neighbours: str = Neighbours.ADD_REMOVE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    part: Part | None = None,
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[Selection]:
    """Check a request to select features and say its price; every guarantee is pure, without delta.

    "score-perturbation" takes `k`, the number of features, or `threshold`; "sparse-vector" takes `threshold` and `k`,
    the most features to find; "peeling" and "permute-and-flip" take `k`; "clusters" takes `threshold` and the number of
    `clusters`, 8 if not given. Of a row with more than `most_features` so many count, drawn by a public hash; without
    it, 10 do where a limit lessens the noise, and else all. Which features there are is public, and so are all these
    numbers: chosen by looking at the same data they would give something away.
    """
    rule = Rule.checked(
        method=method, score=score, k=k, threshold=threshold, clusters=clusters, most_features=most_features
    )
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours, unit=unit, rows_per_person=rows_per_person)
    check_part(part, terms)
    _check_rows(rows, rule)
    guarantee = feature_guarantee(terms, () if rule.threshold is None else ("threshold",))
    take = _taking(rows, rule, terms)

    def draw(noise: Noise = noise) -> tuple[Selection, ...]:
        features, scores = take(noise)
        selection = Selection(
            features=features,
            width=rows.width,
            method=rule.method,
            score=rule.score,
            scores=scores,
            guarantee=guarantee,
            options=rule.options,
        )
        return (selection,)

    request = terms.request("selection", rule.method, score=rule.score, width=rows.width, **rule.options)
    return Prepared(
        guarantee=guarantee,
        request=request,
        draw=draw,
        read=Selection.from_dict,
        part=part,
        numbers=2 * (rows.width if rule.k is None else rule.k),
    )


def _check_rows(rows: object, rule: Rule) -> None:
    if not isinstance(rows, FeatureRows):
        raise ParameterError(f"rows must be FeatureRows, got {type(rows).__name__}; see FeatureRows.from_matrix")
    if rule.k is not None and rule.k > rows.width:
        raise ParameterError(f"k must be at most the number of features, {rows.width}; got {rule.k}")


def _taking(rows: FeatureRows, rule: Rule, terms: Terms) -> Callable[[Noise], Taken]:
    """How the features are drawn; whatever a mechanism refuses, it refuses here, before anything is charged."""
    asked = (rows, rule.score, terms.epsilon, terms.neighbours)
    if rule.k is not None and rule.method == "sparse-vector":
        found = sparse_vector(*asked, most_features=rule.most_features, threshold=rule.least, cutoff=rule.k)
        return lambda noise: (tuple(sorted(found.draw(noise))), None)
    if rule.k is not None and (rule.method == "peeling" or rule.method == "permute-and-flip"):
        top = top_features(*asked, most_features=rule.most_features, k=rule.k, how=rule.method)
        return lambda noise: (tuple(sorted(top.draw(noise))), None)
    query = perturbed_scores(*asked, most_features=rule.most_features)
    return lambda noise: _taken(rule, query.draw(noise))


def _taken(rule: Rule, noisy: Sequence[int]) -> Taken:
    """The features that noisy scores, in whole units, choose."""
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
