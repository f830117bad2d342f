"""A site's held questions: list them, approve or refuse one; and check the site's records."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import LedgerError
from confide.tasks.federation_folders import open_site

if TYPE_CHECKING:
    from confide.federation.site.approvals import HeldQuestion
    from confide.federation.site.budget import SiteBudget
    from confide.federation.site.rules import RuledOut
    from confide.federation.site.sealed_log import LogCheck

PENDING_SCHEMA, VERIFY_SCHEMA = "confide.site-pending/1", "confide.site-verify/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingQuestions:
    """Questions that wait for a person, what the site has left to spend, and earlier decisions if they are wanted.

    `manual` is False if the policy lets rules decide alone. `ruled_out` says, by the id of a question that nobody
    refused, why the site would refuse it as its policy and its budget are now. Nothing here comes from the rows.
    """

    folder: Path
    manual: bool
    questions: tuple[HeldQuestion, ...]
    budget: SiteBudget | None
    ruled_out: Mapping[str, RuledOut] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": PENDING_SCHEMA,
            "folder": str(self.folder),
            "approval": "manual" if self.manual else "automatic",
            "questions": [{**held.to_dict(), "ruled_out": self._ruled_out(held)} for held in self.questions],
        }

    def _ruled_out(self, held: HeldQuestion) -> dict[str, str | None] | None:
        found = self.ruled_out.get(held.id)
        return None if found is None else {"message": found.message, "reason": found.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRecords:
    """Result of checking a site's logs and its ledger."""

    logs: tuple[LogCheck, ...]
    ledger_problem: str | None

    @property
    def whole(self) -> bool:
        """True if nothing was changed."""
        return self.ledger_problem is None and all(log.problem is None for log in self.logs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        logs = [log.to_dict() for log in self.logs]
        return {"schema": VERIFY_SCHEMA, "whole": self.whole, "logs": logs, "ledger_problem": self.ledger_problem}


def pending_questions(folder: str | Path, *, decided: bool = False) -> PendingQuestions:
    """Return the questions that wait for a person; with `decided`, also those that were decided on."""
    place = open_site(folder)
    from confide.federation.policy import MANUAL, Policy
    from confide.federation.site.approvals import Approvals, Decision
    from confide.federation.site.budget import read_budget
    from confide.federation.site.rules import ruled_out

    approvals = Approvals(place)
    questions = approvals.all() if decided else approvals.waiting()
    checked = {
        held.id: ruled_out(held.question, folder=place, coordinator=held.coordinator)
        for held in questions
        if held.decision is not Decision.REFUSED
    }
    return PendingQuestions(
        folder=place.path,
        manual=Policy.load(place.policy).approval == MANUAL,
        questions=questions,
        budget=read_budget(place),
        ruled_out={name: found for name, found in checked.items() if found is not None},
    )


def approve_question(folder: str | Path, number: str) -> HeldQuestion:
    """Approve a held question: when it is asked again, the site answers it."""
    place = open_site(folder)
    from confide.federation.site.approvals import Approvals, Decision

    return Approvals(place).decide(number, Decision.APPROVED, by=_user())


def refuse_question(folder: str | Path, number: str, *, why: str) -> HeldQuestion:
    """Refuse a held question, or take an approval back. The coordinator reads `why`: write nothing about data there."""
    place = open_site(folder)
    from confide.federation.site.approvals import Approvals, Decision, checked_why

    return Approvals(place).decide(number, Decision.REFUSED, by=_user(), why=checked_why(why))


def verify_site(folder: str | Path) -> SiteRecords:
    """Check that nobody changed a site's log of requests, its approvals or its ledger."""
    place = open_site(folder)
    from confide.federation.site.sealed_log import SealedLog
    from confide.ledger.ledger import Ledger

    problem = None
    try:
        with Ledger(place.ledger) as ledger:
            ledger.verify()
    except LedgerError as error:
        problem = str(error)
    logs = tuple(SealedLog(path).check() for path in (place.log, place.approvals))
    return SiteRecords(logs=logs, ledger_problem=problem)


def _user() -> str:
    """Return the name of the person who decides, as the system knows it."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
