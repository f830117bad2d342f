"""Rounds of a validation, and of a sum that survives dropouts.

Sites that drop out before they answer are left out of the sum. What remains is read only if at least `left` sites
answered (`recovery_terms`) and `threshold` of them show their shares. Otherwise nothing is released.

Round 1 asks every site whether it takes part; nothing is charged. Round 2 sends the signed keys of all sites to each
site that takes part, and collects answers. A site that fails, refuses, is silent or sends an unreadable reply ends the
run, with a message that names the site and the next step. If the signed question allows fewer sites, such a site is
left out instead: before round 2 in every mode, after it where sites send results of their own, and where masks can be
taken off without it (`recovered_sum`, with rounds of its own). Any other sum of masked answers needs all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from confide.errors import FederationError, ParameterError
from confide.federation.coordinator.answers import pooled_answers
from confide.federation.coordinator.run_state import (
    Progress,
    Run,
    after_absence,
    after_waiting,
    needed,
    new_session,
    released_sum,
)
from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.recovery import Answered, Unmasking, Vote
from confide.federation.crypto.secure_sum import MaskedVector, check_answers, unmasked_sum
from confide.federation.crypto.shares import SealingKey
from confide.federation.modes.registry import mode_of
from confide.federation.protocol import (
    ANSWER,
    OFFER,
    SHARES,
    UNMASK,
    VOTE,
    Channel,
    Message,
    Outcome,
    Recorder,
    Replay,
    RunError,
    SiteReport,
)
from confide.federation.question import PROTOCOL, Question
from confide.federation.site_state import ProgressState, RefusalReason, SiteState


def check_sealing(reply: Message, offer: Offer) -> None:
    """Refuse a site's first reply without a key that others can seal their shares to."""
    SealingKey.from_dict(reply.get("sealing")).verified(offer)


def recovered_sum(
    run: Run,
    agreement: Agreement,
    accepted: Mapping[str, Message],
    read_own: Callable[[str, Message], Mapping[str, Any] | None],
) -> dict[str, Any]:
    """Return the question as it was answered, the sum over the sites that are left, and what each sent for itself."""
    question = run.question
    boxes = _boxes(run, agreement, accepted)
    taking_part = agreement.recovered_by(question.threshold or 0, tuple(boxes))
    vectors, own = _answers(run, taking_part, boxes, read_own)
    left = tuple(sorted(vectors))
    final = question.of(left)
    proofs = [Answered.of(vectors[site]).to_dict() for site in left]
    request = {**_head(run), "left": list(left), "answered": proofs}
    if left != taking_part.sites:
        request["votes"] = _votes(run, taking_part, left, request)
    unmasking = Unmasking(agreement=taking_part, holders=agreement.sites, left=left, threshold=question.threshold or 0)
    _helped(run, UNMASK, left, request, lambda site, reply: unmasking.add(site, reply.get("shares")))
    return released_sum(run, final, lambda: unmasking.total(list(vectors.values())), own)


def _head(run: Run) -> dict[str, Any]:
    return {"protocol": PROTOCOL, "session": run.session}


def _boxes(run: Run, agreement: Agreement, accepted: Mapping[str, Message]) -> dict[str, Mapping[str, str]]:
    """Return the sealed shares of each site that sent them, by sender."""
    request = {
        **_head(run),
        "offers": [offer.to_dict() for offer in agreement.offers],
        "sealing": [accepted[site]["sealing"] for site in agreement.sites],
    }
    replies = run.ask(SHARES, dict.fromkeys(agreement.sites, request), ProgressState.ASKED, enough=run.question.left)
    boxes: dict[str, Mapping[str, str]] = {}
    for site, reply in replies.items():
        sent = reply.get("boxes")
        peers = set(agreement.sites) - {site}
        if isinstance(sent, Mapping) and set(sent) == peers and all(isinstance(box, str) for box in sent.values()):
            boxes[site] = sent
        else:
            run.fail(site, "its sealed shares cannot be read")
    _require_left(run, len(boxes), "Nothing was charged or released.")
    return boxes


