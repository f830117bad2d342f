"""Rules by which a site refuses a question before it reads any rows, and before a person is asked.

They follow from the question, the policy, the settings, the register and the ledger. So a refusal, and the time that it
takes, tell nothing about the rows. The same rules, and those that need the rows, are checked again when the question is
answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.errors import RefusedError, UnpayableError, UsageError
from confide.federation.policy import Policy
from confide.federation.site.answers import site_answers
from confide.federation.site.config import SiteConfig
from confide.federation.site.records import SiteRecords
from confide.federation.site.register import Register
from confide.federation.site_state import RefusalReason

if TYPE_CHECKING:
    from confide.federation.question import Question
    from confide.federation.site.config import SiteFolder


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
