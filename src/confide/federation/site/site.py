"""A site: what it does with the two requests that reach it. It never fails without a reply, and logs every request.

Everything that could go wrong is looked at in round 1, before any site is charged: policy, data, register, ledger. What
was counted is kept in memory until round 2 of the same session, once.

The coordinator signed which sites are asked and how few of them may take part. Of what the server lists in round 2 the
site believes nothing else, and it answers a signed question with one list of sites, ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.counts import ScoreCounts
from confide.errors import (
    ConfideError,
    DataError,
    FederationError,
    LedgerError,
    RefusedError,
    UnpayableError,
    UsageError,
)
from confide.federation.channel import ANSWER, OFFER, Message
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.identity import Identity
from confide.federation.crypto.secure_sum import Masks
from confide.federation.modes.disclosure_control import disclosed, grouped_counts
from confide.federation.outcome import ANSWERED, BUDGET, FAILED, REFUSED
from confide.federation.policy import Policy
from confide.federation.question import (
    DISCLOSURE_CONTROL,
    EXACT,
    MASKED,
    NOISY_SCORES,
    PRIVATE,
    PROTOCOL,
    Question,
)
from confide.federation.site.data import SiteConfig
from confide.federation.site.register import Register
from confide.federation.site.rows import SiteRows, read_rows
from confide.federation.site.site_folder import SiteFolder
from confide.federation.tables import WIDE_BITS, SiteTable
from confide.ledger.padding import padded

_UNREADABLE = "the site's data cannot be read as it is configured; its administrator finds the reason in the site's log"
_OWN_FILES = "the site's own files cannot be used; its administrator finds the reason in the site's log"
_UNEXPECTED = "something unexpected went wrong at the site; its administrator finds more in the site's log"


class _UnreadableError(FederationError):
    """The site's data cannot be read; why is for its administrator."""

    def __init__(self, reason: str) -> None:
        super().__init__(_UNREADABLE)
        self.reason = reason


@dataclass(slots=True, kw_only=True)
class Pending:
    """What a site keeps between the rounds of a session."""

    question: Question
    rows: SiteRows = field(repr=False)
    source: str
    keys: KeyPair = field(repr=False)
    offer: Offer