def _answers(
    run: Run,
    agreement: Agreement,
    boxes: Mapping[str, Mapping[str, str]],
    read_own: Callable[[str, Message], Mapping[str, Any] | None],
) -> tuple[dict[str, MaskedVector], dict[str, Mapping[str, Any]]]:
    """Return the masked answers, and what sites sent for themselves; a site whose answer is of no use dropped out."""
    requests: dict[str, Message] = {
        site: {**_head(run), "boxes": {sender: boxes[sender][site] for sender in boxes if sender != site}}
        for site in boxes
    }
    replies = run.ask(ANSWER, requests, ProgressState.ASKED_FOR_ANSWER, enough=run.question.left)
    vectors: dict[str, MaskedVector] = {}
    own: dict[str, Mapping[str, Any]] = {}
    for site, reply in replies.items():
        try:
            vector = MaskedVector.from_dict(reply.get("masked"))
            if vector.site != site:
                raise FederationError(f"the answer of site {site!r} has another name")
            check_answers([vector], agreement)
            sent = read_own(site, reply)
        except FederationError as error:
            run.fail(site, str(error))
        else:
            vectors[site] = vector
            if sent is not None:
                own[site] = sent
    _require_left(run, len(vectors), f"Nothing is released. {mode_of(run.question).after_failure}")
    return vectors, own


def _votes(run: Run, agreement: Agreement, left: tuple[str, ...], request: Message) -> list[dict[str, str]]:
    votes: list[dict[str, str]] = []

    def read(site: str, reply: Message) -> None:
        vote = Vote.from_dict(reply.get("vote"))
        vote.check(agreement, left)
        votes.append(vote.to_dict())

    _helped(run, VOTE, left, request, read)
    return votes[: run.question.threshold or 0]


def _helped(
    run: Run, topic: str, left: tuple[str, ...], request: Message, read: Callable[[str, Message], None]
) -> None:
    """Ask those that are left to help; end the run if fewer than the threshold do."""
    needed = run.question.threshold or 0
    replies, missing = run.helped(topic, dict.fromkeys(left, request), enough=needed)
    read_well = 0
    for site, reply in replies.items():
        try:
            read(site, reply)
            read_well += 1
        except FederationError as error:
            run.fail(site, str(error))
    if read_well >= needed:
        return
    for report in missing:
        run.note(report)
    raise run.stop(
        f"{read_well} of {len(left)} sites that answered helped to take the masks off, and {needed} are needed:",
        f"Nothing is released. {mode_of(run.question).after_failure}",
    )


def _require_left(run: Run, sites: int, consequence: str) -> None:
    question: Question = run.question
    if sites < question.left:
        raise run.stop(
            f"{sites} of {len(question.sites)} sites are left, and the sum needs {question.left}:",
            f"{consequence} Ask again when more of them are there",
        )


LONGEST_TIMEOUT = 24 * 3600.0
DROP_SECONDS = 5.0
"""Seconds after which a silent site counts as dropped out, where enough others have replied."""

_WITHOUT = "the others answered this question without it, and answer it with no others"


def validate(
    question: Question,
    channel: Channel,
    *,
    root: str,
    timeout: float = 60.0,
    drop_after: float = DROP_SECONDS,
    progress: Progress = lambda site, state: None,
    session: str | None = None,
    pinned: Mapping[str, str] | None = None,
    revoked: Mapping[str, datetime] | None = None,
) -> Outcome:
    """Ask all sites and add up their answers.

    The outcome carries the transcript: all replies, each signed by its site. See `replay`.

    Parameters
    ----------
    root
        Root certificate of the federation, in PEM. Sites have certificates that it issued.
    timeout
        Seconds that each round may take. A site that is silent for longer is left out, or ends the run.
    drop_after
        Seconds after which a silent site counts as dropped out, from when enough others have replied; only in sums that
        survive dropouts, and after the first round.
    session
        Name of this run, at least 32 hexadecimal digits that no other run has; None draws one.
    pinned
        Fingerprints of the sites' own keys, if they are known: replies must be signed with these.
    revoked
        Times of `Revocations`: older certificates of these sites are not trusted.

    Raises RunError, with a report of each site, if there is no result.
    """
    recorder = Recorder(channel)
    run = Run(
        question=question,
        channel=recorder,
        root=root,
        revoked=revoked,
        timeout=checked_timeout(timeout),
        drop_after=checked_timeout(drop_after, "drop_after"),
        progress=progress,
        session=new_session() if session is None else session,
    )
    transcript = {"session": run.session, "rounds": recorder.rounds}
    started = time.monotonic()
    request = {"protocol": PROTOCOL, "session": run.session, "question": question.to_dict()}
    accepted = run.ask(OFFER, dict.fromkeys(question.sites, request), ProgressState.ASKED)
    offers = _offers(run, request, accepted, pinned)
    _require_approved(run)
    _require_enough(run, "Nothing was charged or released.")
    offers = _same_sites(run, offers, accepted)
    final = question.of(tuple(offers))
    agreement = _agreement(run, final, offers) if mode_of(final).masked else None
    if agreement is not None and final.threshold:
        recovered = recovered_sum(run, agreement, accepted, lambda site, reply: _own(final, site, reply))
        seconds = round(time.monotonic() - started, 3)
        return Outcome(**recovered, reports=run.all_reports, rounds=run.rounds, seconds=seconds, transcript=transcript)
    answers = run.ask(ANSWER, _second_requests(run, final, offers, accepted), ProgressState.ASKED_FOR_ANSWER)
    outcome = _gathered(run, final, answers) if agreement is None else _summed(run, final, answers, agreement)
    seconds = round(time.monotonic() - started, 3)
    return Outcome(**outcome, reports=run.all_reports, seconds=seconds, transcript=transcript)


