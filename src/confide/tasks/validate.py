"""Validate a model at several sites that share no rows, once or in each period, or plan that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError, did_you_mean
from confide.privacy.guarantee import shown
from confide.tasks.federation import open_federation
from confide.tasks.requests.options import verb_of
from confide.tasks.requests.validate import ValidateRequest

if TYPE_CHECKING:
    from confide.federation.coordinator.planning import AccountPrice, Expected, ModeWidth
    from confide.federation.coordinator.run_state import Progress
    from confide.federation.coordinator.series import Edition
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.session import FederationSession
    from confide.federation.question import Question
    from confide.federation.question_terms import Period


PLAN_SCHEMA = "confide.validation-plan/1"

_LOGIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyValidation:
    """A validation whose parameters were checked; no site was asked yet.

    `rows` is the stated number of rows of all sites together, None if nobody stated it. `progress` is called whenever
    the state of a site changes.
    """

    federation: Federation
    question: Question
    timeout: float
    drop_after: float = 5.0
    valid_days: int = 30
    level: float
    null_auc: float | None
    rows: int | None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """A question with its promise, its price at each site and its expected accuracy. No site was asked.

    `prices` has each site's epsilon, None in modes that charge no ledger. `expected` is None outside the private mode.
    `account` has what a site's account is charged for a question with Gaussian noise, and is None for other questions.
    `consequences` says what an answer makes impossible later, and `widths` what interval each mode would give.
    """

    question: Question
    promise: tuple[str, ...]
    prices: Mapping[str, str | None]
    expected: Expected | None
    account: AccountPrice | None = None
    consequences: tuple[str, ...] = ()
    widths: tuple[ModeWidth, ...] = ()
    rows_stated: bool = False
    most_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": PLAN_SCHEMA,
            "question": self.question.to_dict(),
            "promise": list(self.promise),
            "epsilon": dict(self.prices),
            "account": None if self.account is None else self.account.to_dict(),
            "expected": None if self.expected is None else self.expected.to_dict(),
            "consequences": list(self.consequences),
            "widths": [width.to_dict() for width in self.widths],
            "rows_stated": self.rows_stated,
            "most_seconds": self.most_seconds,
        }

    def _repr_html_(self) -> str:
        from confide.report.validation.sites import plan_fragment

        return plan_fragment(self)


def prepare_validation(request: ValidateRequest) -> ReadyValidation:
    """Check the question of a request; then `plan_validation` or `run_validation`."""
    network = open_federation(request.federation)
    from confide.federation.modes.registry import modes_that_take
    from confide.federation.question import Question

    _require_epsilon(request.mode, request.epsilon)
    question = Question.checked(
        study=network.name if request.study is None else request.study,
        model=request.model_name,
        mode=request.mode,
        sites=_known_sites(request.sites, network.sites),
        rows=request.rows if request.mode in modes_that_take("rows") else None,
        **{name: getattr(request, name) for name in _OF_QUESTION},
    )
    return ReadyValidation(
        federation=network,
        question=question,
        timeout=request.timeout,
        drop_after=request.drop_after,
        valid_days=request.valid_days,
        level=request.level,
        null_auc=request.null_auc,
        rows=request.rows,
        progress=request.progress,
    )


_OF_QUESTION = (
    *("fewest", "grid", "bins", "minimum_cell", "epsilon", "site_share", "colluders", "unit", "rows_per_person"),
    *("edition", "noise", "delta", "sensitivity", "purpose"),
)
"""Fields of a request that are terms of its question, as they are."""


@verb_of(ValidateRequest)
def validate(request: ValidateRequest) -> Validation:
    """Validate a model at the sites of a federation, which share no rows.

    Asking the same question again costs nothing more.

    Parameters
    ----------
    federation
        The coordinator's folder.
    model_name, study
        The name by which sites know the model, and the study as sites' policies name it: by default the federation's
        name.
    mode
        "disclosure-control", "secure-sum", "private" or, for comparison only, "noisy-scores".
    epsilon, site_share, colluders, edition
        Of the private mode: the epsilon that each site charges to its ledger, the share of it for each site's own
        results, the number of sites that may collude with the coordinator (also of the mode secure-sum, if `fewest`
        allows that sites drop out), and the edition of the question after data changed.
    minimum_cell
        Of modes without noise: the least number of rows of a class in a cell.
    grid, rows, bins
        Cells of scores, the stated number of rows of all sites together (private mode: it decides the number of cells
        if `grid` is None), and bins of the calibration curve.
    sites, fewest
        The sites to ask, by default all, and the least number of them that must take part. With fewer than all, a sum
        survives sites that drop out.
    timeout, drop_after
        Seconds that each round may take; and seconds after which a silent site counts as dropped out, from when enough
        others have replied.
    valid_days
        Days for which the question is signed: sites answer it, as it is signed now, no later.
    null_auc, level
        Also test whether the pooled AUC is at most `null_auc`; confidence level of intervals.
    unit, rows_per_person
        Of the private mode: whom it protects, a "row" or a "person" with at most so many rows.
    noise, delta
        Of the private mode: "laplace" (the default) or "gaussian". Gaussian noise needs a delta, far below 1 / rows,
        and costs less where many questions are asked; sites must allow it. The mode noisy-scores has a delta, too.
    sensitivity
        Of the mode noisy-scores.
    purpose
        Why this is asked, in a line, for people at sites that approve each question.
    progress
        Called with a site's name and its state whenever the state changes.

    Raises
    ------
    RunError
        No result came of it; `reports` says how each site took part.
    """
    ready = prepare_validation(request)
    return run_validation(ready, progress=ready.progress)


def run_validation(ready: ReadyValidation, *, progress: Progress | None = None) -> Validation:
    """Ask the sites of a checked request, and derive the results from their answers."""
    from confide.federation.modes.registry import mode_of

    if ready.rows is not None and "rows" not in mode_of(ready.question).parameters:
        raise ParameterError("`rows` is for the mode private, and for plans of all modes; leave it out")
    from confide.federation.flare.session import open_session

    with open_session(ready.federation, timeout=min(ready.timeout, _LOGIN_SECONDS)) as session:
        return ask_sites(session, ready, progress=progress)


def ask_sites(session: FederationSession, ready: ReadyValidation, *, progress: Progress | None = None) -> Validation:
    """Ask the sites of a checked request over an open session, and derive the results from their answers."""
    from confide.federation.coordinator.validation import derive

    outcome = session.run(
        ready.question,
        timeout=ready.timeout,
        drop_after=ready.drop_after,
        valid_days=ready.valid_days,
        progress=progress or (lambda site, state: None),
    )
    return derive(outcome, level=ready.level, null_auc=ready.null_auc)


def plan_validation(ready: ReadyValidation) -> ValidationPlan:
    """Return promise, price, expected accuracy and consequences of a checked request, from public facts alone."""
    from confide.federation.coordinator.planning import AccountPrice, consequences, expected_widths
    from confide.federation.flare.session import BEGIN_SECONDS, END_SECONDS
    from confide.federation.modes.registry import mode_of

    question, mode = ready.question, mode_of(ready.question)
    expected = _expected_accuracy(ready) if mode.private else None
    return ValidationPlan(
        question=question,
        promise=mode.promise(question),
        prices=dict.fromkeys(question.sites, mode.price(question)),
        expected=expected,
        account=AccountPrice.of(question),
        consequences=consequences(question),
        widths=expected_widths(question, rows=ready.rows, level=ready.level, expected=expected),
        rows_stated=ready.rows is not None,
        most_seconds=2 * ready.timeout + BEGIN_SECONDS + END_SECONDS,
    )


def _expected_accuracy(ready: ReadyValidation) -> Expected:
    from confide.federation.coordinator.planning import expected_accuracy

    return expected_accuracy(ready.question, rows=ready.rows, level=ready.level)


def _known_sites(sites: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sites to ask, all if None; refuse one that the federation does not have."""
    if sites is None:
        return known
    for name in sites:
        if name not in known:
            raise ParameterError(
                f"the federation has no site {name!r}. {did_you_mean(name, known)}Its sites are {', '.join(known)}"
            )
    return tuple(sites)


