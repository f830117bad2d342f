"""Releases by smooth sensitivity: division of epsilon, calibration of noise, intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.smooth_sensitivity import (
    DEFAULT_SMOOTHNESS,
    DEGREES_OF_FREEDOM,
    Calibration,
    pareto,
    published_cauchy,
    published_laplace,
    student_t,
)
from confide.privacy.noise.pareto import ParetoShape, Side
from confide.privacy.noisy_numbers import (
    ClassSizes,
    GivenScale,
    NoiseSide,
    ParetoNoise,
    Spread,
    limits,
    local_probability,
    plausible_pairs,
    plausible_sizes,
    smooth_probability,
)
from confide.privacy.queries import SYSTEM_NOISE, IntegerQuery, Noise, RealQuery
from confide.releases.release import PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.terms import Terms

PUBLISHED = ("published-cauchy", "published-laplace")
"""Noise and bounds of Boyd, Lantz & Page (2015)."""

SMOOTH_MECHANISMS = ("pareto", "student-t", *PUBLISHED)

SIZES_SHARE = Fraction(1, 10)
"""Share of epsilon for the class sizes, which intervals need."""

Bounds: TypeAlias = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Smooth bounds in floats, for class sizes (positives, negatives) and beta."""

_TRIED = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005)


def calibrate(mechanism: str, terms: Terms, bounds: Bounds, rows: int | None) -> Calibration:
    """Choose noise for what is left of epsilon after the class sizes; from public facts alone."""
    epsilon = terms.epsilon * (1 - SIZES_SHARE)
    if mechanism == "published-cauchy":
        return published_cauchy(epsilon)
    if mechanism == "published-laplace":
        return published_laplace(epsilon, terms.delta)
    noise = pareto if mechanism == "pareto" else student_t
    return noise(epsilon, epsilon * smoothness(epsilon, bounds, rows, terms.prevalence_guess, mechanism))


def smoothness(
    epsilon: Fraction, bounds: Bounds, rows: int | None, prevalence_guess: float | None, mechanism: str = "student-t"
) -> Fraction:
    """Beta over epsilon: 1/10 without a guess.

    With one, of those that promise no more noise at the guess than 1/10 does, the one that promises
    least at the guess and at half of it together.
    """
    if rows is None or prevalence_guess is None:
        return DEFAULT_SMOOTHNESS
    guessed = np.maximum(np.rint(rows * prevalence_guess * np.array([1.0, 0.5])), 1.0)
    noise = {share: noise_factors(share, epsilon, bounds, guessed, rows, mechanism) for share in _TRIED}
    usual = noise_factors(float(DEFAULT_SMOOTHNESS), epsilon, bounds, guessed, rows, mechanism)[0]
    good = [share for share in _TRIED if noise[share][0] <= usual]
    return Fraction(str(min(good, key=lambda share: float(noise[share].sum()))))