def replay(
    question: Question,
    transcript: Mapping[str, Any],
    *,
    root: str,
    session: str | None = None,
    pinned: Mapping[str, str] | None = None,
    revoked: Mapping[str, datetime] | None = None,
) -> Outcome:
    """Work an outcome out anew from the replies in a transcript, with every check that a run makes; ask nobody.

    Each reply must be signed by its site, for this question, this session and the request that follows from the earlier
    replies, and masks must cancel. So whoever made the transcript can leave replies out, and invent none. `session` is
    the name of the run, if it is known.
    """
    if session not in (None, transcript["session"]):
        raise FederationError("the transcript is of another run than this; nothing of its result is used")
    rounds = Replay(list(transcript["rounds"]))
    outcome = validate(question, rounds, root=root, session=transcript["session"], pinned=pinned, revoked=revoked)
    if rounds.rounds:
        raise FederationError("the transcript has more rounds than the run; nothing of its result is used")
    return outcome


def checked_timeout(timeout: float, name: str = "timeout") -> float:
    """Return a timeout; refuse one that is not a positive number of seconds."""
    if not (isinstance(timeout, int | float) and 0.0 < timeout <= LONGEST_TIMEOUT):
        raise ParameterError(f"{name} must be a number of seconds up to {LONGEST_TIMEOUT:g}; got {timeout!r}")
    return float(timeout)


def _offers(
    run: Run, request: Message, accepted: Mapping[str, Message], pinned: Mapping[str, str] | None
) -> dict[str, Offer]:
    """Return the offers of the sites that take part, each verified to be that site's and for this run."""
    offers: dict[str, Offer] = {}
    for site, reply in accepted.items():
        try:
            offer = Offer.from_dict(reply.get("offer"))
            if (offer.site, offer.session, offer.question) != (site, run.session, run.question.digest()):
                raise FederationError(f"the offer of site {site!r} is not for this run")
            offer.verified(run.root, at=datetime.now(UTC), pinned=pinned, revoked=run.revoked)
            run.check_signed(OFFER, site, reply, offer.own_key, request)
            pooled_answers(run.question).check_first_reply(reply)
            if run.question.threshold:
                check_sealing(reply, offer)
        except FederationError as error:
            run.fail(site, str(error))
        else:
            offers[site] = offer
            run.own_keys[site] = offer.own_key
    return offers


def _agreement(run: Run, final: Question, offers: Mapping[str, Offer]) -> Agreement:
    return Agreement.verified(
        offers.values(),
        session=run.session,
        question=run.question.digest(),
        asked=final.sites,
        root=run.root,
        at=datetime.now(UTC),
        revoked=run.revoked,
    )


def _require_approved(run: Run) -> None:
    """Stop before round 2 while a person decides at a site, whatever `fewest` allows.

    A question that was answered without that site could never be answered with it.
    """
    held = [report for report in run.all_reports if report.state is SiteState.HELD]
    if not held:
        return
    absent = [report for report in run.missing() if report.state is not SiteState.HELD]
    unable = [report for report in absent if report.reason is RefusalReason.BUDGET]
    others = [report for report in absent if report.reason is not RefusalReason.BUDGET]
    named = {"Waiting for a person's approval:": held, "Cannot pay:": unable, "Not taking part:": others}
    groups = [(what, reports) for what, reports in named.items() if reports]
    then = f"Nothing was charged or released. {after_waiting(run.question, held, absent)}"
    raise RunError.naming(groups, then, run.all_reports, rounds=run.rounds)


