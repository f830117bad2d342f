"""Rounds of a sum that survives dropouts: sealed shares, answers, a vote if sites dropped out, and shown shares.

Sites that drop out before they answer are left out of the sum. What remains is read only if at least `left` sites
answered (`recovery_terms`) and `threshold` of them show their shares. Otherwise nothing is released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confide.errors import FederationError
from confide.federation.channel import ANSWER, SHARES, UNMASK, VOTE, Message
from confide.federation.coordinator.run_state import Run, released_sum
from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.recovery import Answered, Unmasking, Vote
from confide.federation.crypto.secure_sum import MaskedVector, check_answers
from confide.federation.crypto.share_boxes import SealingKey
from confide.federation.modes.registry import mode_of
from confide.federation.question import PROTOCOL, Question
from confide.federation.site_state import ProgressState


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
