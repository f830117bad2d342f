"""State of a site: connection, models, budget and requests; held questions; and the check of its records."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import LedgerError
from confide.tasks.federation import open_site

if TYPE_CHECKING:
    from confide.federation.flare.authority import CertificateDates
    from confide.federation.policy import Policy
    from confide.federation.site.accounts import SiteBudget
    from confide.federation.site.answers import RuledOut
    from confide.federation.site.approvals import HeldQuestion
    from confide.federation.site.config import SiteConfig, SiteModel
    from confide.federation.site.records import LogCheck
    from confide.ledger.receipts import Verification


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
class SiteCheck:
    """Result of checking a site's records: its logs, its register and its ledger."""

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
    from confide.federation.site.accounts import read_budget
    from confide.federation.site.answers import ruled_out
    from confide.federation.site.approvals import Approvals, Decision
    from confide.federation.site.records import SiteRecords

    records = SiteRecords(place)
    approvals = Approvals(records)
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
    from confide.federation.site.records import SiteRecords

    return Approvals(SiteRecords(place)).decide(number, Decision.APPROVED, by=_user())


def refuse_question(folder: str | Path, number: str, *, why: str) -> HeldQuestion:
    """Refuse a held question, or take an approval back. The coordinator reads `why`: write nothing about data there."""
    place = open_site(folder)
    from confide.federation.site.approvals import Approvals, Decision, checked_why
    from confide.federation.site.records import SiteRecords

    return Approvals(SiteRecords(place)).decide(number, Decision.REFUSED, by=_user(), why=checked_why(why))


def verify_site(folder: str | Path) -> SiteCheck:
    """Check that nobody changed a site's log of requests, its approvals, its register or its ledger."""
    place = open_site(folder)
    from confide.federation.site import records

    held, problem = records.SiteRecords(place), None
    logs = held.check()
    try:
        problem = _broken_account(held.ledger.verify())
    except LedgerError as error:
        problem = str(error)
    return SiteCheck(logs=logs, ledger_problem=problem)


def _broken_account(found: Verification) -> str | None:
    broken = next((check for check in found.accounts if not check.whole), None)
    if broken is not None:
        return f"entry {broken.broken} of account {broken.account!r} {broken.problem}"
    return None if found.complete else "an account was removed from the ledger, added to it or set back"


def _user() -> str:
    """Return the name of the person who decides, as the system knows it."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


SCHEMA = "confide.site/1"

_MODEL_KEYS = ("data", "label", "positive", "score", "model_file", "features", "range", "query", "query_sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """A site as its administrator sees it.

    `fingerprint` is that of the site's own key, `root` that of the federation's root. `pid` is the process of the
    site's engine, None if it does not run. `same_as` gives, for each further name of a model, the name of its entry.
    `answered_exactly` names the models that were asked about without noise, `waiting` is the number of questions that
    wait for a person, and `log_problems` says which logs were changed. `can_confine` is False if the kernel has no
    Landlock, so that the engine can read whatever its user can.
    """

    name: str
    folder: Path
    federation: str
    server: str
    port: int
    fingerprint: str
    root: str
    certificate: CertificateDates
    pid: int | None
    connected: bool
    models: Mapping[str, SiteModel]
    same_as: Mapping[str, str]
    policy: Policy
    answered_exactly: tuple[str, ...]
    budget: SiteBudget | None
    requests: tuple[Mapping[str, Any], ...]
    waiting: int = 0
    log_problems: tuple[str, ...] = ()
    can_confine: bool = True

    @property
    def running(self) -> bool:
        """True if the site's engine runs."""
        return self.pid is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "folder": str(self.folder),
            "federation": self.federation,
            "server": self.server,
            "port": self.port,
            "fingerprint": self.fingerprint,
            "root": self.root,
            "certificate": self.certificate.to_dict(),
            "running": self.running,
            "pid": self.pid,
            "connected": self.connected,
            "models": {name: self._model(name) for name in self.models},
            "policy": self.policy.to_dict(),
            "answered_exactly": list(self.answered_exactly),
            "ledger": None if self.budget is None else self.budget.to_dict(),
            "requests": [dict(request) for request in self.requests],
            "waiting": self.waiting,
            "log_problems": list(self.log_problems),
            "can_confine": self.can_confine,
        }

    def _repr_html_(self) -> str:
        from confide.report.validation.sites import site_fragment

        return site_fragment(self)

    def _model(self, name: str) -> dict[str, Any]:
        values = {key: getattr(self.models[name], key) for key in _MODEL_KEYS}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        return plain | ({"same_as": self.same_as[name]} if name in self.same_as else {})


def site_status(folder: str | Path, *, requests: int = 5) -> SiteStatus:
    """Read the state of a site, with its last `requests` requests."""
    place = open_site(folder)
    from confide.federation.flare.authority import CertificateDates
    from confide.federation.flare.confinement import can_confine
    from confide.federation.flare.kits import site_home, site_identity
    from confide.federation.flare.processes import find_running
    from confide.federation.policy import Policy
    from confide.federation.site.accounts import read_budget
    from confide.federation.site.approvals import Approvals
    from confide.federation.site.config import SiteConfig
    from confide.federation.site.records import SiteRecords, last_requests

    identity, home, running = site_identity(place), site_home(place), find_running(place)
    config = SiteConfig.load(place.path)
    records = SiteRecords(place)
    checks = records.check()
    problems = tuple(check.in_words() for check in checks if check.problem is not None)
    return SiteStatus(
        name=identity.name,
        folder=place.path,
        federation=home.federation,
        server=home.server,
        port=home.port,
        fingerprint=identity.fingerprint(),
        root=identity.root_fingerprint(),
        certificate=CertificateDates.until(identity.ends),
        pid=None if running is None else running.pid,
        connected=running is not None and running.connected(home.port),
        models={name: config.model(name) for name in config.names},
        same_as=dict(config.aliases),
        policy=Policy.load(place.policy),
        answered_exactly=_answered_exactly(config, place.path),
        budget=read_budget(place),
        requests=last_requests(place, requests),
        waiting=0 if problems else len(Approvals(records).waiting()),
        log_problems=problems,
        can_confine=can_confine(),
    )


def _answered_exactly(config: SiteConfig, folder: Path) -> tuple[str, ...]:
    from confide.federation.site.register import Register

    register = Register(folder)
    return tuple(sorted(name for name in config.names if register.answered_exactly(name, source=config.source(name))))
