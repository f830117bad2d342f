"""Naive Bayes from noisy counts, with a line from scores to log-odds.

The location of scores is private, and the noisy counts show it only roughly: rows with many features have more extreme
scores. So cells are narrow near the expected middle and wider away from it. This serves scores of any scale.

One table of noisy counts serves twice: it chooses features and it gives their weights. So choosing costs nothing. A
small share of epsilon pays for a noisy histogram of the rows' scores by class. A line from scores to probabilities is
fitted to it. The line corrects errors from the independence assumption of naive Bayes and from the limits on rows.

References
----------
.. [1] J. Vaidya, B. Shafiq, A. Basu and Y. Hong, "Differentially private naive Bayes classification", WI-IAT 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.features import FeatureRows, row_products
from confide.grid import Grid
from confide.learning.linear_model import LinearModel
from confide.learning.selection import check_part, checked_family, feature_guarantee
from confide.metrics.calibration_fit import logistic_fit
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import Exact, checked_epsilon, exact_fraction
from confide.privacy.mechanisms.feature_counts import (
    NoisyFeatures,
    concentrated_feature_counts,
    feature_counts,
    read_feature_counts,
)
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
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
    """Weights of features and an intercept, before the line, with the expected distribution of the scores.

    `middle` and `spread` locate the scores, `sizes` are the numbers of rows of the classes, and `frequencies` are the
    mean shares of a row that each feature has. All were released.
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
        """Return cells that follow from released numbers: narrow in the middle, wider away from it."""
        strongest = max((abs(weight) for weight in self.weights), default=0.0)
        least = 1e-6 * (1.0 + abs(self.middle))  # weights may be nothing but rounding, and cells must have a width
        unit = _NARROW * max(self.spread or strongest or 1.0, least)
        return Grid(self.middle + unit * np.sinh(np.linspace(-_REACH, _REACH, cells + 1)))


def score_line(
    rows: FeatureRows, weighed: Weighed, terms: Terms, epsilon: Fraction, noise: Noise
) -> tuple[float, float]:
    """Return slope and intercept that turn scores into log-odds, from noisy counts of the scores by class.

    A row lies in one cell of one class, which follows from its own features and the weights.
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
    """Return the number of cells that the noise allows."""
    return int(np.clip(rows * float(epsilon) / _ROWS_A_CELL, FEWEST_CELLS, MOST_CELLS))


def fitted_line(scores: FloatArray, table: FloatArray, sizes: tuple[float, float]) -> tuple[float, float]:
    """Fit a logistic regression of the class on the score, with two uninformative rows added for each cell.

    The added rows are distributed over the cells as the rows are, and over the classes as the rows are. The slope stays
    above 0: a score that is no better than noise gets almost no weight.
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
    """Return the share of each cell's rows that is unlikely to be noise.

    Sparse cells far out would distort the line.
    """
    share: FloatArray = np.clip(1.0 - scale / np.maximum(rows, 1e-9), 0.0, 1.0)
    return share


KIND = "naive-bayes"

