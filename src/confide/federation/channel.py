"""Channel between a coordinator and its sites: one request to each, and a reply or silence within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from confide.errors import FederationError
from confide.federation.site_state import SiteState

OFFER, ANSWER = "confide_offer", "confide_answer"
"""Topics of the two rounds."""

SHARES, VOTE, UNMASK = "confide_shares", "confide_vote", "confide_unmask"
"""Topics of a sum that survives dropouts: shares before the answers, votes after sites dropped out, shown shares."""

LATE = "it did not reply in time"

Message: TypeAlias = Mapping[str, Any]
"""Plain data, as JSON holds it."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Absence of a reply; `reason` explains it to people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a round may take; once `enough` sites have said yes, the others have `grace` seconds more."""

    seconds: float
    enough: int | None = None
    grace: float = 0.0

    def deadline(self, start: float, agreed: Sequence[float]) -> float:
        """Return when the round ends, from when it began and when sites said yes (`says_yes`)."""
        last = start + self.seconds
        if self.enough is None or len(agreed) < max(self.enough, 1):
            return last
        return min(last, sorted(agreed)[max(self.enough, 1) - 1] + self.grace)


def says_yes(reply: Message | Silence) -> bool:
    """Return whether a reply counts as one of enough: refusals and errors do not, as the others are still needed."""
    return isinstance(reply, Mapping) and reply.get("state") == SiteState.ANSWERED


class Channel(Protocol):
    """One request to each named site at once."""

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Return each site's reply, or a Silence, before time is over; call `heard` with each site that replies."""
        ...


_SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Recorder:
    """Channel that passes requests on and keeps all replies, as plain data, in the order of the rounds."""

    channel: Channel
    rounds: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Ask all sites, and keep what they reply."""
        replies = self.channel.ask(topic, requests, patience=patience, heard=heard)
        kept = {
            site: {_SILENCE: reply.reason} if isinstance(reply, Silence) else reply for site, reply in replies.items()
        }
        self.rounds.append({"topic": topic, "replies": kept})
        return replies


@dataclass(frozen=True, slots=True)
class Replay:
    """Channel that repeats what a `Recorder` kept: the same rounds over it give the same outcome, and ask nobody."""

    rounds: list[dict[str, Any]] = field(repr=False)

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Return the replies of the next round that was kept."""
        if not self.rounds or self.rounds[0]["topic"] != topic:
            raise FederationError("the transcript of the run lacks a round; nothing of its result is used")
        kept = self.rounds.pop(0)["replies"]
        return {
            site: Silence(str(reply[_SILENCE])) if isinstance(reply, Mapping) and set(reply) == {_SILENCE} else reply
            for site, reply in kept.items()
        }


@dataclass(frozen=True, slots=True)
class InProcess:
    """Channel to sites that are functions in this process, each in its own thread: for tests and simulations."""

    sites: Mapping[str, Callable[[str, Message], Message]]

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        """Ask all sites at once."""
        start, agreed = time.monotonic(), list[float]()
        pool = ThreadPoolExecutor(max_workers=max(len(requests), 1))
        asked = {pool.submit(self.sites[site], topic, request): site for site, request in requests.items()}
        replies: dict[str, Message | Silence] = dict.fromkeys(requests, Silence(LATE))
        waiting = set(asked)
        while waiting and (left := patience.deadline(start, agreed) - time.monotonic()) > 0:
            done, waiting = wait(waiting, timeout=left, return_when=FIRST_COMPLETED)
            for future in done:
                site = asked[future]
                if future.exception() is not None:
                    replies[site] = Silence("it failed without a reply")
                    continue
                replies[site] = future.result()
                if says_yes(replies[site]):
                    agreed.append(time.monotonic())
                heard(site)
        pool.shutdown(wait=False)  # as on a network, a request that was sent arrives
        return replies
