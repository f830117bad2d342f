"""Average precision that may be published: by smooth sensitivity, or with noise at its local scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from scipy.special import digamma

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.average_precision_sensitivity import (
    local_sensitivity,
    published_sensitivity,
    smooth_average_precision,
    smooth_bounds,
)
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.local_average_precision import (
    PrecisionParameters,
    local_average_precision,
    precision_parameters,
)
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import count_intervals, plausible_counts
from confide.privacy.noisy_numbers import ClassSizes, PositivesScale, binomial_spread, limits, local_probability
from confide.privacy.queries import SYSTEM_NOISE, CutQuery, IntegerQuery, Noise
from confide.releases.counting import noisy_cells
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import (
    PUBLISHED,
    SIZES_SHARE,
    SMOOTH_MECHANISMS,
    Bounds,
    SmoothRelease,
    calibrate,
    noise_of,
    plausible_class_sizes,
    shown_sizes,
    sizes_query,
    smooth_prepared,
)
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows


def precision_terms(terms: Terms, rows: int | None) -> PrecisionParameters:
    """Choose the parameters of the noise from public facts."""
    epsilon = terms.epsilon * (1 - SIZES_SHARE)
    return precision_parameters(epsilon, terms.neighbours, rows, terms.prevalence_guess)


def precision_queries(counts: ScoreCounts, terms: Terms, rows: int | None) -> tuple[CutQuery, IntegerQuery]:
    """Query average precision and the class sizes, each with its share of epsilon."""
    sizes = class_sizes(counts, terms.epsilon * SIZES_SHARE, terms.neighbours)
    return local_average_precision(counts, precision_terms(terms, rows)), sizes


def prepare_local_average_precision(
    counts: ScoreCounts, terms: Terms, rows: int | None, noise: Noise
) -> PreparedRelease:
    """Check a request for average precision at its local scale and say its price."""
    parameters = precision_terms(terms, rows)
    query, sizes_query = precision_queries(counts, terms, rows)
    guarantee = terms.guarantee()
    options = {"least_positives": parameters.least}

    def drawn(noise: Noise) -> tuple[float, ...]:
        return float(query.draw(noise)), *sizes_query.draw(noise)

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        value, sizes = numbers[0], tuple(int(size) for size in numbers[1:])
        plausible = plausible_class_sizes(sizes, float(sizes_query.scales[0]), rows)
        return (
            Release(
                metric="average_precision",
                value=value,
                intervals=_intervals(value, plausible, parameters, terms.level),
                guarantee=guarantee,
                mechanism="local",
                parts=shown_sizes(sizes, rows),
                options=options,
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("average_precision", "local", **options),
        counts=counts,
        level=terms.level,
        drawn=drawn,
        build=build,
        noise=noise,
    )


def precision_limits(
    values: FloatArray, sizes: ClassSizes, parameters: PrecisionParameters, level: float, *, population: bool
) -> tuple[FloatArray, FloatArray]:
    """Limits for many releases at once, of the sample's or the population's average precision."""
    spread = binomial_spread if population else None
    return limits(local_probability(values, sizes, precision_scale(parameters), spread), values.size, level)


def precision_scale(parameters: PrecisionParameters) -> PositivesScale:
    """Return the parameters in floats."""
    return PositivesScale(
        noise=noise_of(parameters.shape),
        epsilon=float(parameters.epsilon),
        least=float(parameters.least),
        bounds=parameters.bounds,
    )


def _intervals(value: float, sizes: ClassSizes, parameters: PrecisionParameters, level: float) -> PrivateIntervals:
    sample, population = (
        precision_limits(np.array([value]), sizes, parameters, level, population=which) for which in (False, True)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Pareto noise, plausible class sizes")


MECHANISMS = ("local", *SMOOTH_MECHANISMS, "private-counts")

DEFAULT_GRID = Grid.uniform(16)
"""Default grid, for scores that are probabilities; other scores need their own grid."""


def release_average_precision(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    grid: Grid | None = None,
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> Release:
    """Release average precision under differential privacy, tied negatives counting as above.

    Without a grid, noise has the scale of the local sensitivity at the number of positives of these very rows
    ("local", pure epsilon). A tenth of epsilon goes to the class sizes, which intervals need. With fewer positives
    than about 11 over epsilon the value is drawn towards 1; the intervals allow for it. "private-counts" reads average
    precision off noisy counts on a public grid, by default 16 equal cells of [0, 1].
    "pareto" and "student-t" scale noise to the smooth sensitivity, with the exact local sensitivity.
    "published-cauchy" and "published-laplace" are the mechanisms of Boyd, Lantz & Page (2015) with their bound. These
    four are for comparison. The other parameters are those of `release_auc`.
    """
    prepared = prepare_average_precision(
        counts,
        epsilon=epsilon,
        mechanism=mechanism,
        grid=grid,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )
    return prepared.draw()[0]


def prepare_average_precision(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    grid: Grid | None = None,
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for average precision and say its price."""
    terms = Terms.checked(epsilon=epsilon, **options)
    requested = known_mechanism(mechanism, MECHANISMS, "average_precision")
    chosen = requested or ("local" if grid is None else "private-counts")
    if grid is not None and not isinstance(grid, Grid):
        raise ParameterError(f"grid must be a Grid, for example Grid.uniform(16); got {type(grid).__name__}")
    if grid is not None and chosen != "private-counts":
        raise ParameterError(f"a grid is for mechanism 'private-counts', not for {chosen!r}; leave it out")
    checked_counts(counts)
    rows = public_rows(counts) if terms.rows_are_public else None
    if chosen == "private-counts":
        return _from_counts(counts, terms, grid or DEFAULT_GRID, rows, noise)
    if chosen == "local":
        return prepare_local_average_precision(counts, terms, rows, noise)
    published = chosen in PUBLISHED
    bounds = average_precision_bounds(terms, rows, published=published)
    calibration = calibrate(chosen, terms, bounds, rows)
    smooth = SmoothRelease(
        terms=terms,
        calibration=calibration,
        query=smooth_average_precision(counts, calibration, terms.neighbours, published=published),
        sizes_query=sizes_query(counts, terms),
        bounds=bounds,
        spread=binomial_spread,
        rows=rows,
    )
    return smooth_prepared("average_precision", chosen, counts, smooth, noise)


