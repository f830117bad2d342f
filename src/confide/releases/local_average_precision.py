"""Average precision with noise at its local scale, beside the class sizes: division of epsilon, intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.intervals.private import ClassSizes, binomial_spread, limits
from confide.intervals.private_local import PositivesScale, local_probability
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.local_average_precision import (
    PrecisionParameters,
    local_average_precision,
    precision_parameters,
)
from confide.privacy.queries import CutQuery, IntegerQuery, Noise
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.smooth_sensitivity import SIZES_SHARE, noise_of, plausible_class_sizes, shown_sizes
from confide.releases.terms import Terms


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
