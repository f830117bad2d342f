"""Results of planning: expected errors of one release, and of many releases of one account."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from confide.errors import ParameterError
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.concentration import Concentration, rho_of_pure
from confide.privacy.guarantee import LEAST_EPSILON, Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import lower_sqrt
from confide.releases.simulation import Effort, StandIn, simulate
from confide.releases.terms import Terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


ADDITION, ZCDP = "addition", "zcdp"

_DIGITS = 4  # of an epsilon that is rounded down, as people type it
_EFFORT = Effort(errors=2_000, widths=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Budget of each question: the epsilon and delta to ask with, and the rho that it then costs under zCDP."""

    composition: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWay:
    """One way to ask many questions, and what to expect of each answer."""

    share: Share
    mean_absolute_error: float
    population_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is infinite or does not exist is None."""
        share, numbers = self.share, (self.mean_absolute_error, self.population_width)
        error, width = (value if math.isfinite(value) else None for value in numbers)
        return {
            "composition": share.composition,
            "mechanism": share.mechanism,
            "epsilon": float(share.epsilon),
            "delta": float(share.delta),
            "rho": None if share.rho is None else float(share.rho),
            "mean_absolute_error": error,
            "population_width": width,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """Ways to ask a number of questions in one account with a cap of epsilon and delta."""

    questions: int
    epsilon: Fraction
    delta: Fraction
    ways: tuple[QuestionWay, ...]

    @property
    def best(self) -> QuestionWay:
        """Way with the least error; of those alike, the first, which is addition."""
        return min(self.ways, key=_error)

    def best_by(self, composition: str) -> QuestionWay | None:
        """Return the way with the least error under a composition; None if there is none."""
        return min((way for way in self.ways if way.share.composition == composition), key=_error, default=None)

    @property
    def why(self) -> str:
        """Sentence that names the cheaper composition."""
        added, concentrated, best = self.best_by(ADDITION), self.best_by(ZCDP), self.best
        if concentrated is None or added is None:
            return "Only addition is possible: zcdp needs a delta." if not self.delta else "There is one way only."
        other = added if best.share.composition == ZCDP else concentrated
        return (
            f"{best.share.composition} is cheaper for {self.questions:,} questions: the error of each is "
            f"{best.mean_absolute_error:.3g} instead of {other.mean_absolute_error:.3g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "questions": self.questions,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "best": self.best.to_dict(),
            "why": self.why,
            "ways": [way.to_dict() for way in self.ways],
        }


def checked_questions(questions: object) -> int:
    """Refuse a number of questions that is no whole number of at least 1."""
    if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
        raise ParameterError(f"questions must be a whole number of at least 1; got {questions!r}")
    return questions


def plan_questions(
    questions: int, stand_in: StandIn, terms: Terms, mechanisms: Mapping[str, Guarantee]
) -> QuestionPlan:
    """Divide an account's epsilon and delta (`terms`) among questions, by each mechanism and composition.

    `mechanisms` holds the guarantee of each mechanism that these terms allow.
    """
    shares = [share for name, one in mechanisms.items() for share in question_shares(questions, terms, name, one)]
    ways = tuple(way for share in shares if (way := _expected(share, stand_in, terms)) is not None)
    if not ways:
        raise ParameterError(
            f"epsilon is too small for {questions:,} questions; ask fewer, or open the account with a larger one"
        )
    return QuestionPlan(
        questions=questions,
        epsilon=terms.epsilon,
        delta=terms.delta,
        ways=tuple(sorted(ways, key=lambda way: way.share.composition)),
    )


def question_shares(
    questions: int,
    terms: Terms,
    mechanism: str,
    guarantee: Guarantee,
    *,
    rho_of: Callable[[Fraction], Fraction] | None = None,
) -> Iterator[Share]:
    """Yield what each question gets by addition, and by zCDP where that counts it differently.

    `rho_of` returns the rho of a question with Gaussian noise at an epsilon and the account's delta. By default all of
    its epsilon is spent on Gaussian noise.
    """
    delta = terms.delta / questions if guarantee.delta else Fraction(0)
    yield Share(composition=ADDITION, mechanism=mechanism, epsilon=terms.epsilon / questions, delta=delta)
    if not terms.delta or (guarantee.delta and guarantee.rho is None):
        return
    at = Concentration.for_account(terms.epsilon, terms.delta)
    rho = at.rho_within(terms.epsilon) / questions
    if guarantee.rho is not None:
        price = rho_of or (lambda epsilon: rho_for(epsilon, terms.delta))
        epsilon = _affordable(rho, _rounded_down(epsilon_for(rho, terms.delta)), price)
        if epsilon >= LEAST_EPSILON:
            spent = price(epsilon)
            yield Share(composition=ZCDP, mechanism=mechanism, epsilon=epsilon, delta=terms.delta, rho=spent)
        return
    epsilon = _rounded_down(lower_sqrt(2 * rho))
    if epsilon * at.order < 2:  # else a pure release is counted as in an account of addition
        zero = Fraction(0)
        yield Share(composition=ZCDP, mechanism=mechanism, epsilon=epsilon, delta=zero, rho=rho_of_pure(epsilon))


def _affordable(rho: Fraction, epsilon: Fraction, price: Callable[[Fraction], Fraction]) -> Fraction:
    """Lower an epsilon until its price in rho, which is about quadratic, fits."""
    while epsilon >= LEAST_EPSILON and price(epsilon) > rho:
        epsilon = min(_rounded_down(epsilon * lower_sqrt(rho / price(epsilon))), _next_below(epsilon))
    return epsilon


def _expected(share: Share, stand_in: StandIn, terms: Terms) -> QuestionWay | None:
    """Release the stand-in with a share; None where the mechanism cannot."""
    if share.epsilon < LEAST_EPSILON:
        return None
    try:
        outcome = simulate(share.mechanism, stand_in, replace(terms, epsilon=share.epsilon, delta=share.delta), _EFFORT)
    except ParameterError:
        return None
    return QuestionWay(
        share=share, mean_absolute_error=outcome.mean_absolute_error, population_width=outcome.population_width
    )


def _error(way: QuestionWay) -> float:
    error = way.mean_absolute_error
    return math.inf if math.isnan(error) else error


def _rounded_down(value: Fraction) -> Fraction:
    """Return the decimal with a few digits that is not above a positive number."""
    if value <= 0:
        return Fraction(0)
    step = _step(value)
    return (value // step) * step


def _next_below(value: Fraction) -> Fraction:
    """Return the next smaller decimal with a few digits."""
    return _rounded_down(value - _step(value) / 10)


def _step(value: Fraction) -> Fraction:
    return Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)


SCHEMA = "confide.plan/1"

_ALIKE = 1.01  # widths within one per cent are decided by the error


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Epsilon that an interval of the wanted width needs: about so much, at most, more than that, or none suffices."""

    relation: Literal["about", "at most", "more than", "none"]
    epsilon: float | None
    reason: str = ""

    @property
    def suffices(self) -> bool:
        """True if this epsilon gives the width."""
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
    """Expected results of a mechanism.

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
    """Expected results of a release for each mechanism; `left_out` gives the reason for each that is missing.

    `questions` is the plan for many such releases in one account, if that was asked for.
    """

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
    questions: QuestionPlan | None = None

    @property
    def recommended(self) -> MechanismPlan:
        """Mechanism with the narrowest interval for the population; of those alike, the least error."""
        narrowest = min(entry.population_width for entry in self.mechanisms)
        alike = [entry for entry in self.mechanisms if entry.population_width <= _ALIKE * narrowest]
        return min(alike, key=lambda entry: entry.mean_absolute_error)

    @property
    def sampling_width(self) -> float:
        """Width of the population's interval from sampling alone: the narrowest that is left without noise."""
        return min(entry.noiseless_width for entry in self.mechanisms)

    def times_sampling(self, entry: MechanismPlan) -> float:
        """Return a mechanism's interval width for the population as a multiple of the width from sampling alone."""
        return entry.population_width / self.sampling_width if self.sampling_width else math.nan

    @property
    def why(self) -> str:
        """Sentence that names the mechanism of "auto", and a better one if there is any."""
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
        from confide.report.plan import plot_plan

        return plot_plan(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each mechanism."""
        from confide.report.plan import plan_frame

        return plan_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.plan import fragment

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
            "questions": None if self.questions is None else self.questions.to_dict(),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