@dataclass(slots=True, kw_only=True)
class Site:
    """A site with its folder, policy and identity; `coordinator` is who asks, as the engine knows it."""

    folder: SiteFolder
    config: SiteConfig
    policy: Policy
    identity: Identity
    coordinator: str | None = None
    asked: dict[str, Question] = field(default_factory=dict, repr=False)
    pending: dict[str, Pending] = field(default_factory=dict, repr=False)
    answered: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path, identity: Identity, *, coordinator: str | None = None) -> Site:
        """Read a site's folder."""
        place = SiteFolder(folder)
        return cls(
            folder=place,
            config=SiteConfig.load(place.path),
            policy=Policy.load(place.policy),
            identity=identity,
            coordinator=coordinator,
        )

    @property
    def name(self) -> str:
        """The site's name, as its certificate has it."""
        return self.identity.name

    def reply(self, topic: str, request: Message) -> dict[str, Any]:
        """Answer a request, whatever it is."""
        handlers = {OFFER: self._offer, ANSWER: self._answer}
        try:
            if topic not in handlers or not isinstance(request, Mapping):
                raise FederationError("this request is unknown here; install the same version of confide everywhere")
            return {"site": self.name, "protocol": PROTOCOL, "state": ANSWERED, **handlers[topic](request)}
        except RefusedError as refusal:
            reason = BUDGET if isinstance(refusal, UnpayableError) else ""
            return self._said(topic, request, REFUSED, str(refusal)) | ({"reason": reason} if reason else {})
        except _UnreadableError as error:
            self._log(topic, request, FAILED, error.reason)
            return self._no(FAILED, _UNREADABLE)
        except ConfideError as error:
            self._log(topic, request, FAILED, str(error))
            return self._no(FAILED, _OWN_FILES if self._about_files(error) else str(error))
        except Exception as error:  # a site must reply, and must not show what an unknown error might hold
            self._log(topic, request, FAILED, f"{_UNEXPECTED} [{type(error).__name__}]")
            return self._no(FAILED, _UNEXPECTED)

    def _offer(self, request: Message) -> dict[str, Any]:
        """Round 1: whether the site takes part, with a fresh signed key."""
        question, session = Question.from_dict(request.get("question", {})), _session(request)
        if self.name not in question.sites:
            raise RefusedError("this site is not among those that are asked; name it")
        self.policy.check(question, coordinator=self.coordinator)
        self.config.check_grid(question)
        earlier = Register(self.folder.path).listed(question)
        again = question if earlier is None else question.of(earlier)
        rows, source = self._rows(question)
        self._check_data(again, rows, source)
        keys = KeyPair.fresh()
        offer = Offer.signed(self.identity, keys, session=session, question=question.digest())
        self.asked = {session: question}
        pending = Pending(question=question, rows=rows, source=source, keys=keys, offer=offer)
        first = self._first_part(pending)
        self.pending = {session: pending}
        self._log(OFFER, request, ANSWERED, "; ".join(filter(None, ("takes part", rows.note))))
        return {"offer": offer.to_dict(), **({} if earlier is None else {"answered_with": list(earlier)}), **first}

    def _rows(self, question: Question) -> tuple[SiteRows, str]:
        """Count the model's rows, and say where its scores come from.

        What is wrong with them is for the site's administrator, and stays in the log.
        """
        try:
            return read_rows(self.config, question.model), self.config.source(question.model)
        except (UsageError, DataError) as error:
            raise _UnreadableError(str(error)) from None

    def _check_data(self, question: Question, rows: SiteRows, source: str) -> None:
        """See that an answer is possible before anybody is charged."""
        if question.mode in EXACT:
            Register(self.folder.path).check(question, rows, source=source)
            # Against the policy's numbers alone: whoever asks must not choose what rows are compared with.
            if min(rows.counts.total_positives, rows.counts.total_negatives) < self.policy.least_class(question.mode):
                raise RefusedError(
                    "this site has too few rows of a class to take part without noise (smallest_class in its policy); "
                    "leave it out, or ask in mode private"
                )
        else:
            from confide.federation.site.private_answer import check_payable

            check_payable(self.folder, question, rows)

    def _first_part(self, pending: Pending) -> dict[str, Any]:
        question = pending.question
        if question.mode != NOISY_SCORES:
            return {}
        from confide.federation.modes.noisy_scores import site_noisy_scores

        noisy = site_noisy_scores(pending.rows.counts, question)
        Register(self.folder.path).fix(question, pending.rows, source=pending.source, first=True)
        return {"noisy": noisy}

    def _answer(self, request: Message) -> dict[str, Any]:
        """Round 2: charge, mask and send. The same request again, as a network may bring it, has the same reply."""
        session, asked = _session(request), sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        if self.answered.get(session, ("", {}))[0] == asked:
            return self.answered[session][1]
        pending = self.pending.pop(session, None)
        if pending is None:
            raise FederationError("this site has no offer open for this session; ask again from the beginning")
        offers = _read_offers(request)
        question = self._taking_part(pending.question, tuple(offer.site for offer in offers))
        self.policy.check(question, coordinator=self.coordinator)
        answer = self._of_mode(question, pending, offers, request)
        self.answered = {session: (asked, answer)}
        self._log(ANSWER, request, ANSWERED, _in_words(question, answer.get("receipt")))
        return answer

    def _taking_part(self, signed: Question, listed: tuple[str, ...]) -> Question:
        """Return the question as the listed sites answer it, if the coordinator signed for such a list."""
        strangers = [site for site in listed if site not in signed.sites]
        if strangers:
            raise RefusedError(
                f"site {strangers[0]!r} is listed, and the coordinator did not sign for it; ask with `confide validate`"
            )
        if len(set(listed)) < signed.fewest:
            raise RefusedError(
                f"{len(set(listed))} sites were listed, and the coordinator signed that {signed.fewest} must take "
                "part; ask all of them again, or sign for fewer (--fewest)"
            )
        if self.name not in listed:
            raise RefusedError("this site is not among those that take part")
        return signed.of(listed)

    def _of_mode(
        self, question: Question, pending: Pending, offers: tuple[Offer, ...], request: Message
    ) -> dict[str, Any]:
        """Make the answer, remember what must be remembered, and only then let the answer go."""
        rows, register = pending.rows, Register(self.folder.path)
        masks = self._masks(pending, offers) if question.mode in MASKED else None
        if question.mode == PRIVATE and masks is not None:
            from confide.federation.site.private_answer import charged_answer

            register.list_sites(pending.question, question.sites)
            with padded():
                paid = charged_answer(self.folder, question, rows, keys=_own_keys(offers))
            return {
                "masked": masks.mask(paid.integers).to_dict(),
                "own": None if paid.own is None else {"noisy_integers": list(paid.own["parts"]["noisy_integers"])},
                "receipt": paid.receipt,
            }
        answer = self._exact_answer(question, rows.counts, masks, request)
        if question.mode in MASKED:
            register.list_sites(pending.question, question.sites)
        register.fix(question, rows, source=pending.source)
        return answer

    def _exact_answer(
        self, question: Question, counts: ScoreCounts, masks: Masks | None, request: Message
    ) -> dict[str, Any]:
        if question.mode == DISCLOSURE_CONTROL:
            return {"table": disclosed(counts, question.public_grid, question.minimum_cell or 1).to_dict()}
        if masks is not None:
            words, wide = _exact_table(question, counts).to_words()
            return {"masked": masks.mask(words, [_signed(value) for value in wide]).to_dict()}
        from confide.federation.modes.noisy_scores import site_sums

        return {"table": site_sums(counts, question, request.get("pooled"))}

    def _masks(self, pending: Pending, offers: tuple[Offer, ...]) -> Masks:
        agreement = Agreement.verified(
            offers,
            session=pending.offer.session,
            question=pending.question.digest(),
            asked=pending.question.sites,
            root=self.identity.root,
            at=datetime.now(UTC),
            pinned=self.policy.peers,
        )
        return Masks(agreement, pending.keys, self.identity)

    def _said(self, topic: str, request: Message, state: str, message: str) -> dict[str, Any]:
        self._log(topic, request, state, message)
        return self._no(state, message)

    def _about_files(self, error: ConfideError) -> bool:
        """Whether an error is about the site's own files, which are nobody else's business."""
        return isinstance(error, LedgerError) or str(self.folder.path) in str(error)

    def _no(self, state: str, message: str) -> dict[str, Any]:
        return {"site": self.name, "protocol": PROTOCOL, "state": state, "message": message}

    def _log(self, topic: str, request: Message, state: str, message: str) -> None:
        """A line for the site's administrator: who asked what, and what came of it."""
        known = request if isinstance(request, Mapping) else {}
        asked, before = known.get("question"), self.asked.get(str(known.get("session")))
        told = asked if isinstance(asked, Mapping) else {} if before is None else before.to_dict()
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "coordinator": self.coordinator,
            "round": {OFFER: 1, ANSWER: 2}.get(topic),
            "study": _short(told.get("study")),
            "model": _short(told.get("model")),
            "mode": _short(told.get("mode")),
            "state": state,
            "message": message,
        }
        with self.folder.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _session(request: Message) -> str:
    session = request.get("session")
    if not isinstance(session, str) or not 16 <= len(session) <= 128 or not session.isalnum():
        raise FederationError("the request has no session; ask with `confide validate`")
    return session


