"""Random rows with and without ties and weights, for comparison with other libraries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide import ScoreCounts


@dataclass(frozen=True)
class RandomRows:
    """Rows whose scores are probabilities, somewhat better than chance."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64] | NDArray[np.int64] | None

    @property
    def counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores, self.weights)


KINDS = ("distinct", "tied", "weighted", "tied and weighted", "tied and repeated", "rare")


def random_rows(kind: str, size: int = 400) -> RandomRows:
    rng = np.random.default_rng(KINDS.index(kind) + 1)
    labels = (rng.random(size) < (0.05 if kind == "rare" else 0.3)).astype(np.int64)
    labels[:2] = 0, 1
    scores = 1.0 / (1.0 + np.exp(1.0 - labels - rng.normal(size=size)))
    if "tied" in kind:
        scores = np.round(scores, 1).clip(0.1, 0.9)
    weights: NDArray[np.float64] | NDArray[np.int64] | None = None
    if "weighted" in kind:
        weights = rng.gamma(2.0, size=size)
    elif "repeated" in kind:
        weights = rng.integers(1, 5, size)
    return RandomRows(labels, scores, weights)