_USUAL_LIMIT = RowLimit()
_MOST_UNITS = 2**53  # of a row, over epsilon: noise of that scale, and of twice that, fits 64 bits
_SURELY = 1e-9  # no share is taken to be nearer to 0 or 1
_CERTAIN = 4.0  # deviations of noise above which a feature is sure to be there


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Public parameters that turn noisy counts into a model.

    `keep`: a feature is kept if its two counts differ from the expected ones by more than this number of standard
    deviations of noise and chance; 0 keeps all. `smoothing`: rows added to every feature, divided between the classes
    as the rows are, which shrinks weights towards 0; None derives the number from the noise. `calibration`: share of
    epsilon for the histogram of scores; 0 uses the textbook intercept.
    """

    limit: RowLimit = _USUAL_LIMIT
    keep: float = 0.5
    smoothing: float | None = None
    calibration: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibration", exact_fraction(self.calibration, "calibration"))
        if not 0 <= self.calibration < 1:
            raise ParameterError(f"calibration must be a share of epsilon in [0, 1); got {self.calibration!r}")
        for name, least in (("keep", 0.0), ("smoothing", 1e-9)):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e9:
                raise ParameterError(f"{name} must be a number of at least {least:g}; got {value!r}")
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "limit": self.limit.kind,
            "row_weight": self.limit.worth,
            "keep": self.keep,
            "smoothing": self.smoothing,
            "calibration": str(self.calibration),
        }


def prepare_naive_bayes(
    rows: FeatureRows,
    *,
    epsilon: object,
    recipe: Recipe | None = None,
    mechanism: str = "laplace",
    delta: Exact = 0,
    neighbours: str = Neighbours.ADD_REMOVE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    part: Part | None = None,
    public: Sequence[str] = (),
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[LinearModel]:
    """Check a request to train naive Bayes and compute its price. The guarantee is pure, without delta.

    With `mechanism` "gaussian" and a `delta` the counts get Gaussian noise, which pays in accounts of composition zcdp;
    the histogram of scores keeps Laplace noise. The list of features is public; `public` names further facts that are
    assumed to be known.
    """
    how = recipe or Recipe()
    terms = Terms.checked(
        epsilon=epsilon, delta=delta, neighbours=neighbours, unit=unit, rows_per_person=rows_per_person
    )
    counting = checked_epsilon(terms.epsilon * (1 - how.calibration))
    if how.calibration:
        checked_epsilon(terms.epsilon * how.calibration)
    rho = rho_for(counting, terms.delta) if checked_family(mechanism, terms) == "gaussian" else None
    if how.limit.units / counting > _MOST_UNITS:
        raise ParameterError("the noise would be too large for whole numbers; take a larger epsilon or less row weight")
    check_part(part, terms)
    whole = None if rho is None else rho + rho_of_pure(terms.epsilon * how.calibration)
    guarantee = feature_guarantee(terms, public, rho=whole)
    request = terms.request("model", KIND, **how.to_dict(), width=rows.width)
    if rho is not None:
        request["noise"] = "gaussian"

    def draw(noise: Noise = noise) -> tuple[LinearModel, ...]:
        query = (
            feature_counts(rows, counting, terms.neighbours, limit=how.limit)
            if rho is None
            else concentrated_feature_counts(rows, rho, terms.neighbours, limit=how.limit)
        )
        noisy = read_feature_counts(query.draw(noise), query, rows, terms.neighbours, limit=how.limit)
        textbook = weigh(noisy, how)
        line = (1.0, 0.0)
        if how.calibration:
            line = score_line(rows, textbook, terms, terms.epsilon * how.calibration, noise)
        model = LinearModel(
            kind=KIND,
            features=textbook.features,
            weights=tuple(line[0] * weight for weight in textbook.weights),
            intercept=line[0] * textbook.intercept + line[1],
            width=rows.width,
            guarantee=guarantee,
            options=how.to_dict(),
            frequencies=textbook.frequencies,
        )
        return (model,)

    return Prepared(
        guarantee=guarantee,
        request=request,
        draw=draw,
        read=LinearModel.from_dict,
        part=part,
        numbers=4 * rows.width,
    )


def weigh(noisy: NoisyFeatures, how: Recipe) -> Weighed:
    """Compute naive Bayes for binary features from noisy counts.

    `score = log(n1/n0) + sum_F log((1-p1)/(1-p0)) + sum over the row's features of log(p1 (1-p0) / (p0 (1-p1)))`.
    """
    ours, theirs = (max(size, 1.0) for size in noisy.sizes)
    share = ours / (ours + theirs)
    kept = _kept(noisy, share, how.keep)
    most = np.array([[ours], [theirs]])
    if noisy.opposed:
        most = np.minimum(most, noisy.features.sum(axis=0)[kept])
    counts = np.clip(noisy.features[:, kept], 0.0, most)
    added = (4.0 if noisy.opposed else 2.0) * noisy.scale if how.smoothing is None else how.smoothing
    p1 = (counts[0] + added * share) / (ours + 2.0 * added * share)
    p0 = (counts[1] + added * (1.0 - share)) / (theirs + 2.0 * added * (1.0 - share))
    p1, p0 = (np.clip(p, _SURELY, 1.0 - _SURELY) for p in (p1, p0))
    absent = np.log1p(-p1) - np.log1p(-p0)
    weights = np.log(p1) - np.log(p0) - absent
    frequencies = _frequencies(noisy)[kept]
    intercept = float(np.log(ours / theirs) + absent.sum())
    return Weighed(
        features=tuple(np.flatnonzero(kept).tolist()),
        weights=tuple(weights.tolist()),
        intercept=intercept,
        middle=intercept + float(weights @ frequencies),
        spread=float(np.sqrt(weights**2 @ frequencies)),
        sizes=(ours, theirs),
        frequencies=tuple((counts.sum(axis=0) / (ours + theirs)).tolist()),
    )


def _frequencies(noisy: NoisyFeatures) -> FloatArray:
    """Return the mean share of a row that each feature has; 0 for features that may be noise alone."""
    every = noisy.features.sum(axis=0)
    least = 0.0 if noisy.opposed else 2.0 * _CERTAIN * noisy.scale
    certain: FloatArray = np.where(every > least, every, 0.0) / max(sum(noisy.sizes), 1.0)
    return certain


def _kept(noisy: NoisyFeatures, share: float, keep: float) -> NDArray[np.bool_]:
    """Return the features whose counts differ between the classes by more than noise and chance explain."""
    if keep == 0.0:
        return np.ones(noisy.features.shape[1], dtype=np.bool_)
    ours, theirs = noisy.features
    excess = ours * (1.0 - share) - theirs * share
    of_noise = 2.0 * noisy.scale**2 * (1.0 if noisy.opposed else (1.0 - share) ** 2 + share**2)
    of_chance = np.clip(ours + theirs, 0.0, None) * share * (1.0 - share)
    kept: NDArray[np.bool_] = (np.abs(excess) > keep * np.sqrt(of_noise + of_chance)) & (ours + theirs > 0.0)
    return kept
