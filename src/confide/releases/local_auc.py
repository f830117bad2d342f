"""AUC with noise at the scale of the smaller class, beside the class sizes: division of epsilon, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.intervals.auc_spread import auc_spread
from confide.intervals.joint_sizes import Following, joint_pairs, joint_sizes
from confide.intervals.private import ClassSizes, limits
from confide.intervals.private_local import LocalScale, local_probability
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.free_class_sizes import FreeSizes, auc_then_sizes, free_sizes
from confide.privacy.mechanisms.local_auc import LocalParameters, local_parameters
from confide.privacy.queries import FollowedQuery, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import noise_of, shown_sizes
from confide.releases.terms import Terms

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
                intervals=_intervals(value, plausible, parameters, terms.level),
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


def _intervals(value: float, sizes: ClassSizes, parameters: LocalParameters, level: float) -> PrivateIntervals:
    sample, population = (
        local_limits(np.array([value]), sizes, parameters, level, population=which) for which in (False, True)
    )
    return PrivateIntervals.of_ends(sample, population, level=level, noise="Pareto noise, plausible class sizes")