def average_precision_bounds(terms: Terms, rows: int | None, *, published: bool) -> Bounds:
    """Smooth bounds in floats, for intervals and plans."""
    local = published_sensitivity() if published else local_sensitivity(rows or 0, terms.neighbours)
    return lambda positives, negatives, beta: smooth_bounds(local, positives, beta)


def _from_counts(counts: ScoreCounts, terms: Terms, grid: Grid, rows: int | None, noise: Noise) -> PreparedRelease:
    cells = cells_on(counts, grid)
    query = private_counts(cells, terms.epsilon, terms.neighbours)
    guarantee = terms.guarantee(public=("grid of scores",))
    options = {"grid": [float(edge) for edge in grid.edges]}

    def build(drawn: Sequence[float]) -> tuple[Release, ...]:
        noisy = noisy_cells(tuple(int(number) for number in drawn), query, cells, terms.neighbours, rows)
        table = noisy.adjusted()
        sample, population = count_intervals(
            plausible_counts(noisy),
            lowest_average_precision,
            highest_average_precision,
            possible=(0.0, 1.0),
            level=terms.level,
        )
        return (
            Release(
                metric="average_precision",
                value=float(middle_average_precision(table[None])[0]),
                intervals=PrivateIntervals.nested(sample, population),
                guarantee=guarantee,
                mechanism="private-counts",
                parts={"positives": float(table[0].sum()), "negatives": float(table[1].sum())},
                options=options,
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("average_precision", "private-counts", **options),
        counts=counts,
        level=terms.level,
        drawn=query.draw,
        build=build,
        noise=noise,
        numbers=len(query.values) + 2 * len(grid.edges),
        cells=grid,
    )


def lowest_average_precision(tables: FloatArray) -> FloatArray:
    """Average precision of counts in cells if in each cell the negatives come first."""
    positives, negatives = tables[:, 0, ::-1], tables[:, 1, ::-1]
    return _mean_precision(positives, np.cumsum(negatives, axis=1))


def highest_average_precision(tables: FloatArray) -> FloatArray:
    """Average precision of counts in cells if in each cell the positives come first."""
    positives, negatives = tables[:, 0, ::-1], tables[:, 1, ::-1]
    return _mean_precision(positives, np.cumsum(negatives, axis=1) - negatives)


def middle_average_precision(tables: FloatArray) -> FloatArray:
    """Average precision of counts in cells if in each cell the classes are mixed evenly.

    Within a cell with p positives and q negatives, above which are a and s, precision is
    `(a + p u)/(a + s + (p + q) u)` for u from 0 to 1, whose mean has a closed form.
    """
    positives, negatives = tables[:, 0, ::-1], tables[:, 1, ::-1]
    above, all_above = (np.cumsum(part, axis=1) - part for part in (positives, positives + negatives))
    width = positives + negatives
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = positives / width
        curved = (above - slope * all_above) / width * np.log1p(width / all_above)
    within = slope + np.where(all_above > 0.0, curved, 0.0)
    hits = np.where(positives > 0.0, positives * within, 0.0).sum(axis=1)
    total = positives.sum(axis=1)
    area: FloatArray = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0.0)
    return np.clip(area, 0.0, 1.0)  # floats may leave it by a hair


def _mean_precision(positives: FloatArray, above: FloatArray) -> FloatArray:
    """`(1/n) sum i/(i + s)` with s constant in each cell: `sum 1/(i + s)` is a difference of digammas."""
    last = np.cumsum(positives, axis=1)
    first = last - positives
    hits = (positives - above * (digamma(last + above + 1.0) - digamma(first + above + 1.0))).sum(axis=1)
    total = last[:, -1]
    area: FloatArray = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0.0)
    return np.clip(area, 0.0, 1.0)  # floats may leave it by a hair
