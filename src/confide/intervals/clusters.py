"""AUC of clustered rows: several rows of one patient depend on each other (Obuchowski 1997).

DeLong's variance takes rows for independent and is too small where rows of a cluster resemble each other. Obuchowski's
adds the components of a cluster before it squares them. A cluster may hold rows of both classes.

Reference: Obuchowski (1997), Biometrics 53:567.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray
from confide.errors import DataError, ParameterError
from confide.intervals.comparison import JointComparison, compare_components
from confide.intervals.influence import Labels, share_below
from confide.sources.rows import Rows, member_codes

Codes = NDArray[np.int64]

METHOD = "Obuchowski, clustered"

_TOO_FEW = "clustered rows need at least two clusters with rows of each class; add clusters, or report the value alone"


def cluster_codes(clusters: ArrayLike) -> Codes:
    """Number the clusters from 0; rows with equal names belong together.

    >>> cluster_codes(["b", "a", "b"])
    array([1, 0, 1])
    """
    return member_codes(clusters, "clusters")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterPlacements:
    """Components of several models on the same clustered rows: a model a line, a cluster a column.

    `of_positives[r, c]` is the sum over the positives of cluster `c` of their placement value less the AUC of model
    `r`; `of_negatives` likewise. `holds_positives` tells which clusters have positives.
    """

    aucs: FloatArray
    of_positives: FloatArray
    of_negatives: FloatArray
    positives: float
    negatives: float
    holds_positives: NDArray[np.bool_]
    holds_negatives: NDArray[np.bool_]

    def covariance(self) -> FloatArray:
        """Return the covariance of the AUCs: `S10/M + S01/N + (S11 + S11')/(M N)`.

        Each sum of products is multiplied by `I/(I-1)`, with `I` the number of clusters with positives, with
        negatives, and of all clusters. With one row a cluster this is DeLong's covariance exactly.
        """
        ours, theirs = self.of_positives / self.positives, self.of_negatives / self.negatives
        crossed = _factor((self.holds_positives | self.holds_negatives).sum()) * (ours @ theirs.T)
        own = _factor(self.holds_positives.sum()) * (ours @ ours.T)
        other = _factor(self.holds_negatives.sum()) * (theirs @ theirs.T)
        total: FloatArray = own + other + crossed + crossed.T
        return total

    def contrasts(self, matrix: FloatArray) -> ClusterPlacements:
        """Return the components of linear combinations of models, a combination a line."""
        return ClusterPlacements(
            matrix @ self.aucs,
            matrix @ self.of_positives,
            matrix @ self.of_negatives,
            self.positives,
            self.negatives,
            self.holds_positives,
            self.holds_negatives,
        )


def _factor(clusters: float) -> float:
    return float(clusters) / (float(clusters) - 1.0)


def cluster_placements(
    labels: Labels, scores: Sequence[FloatArray], codes: Codes, weights: CountArray | None = None
) -> ClusterPlacements:
    """Compute the components of clustered rows that were validated already; a weight repeats a row in its cluster."""
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    ours, theirs = weight[labels], weight[~labels]
    size = int(codes.max(initial=-1)) + 1
    holds = [np.bincount(codes[side], minlength=size) > 0 for side in (labels, ~labels)]
    if min(held.sum() for held in holds) < 2:
        raise DataError(_TOO_FEW)
    aucs, of_positives, of_negatives = [], [], []
    for score in scores:
        below = share_below(score[labels], score[~labels], theirs)
        above = 1.0 - share_below(score[~labels], score[labels], ours)
        auc = float(np.dot(ours, below) / ours.sum())
        aucs.append(auc)
        of_positives.append(np.bincount(codes[labels], weights=ours * (below - auc), minlength=size))
        of_negatives.append(np.bincount(codes[~labels], weights=theirs * (above - auc), minlength=size))
    return ClusterPlacements(
        np.array(aucs),
        np.array(of_positives),
        np.array(of_negatives),
        float(ours.sum()),
        float(theirs.sum()),
        holds[0],
        holds[1],
    )


def compare_clustered(
    labels: Labels,
    names: Sequence[str],
    scores: Sequence[FloatArray],
    codes: Codes,
    weights: CountArray | None = None,
    *,
    level: float,
) -> JointComparison:
    """Compare the AUCs of models on clustered rows that were validated already."""
    components = cluster_placements(labels, scores, codes, weights)
    degrees = float(np.unique(codes).size - 1)
    return compare_components(components, names, level=level, method=f"paired {METHOD}", degrees=degrees)


def compare_aucs_clustered(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
) -> JointComparison:
    """Compare two or more models on the same clustered rows, as `compare_aucs` does on independent rows.

    Assumes independent clusters. Differences use Student's t with one degree of freedom less than there are clusters,
    and the joint test Hotelling's F.
    """
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise ParameterError("scores must map the names of two or more models to their scores: {'a': ..., 'b': ...}")
    rows = Rows.checked(labels, tuple(scores), tuple(scores.values()), weights=weights, positive=positive)
    codes = checked_clusters(clusters, len(rows))
    return compare_clustered(rows.labels, rows.names, rows.scores, codes, rows.weights, level=level)


def checked_clusters(clusters: ArrayLike, rows: int, what: str = "clusters") -> Codes:
    """Number the clusters (or folds, or strata), refusing another number of them than of rows."""
    codes = member_codes(clusters, what)
    if codes.size != rows:
        raise ParameterError(f"{what} and labels differ in length; give one of each for every row")
    return codes
