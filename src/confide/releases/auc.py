"""AUC that may be published: by rank sum, by smooth sensitivity, or with noise at the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.privacy.guarantee import Exact
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.free_class_sizes import FreeSizes, auc_then_sizes, free_sizes
from confide.privacy.mechanisms.local_auc import LocalParameters, local_parameters
from confide.privacy.mechanisms.rank_sum import rank_sum, rank_sum_scales
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_numbers import (
    ClassSizes,
    Following,
    LocalScale,
    auc_spread,
    joint_pairs,
    joint_sizes,
    limits,
    local_probability,
    plausible_sizes,
    rank_sum_probability,
)
from confide.privacy.queries import SYSTEM_NOISE, FollowedQuery, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import (
    SMOOTH_MECHANISMS,
    SmoothRelease,
    calibrate,
    noise_of,
    shown_sizes,
    sizes_query,
    smooth_prepared,
)
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

LEAST_SHARE, MOST_SHARE = Fraction(1, 10), Fraction(3, 20)
"""Shares of epsilon for the class sizes, which intervals need, unless a guess of the prevalence says more."""

_LEAST_SHARE_GUESSED = Fraction(1, 20)
_FEW_ROWS, _MANY_ROWS, _MANY_GUESSED = 80, 110, 10


def sizes_share(terms: Terms, rows: int | None) -> Fraction:
    """Choose the share of epsilon for the class sizes from public facts, in whole percent.

    A share s makes all noise 1 / (1 - s) times as large, and leaves the size q of the smaller class uncertain by about
    1 / (s epsilon q) of itself. At epsilon q = 50, 15 % make the narrowest intervals. Where epsilon times the rows is
    far larger, so is most likely epsilon q, and 10 % do; with a guess of the prevalence 10 / (epsilon q) do, down to
    5 %. Where epsilon times the rows is below 80, epsilon q is below 40 and more would not make the interval useful.
    """
    if rows is None:
        return LEAST_SHARE
    reach = terms.epsilon * rows
    if reach < _FEW_ROWS:
        return LEAST_SHARE
    if terms.prevalence_guess is None:
        share = max(_MANY_ROWS / reach, LEAST_SHARE)
    else:
        smaller = Fraction(min(terms.prevalence_guess, 1.0 - terms.prevalence_guess))
        share = max(_MANY_GUESSED / (reach * smaller), _LEAST_SHARE_GUESSED)
    return min(Fraction(round(100 * share), 100), MOST_SHARE)


def local_terms(terms: Terms, rows: int | None) -> LocalParameters | None:
    """Choose the parameters of the noise from public facts; None where there are too few rows."""
    epsilon = terms.epsilon * (1 - sizes_share(terms, rows))
    return local_parameters(epsilon, terms.neighbours, rows, terms.prevalence_guess)


def sizes_epsilon(terms: Terms, rows: int | None) -> Fraction:
    """Return the epsilon of the class sizes."""
    return terms.epsilon * sizes_share(terms, rows)


def local_queries(counts: ScoreCounts, terms: Terms, rows: int | None) -> tuple[FollowedQuery, IntegerQuery]:
    """Query AUC with what follows it, and the class sizes, each with its share of epsilon; refuse too few rows."""
    parameters = _checked_parameters(terms, rows)
    return auc_then_sizes(counts, parameters), class_sizes(counts, sizes_epsilon(terms, rows), terms.neighbours)


def prepare_local_auc(counts: ScoreCounts, terms: Terms, rows: int | None, noise: Noise) -> PreparedRelease:
    """Check a request for AUC at the local scale and say its price."""
    parameters = _checked_parameters(terms, rows)
    query, sizes_query = local_queries(counts, terms, rows)
    guarantee = terms.guarantee()
    options = {
        "least_class": parameters.least,
        "centre": float(parameters.centre),
        "sizes_share": float(sizes_share(terms, rows)),
    }

    def drawn(noise: Noise) -> tuple[float, ...]:
        (number, integers), sizes = query.draw(noise), sizes_query.draw(noise)
        return float(number), *sizes, *integers

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        value, count = numbers[0], len(sizes_query.values)
        sizes = tuple(int(size) for size in numbers[1 : 1 + count])
        integers = tuple(int(integer) for integer in numbers[1 + count :])
        plausible = plausible_after(
            np.array([value]),
            [np.array([float(size)]) for size in sizes],
            np.array([float(integers[0]) if integers else 0.0]),
            parameters,
            float(sizes_query.scales[0]),
        )
        return (
            Release(
                metric="auc",
                value=value,
                intervals=_intervals_of_local(value, plausible, parameters, terms.level),
                guarantee=guarantee,
                mechanism="local",
                parts={**shown_sizes(sizes, rows), **_shown(integers, rows)},
                options=options,
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("auc", "local", **options),
        counts=counts,
        level=terms.level,
        drawn=drawn,
        build=build,
        noise=noise,
    )


def followed_by(values: FloatArray, parameters: LocalParameters) -> list[FreeSizes | None]:
    """Return which integer follows each released value."""
    return [free_sizes(parameters, Fraction(value)) for value in values.tolist()]


def plausible_after(
    values: FloatArray, noisy: Sequence[FloatArray], integers: FloatArray, parameters: LocalParameters, scale: float
) -> ClassSizes:
    """Plausible class sizes after many releases: AUC, noisy sizes of a scale, and integers that followed AUC.

    `noisy` has the positives, and under add-remove-one also the negatives. Where nothing followed, the integer is not
    looked at.
    """
    free = followed_by(values, parameters)
    after = Following(
        value=integers,
        least=np.array([1.0 if each is None else float(each.least) for each in free]),
        rate=np.array([0.0 if each is None else float(1 / each.scale) for each in free]),
        small=4.0 / float(parameters.epsilon),
    )
    if parameters.rows is None:
        return joint_pairs(noisy[0], noisy[1], scale, after)
    return joint_sizes(noisy[0], scale, rows=parameters.rows, after=after)


def local_limits(
    values: FloatArray, sizes: ClassSizes, parameters: LocalParameters, level: float, *, population: bool
) -> tuple[FloatArray, FloatArray]:
    """Limits for many releases at once, of the sample's or the population's AUC."""
    spread = auc_spread if population else None
    return limits(local_probability(values, sizes, scale_of(parameters), spread), values.size, level)


def scale_of(parameters: LocalParameters) -> LocalScale:
    """Return the parameters in floats."""
    return LocalScale(
        noise=noise_of(parameters.shape),
        epsilon=float(parameters.epsilon),
        least=float(parameters.least),
        centre=float(parameters.centre),
    )


def _checked_parameters(terms: Terms, rows: int | None) -> LocalParameters:
    parameters = local_terms(terms, rows)
    if parameters is None:
        raise ParameterError(
            "there are too few rows for noise at the scale of the smaller class: epsilon times rows must be above "
            "about 3.4; use mechanism='rank-sum' or a larger epsilon"
        )
    return parameters


def _shown(integers: tuple[int, ...], rows: int | None) -> dict[str, float | None]:
    """Return the integer that followed AUC; None if none did, which depends on the released AUC alone."""
    return {"smaller_class" if rows is None else "pairs": float(integers[0]) if integers else None}


def _intervals_of_local(value: float, sizes: ClassSizes, parameters: LocalParameters, level: float) -> PrivateIntervals:
    sample, population = (
        local_limits(np.array([value]), sizes, parameters, level, population=which) for which in (False, True)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Pareto noise, plausible class sizes")


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
                intervals=_intervals_of_rank_sum(twice, positives, rows, query, terms.level),
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


def _intervals_of_rank_sum(
    twice: int, positives: int, rows: int, query: IntegerQuery, level: float
) -> PrivateIntervals:
    drawn = np.array([float(twice)]), np.array([float(positives)])
    sample, population = (
        rank_sum_limits(*drawn, rows, query.scales, level, population=which) for which in (False, True)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Laplace noise, plausible class sizes")
