"""Search for the epsilon that an interval of a wanted width needs, by simulated releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from confide.releases.plan_result import CurvePoint, Needed
from confide.releases.simulation import Effort, SimulationResult, simulate
from confide.releases.stand_in import StandIn
from confide.releases.terms import Terms

EPSILONS = tuple(Fraction(f"{10 ** (step / 3 - 2):.2g}") for step in range(10))
"""Epsilons at which widths are simulated: from 0.01 to 10, beyond which little is protected."""

_NO_NOISE = Fraction(10_000)
_STEADY, _QUICK = Effort(errors=1, widths=16), Effort(errors=1, widths=6)
_REFINED = 3  # times that an epsilon read off the curve is tried and corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonSearch:
    """Widths of a mechanism at the epsilons tried so far."""

    mechanism: str
    noiseless_width: float
    sample_needs: Needed | None
    population_needs: Needed | None
    curve: tuple[CurvePoint, ...]


def search_epsilon(mechanism: str, stand_in: StandIn, terms: Terms, width: float | None, curve: bool) -> EpsilonSearch:
    """Simulate a mechanism at many epsilons, and find those that a width needs."""

    def at(epsilon: Fraction, effort: Effort = _QUICK) -> SimulationResult:
        return simulate(mechanism, stand_in, replace(terms, epsilon=epsilon), effort)

    without_noise = at(_NO_NOISE, _STEADY)
    points = tuple(_point(epsilon, at(epsilon)) for epsilon in EPSILONS) if curve or width is not None else ()
    needs: list[Needed | None] = [None, None]
    if width is not None:
        needs = [_needed(width, which, without_noise, points, at) for which in ("sample_width", "population_width")]
    return EpsilonSearch(
        mechanism=mechanism,
        noiseless_width=without_noise.population_width,
        sample_needs=needs[0],
        population_needs=needs[1],
        curve=points,
    )


def _point(epsilon: Fraction, outcome: SimulationResult) -> CurvePoint:
    return CurvePoint(
        epsilon=float(epsilon), sample_width=outcome.sample_width, population_width=outcome.population_width
    )


def _needed(
    width: float,
    which: str,
    without_noise: SimulationResult,
    points: Sequence[CurvePoint],
    at: Callable[[Fraction], SimulationResult],
) -> Needed:
    """Read the epsilon off the curve, then try it and correct it."""
    least: float = getattr(without_noise, which)
    if least > width:
        return Needed(relation="none", epsilon=None, reason=f"even without noise it is {least:.3g} wide")
    below = next((i for i, point in enumerate(points) if getattr(point, which) <= width), None)
    if below is None:
        reason = f"even {points[-1].epsilon:g}, which protects little, leaves it {getattr(points[-1], which):.3g} wide"
        return Needed(relation="more than", epsilon=points[-1].epsilon, reason=reason)
    if below == 0:
        return Needed(relation="at most", epsilon=points[0].epsilon)
    low, high = ((point.epsilon, getattr(point, which)) for point in points[below - 1 : below + 1])
    for _ in range(_REFINED):
        middle = _between(low, high, width)
        tried = (middle, getattr(at(Fraction(f"{middle:.6g}")), which))
        low, high = (low, tried) if tried[1] <= width else (tried, high)
    return Needed(relation="about", epsilon=_rounded_up(_between(low, high, width)))


def _between(low: tuple[float, float], high: tuple[float, float], width: float) -> float:
    """Return the epsilon at which a power law through two points has the width."""
    if not (math.isfinite(low[1]) and low[1] > high[1] > 0.0):
        return math.sqrt(low[0] * high[0])
    share = math.log(low[1] / width) / math.log(low[1] / high[1])
    return low[0] * math.exp(share * math.log(high[0] / low[0]))


def _rounded_up(epsilon: float) -> float:
    """Round up to three digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return float(f"{math.ceil(epsilon / unit - 1e-9) * unit:.3g}")


def least_epsilon(searches: Sequence[EpsilonSearch]) -> Fraction:
    """Return the least epsilon that gives the population's interval its width; else the sample's; else 1."""
    for which in ("population_needs", "sample_needs"):
        needs: list[Needed | None] = [getattr(search, which) for search in searches]
        result = [need.epsilon for need in needs if need is not None and need.suffices and need.epsilon is not None]
        if result:
            return Fraction(str(min(result)))
    return Fraction(1)
