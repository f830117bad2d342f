"""From scores to probabilities, by a line that is fitted to a noisy histogram of the scores in each class.

Where scores lie is private, and the noisy counts tell it only roughly: rows of many features have scores further out.
So the cells are narrow near the middle that the counts let expect and ever wider away from it, which serves scores of
any scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.features import FeatureRows, row_products
from confide.grid import Grid
from confide.metrics.logistic_fit import logistic_fit
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import Noise
from confide.releases.counting import noisy_cells
from confide.releases.terms import Terms

FEWEST_CELLS, MOST_CELLS = 4, 16

_ROWS_A_CELL = 25  # in units of the noise's scale, about: fewer rows get fewer cells
_REACH, _NARROW = 3.5, 1.5  # edges lie at sinh(-3.5 ... 3.5) times so many of the score's expected deviations
_PRIOR_ROWS = 2.0  # in a cell on average, divided as the classes are, and among cells as the rows are
_TINY = 1e-6  # rows, so that an empty table has a line too
_MOST_SLOPE = 20.0
_LEAST_SLOPE = 0.02  # per deviation of the score: even where noise hides all, the order of scores is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Weights of features and an intercept, before the line; and what noisy counts let expect of the scores.

    `middle` and `spread` say where scores lie, `sizes` how many rows each class has, `frequencies` how much of a row
    each feature is on average; all of it was released.
    """

    features: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    middle: float
    spread: float
    sizes: tuple[float, float]
    frequencies: tuple[float, ...]

    def scores(self, rows: FeatureRows) -> FloatArray:
        """Return the score of each row: `intercept + sum of the weights of its features`, a function of that row."""
        every = np.zeros(rows.width)
        every[list(self.features)] = self.weights
        return row_products(rows.matrix(), every) + self.intercept

    def grid(self, cells: int) -> Grid:
        """Cells that follow from what was released: narrow in the middle, ever wider away from it."""
        strongest = max((abs(weight) for weight in self.weights), default=0.0)
        least = 1e-6 * (1.0 + abs(self.middle))  # weights may be nothing but rounding, and cells must have a width
        unit = _NARROW * max(self.spread or strongest or 1.0, least)
        return Grid(self.middle + unit * np.sinh(np.linspace(-_REACH, _REACH, cells + 1)))


def score_line(
    rows: FeatureRows, weighed: Weighed, terms: Terms, epsilon: Fraction, noise: Noise
) -> tuple[float, float]:
    """Slope and intercept that turn scores into log-odds, from noisy counts of the scores by class, for an epsilon.

    A row lies in one cell of one class, which its own features and the weights decide.
    """
    grid = weighed.grid(cells_for(sum(weighed.sizes), epsilon))
    cells = cells_on(_counts(rows, weighed), grid)
    query = private_counts(cells, epsilon, terms.neighbours)
    total = len(rows) if terms.rows_are_public else None
    drawn = noisy_cells(query.draw(noise), query, cells, terms.neighbours, total)
    table = np.clip(drawn.agreed(), 0.0, None)
    if terms.neighbours != Neighbours.LABEL_ONLY:
        table *= _trusted(table.sum(axis=0), float(query.scales[0]))
    return fitted_line(grid.representatives, table, weighed.sizes)


def cells_for(rows: float, epsilon: Fraction) -> int:
    """As many cells as noise leaves something to see in."""
    return int(np.clip(rows * float(epsilon) / _ROWS_A_CELL, FEWEST_CELLS, MOST_CELLS))


def fitted_line(scores: FloatArray, table: FloatArray, sizes: tuple[float, float]) -> tuple[float, float]:
    """Logistic regression of the class on the score, with a few rows added that tell nothing: two for each cell.

    They lie where rows lie, and are divided as the classes are. The slope stays above 0: a score that is no better than
    noise gets next to no weight.
    """
    rows = table.sum(axis=0) + _TINY
    added = _PRIOR_ROWS * scores.size * rows / rows.sum()
    ours, theirs = table + np.array(sizes)[:, None] / sum(sizes) * added
    every = ours + theirs
    middle = float(np.average(scores, weights=every))
    spread = max(float(np.sqrt(np.average((scores - middle) ** 2, weights=every))), 1e-9)
    design = np.column_stack((np.ones_like(scores), (scores - middle) / spread))
    intercept, slope = logistic_fit(design, ours, every).tolist()
    if slope < _LEAST_SLOPE:
        intercept, slope = float(np.log(ours.sum() / theirs.sum())), _LEAST_SLOPE
    slope = min(slope, _MOST_SLOPE)
    return slope / spread, intercept - slope * middle / spread


def _counts(rows: FeatureRows, weighed: Weighed) -> ScoreCounts:
    if len(rows) == 0:
        return ScoreCounts(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    return ScoreCounts.from_arrays(rows.labels, weighed.scores(rows), one_class=True)


def _trusted(rows: FloatArray, scale: float) -> FloatArray:
    """How much of a cell's rows is not likely to be noise: cells far out, with few rows, would turn the line."""
    share: FloatArray = np.clip(1.0 - scale / np.maximum(rows, 1e-9), 0.0, 1.0)
    return share