def noise_factors(
    share: float, epsilon: Fraction, bounds: Bounds, positives: FloatArray, rows: int, mechanism: str
) -> FloatArray:
    """Return the size of noise at guessed numbers of positives, but for a factor that all betas share."""
    smooth = bounds(positives, np.maximum(rows - positives, 1.0), share * float(epsilon))
    if mechanism == "pareto":
        side = NoiseSide(core=share, tail=share)
        return smooth * ParetoNoise(above=side, below=side).mean_absolute
    return smooth / (1.0 - DEGREES_OF_FREEDOM * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothAnswer:
    """Drawn numbers: the value, not cut to its range, and the class sizes."""

    value: float
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothRelease:
    """A value by smooth sensitivity beside the class sizes, and the intervals that follow from both."""

    terms: Terms
    calibration: Calibration
    query: RealQuery
    sizes_query: IntegerQuery
    bounds: Bounds
    spread: Spread
    rows: int | None

    def draw(self, noise: Noise = SYSTEM_NOISE) -> SmoothAnswer:
        """Draw both."""
        return SmoothAnswer(value=float(self.query.draw(noise)), sizes=self.sizes_query.draw(noise))

    def intervals(self, answer: SmoothAnswer) -> PrivateIntervals:
        """Make both intervals."""
        plausible = plausible_class_sizes(answer.sizes, float(self.sizes_query.scales[0]), self.rows)
        sample, population = (
            smooth_limits(np.array([answer.value]), plausible, self.calibration, self.bounds, spread, self.terms.level)
            for spread in (None, self.spread)
        )
        noise = f"{self.calibration.family} noise, plausible class sizes"
        return PrivateIntervals.of_ends(sample, population, level=self.terms.level, noise=noise)

    def parts(self, answer: SmoothAnswer) -> dict[str, float]:
        """Other released numbers."""
        return shown_sizes(answer.sizes, self.rows)


def sizes_query(counts: ScoreCounts, terms: Terms) -> IntegerQuery:
    """Query the class sizes with their share of epsilon."""
    return class_sizes(counts, terms.epsilon * SIZES_SHARE, terms.neighbours)


def plausible_class_sizes(noisy: tuple[int, ...], scale: float, rows: int | None) -> ClassSizes:
    """Plausible class sizes, given one noisy size and the rows, or two noisy sizes."""
    positives = np.array([float(noisy[0])])
    if rows is None:
        return plausible_pairs(positives, np.array([float(noisy[1])]), scale)
    return plausible_sizes(positives, scale, rows=rows)


def smooth_limits(
    values: FloatArray,
    sizes: ClassSizes,
    calibration: Calibration,
    bounds: Bounds,
    spread: Spread | None,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Limits for many releases at once."""
    scales = float(calibration.multiplier) * bounds(sizes.positives, sizes.negatives, float(calibration.beta))
    if calibration.shape is not None:
        noise = GivenScale(noise=noise_of(calibration.shape), scales=scales)
        return limits(local_probability(np.clip(values, 0.0, 1.0), sizes, noise, spread), values.size, level)
    degrees = {"laplace": 0, "cauchy": 1, "student-t": calibration.degrees_of_freedom}[calibration.family]
    return limits(smooth_probability(values, scales, sizes, degrees, spread), values.size, level)


def noise_of(shape: ParetoShape) -> ParetoNoise:
    """Return the law of the noise in floats."""

    def side(exact: Side) -> NoiseSide:
        return NoiseSide(core=float(exact.core), tail=float(exact.tail))

    return ParetoNoise(above=side(shape.above), below=side(shape.below))


def shown_sizes(noisy: tuple[int, ...], rows: int | None) -> dict[str, float]:
    """Return the released class sizes, cut to their range."""
    if rows is None:
        return {"positives": max(noisy[0], 0), "negatives": max(noisy[1], 0)}
    positives = min(max(noisy[0], 0), rows)
    return {"rows": rows, "positives": positives, "negatives": rows - positives}


def smooth_prepared(
    metric: str, mechanism: str, counts: ScoreCounts, smooth: SmoothRelease, noise: Noise
) -> PreparedRelease:
    """Prepare a release by smooth sensitivity, of AUC or of average precision."""
    calibration, terms = smooth.calibration, smooth.terms
    guarantee = terms.guarantee(needs_delta=calibration.delta > 0)
    options: dict[str, Any] = {"beta": float(calibration.beta)}
    if calibration.degrees_of_freedom:
        options["degrees_of_freedom"] = calibration.degrees_of_freedom

    def drawn(noise: Noise) -> tuple[float, ...]:
        answer = smooth.draw(noise)
        return answer.value, *answer.sizes

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        answer = SmoothAnswer(value=numbers[0], sizes=tuple(int(size) for size in numbers[1:]))
        return (
            Release(
                metric=metric,
                value=min(max(answer.value, 0.0), 1.0),
                intervals=smooth.intervals(answer),
                guarantee=guarantee,
                mechanism=mechanism,
                parts=smooth.parts(answer),
                options=options,
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request(metric, mechanism, **options),
        counts=counts,
        level=terms.level,
        drawn=drawn,
        build=build,
        noise=noise,
    )
