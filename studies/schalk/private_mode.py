"""Private mode in the same studies: counts on a public grid, with the noise that five sites' shares add up to.

Each site adds a share of discrete Laplace noise, of which as many as there are honest sites make the whole. All five
together are the difference of two negative binomial variates of shape 5/honest. The guarantee is pure epsilon for
everybody's row, added or removed, whatever the other honest sites hold and even if the others and the coordinator put
together what they know. Drawn in floats from a seed here, as nothing private is released.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray
from confide.grid import Grid
from confide.kernels.threads import Counts
from confide.privacy.noisy_counts import NoisyCells, nonnegative
from confide.releases.shapes import shaped
from studies.schalk.compiled_fits import Rows
from studies.schalk.data import SITES

HONEST = 3
"""Number of honest sites: of five, two may collude with the coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateMode:
    """Counts on `arcsine:cells`. `share` is how much of epsilon the sum gets; the rest is for each site's own curve.

    The AUC is that of the noisy counts, made possible; with `concave`, that of the proper ROC curve drawn through them.
    """

    epsilon: float
    cells: int
    share: float = 1.0
    concave: bool = False

    @property
    def pooled(self) -> float:
        """Return the epsilon of the sum over sites."""
        return self.epsilon * self.share

    def aucs(self, rows: Rows, generator: np.random.Generator) -> FloatArray:
        """Return the private AUC of each dataset."""
        exact = counted(rows, self.cells)
        noisy = exact + pooled_noise(self.pooled, exact.shape, generator)
        return table_aucs(_concave(noisy, 1.0 / self.pooled) if self.concave else nonnegative(noisy))

    def to_dict(self) -> dict[str, float | str]:
        """Return plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": 0.0,
            "grid": f"arcsine:{self.cells}",
            "pooled_epsilon": self.pooled,
            "auc_of": "concave curve" if self.concave else "counts",
        }


def counted(rows: Rows, cells: int) -> FloatArray:
    """Return counts of (dataset, class, cell), positives first."""
    grid = Grid.arcsine(cells)

    def of_class(scores: FloatArray, starts: Counts) -> Counts:
        dataset = np.repeat(np.arange(rows.datasets), np.diff(starts))
        places = dataset * cells + grid.cells(scores)
        counts = np.bincount(places, minlength=rows.datasets * cells).astype(np.int64)
        return counts.reshape(rows.datasets, cells)

    positives = of_class(rows.positives, rows.positive_starts)
    negatives = of_class(rows.negatives, rows.negative_starts)
    return np.stack((positives, negatives), axis=1).astype(np.float64)


def pooled_noise(epsilon: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Return the sum of all sites' shares: discrete Laplace noise of scale `1/epsilon` even without any one site."""
    up, down = generator.negative_binomial(SITES / HONEST, -np.expm1(-epsilon), (2, *shape))
    noise: FloatArray = (up - down).astype(np.float64)
    return noise


def _concave(tables: FloatArray, scale: float) -> FloatArray:
    return np.array([shaped(NoisyCells(cells=table, scale=scale), "concave") for table in tables])


def table_aucs(tables: FloatArray) -> FloatArray:
    """Return the AUC of each table of counts, none negative, ties in a cell counting half.

    0.5 where a class is empty.
    """
    positives, negatives = tables[:, 0], tables[:, 1]
    below = np.cumsum(negatives, axis=1) - negatives / 2.0
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    wins = (positives * below).sum(axis=1)
    found: FloatArray = np.divide(wins, pairs, out=np.full(len(tables), 0.5), where=pairs > 0.0)
    return found
