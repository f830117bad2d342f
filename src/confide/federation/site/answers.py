"""What a site does in each mode: its checks in round 1, and what it sends in both rounds.

The first checks come before any rows are read, and before a person is asked. They follow from the question, the policy,
the settings, the register and the ledger. So a refusal, and the time that it takes, tell nothing about the rows. The
same rules, and those that need the rows, are checked again when the question is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from confide.counts import ScoreCounts
from confide.errors import FederationError, RefusedError, UnpayableError, UsageError
from confide.federation.modes.exact import DisclosureControl, ExactMode, SecureSum
from confide.federation.modes.mode import Mode
from confide.federation.modes.noisy_scores import NoisyScoresMode, site_noisy_scores, site_sums
from confide.federation.modes.private import Private
from confide.federation.policy import Policy
from confide.federation.policy_rules import least_class
from confide.federation.question import Question
from confide.federation.site.config import SiteConfig, SiteFolder
from confide.federation.site.private_answer import charged_answer, check_affordable, check_payable, own_keys
from confide.federation.site.records import SiteRecords
from confide.federation.site.register import Register, drawn_before
from confide.federation.site.scored_rows import SiteRows
from confide.federation.site_state import RefusalReason
from confide.federation.tables import WIDE_BITS, SiteTable, disclosed, grouped_counts
from confide.ledger.charging import padded

if TYPE_CHECKING:
    from confide.federation.crypto.agreement import Offer
    from confide.federation.crypto.secure_sum import Masks
    from confide.federation.protocol import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteData:
    """Everything that an answer may use at a site: its records, its policy, and the counted rows of the model.

    `source` names the file and the column, or the model file, that the scores come from.
    """

    records: SiteRecords
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


class SiteAnswers(ABC):
    """What a site does in one mode."""

    mode: ClassVar[type[Mode]]

    @abstractmethod
    def check_before_rows(self, question: Question, records: SiteRecords, policy: Policy, source: str) -> None:
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


class ExactAnswers(SiteAnswers):
    """Answers that cost nothing: the register remembers what they fix."""

    mode: ClassVar[type[ExactMode]]

    def check_before_rows(self, question: Question, records: SiteRecords, policy: Policy, source: str) -> None:
        """Refuse a question with other terms than the one that was answered."""
        Register(records).check_terms(question, source=source)

    def check_site(self, question: Question, site: SiteData) -> None:
        """Refuse a question that does not fit an earlier one, or a class with fewer rows than the policy demands."""
        Register(site.records).check(question, site.rows, source=site.source)
        counts = site.rows.counts
        # The policy's numbers alone: a coordinator must not choose the number that rows are compared with.
        if min(counts.total_positives, counts.total_negatives) < least_class(site.policy, self.mode.cell_rule):
            raise RefusedError(
                "this site has too few rows of a class to take part without noise (smallest_class in its policy); "
                "leave it out, or ask in mode private"
            )

    def answer(self, question: Question, site: SiteData, second: SecondRound) -> dict[str, Any]:
        """Make the answer, then write to the register what it fixes, and only then return it."""
        sent = self.exact_answer(question, site.rows.counts, second)
        register = Register(site.records)
        if self.mode.masked:
            register.list_sites(second.signed, question.sites)
        register.fix(question, site.rows, source=site.source)
        return sent

    @abstractmethod
    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return what a site sends of its counts."""


class DisclosureControlAnswers(ExactAnswers):
    """Groups of rows, and rounded sums."""

    mode = DisclosureControl

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the site's groups."""
        return {"table": disclosed(counts, question.public_grid, question.minimum_cell or 1).to_dict()}


class SecureSumAnswers(ExactAnswers):
    """Masked tables of exact counts."""

    mode = SecureSum

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the site's masked table."""
        if second.masks is None:
            raise FederationError("a masked answer needs the keys of all sites; ask with `confide validate`")
        words, wide = exact_table(question, counts).to_words()
        return {"masked": second.masks.mask(words, [_signed(value) for value in wide]).to_dict()}


def exact_table(question: Question, counts: ScoreCounts) -> SiteTable:
    """Return the table to be masked; with a minimum cell above 1, rows are first put together in groups of that size.

    Rows of a group are moved to the cell that holds its mean score, so that sums of scores tell no more than groups.
    """
    grid, minimum = question.public_grid, question.minimum_cell or 1
    if minimum == 1:
        return SiteTable.of(counts, grid, question.bins)
    cells = grouped_counts(counts, grid, minimum)
    used = cells.sum(axis=0) > 0
    moved = ScoreCounts(grid.representatives[used], cells[0, used], cells[1, used])
    return SiteTable.of(moved, grid, question.bins)


