"""What a release will be worth, before anything is spent: from public facts and guesses alone.

A stand-in with the guessed rows, prevalence and value is released many times by every mechanism that
can, with noise that is not private, and measured: the error of the value, and the width of both
intervals. No data are read, so a plan costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from confide.errors import ParameterError, did_you_mean
from confide.privacy.neighbours import Neighbours
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.registry import ONLY_BY_CURVES, RELEASABLE, RELEASE_METRICS, metric_named
from confide.releases.simulation import Effort, Outcome, simulate
from confide.releases.stand_in import USUAL_AUC, Guess, guess, planned_measure
from confide.releases.terms import Terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCHEMA = "confide.plan/1"

USUAL_PREVALENCE = 0.2

PLANNED = tuple(name for name in RELEASE_METRICS if name not in ONLY_BY_CURVES)
"""Numbers that can be planned; a curve has no single width."""

EPSILONS = tuple(Fraction(f"{10 ** (step / 3 - 2):.2g}") for step in range(10))
"""Where widths are looked at: from 0.01 to 10, beyond which little is protected."""

_NO_NOISE = Fraction(10_000)
_THOROUGH, _STEADY, _QUICK = (Effort(errors=e, widths=w) for e, w in ((2_000, 24), (1, 16), (1, 6)))
_REFINED = 3  # times that an epsilon read off the curve is tried and mended
_ALIKE = 1.01  # widths within one per cent are decided by the error


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """The epsilon that an interval of the wanted width needs: about so much, at most, more than that, or none does."""

    relation: Literal["about", "at most", "more than", "none"]
    epsilon: float | None
    reason: str = ""

    @property
    def suffices(self) -> bool:
        """Whether this epsilon gives the width."""
        return self.relation in ("about", "at most")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"relation": self.relation, "epsilon": self.epsilon, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Expected widths at an epsilon."""

    epsilon: float
    sample_width: float
    population_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon": self.epsilon,
            "sample_width": _finite(self.sample_width),
            "population_width": _finite(self.population_width),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismPlan:
    """What to expect of a mechanism.

    `mean_absolute_error` is that of the released value against the exact one. `noiseless_width` is
    the width that its interval for the population would have without noise.
    """

    mechanism: str
    mean_absolute_error: float
    sample_width: float
    population_width: float
    noiseless_width: float
    sample_needs: Needed | None = None
    population_needs: Needed | None = None
    curve: tuple[CurvePoint, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is infinite or does not exist is None."""
        return {
            "mechanism": self.mechanism,
            "mean_absolute_error": _finite(self.mean_absolute_error),
            "sample_width": _finite(self.sample_width),
            "population_width": _finite(self.population_width),
            "noiseless_width": _finite(self.noiseless_width),
            "sample_needs": None if self.sample_needs is None else self.sample_needs.to_dict(),
            "population_needs": None if self.population_needs is None else self.population_needs.to_dict(),
            "curve": [point.to_dict() for point in self.curve],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """What to expect of a release, mechanism by mechanism; `left_out` says why a mechanism is not among them."""

    metric: str
    rows: int
    prevalence: float
    expected: float
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    level: float
    width: float | None
    mechanisms: tuple[MechanismPlan, ...]
    left_out: Mapping[str, str]
    auto: str
    assumptions: tuple[str, ...]

    @property
    def recommended(self) -> MechanismPlan:
        """The mechanism with the narrowest interval for the population; of those alike, the least error."""
        narrowest = min(entry.population_width for entry in self.mechanisms)
        alike = [entry for entry in self.mechanisms if entry.population_width <= _ALIKE * narrowest]
        return min(alike, key=lambda entry: entry.mean_absolute_error)

    @property
    def sampling_width(self) -> float:
        """The width of the population's interval from sampling alone: the narrowest that is left without noise."""
        return min(entry.noiseless_width for entry in self.mechanisms)

    def times_sampling(self, entry: MechanismPlan) -> float:
        """How many times as wide as from sampling alone a mechanism's interval for the population is."""
        return entry.population_width / self.sampling_width if self.sampling_width else math.nan

    @property
    def why(self) -> str:
        """Which mechanism "auto" takes, and whether another promises more."""
        best = self.recommended
        if best.mechanism == self.auto:
            among = ", the only one" if len(self.mechanisms) == 1 else ", the best of these for the population"
            return f"auto takes {self.auto}{among}."
        taken = self[self.auto]
        return (
            f"auto takes {self.auto}; {best.mechanism} promises more here (population's interval "
            f"{best.population_width:.3g} wide instead of {taken.population_width:.3g}, error "
            f"{best.mean_absolute_error:.3g} instead of {taken.mean_absolute_error:.3g}): ask for it by name."
        )

    def __repr__(self) -> str:
        best = self.recommended
        return (
            f"<Plan {self.metric} from {self.rows:,} rows at epsilon {float(self.epsilon):g}: {best.mechanism}, "
            f"population's interval {best.population_width:.3g} wide>"
        )

    def plot(self) -> Figure:
        """Draw the expected width of the population's interval against epsilon."""
        from confide.report.plan.plots import plot_plan

        return plot_plan(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each mechanism."""
        from confide.report.plan.frames import plan_frame

        return plan_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.plan.page import fragment

        return fragment(self)

    def __getitem__(self, mechanism: str) -> MechanismPlan:
        for entry in self.mechanisms:
            if entry.mechanism == mechanism:
                return entry
        raise KeyError(mechanism)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "metric": self.metric,
            "rows": self.rows,
            "prevalence": self.prevalence,
            "expected": self.expected,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "neighbours": self.neighbours.value,
            "level": self.level,
            "width": self.width,
            "auto": self.auto,
            "recommended": self.recommended.mechanism,
            "why": self.why,
            "sampling_width": _finite(self.sampling_width),
            "mechanisms": [
                {**entry.to_dict(), "times_sampling": _finite(self.times_sampling(entry))} for entry in self.mechanisms
            ],
            "left_out": dict(self.left_out),
            "assumptions": list(self.assumptions),
        }


def plan(
    metric: str,
    *,
    rows: int,
    prevalence: float | None = None,
    expected: float | None = None,
    epsilon: object = None,
    width: float | None = None,
    delta: object = 0,
    neighbours: object = "replace-one",
    level: float = 0.95,
    curve: bool = True,
) -> Plan:
    """Say what a release of a metric will be worth at an epsilon, or which epsilon an interval's width needs.

    `prevalence` and `expected` are guesses of the positives' share and of the metric's value. A
    prevalence that is given is taken to be given to the release as well, as `prevalence_guess`.
    Without an epsilon the plan is for the one that `width` needs. `curve=False` leaves out the widths
    at other epsilons, which take most of the time.

    >>> found = plan("auc", rows=1000, prevalence=0.2, expected=0.8, epsilon=1, curve=False)
    >>> found.auto, round(found["rank-sum"].mean_absolute_error, 3)
    ('rank-sum', 0.007)
    """
    metric = metric_named(metric)
    if epsilon is None and width is None:
        raise ParameterError("give epsilon, or the width that an interval should have, or both")
    _check_width(width)
    prevalence = _agreed_prevalence(metric, prevalence, expected)
    terms = Terms.checked(
        epsilon=1 if epsilon is None else epsilon,
        delta=delta,
        neighbours=neighbours,
        level=level,
        prevalence_guess=prevalence,
    )
    share = USUAL_PREVALENCE if prevalence is None else prevalence
    supposed = guess(_checked_metric(metric), rows, share, None if metric == "prevalence" else expected)
    usable, left_out, auto = _mechanisms(supposed, terms)
    searches = tuple(_search(name, supposed, terms, width, curve) for name in usable)
    if epsilon is None:
        terms = replace(terms, epsilon=_least_epsilon(searches))
    return Plan(
        metric=metric,
        rows=supposed.rows,
        prevalence=share,
        expected=supposed.value,
        epsilon=terms.epsilon,
        delta=terms.delta,
        neighbours=terms.neighbours,
        level=terms.level,
        width=width,
        mechanisms=tuple(
            _planned(search, simulate(search.mechanism, supposed, terms, _THOROUGH)) for search in searches
        ),
        left_out=left_out,
        auto=auto,
        assumptions=_assumptions(supposed, prevalence, expected),
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
    """The guess of prevalence, which is also the value expected of a release of it."""
    if metric != "prevalence" or expected is None:
        return prevalence
    if prevalence is not None and prevalence != expected:
        raise ParameterError("the prevalence is guessed twice; give prevalence or expected, not both")
    return expected


def _mechanisms(supposed: Guess, terms: Terms) -> tuple[list[str], dict[str, str], str]:
    """The mechanisms that can be used on these terms, why others cannot, and what "auto" takes."""
    of_matrix = supposed.metric == "confusion" or supposed.metric in CONFUSION_METRICS
    releasable = RELEASABLE["confusion" if of_matrix else supposed.metric]
    options = {"measures": (planned_measure(supposed.metric),)} if of_matrix else {}

    def taken(mechanism: str) -> str:
        prepared = releasable.prepare(
            supposed.counts,
            mechanism=mechanism,
            epsilon=terms.epsilon,
            delta=terms.delta,
            neighbours=terms.neighbours,
            level=terms.level,
            prevalence_guess=terms.prevalence_guess,
            **options,
        )
        return str(prepared.request["mechanism"])

    usable, left_out = [], {}
    for name in releasable.mechanisms:
        try:
            usable.append(taken(name))
        except ParameterError as error:
            left_out[name] = str(error)
    return usable, left_out, taken("auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What was found out about a mechanism at all epsilons."""

    mechanism: str
    noiseless_width: float
    sample_needs: Needed | None
    population_needs: Needed | None
    curve: tuple[CurvePoint, ...]


def _search(mechanism: str, supposed: Guess, terms: Terms, width: float | None, curve: bool) -> _Search:
    def at(epsilon: Fraction, effort: Effort = _QUICK) -> Outcome:
        return simulate(mechanism, supposed, replace(terms, epsilon=epsilon), effort)

    without_noise = at(_NO_NOISE, _STEADY)
    points = tuple(_point(epsilon, at(epsilon)) for epsilon in EPSILONS) if curve or width is not None else ()
    needs: list[Needed | None] = [None, None]
    if width is not None:
        needs = [_needed(width, which, without_noise, points, at) for which in ("sample_width", "population_width")]
    return _Search(
        mechanism=mechanism,
        noiseless_width=without_noise.population_width,
        sample_needs=needs[0],
        population_needs=needs[1],
        curve=points,
    )


def _point(epsilon: Fraction, outcome: Outcome) -> CurvePoint:
    return CurvePoint(
        epsilon=float(epsilon), sample_width=outcome.sample_width, population_width=outcome.population_width
    )


def _needed(
    width: float,
    which: str,
    without_noise: Outcome,
    points: Sequence[CurvePoint],
    at: Callable[[Fraction], Outcome],
) -> Needed:
    """Read the epsilon off the curve, then try it and mend it."""
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
    """The epsilon at which a power law through two points has the width."""
    if not (math.isfinite(low[1]) and low[1] > high[1] > 0.0):
        return math.sqrt(low[0] * high[0])
    share = math.log(low[1] / width) / math.log(low[1] / high[1])
    return low[0] * math.exp(share * math.log(high[0] / low[0]))


def _rounded_up(epsilon: float) -> float:
    """Three digits, never less."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return float(f"{math.ceil(epsilon / unit - 1e-9) * unit:.3g}")


def _least_epsilon(searches: Sequence[_Search]) -> Fraction:
    """The least that gives the population's interval its width; if none does, the sample's; if none does, 1."""
    for which in ("population_needs", "sample_needs"):
        needs: list[Needed | None] = [getattr(search, which) for search in searches]
        found = [need.epsilon for need in needs if need is not None and need.suffices and need.epsilon is not None]
        if found:
            return Fraction(str(min(found)))
    return Fraction(1)


def _planned(search: _Search, outcome: Outcome) -> MechanismPlan:
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


def _assumptions(supposed: Guess, prevalence: float | None, expected: float | None) -> tuple[str, ...]:
    metric = supposed.metric
    found = []
    if prevalence is None:
        found.append(f"No prevalence was guessed: {USUAL_PREVALENCE:g} is supposed, and the release is not told it.")
    else:
        found.append("The release is given the same guess of prevalence (prevalence_guess).")
    if expected is None and metric != "prevalence":
        found.append(f"No value was guessed: {supposed.value:.3g} is that of scores with AUC {USUAL_AUC:g}.")
    if metric == "average_precision":
        found.append("private-counts: calibrated scores, counted in 16 equal cells of [0, 1].")
    if metric == "brier":
        found.append("Scores are calibrated probabilities.")
    if metric == "confusion":
        found.append("The matrix is planned by its true positives; name a measure to plan that one.")
    if metric == "confusion" or metric in CONFUSION_METRICS:
        found.append("The threshold is where recall and specificity are equal.")
    if metric != "prevalence":
        found.append("Scores are normal in each class, with equal variance.")
    return tuple(found)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
