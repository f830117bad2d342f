"""Runs in which sites drop out, and a server that carries every message itself and may lie in each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confide.federation.crypto.recovery import Answered
from confide.federation.crypto.secure_sum import MaskedVector
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message
from confide.federation.question import PROTOCOL, Question
from confide.federation.site.site import Site
from tests.federation.network import Network

SEVEN = {"coast": 70, "east": 90, "hills": 65, "north": 60, "south": 75, "valley": 80, "west": 120}
"""Seven sites: with one colluder, five can take masks off, and two may drop out."""

STEPS = (OFFER, SHARES, ANSWER, VOTE, UNMASK)


def dying(site: Site, topic: str, *, after: bool) -> Callable[[str, Message], Message]:
    """A site that is gone from one step on: before it worked on the request, or with its reply on the way."""
    dead: list[bool] = []

    def reply(asked: str, request: Message) -> Message:
        if dead or (asked == topic and not after):
            dead.append(True)
            raise ConnectionError
        said = site.reply(asked, request)
        if asked == topic:
            dead.append(True)
            raise ConnectionError
        return said

    return reply


def reopened(network: Network, name: str) -> Site:
    """A site after a restart: nothing is left of what it had in memory."""
    site = network.sites[name]
    return Site.open(site.folder.path, site.identity, coordinator=site.coordinator)


@dataclass
class Server:
    """A server in one session; each step returns the sites' replies, and may be told to lie."""

    network: Network
    question: Question
    sites: Mapping[str, Site]
    session: str = field(default_factory=lambda: secrets.token_hex(16))
    first: dict[str, Any] = field(default_factory=dict)
    boxes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def restarted(cls, network: Network, question: Question) -> Server:
        """A session with sites that were all restarted."""
        return cls(network, question, {name: reopened(network, name) for name in question.sites})

    def ask(self, site: str, topic: str, **given: Any) -> dict[str, Any]:
        return self.sites[site].reply(topic, {"protocol": PROTOCOL, "session": self.session, **given})

    def begin(self, listed: Sequence[str] | None = None) -> Server:
        """Offers and sealed shares of all, or of those listed."""
        names = tuple(listed or self.question.sites)
        self.first = {name: self.ask(name, OFFER, question=self.question.to_dict()) for name in names}
        given = {key: [self.first[name][what] for name in names] for key, what in (("offers", "offer"),)}
        sealing = [self.first[name]["sealing"] for name in names]
        replies = {name: self.ask(name, SHARES, sealing=sealing, **given) for name in names}
        self.boxes = {name: reply["boxes"] for name, reply in replies.items() if "boxes" in reply}
        self.shared = replies
        return self

    def answer(self, site: str, taking_part: Sequence[str] | None = None) -> dict[str, Any]:
        """A site's answer with those whose boxes it gets."""
        others = [name for name in taking_part or self.boxes if name != site]
        self.answers[site] = self.ask(site, ANSWER, boxes={name: self.boxes[name][site] for name in others})
        return self.answers[site]

    def answer_all(self) -> Server:
        for site in self.boxes:
            assert self.answer(site)["state"] == "answered"
        return self

    def proofs(self, left: Sequence[str]) -> list[dict[str, str]]:
        return [Answered.of(MaskedVector.from_dict(self.answers[name]["masked"])).to_dict() for name in left]

    def vote(self, site: str, left: Sequence[str]) -> dict[str, Any]:
        return self.ask(site, VOTE, left=list(left), answered=self.proofs(left))

    def votes(self, left: Sequence[str], voters: Sequence[str] | None = None) -> list[dict[str, str]]:
        return [said["vote"] for said in (self.vote(site, left) for site in voters or left) if "vote" in said]

    def unmask(self, site: str, left: Sequence[str], votes: Sequence[Any] = ()) -> dict[str, Any]:
        return self.ask(site, UNMASK, left=list(left), answered=self.proofs(left), votes=list(votes))
