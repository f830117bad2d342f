"""Two rounds of a validation, run by the coordinator over a channel. Nothing is released unless enough sites answer.

Round 1 asks every site whether it takes part; nothing is charged. Round 2 sends the signed keys of all sites to each
site that takes part, and collects answers. A site that fails, refuses, is silent or sends an unreadable reply ends the
run, with a message that names the site and the next step. If the signed question allows fewer sites, such a site is
left out instead: before round 2 in every mode, after it only where sites send results of their own. A sum of masked
answers needs all of them.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from confide.errors import FederationError, ParameterError
from confide.federation.channel import ANSWER, OFFER, Channel, Message, Silence
from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.secure_sum import MaskedVector, unmasked_sum
from confide.federation.modes.registry import mode_of
from confide.federation.outcome import Outcome, RunError, SiteReport
from confide.federation.question import PROTOCOL, Question, other_version
from confide.federation.site_state import ProgressState, RefusalReason, SiteState

Progress = Callable[[str, ProgressState], None]
"""Function that is called with a site's name and its state whenever the state changes."""

LONGEST_TIMEOUT = 24 * 3600.0
_LONGEST_MESSAGE = 600


@dataclass(slots=True, kw_only=True)
class Run:
    """State of one validation while it runs."""

    question: Question
    channel: Channel
    root: str
    timeout: float
    progress: Progress
    session: str = field(default_factory=lambda: secrets.token_hex(16))
    reports: dict[str, SiteReport] = field(default_factory=dict)
    rounds: int = 0

    def ask(self, topic: str, requests: Mapping[str, Message], state: ProgressState) -> dict[str, Message]:
        """Begin a round: ask sites, return the replies of those that answer, and record why others do not."""
        self.rounds += 1
        for site in requests:
            self.progress(site, state)
        replies = self.channel.ask(
            topic, requests, timeout=self.timeout, heard=lambda site: self.progress(site, ProgressState.REPLIED)
        )
        good: dict[str, Message] = {}
        for site in requests:
            reply = replies.get(site, Silence("it did not reply"))
            report = _reported(site, reply)
            self.note(report)
            if report.state is SiteState.ANSWERED and not isinstance(reply, Silence):
                good[site] = reply
        return good

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
        return RunError.naming(what, self.missing(), then, self.all_reports, rounds=self.rounds)


def validate(
    question: Question,
    channel: Channel,
    *,
    root: str,
    timeout: float = 60.0,
    progress: Progress = lambda site, state: None,
) -> Outcome:
    """Ask all sites and add up their answers.

    Parameters
    ----------
    root
        Root certificate of the federation, in PEM. Sites have certificates that it issued.
    timeout
        Seconds that each round may take. A site that is silent for longer is left out, or ends the run.

    Raises RunError, with a report of each site, if there is no result.
    """
    run = Run(
        question=question,
        channel=channel,
        root=root,
        timeout=checked_timeout(timeout),
        progress=progress,
    )
    started = time.monotonic()
    request = {"protocol": PROTOCOL, "session": run.session, "question": question.to_dict()}
    accepted = run.ask(OFFER, dict.fromkeys(question.sites, request), ProgressState.ASKED)
    offers = _offers(run, accepted)
    _require_enough(run, "Nothing was charged or released.")
    _require_same_sites(run, offers, accepted)
    final = question.of(tuple(offers))
    agreement = _agreement(run, final, offers) if mode_of(final).masked else None
    answers = run.ask(ANSWER, _second_requests(run, final, offers, accepted), ProgressState.ASKED_FOR_ANSWER)
    outcome = _gathered(run, final, answers) if agreement is None else _summed(run, final, answers, agreement)
    return Outcome(**outcome, reports=run.all_reports, seconds=round(time.monotonic() - started, 3))


def checked_timeout(timeout: float) -> float:
    """Return a timeout; refuse one that is not a positive number of seconds."""
    if not (isinstance(timeout, int | float) and 0.0 < timeout <= LONGEST_TIMEOUT):
        raise ParameterError(f"timeout must be a number of seconds up to {LONGEST_TIMEOUT:g}; got {timeout!r}")
    return float(timeout)


def _reported(site: str, reply: Message | Silence) -> SiteReport:
    """Return the report of a site from its reply, which may be anything."""
    if isinstance(reply, Silence):
        return SiteReport(name=site, state=SiteState.SILENT, message=reply.reason)
    if not isinstance(reply, Mapping) or reply.get("site") != site:
        return SiteReport(name=site, state=SiteState.FAILED, message="its reply cannot be read")
    if reply.get("protocol") != PROTOCOL:
        return SiteReport(name=site, state=SiteState.FAILED, message=other_version("it", reply.get("protocol")))
    state = reply.get("state")
    if state in (SiteState.REFUSED, SiteState.FAILED):
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


