"""Methods for private feature selection, behind one function.

"score-perturbation" adds noise to every score and takes the highest scores, or those that reach a threshold.
"sparse-vector" tests features one after the other against a threshold and pays for at most k that reach it. "peeling"
and "permute-and-flip" choose k features one after the other, where higher scores are likelier, and release no score.
"clusters" adds noise to every score, groups features with similar noisy scores and takes whole groups. Grouping reads
only noisy scores, so it costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from heapq import nlargest
from typing import TypeAlias

import numpy as np

from confide.errors import ParameterError
from confide.features import FeatureRows, Integers
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
from confide.selection.clusters import cluster_means, clustered
from confide.selection.feature_terms import check_part, checked_family, feature_guarantee
from confide.selection.rules import METHODS as METHODS
from confide.selection.rules import Rule
from confide.selection.selection import Selection

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
