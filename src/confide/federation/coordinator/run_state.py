"""State of one validation, and the next steps after a run that ended before its answers."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from confide.errors import FederationError
from confide.federation.crypto.agreement import check_reply
from confide.federation.modes.registry import mode_of
from confide.federation.protocol import OFFER, Channel, Message, Patience, RunError, Silence, SiteReport
from confide.federation.question import PROTOCOL, Question, other_version
from confide.federation.question_terms import FEWEST_MASKED, with_threshold
from confide.federation.site_state import ProgressState, RefusalReason, SiteState


def needed(question: Question) -> str:
    """Return how many of the sites must take part, in words."""
    return "all" if question.least_sites == len(question.sites) else str(question.least_sites)


def after_absence(question: Question, absent: Sequence[SiteReport], *, first: str = "Fix what they report") -> str:
    """Return what to do if too few sites take part."""
    left = len(question.sites) - len(absent)
    steps = []
    if _can_ask(question, left):
        steps.append("leave them out (`sites`)")
    if _could_go_on(question, left):
        steps.append("allow fewer sites (`fewest`)")
    return " or ".join((f"{first}, and ask again{';' if steps else ''}", *steps))


def after_waiting(question: Question, held: Sequence[SiteReport], absent: Sequence[SiteReport]) -> str:
    """Return what to do if people have yet to decide at some sites, and others do not take part whatever they decide.

    Another price or another list of sites is another question, which people decide on anew. So what keeps others away
    is settled first.
    """
    left = len(question.sites) - len(absent)
    if left < question.least_sites:
        return (
            f"Approval alone is not enough. First {_settle(question, absent)}. Then ask again. Another epsilon or "
            "another list of sites is another question, which needs approvals of its own"
        )
    without = f", and the run goes on without {_names(absent)}" if absent else ""
    again = (
        "Ask again later with the same options, `purpose` included: a site that approved the question answers at "
        f"once{without}"
    )
    if not _can_ask(question, left - len(held)):
        return again
    return f"{again}. To go on without a site that waits, leave it out (`sites`)"


def _settle(question: Question, absent: Sequence[SiteReport]) -> str:
    """Return what brings absent sites back, or does without them."""
    unable = [report for report in absent if report.reason is RefusalReason.BUDGET]
    others = [report for report in absent if report.reason is not RefusalReason.BUDGET]
    steps = []
    if unable:
        steps.append(f"ask for less `epsilon`, or let {_names(unable)} raise what the policy lets the ledger spend")
    if others:
        steps.append(f"fix what {_names(others)} {'reports' if len(others) == 1 else 'report'}")
    text = "; and ".join(steps)
    if _can_ask(question, len(question.sites) - len(absent)):
        text += f"; or leave out {_names(absent)} (`sites`)"
    return text


def _could_go_on(question: Question, sites: int) -> bool:
    """Return whether a question that allows so few of its sites (`fewest`) could go on with them."""
    mode = mode_of(question)
    if sites < mode.fewest_sites(question):
        return False
    allowed = with_threshold(replace(question, fewest=sites, threshold=None), None, masked=mode.masked)
    return allowed.least_sites <= sites


def _can_ask(question: Question, sites: int) -> bool:
    """Return whether the mode can ask so many sites."""
    return sites >= (FEWEST_MASKED if mode_of(question).masked else 1)


def _names(reports: Sequence[SiteReport]) -> str:
    return ", ".join(report.name for report in reports)


Progress = Callable[[str, ProgressState], None]
"""Function that is called with a site's name and its state whenever the state changes."""

_LONGEST_MESSAGE = 600


def new_session() -> str:
    """Draw the name of a session, which no other run has."""
    return secrets.token_hex(16)


