"""AUC with noise at the scale of the smaller class, beside the class sizes: division of epsilon, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.intervals.interval import Interval
from confide.intervals.private import ClassSizes, binormal_spread, limits
from confide.intervals.private_local import LocalScale, local_probability
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.local_auc import LocalParameters, local_auc, local_parameters
from confide.privacy.queries import CutQuery, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import noise_of, plausible_class_sizes, shown_sizes
from confide.releases.terms import Terms

SIZES_SHARE = Fraction(1, 10)
"""Share of epsilon for the class sizes, which intervals need."""


def local_terms(terms: Terms, rows: int | None) -> LocalParameters | None:
    """Choose the parameters of the noise from public facts; None where there are too few rows."""
    epsilon = terms.epsilon * (1 - SIZES_SHARE)
    return local_parameters(epsilon, terms.neighbours, rows, terms.prevalence_guess)


def local_queries(counts: ScoreCounts, terms: Terms, rows: int | None) -> tuple[CutQuery, IntegerQuery]:
    """Query AUC and the class sizes, each with its share of epsilon; refuse too few rows."""
    parameters = _checked_parameters(terms, rows)
    return local_auc(counts, parameters), class_sizes(counts, terms.epsilon * SIZES_SHARE, terms.neighbours)


def prepare_local_auc(counts: ScoreCounts, terms: Terms, rows: int | None, noise: Noise) -> PreparedRelease:
    """Check a request for AUC at the local scale and say its price."""
    parameters = _checked_parameters(terms, rows)
    query, sizes_query = local_queries(counts, terms, rows)
    guarantee = terms.guarantee()
    options = {"least_class": parameters.least, "centre": float(parameters.centre)}

    def drawn(noise: Noise) -> tuple[float, ...]:
        return float(query.draw(noise)), *sizes_query.draw(noise)

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        value, sizes = numbers[0], tuple(int(size) for size in numbers[1:])
        plausible = plausible_class_sizes(sizes, float(sizes_query.scales[0]), rows)
        return (
            Release(
                metric="auc",
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
        request=terms.request("auc", "local", **options),
        counts=counts,
        level=terms.level,
        drawn=drawn,
        build=build,
        noise=noise,
    )


def local_limits(
    values: FloatArray, sizes: ClassSizes, parameters: LocalParameters, level: float, *, population: bool
) -> tuple[FloatArray, FloatArray]:
    """Limits for many releases at once, of the sample's or the population's AUC."""
    spread = binormal_spread if population else None
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


def _intervals(value: float, sizes: ClassSizes, parameters: LocalParameters, level: float) -> PrivateIntervals:
    def interval(population: bool, method: str) -> Interval:
        lower, upper = local_limits(np.array([value]), sizes, parameters, level, population=population)
        return Interval(lower=float(lower[0]), upper=float(upper[0]), level=level, method=method)

    return PrivateIntervals.nested(
        interval(False, "Pareto noise, plausible class sizes"),
        interval(True, "sampling and Pareto noise, plausible class sizes"),
    )
