"""Ask a question once in each period, as new data arrive, and keep the results of all periods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError
from confide.privacy.guarantee import shown
from confide.tasks.validate import ValidationRequest

if TYPE_CHECKING:
    from confide.federation.coordinator.series import Edition
    from confide.federation.coordinator.validation import Validation
    from confide.federation.periods import Period
    from confide.federation.question import Question
    from confide.tasks.validate import ValidationPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRequest:
    """A validation that is due in a period. `known` is True if its result is stored already: nobody is asked then."""

    request: ValidationRequest
    folder: Path
    period: Period
    known: bool

    @property
    def page(self) -> Path:
        """Page that shows performance over time."""
        return self.folder / "index.html"


def due_validation(
    request: ValidationRequest, folder: str | Path, *, every: str, now: datetime | None = None
) -> SeriesRequest:
    """Return the edition of a private question that belongs to the present period.

    Raises OtherSeriesError if the folder holds the series of another question. Nobody is asked.
    """
    from confide.federation.coordinator.series import Series
    from confide.federation.coordinator.series_identity import require_same_series
    from confide.federation.modes.registry import mode_of
    from confide.federation.periods import Period

    if not mode_of(request.question).private:
        raise ParameterError(
            "`every` is for the mode private: without noise a site answers one question about a model, ever"
        )
    if request.question.edition not in (None, 1):
        raise ParameterError("`every` numbers the editions itself; leave `edition` out")
    period = Period.at(every, datetime.now(UTC) if now is None else now)
    question = replace(request.question, edition=period.number)
    place = Path(folder)
    editions = Series(place).editions()
    require_same_series(place, editions, question, period, level=request.level)
    known = any(edition.name == period.name for edition in editions)
    return SeriesRequest(request=replace(request, question=question), folder=place, period=period, known=known)


def plan_edition(due: SeriesRequest) -> ValidationPlan:
    """Return the plan of this period's edition, with what a year of editions costs at each site."""
    from confide.tasks.validate import plan_validation

    plan, editions = plan_validation(due.request), due.period.in_a_year
    many = "1 edition" if editions == 1 else f"{editions} editions"
    cost = (
        f"Every {due.period.kind} is asked and paid for as an edition of its own. A year has {many}, which cost "
        f"{_price_of(due.request.question, editions)} (epsilon_per_study, epsilon_in_all)."
    )
    return replace(plan, consequences=(cost, *plan.consequences))


def _price_of(question: Question, editions: int) -> str:
    """Return what so many editions cost at a site, and what the site must allow."""
    from confide.federation.account_price import AccountPrice, cents
    from confide.federation.modes.registry import mode_of

    price = AccountPrice.of(question)
    if price is not None:
        return (
            f"rho {shown(editions * price.rho, up=True)} at each site, which is epsilon "
            f"{cents(price.of_many(editions))} in its account if nothing else is asked: its policy must allow that much"
        )
    year = Fraction(mode_of(question).price(question) or 0) * editions
    return f"epsilon {shown(year, up=True)} at each site: its policy must allow that much"


def note_attempt(due: SeriesRequest) -> None:
    """Write the question down before it is asked, because sites may pay for it even if there is no result."""
    from confide.federation.coordinator.series import Series

    Series(due.folder).note_attempt(due.period, due.request.question)


def store_edition(due: SeriesRequest, validation: Validation) -> None:
    """Store the result of a period.

    Asked twice in a period, also after a failure, sites that paid do not pay again: it is the same edition.
    """
    from confide.federation.coordinator.series import Series

    Series(due.folder).store(due.period, validation.to_dict(), validation.outcome)


def stored_validation(due: SeriesRequest) -> Validation:
    """Derive the results of this period again from what is stored; NoOutcomeError if that does not suffice."""
    from confide.federation.coordinator.series import Series
    from confide.federation.coordinator.validation import derive

    outcome = Series(due.folder).outcome(due.period)
    return derive(outcome, level=due.request.level, null_auc=due.request.null_auc)


def stored_editions(due: SeriesRequest) -> tuple[Edition, ...]:
    """Return the stored results of all periods, the oldest first."""
    from confide.federation.coordinator.series import Series

    return Series(due.folder).editions()
