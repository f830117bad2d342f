"""Release of the Brier score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.squared_error import UNITS, squared_error
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_numbers import limits, mean_probability, plausible_totals
from confide.privacy.queries import SYSTEM_NOISE, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

MECHANISMS = ("laplace",)


def release_brier(
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
    """Release the Brier score of scores cut to [0, 1] under differential privacy; parameters as for `release_auc`.

    The sum of squared errors gets nine tenths of epsilon, their spread the rest (under
    add-remove-one the number of rows has a share too).
    """
    prepared = prepare_brier(
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


def prepare_brier(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for the Brier score and say its price."""
    terms = Terms.checked(epsilon=epsilon, **options)
    chosen = known_mechanism(mechanism, MECHANISMS, "brier") or "laplace"
    checked_counts(counts)
    rows = public_rows(counts) if terms.rows_are_public else None
    query = squared_error(counts, terms.epsilon, terms.neighbours)
    guarantee = terms.guarantee()

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        drawn = tuple(int(number) for number in numbers)
        size = float(rows if rows is not None else max(drawn[2], 1))
        return (
            Release(
                metric="brier",
                value=min(max(drawn[0] / UNITS / size, 0.0), 1.0),
                intervals=_intervals(drawn, query, rows, terms.level),
                guarantee=guarantee,
                mechanism=chosen,
                parts={"rows": int(size)},
                options={"scores_cut_to": [0.0, 1.0]},
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("brier", chosen),
        counts=counts,
        level=terms.level,
        drawn=query.draw,
        build=build,
        noise=noise,
    )


def _intervals(drawn: tuple[int, ...], query: IntegerQuery, rows: int | None, level: float) -> PrivateIntervals:
    scales = [float(scale) for scale in query.scales]
    every = plausible_totals(np.array([float(drawn[2])]), scales[2]) if rows is None else np.array([[float(rows)]])
    total, scale = np.array([drawn[0] / UNITS]), scales[0] / UNITS
    deviation = _deviation(total, drawn[1] / UNITS, scales[1] / UNITS, every)
    sample, population = (
        limits(mean_probability(total, scale, every, spread), 1, level) for spread in (None, deviation)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Laplace noise")


def _deviation(total: FloatArray, squares: float, scale: float, rows: FloatArray) -> FloatArray:
    """Bound the deviation of one row's squared error from above, by the noisy sum of squares.

    Numbers in [0, 1] with mean b have a variance of at most `b (1 - b)`.
    """
    mean = np.clip(total[:, None] / rows, 0.0, 1.0)
    square = (squares + 2.0 * scale) / rows
    most = mean * (1.0 - mean)
    return np.sqrt(np.clip(square - mean * mean, 0.05 * most, most))
