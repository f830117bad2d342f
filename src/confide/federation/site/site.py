"""Site: replies to the requests of a run. It replies to every request, and logs it.

Round 1 checks everything that could go wrong, before any site is charged: first the rules that need no rows, then
whether a person approved, then data, register and ledger. The counted rows stay in memory until round 2 of the same
session, once.

The coordinator signed which sites are asked and how few of them may take part. The site trusts nothing else in the
server's list of round 2, and it answers a signed question with one list of sites, ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.errors import (
    ConfideError,
    DataError,
    FederationError,
    OwnFilesError,
    RecordsError,
    RefusedError,
    UnpayableError,
    UsageError,
)
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer, signed_reply
from confide.federation.crypto.identity import Identity
from confide.federation.crypto.secure_sum import Masks
from confide.federation.modes.registry import mode_of
from confide.federation.policy import MANUAL, Policy
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message
from confide.federation.question import PROTOCOL, Question
from confide.federation.site.answers import SecondRound, SiteData, check_rules, site_answers
from confide.federation.site.approvals import Approvals, HeldError
from confide.federation.site.config import SiteConfig, SiteFolder
from confide.federation.site.records import REQUESTS, SiteRecords, round_of
from confide.federation.site.recovery import SiteRecovery
from confide.federation.site.register import Register
from confide.federation.site.scored_rows import SiteRows, read_rows
from confide.federation.site_state import RefusalReason, SiteState

_UNREADABLE = "the site's data cannot be read as it is configured; its administrator finds the reason in the site's log"
_OWN_FILES = "the site's own files cannot be used; its administrator finds the reason with `confide site verify`"
_NO_OFFER = "this site has no offer open for this session; ask again from the beginning"
_UNEXPECTED = "something unexpected went wrong at the site; its administrator finds more in the site's log"


class _UnreadableError(FederationError):
    """Unreadable data of the site; `reason` is for its administrator."""

    def __init__(self, reason: str) -> None:
        super().__init__(_UNREADABLE)
        self.reason = reason


@dataclass(slots=True, kw_only=True)
class Pending:
    """State that a site keeps between the rounds of a session."""

    question: Question
    data: SiteData = field(repr=False)
    keys: KeyPair = field(repr=False)
    offer: Offer
    recovery: SiteRecovery | None = None


@dataclass(slots=True, kw_only=True)
class Site:
    """A site with its folder, policy and identity; `coordinator` is the name of who asks, as the engine verified it.

    Settings and policy are read once, when the site is opened for a run: a change in between counts from the next one.
    """

    folder: SiteFolder
    config: SiteConfig
    policy: Policy
    identity: Identity
    coordinator: str | None = None
    records: SiteRecords = field(init=False, repr=False)
    asked: dict[str, Question] = field(default_factory=dict, repr=False)
    pending: dict[str, Pending] = field(default_factory=dict, repr=False)
    recovering: dict[str, SiteRecovery] = field(default_factory=dict, repr=False)
    answered: dict[str, tuple[str, Question, dict[str, Any]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.records = SiteRecords(self.folder)

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
        """Name of the site, as its certificate has it."""
        return self.identity.name

    def reply(self, topic: str, request: Message) -> dict[str, Any]:
        """Return the reply to a request, which may be anything."""
        handlers = {
            OFFER: self._offer,
            SHARES: self._shares,
            ANSWER: self._answer,
            VOTE: self._vote,
            UNMASK: self._unmask,
        }
        try:
            self.records.require()
            with self.records.one_request():
                return self._handled(handlers, topic, request)
        except ConfideError:  # without its records a site neither answers nor can log why; `confide site verify` tells
            return self._no(SiteState.FAILED, _OWN_FILES)

    def _handled(
        self, handlers: Mapping[str, Callable[[Message], dict[str, Any]]], topic: str, request: Message
    ) -> dict[str, Any]:
        """Reply to a request and log it. Only errors of these classes are told: what a site refuses, or was asked."""
        try:
            if topic not in handlers or not isinstance(request, Mapping):
                raise FederationError("this request is unknown here; install the same version of confide everywhere")
            said = handlers[topic](request)
            return self._signed(topic, request, {**self._head(SiteState.ANSWERED), **said})
        except RefusedError as refusal:
            reason = {"reason": RefusalReason.BUDGET} if isinstance(refusal, UnpayableError) else {}
            return self._said(topic, request, SiteState.REFUSED, str(refusal)) | reason
        except HeldError as held:
            return self._said(topic, request, SiteState.HELD, str(held))
        except _UnreadableError as error:
            self._log(topic, request, SiteState.FAILED, error.reason)
            return self._no(SiteState.FAILED, _UNREADABLE)
        except (RecordsError, OwnFilesError) as error:
            self._log(topic, request, SiteState.FAILED, str(error))
            return self._no(SiteState.FAILED, _OWN_FILES)
        except (FederationError, UsageError) as error:
            return self._said(topic, request, SiteState.FAILED, str(error))
        except ConfideError as error:
            self._log(topic, request, SiteState.FAILED, str(error))
            return self._no(SiteState.FAILED, _UNEXPECTED)
        except Exception as error:  # a site must reply, and must not show what an unknown error might hold
            self._log(topic, request, SiteState.FAILED, f"{_UNEXPECTED} [{type(error).__name__}]")
            return self._no(SiteState.FAILED, _UNEXPECTED)

    def _offer(self, request: Message) -> dict[str, Any]:
        """Reply to round 1: refuse, or take part with a fresh signed key."""
        question, session = Question.from_dict(request.get("question", {})), _session(request)
        if self.name not in question.sites:
            raise RefusedError("this site is not among those that are asked; name it")
        self._check_rules(question)
        self._require_approval(question)
        earlier = Register(self.records).listed(question)
        again = question if earlier is None else question.of(earlier)
        rows, source = self._rows(question)
        data = SiteData(records=self.records, policy=self.policy, rows=rows, source=source)
        site_answers(question).check_site(again, data)
        keys = KeyPair.fresh()
        offer = Offer.signed(self.identity, keys, session=session, question=question.digest())
        self.asked = {session: question}
        pending = Pending(question=question, data=data, keys=keys, offer=offer)
        first = site_answers(question).first_reply(question, data)
        if question.threshold:
            pending.recovery = self._recovery(pending)
            first |= pending.recovery.first_reply()
            earlier = pending.recovery.settled_with(earlier)
        self.pending = {session: pending}
        self._log(OFFER, request, SiteState.ANSWERED, "; ".join(filter(None, ("takes part", rows.note))))
        return {"offer": offer.to_dict(), **({} if earlier is None else {"answered_with": list(earlier)}), **first}

    def _check_rules(self, question: Question) -> None:
        """Refuse whatever needs no look at the rows; a person is asked only about questions that these rules allow."""
        try:
            check_rules(
                question,
                records=self.records,
                config=self.config,
                policy=self.policy,
                coordinator=self.coordinator,
            )
        except (UsageError, DataError) as error:
            raise _UnreadableError(str(error)) from None

    def _require_approval(self, question: Question) -> None:
        """Hold a question until a person approves it, if the policy says so; before any data are read."""
        if self.policy.approval == MANUAL:
            Approvals(self.records).require(question, self.coordinator)

    def _recovery(self, pending: Pending) -> SiteRecovery:
        return SiteRecovery(
            signed=pending.question,
            register=Register(self.records),
            source=pending.data.source,
            identity=self.identity,
            keys=pending.keys,
            offer=pending.offer,
            pinned=self.policy.peers,
        )

    def _shares(self, request: Message) -> dict[str, Any]:
        """Reply to the round before the answers of a sum that survives dropouts: seal shares of this site's secrets."""
        pending = self.pending.get(_session(request))
        if pending is None or pending.recovery is None:
            raise FederationError(_NO_OFFER)
        self._require_approval(pending.question)
        offers = _read_offers(request)
        self._taking_part(pending.question, tuple(offer.site for offer in offers))
        shares = pending.recovery.shares(offers, request)
        self._log(SHARES, request, SiteState.ANSWERED, f"sealed shares of its secrets, for {len(offers)} sites")
        return shares

    def _vote(self, request: Message) -> dict[str, Any]:
        """Vote for the list of sites that are left after others dropped out."""
        voted = self._recovering(request).vote(request)
        self._log(VOTE, request, SiteState.ANSWERED, f"voted for a sum over {len(request['left'])} sites")
        return voted

    def _unmask(self, request: Message) -> dict[str, Any]:
        """Show shares, so that the sum over the sites that are left can be read."""
        shown = self._recovering(request).shown(request)
        self._log(UNMASK, request, SiteState.ANSWERED, f"showed shares for a sum over {len(request['left'])} sites")
        return shown

    def _recovering(self, request: Message) -> SiteRecovery:
        found = self.recovering.get(_session(request))
        if found is None:
            raise FederationError(_NO_OFFER)
        self._require_approval(found.signed)
        return found

    def _rows(self, question: Question) -> tuple[SiteRows, str]:
        """Return the model's counted rows, and the source of its scores.

        What is wrong with them is for the site's administrator, and stays in the log.
        """
        try:
            return read_rows(self.config, question.model), self.config.source(question.model)
        except (UsageError, DataError) as error:
            raise _UnreadableError(str(error)) from None

    def _answer(self, request: Message) -> dict[str, Any]:
        """Reply to round 2: charge, mask and send. The same request, delivered twice, has the same reply."""
        session, asked = _session(request), sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        if session in self.answered and self.answered[session][0] == asked:
            _, signed, stored = self.answered[session]
            self._require_approval(signed)
            self._log(ANSWER, request, SiteState.ANSWERED, "the same request again: the same answer, nothing charged")
            return stored
        pending = self.pending.pop(session, None)
        if pending is None:
            raise FederationError(_NO_OFFER)
        self._require_approval(pending.question)
        question, second = self._second(pending, request)
        answer = site_answers(question).answer(question, pending.data, second)
        if pending.recovery is not None and question.threshold:
            pending.recovery.meet()
            pending.recovery.answered = True
            self.recovering = {session: pending.recovery}
        self.answered = {session: (asked, pending.question, answer)}
        self._log(ANSWER, request, SiteState.ANSWERED, _in_words(question, answer.get("receipt")))
        return answer

    def _second(self, pending: Pending, request: Message) -> tuple[Question, SecondRound]:
        """Return the question as it is answered, and the second round with its masks, after all checks of its list."""
        signed, recovery = pending.question, pending.recovery
        if recovery is not None and recovery.agreement is not None:
            self.policy.check(signed, coordinator=self.coordinator)
            masks, offers = recovery.masks(request), recovery.agreement.offers
            return signed, SecondRound(signed=signed, offers=offers, masks=masks, request=request)
        offers = _read_offers(request)
        question = self._taking_part(signed, tuple(offer.site for offer in offers))
        if question.threshold:
            raise FederationError(
                "these sites can do without some of them, and this site was asked for no shares first"
            )
        self.policy.check(question, coordinator=self.coordinator)
        plain = self._masks(pending, offers) if mode_of(question).masked else None
        return question, SecondRound(signed=signed, offers=offers, masks=plain, request=request)

    def _taking_part(self, signed: Question, listed: tuple[str, ...]) -> Question:
        """Return the question as the listed sites answer it, if the coordinator signed for such a list."""
        strangers = [site for site in listed if site not in signed.sites]
        if strangers:
            raise RefusedError(
                f"site {strangers[0]!r} is listed, and the coordinator did not sign for it; ask with `confide validate`"
            )
        if len(set(listed)) < signed.least_sites:
            raise RefusedError(
                f"{len(set(listed))} sites were listed, and the coordinator signed that {signed.least_sites} must take "
                "part; ask all of them again, or sign for fewer (`fewest`)"
            )
        if self.name not in listed:
            raise RefusedError("this site is not among those that take part")
        return signed.of(listed)

    def _masks(self, pending: Pending, offers: tuple[Offer, ...]) -> Masks:
        agreement = Agreement.verified(
            offers,
            session=pending.offer.session,
            question=pending.question.digest(),
            asked=pending.question.sites,
            root=self.identity.root,
            at=datetime.now(UTC),
            pinned=self.policy.peers,
            revoked=self.identity.revoked,
        )
        return Masks(agreement, pending.keys, self.identity)

    def _said(self, topic: str, request: Message, state: SiteState, message: str) -> dict[str, Any]:
        self._log(topic, request, state, message)
        return self._no(state, message)

    def _no(self, state: SiteState, message: str) -> dict[str, Any]:
        return {**self._head(state), "message": message}

    def _head(self, state: SiteState) -> dict[str, Any]:
        return {"site": self.name, "protocol": PROTOCOL, "state": state}

    def _signed(self, topic: str, request: Message, reply: dict[str, Any]) -> dict[str, Any]:
        """Sign a reply, so that the coordinator knows it for this site's whatever the server says."""
        session = _session(request)
        question = self.asked[session] if session in self.asked else self.answered[session][1]
        terms = {"topic": topic, "session": session, "question": question.digest()}
        return signed_reply(self.identity, reply, request=request, **terms)

    def _log(self, topic: str, request: Message, state: SiteState, message: str) -> None:
        """Write a line for the site's administrator: the coordinator, the question, and the result."""
        known = request if isinstance(request, Mapping) else {}
        asked, before = known.get("question"), self.asked.get(str(known.get("session")))
        told = asked if isinstance(asked, Mapping) else {} if before is None else before.to_dict()
        entry = {
            "coordinator": self.coordinator,
            "round": round_of(topic, known),
            "study": _short(told.get("study")),
            "model": _short(told.get("model")),
            "mode": _short(told.get("mode")),
            "state": state,
            "message": _printable(message),
        }
        self.records.append(REQUESTS, entry)


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


def _in_words(question: Question, receipt: Mapping[str, Any] | None) -> str:
    """Return a line for the log: with how many sites the question was answered, and at which cost."""
    cost = (
        ""
        if receipt is None
        else ", from store: nothing charged"
        if receipt["reused"]
        else f", {_charged(receipt['charged'])} charged"
    )
    return f"answered, with {len(question.sites)} sites{cost}"


def _charged(budget: Mapping[str, float]) -> str:
    return f"rho {budget['rho']:.4g}" if "rho" in budget else f"epsilon {budget['epsilon']:g}"


def _short(value: object) -> str | None:
    """Return the beginning of a text of a request that nobody has checked yet, safe to print."""
    return _printable(value[:200]) if isinstance(value, str) else None


def _printable(text: str) -> str:
    """Replace characters that control a terminal or the direction of writing."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)
