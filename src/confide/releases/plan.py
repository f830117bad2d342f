"""Plans: the expected error of a release, and the epsilon that an interval of a wanted width needs.

Stand-in data with the guessed rows, prevalence and value are released many times by every possible mechanism, with
noise that is not private. A plan reports the error of the value and the width of both intervals. No data are read, so a
plan costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from confide.errors import ParameterError, did_you_mean
from confide.metrics.names import metric_named
from confide.privacy.guarantee import Exact, Guarantee
from confide.privacy.neighbours import Neighbours
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.plan_result import CurvePoint, MechanismPlan, Needed, Plan, checked_questions, plan_questions
from confide.releases.registry import ONLY_BY_CURVES, RELEASABLE, RELEASE_METRICS
from confide.releases.release import PreparedRelease
from confide.releases.simulation import (
    USUAL_AUC,
    Effort,
    SimulationResult,
    StandIn,
    make_stand_in,
    planned_measure,
    simulate,
)
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


USUAL_PREVALENCE = 0.2

PLANNED = tuple(name for name in RELEASE_METRICS if name not in ONLY_BY_CURVES)
"""Numbers that can be planned; a curve has no single width."""

_THOROUGH = Effort(errors=2_000, widths=24)


def plan(
    metric: str,
    *,
    rows: int,
    prevalence: float | None = None,
    expected: float | None = None,
    epsilon: Exact | None = None,
    width: float | None = None,
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    level: float = 0.95,
    curve: bool = True,
    questions: int | None = None,
) -> Plan:
    """Predict the error and interval widths of a release at an epsilon, or the epsilon that a width needs.

    `prevalence` and `expected` are guesses of the positives' share and of the metric's value. The plan assumes that
    the release gets the same `prevalence` as `prevalence_guess`. Without `epsilon`, the plan is for the one that
    `width` needs. `curve=False` leaves out the widths at other epsilons, which take most of the time. With `questions`,
    the plan also divides epsilon and delta among so many releases of this kind in one account, by addition and by zCDP.

    >>> found = plan("auc", rows=1000, prevalence=0.2, expected=0.8, epsilon=1, curve=False)
    >>> found.auto, round(found["local"].mean_absolute_error, 3)
    ('local', 0.005)
    """
    metric = metric_named(metric)
    if epsilon is None and width is None:
        raise ParameterError("give epsilon, or the width that an interval should have, or both")
    _check_width(width)
    asked = None if questions is None else checked_questions(questions)
    prevalence = _agreed_prevalence(metric, prevalence, expected)
    terms = Terms.checked(
        epsilon=1 if epsilon is None else epsilon,
        delta=delta,
        neighbours=neighbours,
        level=level,
        prevalence_guess=prevalence,
    )
    share = USUAL_PREVALENCE if prevalence is None else prevalence
    stand_in = make_stand_in(_checked_metric(metric), rows, share, None if metric == "prevalence" else expected)
    usable, left_out, auto = _mechanisms(stand_in, terms)
    searches = tuple(search_epsilon(name, stand_in, terms, width, curve) for name in usable)
    if epsilon is None:
        terms = replace(terms, epsilon=least_epsilon(searches))
    return Plan(
        metric=metric,
        rows=stand_in.rows,
        prevalence=share,
        expected=stand_in.value,
        epsilon=terms.epsilon,
        delta=terms.delta,
        neighbours=terms.neighbours,
        level=terms.level,
        width=width,
        mechanisms=tuple(
            _planned(search, simulate(search.mechanism, stand_in, terms, _THOROUGH)) for search in searches
        ),
        left_out=left_out,
        auto=auto,
        assumptions=_assumptions(stand_in, prevalence, expected),
        questions=None if asked is None else plan_questions(asked, stand_in, terms, usable),
    )


def _checked_metric(metric: str) -> str:
    if metric in ONLY_BY_CURVES:
        raise ParameterError(
            f"{metric!r} cannot be planned, as a curve has no single width; plan auc or average_precision, "
            "or try release_curves on public data of the same size"
        )
    if metric not in PLANNED:
        hint = did_you_mean(metric, PLANNED)
        raise ParameterError(f"unknown metric {metric!r}. {hint}These can be planned: {', '.join(PLANNED)}")
    return metric


def _check_width(width: float | None) -> None:
    if width is None:
        return
    if isinstance(width, bool) or not (isinstance(width, int | float) and 0.0 < width < math.inf):
        raise ParameterError(f"width must be a finite number greater than 0, for example 0.1; got {width!r}")


def _agreed_prevalence(metric: str, prevalence: float | None, expected: float | None) -> float | None:
    """Return the guess of prevalence, which is also the expected value of a release of it."""
    if metric != "prevalence" or expected is None:
        return prevalence
    if prevalence is not None and prevalence != expected:
        raise ParameterError("the prevalence is guessed twice; give prevalence or expected, not both")
    return expected


def _mechanisms(stand_in: StandIn, terms: Terms) -> tuple[dict[str, Guarantee], dict[str, str], str]:
    """Return the mechanisms for these terms, the reasons why others are left out, and the choice of "auto".

    A mechanism comes with its guarantee.
    """
    of_matrix = stand_in.metric == "confusion" or stand_in.metric in CONFUSION_METRICS
    releasable = RELEASABLE["confusion" if of_matrix else stand_in.metric]
    options = {"measures": (planned_measure(stand_in.metric),)} if of_matrix else {}

    def prepared(mechanism: str) -> PreparedRelease:
        return releasable.prepare(
            stand_in.counts,
            mechanism=mechanism,
            epsilon=terms.epsilon,
            delta=terms.delta,
            neighbours=terms.neighbours,
            level=terms.level,
            prevalence_guess=terms.prevalence_guess,
            **options,
        )

    usable, left_out = {}, {}
    for name in releasable.mechanisms:
        try:
            found = prepared(name)
        except ParameterError as error:
            left_out[name] = str(error)
        else:
            usable[str(found.request["mechanism"])] = found.guarantee
    return usable, left_out, str(prepared("auto").request["mechanism"])


def _planned(search: EpsilonSearch, outcome: SimulationResult) -> MechanismPlan:
    return MechanismPlan(
        mechanism=search.mechanism,
        mean_absolute_error=outcome.mean_absolute_error,
        sample_width=outcome.sample_width,
        population_width=outcome.population_width,
        noiseless_width=search.noiseless_width,
        sample_needs=search.sample_needs,
        population_needs=search.population_needs,
        curve=search.curve,
    )


def _assumptions(stand_in: StandIn, prevalence: float | None, expected: float | None) -> tuple[str, ...]:
    metric = stand_in.metric
    result = []
    if prevalence is None:
        result.append(f"No prevalence was given: the plan assumes {USUAL_PREVALENCE:g}, and a release without a guess.")
    else:
        result.append(f"The plan assumes that the release gets the same guess, prevalence_guess={prevalence:g}.")
    if expected is None and metric != "prevalence":
        result.append(
            f"No value was given: the plan assumes {stand_in.value:.3g}, the value of a model with AUC {USUAL_AUC:g}."
        )
    if metric == "average_precision":
        result.append("For private-counts the plan assumes calibrated scores, counted in 16 equal cells of [0, 1].")
    if metric == "brier":
        result.append("The plan assumes that scores are calibrated probabilities.")
    if metric == "confusion":
        result.append("The matrix is planned by its true positives; name a measure to plan that one.")
    if metric == "confusion" or metric in CONFUSION_METRICS:
        result.append("The plan assumes the threshold at which recall and specificity are equal.")
    if metric != "prevalence":
        result.append("The plan assumes that scores are normally distributed in each class, with equal variance.")
    return tuple(result)