def _read_offers(request: Message) -> tuple[Offer, ...]:
    offers = request.get("offers")
    if not isinstance(offers, list):
        raise FederationError("the request has no offers of the other sites; ask with `confide validate`")
    return tuple(Offer.from_dict(offer) for offer in offers)


def _exact_table(question: Question, counts: ScoreCounts) -> SiteTable:
    """The table to be masked; with a minimum above 1, rows are put together first in groups of at least so many."""
    grid, minimum = question.public_grid, question.minimum_cell or 1
    if minimum == 1:
        return SiteTable.of(counts, grid, question.bins)
    cells = grouped_counts(counts, grid, minimum)
    used = cells.sum(axis=0) > 0
    moved = ScoreCounts(grid.representatives[used], cells[0, used], cells[1, used])
    return SiteTable.of(moved, grid, question.bins)


def _own_keys(offers: tuple[Offer, ...]) -> str:
    """What tells the sites of a sum from others of the same names: the keys that they made for themselves."""
    listed = sorted((offer.site, offer.own_key.hex()) for offer in offers)
    return sha256(json.dumps(listed).encode()).hexdigest()


def _signed(value: int) -> int:
    """A number modulo 2^128 in two's complement, with its sign."""
    return value - (1 << WIDE_BITS) if value >> (WIDE_BITS - 1) else value


def _in_words(question: Question, receipt: Mapping[str, Any] | None) -> str:
    """What was answered, and what it cost."""
    cost = (
        ""
        if receipt is None
        else ", from store: nothing charged"
        if receipt["reused"]
        else (f", epsilon {receipt['charged']:g} charged")
    )
    return f"answered, with {len(question.sites)} sites{cost}"


def _short(value: object) -> str | None:
    return value[:200] if isinstance(value, str) else None