def _require_epsilon(mode: str, epsilon: object) -> None:
    from confide.federation.modes.registry import modes_that_take

    if epsilon is None and mode in modes_that_take("epsilon"):
        raise ParameterError(
            f"mode {mode} needs `epsilon`, the price at each site, such as 1; usual choices are 0.1 to 2"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DueEdition:
    """A validation that is due in a period. `known` is True if its result is stored already: nobody is asked then."""

    ready: ReadyValidation
    folder: Path
    period: Period
    known: bool

    @property
    def page(self) -> Path:
        """Page that shows performance over time."""
        return self.folder / "index.html"


def due_validation(
    ready: ReadyValidation, folder: str | Path, *, every: str, now: datetime | None = None
) -> DueEdition:
    """Return the edition of a private question that belongs to the present period.

    Raises OtherSeriesError if the folder holds the series of another question. Nobody is asked.
    """
    from confide.federation.coordinator.series import Series, require_same_series
    from confide.federation.modes.registry import mode_of
    from confide.federation.question_terms import Period

    if not mode_of(ready.question).private:
        raise ParameterError(
            "`every` is for the mode private: without noise a site answers one question about a model, ever"
        )
    if ready.question.edition not in (None, 1):
        raise ParameterError("`every` numbers the editions itself; leave `edition` out")
    period = Period.at(every, datetime.now(UTC) if now is None else now)
    question = replace(ready.question, edition=period.number)
    place = Path(folder)
    editions = Series(place).editions()
    require_same_series(place, editions, question, period, level=ready.level)
    known = any(edition.name == period.name for edition in editions)
    return DueEdition(ready=replace(ready, question=question), folder=place, period=period, known=known)


def plan_edition(due: DueEdition) -> ValidationPlan:
    """Return the plan of this period's edition, with what a year of editions costs at each site."""

    plan, editions = plan_validation(due.ready), due.period.in_a_year
    many = "1 edition" if editions == 1 else f"{editions} editions"
    cost = (
        f"Every {due.period.kind} is asked and paid for as an edition of its own. A year has {many}, which cost "
        f"{_price_of(due.ready.question, editions)} (epsilon_per_study, epsilon_in_all)."
    )
    return replace(plan, consequences=(cost, *plan.consequences))


def _price_of(question: Question, editions: int) -> str:
    """Return what so many editions cost at a site, and what the site must allow."""
    from confide.federation.coordinator.planning import AccountPrice, cents
    from confide.federation.modes.registry import mode_of

    price = AccountPrice.of(question)
    if price is not None:
        return (
            f"rho {shown(editions * price.rho, up=True)} at each site, which is epsilon "
            f"{cents(price.of_many(editions))} in its account if nothing else is asked: its policy must allow that much"
        )
    year = Fraction(mode_of(question).price(question) or 0) * editions
    return f"epsilon {shown(year, up=True)} at each site: its policy must allow that much"


def note_attempt(due: DueEdition) -> None:
    """Write the question down before it is asked, because sites may pay for it even if there is no result."""
    from confide.federation.coordinator.series import Series

    Series(due.folder).note_attempt(due.period, due.ready.question)


def store_edition(due: DueEdition, validation: Validation) -> None:
    """Store the result of a period.

    Asked twice in a period, also after a failure, sites that paid do not pay again: it is the same edition.
    """
    from confide.federation.coordinator.series import Series

    Series(due.folder).store(due.period, validation.to_dict(), validation.outcome)


def stored_validation(due: DueEdition) -> Validation:
    """Derive the results of this period again from what is stored; NoOutcomeError if that does not suffice."""
    from confide.federation.coordinator.series import Series
    from confide.federation.coordinator.validation import derive

    outcome = Series(due.folder).outcome(due.period)
    return derive(outcome, level=due.ready.level, null_auc=due.ready.null_auc)


def stored_editions(due: DueEdition) -> tuple[Edition, ...]:
    """Return the stored results of all periods, the oldest first."""
    from confide.federation.coordinator.series import Series

    return Series(due.folder).editions()
