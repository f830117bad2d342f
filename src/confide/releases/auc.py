"""AUC that may be published."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.intervals.interval import Interval
from confide.intervals.private import binormal_spread, limits, plausible_sizes, rank_sum_probability
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.rank_sum import rank_sum, rank_sum_scales
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release
from confide.releases.smooth_sensitivity import (
    SMOOTH_MECHANISMS,
    SmoothRelease,
    calibrate,
    shown_sizes,
    sizes_query,
    smooth_prepared,
)
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

MECHANISMS = ("rank-sum", *SMOOTH_MECHANISMS)


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

    By default the centred rank sum and the number of positives get integer noise ("rank-sum", pure
    epsilon). Under `neighbours="add-remove-one"`, or if a `prevalence_guess` predicts less noise with it, the
    mechanism is Student-t noise scaled to the smooth sensitivity ("student-t", pure epsilon).
    "published-cauchy" and "published-laplace" are the mechanisms of Boyd, Lantz & Page (2015), for
    comparison. Data with one class only get an answer too.

    `neighbours` is "replace-one", "add-remove-one" or "label-only". `unit` is "row", or "person" with
    `rows_per_person`, the most rows that a person has. `delta` is for mechanisms that need it. `level` is
    that of the intervals. `prevalence_guess` is a public guess of the positives' share. No ledger is
    charged: `confide.Ledger` does that.

    >>> counts = ScoreCounts.from_arrays([0, 1] * 500, range(1000))
    >>> release = release_auc(counts, epsilon=1)
    >>> release.mechanism, release.guarantee.neighbours.value
    ('rank-sum', 'replace-one')
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
    if chosen == "rank-sum":
        return _by_rank_sum(counts, terms, noise)
    calibration = calibrate(chosen, terms, auc_smooth_bounds, rows)
    smooth = SmoothRelease(
        terms=terms,
        calibration=calibration,
        query=smooth_auc(counts, calibration),
        sizes_query=sizes_query(counts, terms),
        bounds=auc_smooth_bounds,
        spread=binormal_spread,
        rows=rows,
    )
    return smooth_prepared("auc", chosen, counts, smooth, noise)


def default_mechanism(terms: Terms, rows: int | None) -> str:
    """Choose from public facts: the rank sum, unless a guess of the prevalence promises less noise with Student-t.

    The rank sum needs the number of rows to be public. Noise is compared by its mean absolute size at
    the guess: `b/(nm)` for Laplace noise of scale b on W, `2 sqrt(3)/pi` times its scale for Student-t
    with three degrees of freedom.
    """
    if rows is None:
        return "student-t"
    if terms.prevalence_guess is None:
        return "rank-sum"
    positives = max(min(round(rows * terms.prevalence_guess), rows - 1), 1)
    scale, _ = rank_sum_scales(rows, terms.epsilon, terms.neighbours)
    by_rank_sum = float(scale) / 2.0 / (positives * (rows - positives))
    calibration = calibrate("student-t", terms, auc_smooth_bounds, rows)
    bound = auc_smooth_bounds(np.array([positives]), np.array([rows - positives]), float(calibration.beta))
    by_student_t = 2.0 * math.sqrt(3.0) / math.pi * float(calibration.multiplier) * float(bound[0])
    return "student-t" if by_student_t < by_rank_sum else "rank-sum"


def _by_rank_sum(counts: ScoreCounts, terms: Terms, noise: Noise) -> PreparedRelease:
    rows = public_rows(counts)
    query = rank_sum(counts, terms.epsilon, terms.neighbours)
    guarantee = terms.guarantee()

    def draw(noise: Noise = noise) -> tuple[Release, ...]:
        twice, positives = query.draw(noise)
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

    return PreparedRelease(guarantee=guarantee, request=terms.request("auc", "rank-sum"), counts=counts, draw=draw)


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
    spread = binormal_spread if population else None
    probability = rank_sum_probability(twice_rank_sums / 2.0, float(scales[0]) / 2.0, sizes, spread)
    return limits(probability, twice_rank_sums.size, level)


def _intervals(twice: int, positives: int, rows: int, query: IntegerQuery, level: float) -> PrivateIntervals:
    def interval(population: bool, method: str) -> Interval:
        lower, upper = rank_sum_limits(
            np.array([float(twice)]),
            np.array([float(positives)]),
            rows,
            query.scales,
            level,
            population=population,
        )
        return Interval(lower=float(lower[0]), upper=float(upper[0]), level=level, method=method)

    return PrivateIntervals.nested(
        interval(False, "Laplace noise, plausible class sizes"),
        interval(True, "sampling and Laplace noise, plausible class sizes"),
    )