def _require_enough(run: Run, consequence: str) -> None:
    sites, missing = len(run.question.sites), run.missing()
    if sites - len(missing) >= run.question.least_sites:
        return
    raise run.stop(
        f"{len(missing)} of {sites} sites did not take part, and {needed(run.question)} are needed:",
        f"{consequence} {after_absence(run.question, missing)}",
    )


def _same_sites(run: Run, offers: dict[str, Offer], accepted: Mapping[str, Message]) -> dict[str, Offer]:
    """Return the offers of the sites that take part, less those without whom the others answered this question.

    Stop before round 2 if a site answered it with others than are there: it would refuse after others had paid.
    """
    taking_part, question = tuple(sorted(offers)), run.question
    for site in taking_part:
        listed = accepted[site].get("answered_with")
        earlier = tuple(name for name in question.sites if isinstance(listed, list) and name in listed)
        if listed is None or earlier == taking_part:
            continue
        if question.threshold and len(earlier) >= question.left and set(earlier) < set(taking_part):
            for other in set(taking_part) - set(earlier):
                run.note(SiteReport(name=other, state=SiteState.LEFT_OUT, message=_WITHOUT))
            return _same_sites(run, {name: offers[name] for name in earlier}, accepted)
        raise RunError(
            f"Site {site} answered this question before, and a site answers a question with one list of sites, ever. "
            f"Now {', '.join(taking_part)} would take part. Nothing was charged or released. For that answer again, at "
            f"no further cost, {_again(question, earlier)}; for a new one "
            f"{mode_of(question).ask_anew(question)}",
            run.all_reports,
            rounds=run.rounds,
        )
    return offers


def _again(question: Question, earlier: tuple[str, ...]) -> str:
    if question.threshold:
        return f"ask it again when {', '.join(earlier)} are there"
    return f"ask with `sites={','.join(earlier)}`" + (
        f" and `colluders={question.colluders}`" if question.colluders else ""
    )


def _second_requests(
    run: Run, final: Question, offers: Mapping[str, Offer], accepted: Mapping[str, Message]
) -> dict[str, Message]:
    signed = [offers[site].to_dict() for site in final.sites]
    more = pooled_answers(final).second_request([accepted[site] for site in final.sites])
    request = {"protocol": PROTOCOL, "session": run.session, "offers": signed, **more}
    return dict.fromkeys(final.sites, request)


def _summed(run: Run, final: Question, answers: Mapping[str, Message], agreement: Agreement) -> dict[str, Any]:
    """Return the sum of the masked answers, all of which are needed."""
    vectors: list[MaskedVector] = []
    own: dict[str, Mapping[str, Any]] = {}
    for site, reply in answers.items():
        try:
            vectors.append(_vector(site, reply))
            sent = _own(final, site, reply)
            if sent is not None:
                own[site] = sent
        except FederationError as error:
            run.fail(site, str(error))
    if run.missing_of(final.sites):
        raise run.stop(
            "A sum needs every site that began it, and not all of them answered:",
            f"Nothing is released. {mode_of(final).after_failure}",
        )
    return released_sum(run, final, lambda: unmasked_sum(vectors, agreement), own)


def _vector(site: str, reply: Message) -> MaskedVector:
    vector = MaskedVector.from_dict(reply.get("masked"))
    if vector.site != site:
        raise FederationError(f"the answer of site {site!r} has another name")
    return vector


def _own(final: Question, site: str, reply: Message) -> Mapping[str, Any] | None:
    """Return what a site sent for itself beside a masked answer; None in modes without such results."""
    if not mode_of(final).sends_own(final):
        return None
    sent = reply.get("own")
    if not isinstance(sent, Mapping) or not pooled_answers(final).can_read(final, sent):
        raise FederationError(f"the noisy counts of site {site!r} cannot be read")
    return sent


def _gathered(run: Run, final: Question, answers: Mapping[str, Message]) -> dict[str, Any]:
    """Return the answers of sites that send results of their own, if there are enough."""
    sent: dict[str, Mapping[str, Any]] = {}
    for site, reply in answers.items():
        if pooled_answers(final).can_read(final, reply.get("table")):
            sent[site] = reply["table"]
        else:
            run.fail(site, "its answer cannot be read")
    _require_enough(run, "Nothing is released.")
    return {"question": final.of(tuple(sent)), "sites": sent}
