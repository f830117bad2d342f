"""Results of planning: expected errors and widths of a release, mechanism by mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from confide.privacy.neighbours import Neighbours
from confide.releases.question_plan import QuestionPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

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
            "questions": None if self.questions is None else self.questions.to_dict(),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
