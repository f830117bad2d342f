"""AUC that may be published."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.intervals.auc_spread import auc_spread
from confide.intervals.private import limits, plausible_sizes, rank_sum_probability
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.rank_sum import rank_sum, rank_sum_scales
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, IntegerQuery, Noise
from confide.releases.local_auc import (
    followed_by,
    local_limits,
    local_terms,
    plausible_after,
    prepare_local_auc,
    sizes_epsilon,
)
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import (
    SMOOTH_MECHANISMS,
    SmoothRelease,
    calibrate,
    shown_sizes,
    sizes_query,
    smooth_prepared,
)
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

MECHANISMS = ("local", "rank-sum", *SMOOTH_MECHANISMS)

SUPPOSED_AUC = 0.8
"""AUC at which the intervals of two mechanisms are compared."""

_COMPARED_LEVEL = 0.95  # whatever the level of the request, which must not decide the noise


def release_auc(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> Release:
    """Release AUC under differential privacy, with intervals for the sample's and the population's value.

    By default noise has the scale of the smaller class of these very rows ("local", pure epsilon). This has the least
    error under every relation. 10 to 15 % of epsilon go to the class sizes, which intervals need. "rank-sum" adds
    integer noise to the centred rank sum and to the number of positives. Its error is larger, but its interval is
    narrower where one class is small. It is chosen if a `prevalence_guess` predicts so, or if there are too few rows
    for "local".
    "pareto", "student-t", "published-cauchy" and "published-laplace" scale noise to the smooth sensitivity, the last
    two as Boyd, Lantz & Page (2015) do; all four are for comparison. Data with one class only get an answer too.

    `neighbours` is "replace-one", "add-remove-one" or "label-only". `unit` is "row", or "person" with
    `rows_per_person`, the most rows that a person has. `delta` is for mechanisms that need it. `level` is
    that of the intervals. `prevalence_guess` is a public guess of the positives' share. No ledger is
    charged: `confide.Ledger` does that.

    >>> counts = ScoreCounts.from_arrays([0, 1] * 500, range(1000))
    >>> release = release_auc(counts, epsilon=1)
    >>> release.mechanism, release.guarantee.neighbours.value
    ('local', 'replace-one')
    """
    prepared = prepare_auc(
        counts,
        epsilon=epsilon,
        mechanism=mechanism,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )
    return prepared.draw()[0]


def prepare_auc(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for AUC and say its price."""
    terms = Terms.checked(epsilon=epsilon, **options)
    requested = known_mechanism(mechanism, MECHANISMS, "auc")
    rows = public_rows(checked_counts(counts)) if terms.rows_are_public else None
    chosen = requested or default_mechanism(terms, rows)
    if chosen == "local":
        return prepare_local_auc(counts, terms, rows, noise)
    if chosen == "rank-sum":
        return _by_rank_sum(counts, terms, noise)
    calibration = calibrate(chosen, terms, auc_smooth_bounds, rows)
    smooth = SmoothRelease(
        terms=terms,
        calibration=calibration,
        query=smooth_auc(counts, calibration),
        sizes_query=sizes_query(counts, terms),
        bounds=auc_smooth_bounds,
        spread=auc_spread,
        rows=rows,
    )
    return smooth_prepared("auc", chosen, counts, smooth, noise)


def default_mechanism(terms: Terms, rows: int | None) -> str:
    """Choose from public facts: the local scale, unless a guess of the prevalence promises a narrower interval.

    The rank sum needs the number of rows to be public. It is chosen where there are too few rows for the local scale,
    or where the sample's interval would be narrower with it if the guess were right and AUC 0.8.
    """
    if rows is None:
        return "local"
    parameters = local_terms(terms, rows)
    if parameters is None:
        return "rank-sum"
    if terms.prevalence_guess is None:
        return "local"
    positives = np.array([float(max(min(round(rows * terms.prevalence_guess), rows - 1), 1))])
    supposed, guessed = np.array([SUPPOSED_AUC]), int(positives[0])
    (free,) = followed_by(supposed, parameters)
    integer = np.array([0.0 if free is None else float(free.value(guessed, rows - guessed))])
    scale = 1.0 / float(sizes_epsilon(terms, rows))
    sizes = plausible_after(supposed, [positives], integer, parameters, scale)
    lower, upper = local_limits(supposed, sizes, parameters, _COMPARED_LEVEL, population=False)
    scales = rank_sum_scales(rows, terms.epsilon, terms.neighbours)
    twice = (2.0 * SUPPOSED_AUC - 1.0) * positives * (rows - positives)
    least, most = rank_sum_limits(twice, positives, rows, scales, _COMPARED_LEVEL, population=False)
    return "local" if float(upper[0] - lower[0]) <= float(most[0] - least[0]) else "rank-sum"


def _by_rank_sum(counts: ScoreCounts, terms: Terms, noise: Noise) -> PreparedRelease:
    rows = public_rows(counts)
    query = rank_sum(counts, terms.epsilon, terms.neighbours)
    guarantee = terms.guarantee()

    def build(drawn: Sequence[float]) -> tuple[Release, ...]:
        twice, positives = (int(number) for number in drawn)
        return (
            Release(
                metric="auc",
                value=float(auc_of(np.array([twice]), np.array([positives]), rows)[0]),
                intervals=_intervals(twice, positives, rows, query, terms.level),
                guarantee=guarantee,
                mechanism="rank-sum",
                parts=shown_sizes((positives,), rows),
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("auc", "rank-sum"),
        counts=counts,
        level=terms.level,
        drawn=query.draw,
        build=build,
        noise=noise,
    )


def auc_of(twice_rank_sums: Any, positives: Any, rows: int) -> FloatArray:
    """AUC from released rank sums and numbers of positives: `1/2 + W / (n (N - n))`, cut to [0, 1]."""
    size = np.clip(np.asarray(positives, dtype=np.float64), 1.0, rows - 1.0)
    area = 0.5 + np.asarray(twice_rank_sums, dtype=np.float64) / (2.0 * size * (rows - size))
    return np.clip(area, 0.0, 1.0)


def rank_sum_limits(
    twice_rank_sums: FloatArray,
    positives: FloatArray,
    rows: int,
    scales: tuple[Fraction, ...],
    level: float,
    *,
    population: bool,
) -> tuple[FloatArray, FloatArray]:
    """Limits for many releases at once, of the sample's or the population's AUC."""
    sizes = plausible_sizes(positives, float(scales[1]), rows=rows)
    spread = auc_spread if population else None
    probability = rank_sum_probability(twice_rank_sums / 2.0, float(scales[0]) / 2.0, sizes, spread)
    return limits(probability, twice_rank_sums.size, level)


def _intervals(twice: int, positives: int, rows: int, query: IntegerQuery, level: float) -> PrivateIntervals:
    drawn = np.array([float(twice)]), np.array([float(positives)])
    sample, population = (
        rank_sum_limits(*drawn, rows, query.scales, level, population=which) for which in (False, True)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Laplace noise, plausible class sizes")