def _signed(value: int) -> int:
    """Return a number modulo 2^128 in two's complement with its sign."""
    return value - (1 << WIDE_BITS) if value >> (WIDE_BITS - 1) else value


class PrivateAnswers(SiteAnswers):
    """Masked shares of a noisy sum and noisy counts, paid for by the site's ledger (`private_answer`)."""

    mode = Private

    def check_before_rows(self, question: Question, records: SiteRecords, policy: Policy, source: str) -> None:
        """Refuse a question that the site's ledger cannot pay for, whatever its rows are."""
        check_affordable(records, policy, question)

    def check_site(self, question: Question, site: SiteData) -> None:
        """Refuse a question that the site's ledger cannot pay for, or whose data changed."""
        check_payable(site.records, site.policy, question, site.rows)

    def answer(self, question: Question, site: SiteData, second: SecondRound) -> dict[str, Any]:
        """Fix the list of sites, charge the ledger, and return the masked share and the site's own noisy counts."""
        if second.masks is None:
            raise FederationError("a masked answer needs the keys of all sites; ask with `confide validate`")
        Register(site.records).list_sites(second.signed, question.sites)
        with padded():
            keys = "" if question.threshold else own_keys(second.offers)  # otherwise in the register, with the list
            paid = charged_answer(site.records, site.policy, question, site.rows, keys=keys)
        return {
            "masked": second.masks.mask(paid.integers).to_dict(),
            "own": None if paid.own is None else {"noisy_integers": list(paid.own["parts"]["noisy_integers"])},
            "receipt": paid.receipt,
        }


class NoisyScoresAnswers(ExactAnswers):
    """Noisy scores of all rows in round 1, and exact sums of placements in round 2."""

    mode = NoisyScoresMode

    def check_before_rows(self, question: Question, records: SiteRecords, policy: Policy, source: str) -> None:
        """Refuse also a question that was answered before."""
        super().check_before_rows(question, records, policy, source)
        if Register(records).answered_exactly(question.model, source=source):
            raise drawn_before(question)

    def first_reply(self, question: Question, site: SiteData) -> dict[str, Any]:
        """Return the noisy scores, once: drawn again, their noise could be averaged away."""
        noisy = site_noisy_scores(site.rows.counts, question)
        Register(site.records).fix(question, site.rows, source=site.source, first=True)
        return {"noisy": noisy}

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the sums of the site's placements among the pooled noisy scores."""
        return {"table": site_sums(counts, question, second.request.get("pooled"))}


SITE_ANSWERS: Mapping[str, SiteAnswers] = MappingProxyType(
    {
        answers.mode.name: answers
        for answers in (DisclosureControlAnswers(), SecureSumAnswers(), PrivateAnswers(), NoisyScoresAnswers())
    }
)
"""What a site does in each mode, by the mode's name."""


def site_answers(question: Question) -> SiteAnswers:
    """Return what a site does in the mode of a question."""
    return SITE_ANSWERS[question.mode]


def check_rules(
    question: Question, *, records: SiteRecords, config: SiteConfig, policy: Policy, coordinator: str | None
) -> None:
    """Refuse a question that the site would refuse whatever its rows are; nothing is read of them."""
    policy.check(question, coordinator=coordinator)
    source = config.source(question.model)
    config.check_grid(question)
    site_answers(question).check_before_rows(as_answered(question, records), records, policy, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledOut:
    """Why a site would refuse a question as its rules are now; `reason` is set if its budget is too small."""

    message: str
    reason: RefusalReason | None = None


def ruled_out(question: Question, *, folder: SiteFolder, coordinator: str | None) -> RuledOut | None:
    """Return why a site would refuse a question as its files are now, whatever its rows are; None if it would not."""
    config, policy = SiteConfig.load(folder.path), Policy.load(folder.policy)
    try:
        check_rules(question, records=SiteRecords(folder), config=config, policy=policy, coordinator=coordinator)
    except UnpayableError as refusal:
        return RuledOut(message=str(refusal), reason=RefusalReason.BUDGET)
    except (RefusedError, UsageError) as refusal:
        return RuledOut(message=str(refusal))
    return None


def as_answered(question: Question, records: SiteRecords) -> Question:
    """Return a question with the sites with which it was answered before, if it was."""
    earlier = Register(records).listed(question)
    return question if earlier is None else question.of(earlier)
