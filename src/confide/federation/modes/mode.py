"""Interface of a mode: what a site computes and sends, what that costs and promises, and how answers are pooled.

A mode is one class in one file. To add a mode:

1. Write `modes/<name>.py` with a subclass of `Mode`; of `ExactMode` if its answers carry no proven noise.
2. Add an instance to `MODES` in `modes/registry.py`.
3. If the mode takes a parameter that no question has yet, add it as a field of `Question`.

Questions, policies, sites, the coordinator, reports and the command line look the mode up with `mode_of(question)` and
ask it. No other module compares names of modes. Mode objects have no state.

Modules of modes import what sites and coordinators work with inside methods: a site loads nothing of the coordinator,
and questions and policies can import the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from confide.errors import ConfideError, ParameterError, RefusedError
from confide.federation.policy_rules import check_sum

if TYPE_CHECKING:
    from confide.federation.channel import Message
    from confide.federation.coordinator.performance import Performance
    from confide.federation.crypto.agreement import Offer
    from confide.federation.crypto.secure_sum import Masks
    from confide.federation.outcome import Outcome
    from confide.federation.policy import Policy
    from confide.federation.question import Question
    from confide.federation.site.rows import SiteRows
    from confide.federation.site.site_folder import SiteFolder
    from confide.privacy.guarantee import Guarantee

FEWEST_MASKED = 3
"""Least number of sites in a masked sum: of two, each could subtract its own part."""

MOST_EXACT_CELLS = 2**20
"""Most cells of a grid in a mode without noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteData:
    """Everything that a mode may use at a site: its folder, its policy, and the counted rows of the model.

    `source` names the file and the column, or the model file, that the scores come from.
    """

    folder: SiteFolder
    policy: Policy
    rows: SiteRows
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRound:
    """Second request to a site: the question as it was signed, the offers of all sites, and the request itself.

    `masks` are None in a mode that does not mask.
    """

    signed: Question
    offers: tuple[Offer, ...]
    masks: Masks | None
    request: Message


class Mode(ABC):
    """One way to validate a model across sites.

    Attributes
    ----------
    name, title
        Name in questions, policies and JSON; title in reports.
    summary
        One line for the site's administrator, in `policy.toml`.
    parameters
        Parameters of `Question.checked` that only some modes take, and this one does.
    masked
        Whether answers are masked, so that only their sum over at least three sites can be read.
    private
        Whether answers carry proven noise and are charged to each site's ledger.
    allowed_by_default
        Whether a policy allows the mode without naming it: only where answers carry proven noise.
    comparison_only
        Whether the mode exists for comparison with a published method. Reports then open with a warning.
    most_cells
        Most cells that a grid may have.
    free_reason
        Why the mode charges no ledger, to complete the sentence "no privacy budget: …"; empty if it charges.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[frozenset[str]]
    masked: ClassVar[bool] = False
    private: ClassVar[bool] = False
    allowed_by_default: ClassVar[bool] = True
    comparison_only: ClassVar[bool] = False
    most_cells: ClassVar[int] = MOST_EXACT_CELLS
    free_reason: ClassVar[str] = ""

    # The question

    @abstractmethod
    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check the mode's own parameters, fill in those that are None, and return them as fields of a question."""

    @abstractmethod
    def default_grid(self, question: Question, rows: int | None) -> str:
        """Return the grid of a question that names none; `rows` is the stated number of rows of all sites."""

    def check_question(self, question: Question) -> None:  # noqa: B027 - most modes have no further rule
        """Refuse terms that break a rule of this mode."""

    def fewest_sites(self, question: Question) -> int:
        """Return the least number of sites that may take part."""
        return FEWEST_MASKED if self.masked else 1

    def price(self, question: Question) -> str | None:
        """Return the epsilon that each site is charged; None if it is charged nothing."""
        return None

    # The policy

    def check_policy(self, policy: Policy, question: Question) -> None:
        """Refuse a question that breaks a rule of a site's policy about this mode."""
        if self.masked:
            check_sum(policy, question)

    # The site

    @abstractmethod
    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the terms that an answer fixes: later questions must have the same ones."""

    @abstractmethod
    def check_before_rows(self, question: Question, folder: SiteFolder, source: str) -> None:
        """Refuse in round 1, before rows are read, what the site's register and ledger rule out whatever the rows are.

        `source` names the file and the column, or the model file, that the scores come from.
        """

    @abstractmethod
    def check_site(self, question: Question, site: SiteData) -> None:
        """Refuse in round 1, before any site is charged, a question that this site cannot answer in round 2."""

    def first_reply(self, question: Question, site: SiteData) -> dict[str, Any]:
        """Return what a site sends in round 1, beside its key."""
        return {}

    @abstractmethod
    def answer(self, question: Question, site: SiteData, second: SecondRound) -> dict[str, Any]:
        """Return what a site sends in round 2, after everything that must be remembered is on the disk."""

    @abstractmethod
    def changed_data(self, question: Question) -> RefusedError:
        """Return the refusal of a question that was answered when the site's data were others."""

    @abstractmethod
    def ask_anew(self, question: Question) -> str:
        """Return how a coordinator can have a question answered anew, as the end of a sentence."""

    # The coordinator

    def check_first_reply(self, reply: Message) -> None:  # noqa: B027 - most modes send nothing then
        """Raise FederationError if what a site sent in round 1 beside its key cannot be used."""

    def second_request(self, replies: list[Message]) -> dict[str, Any]:
        """Return what the coordinator sends in round 2 beside the offers, from the replies of round 1."""
        return {}

    def sum_shape(self, question: Question) -> tuple[int, int]:
        """Return the numbers of counts and of sums of scores that a masked answer has."""
        raise ParameterError(f"mode {self.name} has no masked answers")

    def sends_own(self, question: Question) -> bool:
        """Return whether each site also sends results of its own that may be seen."""
        return not self.masked

    @abstractmethod
    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Raise an error if what a site sent for itself is not what was asked for."""

    def can_read(self, question: Question, sent: object) -> bool:
        """Return whether what a site sent for itself is what was asked for."""
        if not isinstance(sent, Mapping):
            return False
        try:
            self.check_sent(question, sent)
        except (ConfideError, KeyError, TypeError, ValueError, OverflowError):
            return False
        return True

    @abstractmethod
    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Return the model's performance over the rows of all sites."""

    def site_performances(self, outcome: Outcome, level: float) -> dict[str, Performance]:
        """Return the model's performance at each site whose own results may be seen."""
        return {}

    @property
    def after_failure(self) -> str:
        """Sentence about costs and the next step, where a sum failed after sites had answered."""
        return "Ask the same sites again."

    # Promises and reports

    def guarantee(self, question: Question) -> Guarantee | None:
        """Return the proven guarantee for the people in the data; None if there is none."""
        return None

    @abstractmethod
    def promise(self, question: Question) -> tuple[str, ...]:
        """Return what the mode promises to the people in the data and what it does not, a sentence each."""

    @abstractmethod
    def released(self, question: Question) -> str:
        """Return what leaves a site that takes part, as a noun phrase."""

    def no_site_results(self, question: Question) -> str | None:
        """Return why no site's own results may be seen; None if they may be."""
        return None

    def described_terms(self, question: Question) -> Iterator[tuple[str, str]]:
        """Yield the mode's own terms of a question in words, each a name and a value."""
        yield from ()

    def calibration_from_cells(self, question: Question) -> bool:
        """Return whether the calibration line takes rows to lie in the middle of their cells."""
        return True