@dataclass(slots=True, kw_only=True)
class Run:
    """State of one validation while it runs; `own_keys` are the keys in the verified offers, with which sites sign."""

    question: Question
    channel: Channel
    root: str
    revoked: Mapping[str, datetime] | None
    timeout: float
    drop_after: float
    progress: Progress
    session: str = field(default_factory=new_session)
    own_keys: dict[str, bytes] = field(default_factory=dict, repr=False)
    reports: dict[str, SiteReport] = field(default_factory=dict)
    rounds: int = 0

    def ask(
        self, topic: str, requests: Mapping[str, Message], state: ProgressState, *, enough: int | None = None
    ) -> dict[str, Message]:
        """Begin a round: ask sites, return the replies of those that answer, and record why others do not.

        Once `enough` sites have said yes, others have `drop_after` seconds more.
        """
        for site in requests:
            self.progress(site, state)
        patience = Patience(self.timeout, enough, self.drop_after)
        good, reports = self._replies(
            topic, requests, patience, lambda site: self.progress(site, ProgressState.REPLIED)
        )
        for report in reports:
            self.note(report)
        return good

    def helped(
        self, topic: str, requests: Mapping[str, Message], *, enough: int
    ) -> tuple[dict[str, Message], list[SiteReport]]:
        """Begin a round after the answers, whose reports stay; go on as soon as `enough` sites have said yes."""
        good, reports = self._replies(topic, requests, Patience(self.timeout, enough), lambda site: None)
        return good, [report for report in reports if report.name not in good]

    def _replies(
        self, topic: str, requests: Mapping[str, Message], patience: Patience, heard: Callable[[str], None]
    ) -> tuple[dict[str, Message], list[SiteReport]]:
        self.rounds += 1
        replies = self.channel.ask(topic, requests, patience=patience, heard=heard)
        good: dict[str, Message] = {}
        reports = []
        for site in requests:
            reply = replies.get(site, Silence("it did not reply"))
            reports.append(self._signed_report(topic, site, reply, requests[site]))
            if reports[-1].state is SiteState.ANSWERED and not isinstance(reply, Silence):
                good[site] = reply
        return good, reports

    def _signed_report(self, topic: str, site: str, reply: Message | Silence, request: Message) -> SiteReport:
        """Return the report of a site; after the offers, only a reply that the site signed counts as its answer."""
        report = _reported(site, reply)
        if report.state is SiteState.ANSWERED and topic != OFFER and not isinstance(reply, Silence):
            try:
                self.check_signed(topic, site, reply, self.own_keys[site], request)
            except FederationError as error:
                return SiteReport(name=site, state=SiteState.FAILED, message=str(error))
        return report

    def check_signed(self, topic: str, site: str, reply: Message, own_key: bytes, request: Message) -> None:
        """Refuse a reply that a site did not sign for this run, or to another request than this."""
        terms = {"topic": topic, "session": self.session, "question": self.question.digest()}
        check_reply(reply, own_key, site=site, request=request, **terms)

    def note(self, report: SiteReport) -> None:
        """Record how a site takes part."""
        self.reports[report.name] = report
        self.progress(report.name, ProgressState.of(report.state))

    def fail(self, site: str, message: str) -> None:
        """Record that a site sent something that cannot be used."""
        self.note(SiteReport(name=site, state=SiteState.FAILED, message=message))

    @property
    def all_reports(self) -> tuple[SiteReport, ...]:
        """Reports of all sites that were asked."""
        return tuple(self.reports[site] for site in self.question.sites)

    def missing(self) -> list[SiteReport]:
        """Return the reports of sites that do not take part."""
        return [report for report in self.all_reports if report.state is not SiteState.ANSWERED]

    def missing_of(self, sites: tuple[str, ...]) -> list[SiteReport]:
        """Return the reports of those of some sites that do not take part."""
        return [report for report in self.missing() if report.name in sites]

    def stop(self, what: str, then: str) -> RunError:
        """Return the error that ends the run."""
        return RunError.naming([(what, self.missing())], then, self.all_reports, rounds=self.rounds)


def _reported(site: str, reply: Message | Silence) -> SiteReport:
    """Return the report of a site from its reply, which may be anything."""
    if isinstance(reply, Silence):
        return SiteReport(name=site, state=SiteState.SILENT, message=_plain(reply.reason))
    if not isinstance(reply, Mapping) or reply.get("site") != site:
        return SiteReport(name=site, state=SiteState.FAILED, message="its reply cannot be read")
    if reply.get("protocol") != PROTOCOL:
        return SiteReport(name=site, state=SiteState.FAILED, message=other_version("it", reply.get("protocol")))
    state = reply.get("state")
    if state in (SiteState.REFUSED, SiteState.HELD, SiteState.FAILED):
        budget = state == SiteState.REFUSED and reply.get("reason") == RefusalReason.BUDGET
        return SiteReport(
            name=site,
            state=SiteState(state),
            message=_plain(reply.get("message")),
            reason=RefusalReason.BUDGET if budget else None,
        )
    if state != SiteState.ANSWERED:
        return SiteReport(name=site, state=SiteState.FAILED, message="its reply cannot be read")
    receipt = reply.get("receipt")
    return SiteReport(
        name=site, state=SiteState.ANSWERED, receipt=dict(receipt) if isinstance(receipt, Mapping) else None
    )


def _plain(message: object) -> str:
    """Return a site's message on one line, shortened, without control characters."""
    text = " ".join(message.split()) if isinstance(message, str) else "it gave no reason"
    return "".join(letter if letter.isprintable() else "·" for letter in text[:_LONGEST_MESSAGE])


def released_sum(
    run: Run, final: Question, read: Callable[[], tuple[Any, Any]], own: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the question as it was answered, the sum that `read` takes masks off, and what sites sent for themselves.

    Nothing is released if masks do not cancel, or if the sum has other numbers of values than were asked for.
    """
    try:
        counts, wide = read()
    except FederationError as error:
        message = f"{error}. Nothing is released. {mode_of(final).after_failure}"
        raise RunError(message, run.all_reports, rounds=run.rounds) from None
    if (counts.size, len(wide)) != mode_of(final).sum_shape(final):
        raise FederationError(
            "the sites answered with other numbers of values than were asked for; nothing is released"
        )
    total = {"counts": base64.b64encode(counts.astype("<i8").tobytes()).decode("ascii"), "wide": [str(w) for w in wide]}
    return {"question": final, "total": total, "sites": own}