def _offers(run: Run, accepted: Mapping[str, Message]) -> dict[str, Offer]:
    """Return the offers of the sites that take part, each verified to be that site's and for this run."""
    offers: dict[str, Offer] = {}
    for site, reply in accepted.items():
        try:
            offer = Offer.from_dict(reply.get("offer"))
            if (offer.site, offer.session, offer.question) != (site, run.session, run.question.digest()):
                raise FederationError(f"the offer of site {site!r} is not for this run")
            offer.verified(run.root, at=datetime.now(UTC))
            mode_of(run.question).check_first_reply(reply)
        except FederationError as error:
            run.fail(site, str(error))
        else:
            offers[site] = offer
    return offers


def _agreement(run: Run, final: Question, offers: Mapping[str, Offer]) -> Agreement:
    return Agreement.verified(
        offers.values(),
        session=run.session,
        question=run.question.digest(),
        asked=final.sites,
        root=run.root,
        at=datetime.now(UTC),
    )


def _require_enough(run: Run, consequence: str) -> None:
    needed = run.question.fewest
    if len(run.question.sites) - len(run.missing()) >= needed:
        return
    raise run.stop(
        f"{len(run.missing())} of {len(run.question.sites)} sites did not take part, and {needed} are needed:",
        f"{consequence} Mend what they say, leave them out, or allow fewer sites (`fewest`)",
    )


def _require_same_sites(run: Run, offers: Mapping[str, Offer], accepted: Mapping[str, Message]) -> None:
    """Stop before round 2 if a site answered this question with other sites: it would refuse after others had paid."""
    taking_part, question = tuple(sorted(offers)), run.question
    for site in taking_part:
        listed = accepted[site].get("answered_with")
        earlier = tuple(name for name in question.sites if isinstance(listed, list) and name in listed)
        if listed is None or earlier == taking_part:
            continue
        same = f"`sites={','.join(earlier)}`" + (f" and `colluders={question.colluders}`" if question.colluders else "")
        raise RunError(
            f"Site {site} answered this question before, and a site answers a question with one list of sites, ever. "
            f"Now {', '.join(taking_part)} would take part. Nothing was charged or released. For that answer again, at "
            f"no further cost, ask with {same}; for a new one "
            f"{mode_of(question).ask_anew(question)}",
            run.all_reports,
            rounds=run.rounds,
        )


def _second_requests(
    run: Run, final: Question, offers: Mapping[str, Offer], accepted: Mapping[str, Message]
) -> dict[str, Message]:
    signed = [offers[site].to_dict() for site in final.sites]
    more = mode_of(final).second_request([accepted[site] for site in final.sites])
    request = {"protocol": PROTOCOL, "session": run.session, "offers": signed, **more}
    return dict.fromkeys(final.sites, request)


def _summed(run: Run, final: Question, answers: Mapping[str, Message], agreement: Agreement) -> dict[str, Any]:
    """Return the sum of the masked answers, all of which are needed."""
    vectors: list[MaskedVector] = []
    own: dict[str, Mapping[str, Any]] = {}
    for site, reply in answers.items():
        try:
            vectors.append(_vector(site, reply))
            if mode_of(final).sends_own(final):
                own[site] = _own(final, site, reply)
        except FederationError as error:
            run.fail(site, str(error))
    if run.missing_of(final.sites):
        raise run.stop(
            "A sum needs every site that began it, and not all of them answered:",
            f"Nothing is released. {mode_of(final).after_failure}",
        )
    try:
        counts, wide = unmasked_sum(vectors, agreement)
    except FederationError as error:
        message = f"{error}. Nothing is released. {mode_of(final).after_failure}"
        raise RunError(message, run.all_reports, rounds=run.rounds) from None
    if (counts.size, len(wide)) != mode_of(final).sum_shape(final):
        raise FederationError(
            "the sites answered with other numbers of values than were asked for; nothing is released"
        )
    total = {"counts": base64.b64encode(counts.astype("<i8").tobytes()).decode("ascii"), "wide": [str(w) for w in wide]}
    return {"question": final, "total": total, "sites": own}


def _vector(site: str, reply: Message) -> MaskedVector:
    vector = MaskedVector.from_dict(reply.get("masked"))
    if vector.site != site:
        raise FederationError(f"the answer of site {site!r} has another name")
    return vector


def _own(final: Question, site: str, reply: Message) -> Mapping[str, Any]:
    sent = reply.get("own")
    if not isinstance(sent, Mapping) or not mode_of(final).can_read(final, sent):
        raise FederationError(f"the noisy counts of site {site!r} cannot be read")
    return sent


def _gathered(run: Run, final: Question, answers: Mapping[str, Message]) -> dict[str, Any]:
    """Return the answers of sites that send results of their own, if there are enough."""
    sent: dict[str, Mapping[str, Any]] = {}
    for site, reply in answers.items():
        if mode_of(final).can_read(final, reply.get("table")):
            sent[site] = reply["table"]
        else:
            run.fail(site, "its answer cannot be read")
    _require_enough(run, "Nothing is released.")
    return {"question": final.of(tuple(sent)), "sites": sent}
