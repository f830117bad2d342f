"""Protocol of a validation: the channel that carries requests and replies, and outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from confide.errors import FederationError
from confide.federation.question import Question
from confide.federation.site_state import RefusalReason, SiteState

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


SCHEMA = "confide.federation-outcome/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """Report of a site: its state, its message if it did not answer, and its receipt if it was charged.

    `reason` is set for a refusal that a coordinator handles differently from others.
    """

    name: str
    state: SiteState
    message: str = ""
    reason: RefusalReason | None = None
    receipt: Mapping[str, Any] | None = None

    def in_words(self) -> str:
        """Return the report as one line."""
        return f"{self.name}: {self.state}" + (f" ({self.message})" if self.message else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain: dict[str, Any] = {"name": self.name, "state": self.state, "message": self.message}
        if self.reason is not None:
            plain["reason"] = self.reason
        if self.receipt is not None:
            plain["receipt"] = dict(self.receipt)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> SiteReport:
        """Read a report that came from elsewhere. An unknown state is a ValueError; an unknown reason is left out."""
        reason = RefusalReason.BUDGET if plain.get("reason") == RefusalReason.BUDGET else None
        return cls(**{**plain, "state": SiteState(plain["state"]), "reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that left the sites and may be seen, with the question as it was answered.

    `total` is the sum over all sites, in modes that mask; `sites` is what each site sent for itself. `transcript` holds
    the session and all replies of the sites with their signatures: everything else follows from it
    (`coordinator.rounds.replay`).
    """

    question: Question
    reports: tuple[SiteReport, ...]
    total: Mapping[str, Any] | None = None
    sites: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rounds: int = 2
    seconds: float = 0.0
    transcript: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "question": self.question.to_dict(),
            "reports": [report.to_dict() for report in self.reports],
            "total": None if self.total is None else dict(self.total),
            "sites": {name: dict(sent) for name, sent in self.sites.items()},
            "rounds": self.rounds,
            "seconds": self.seconds,
            "transcript": dict(self.transcript),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Outcome:
        """Read an outcome that `to_dict` wrote."""
        if plain.get("schema") != SCHEMA:
            raise FederationError(
                "this is not the outcome of a validation, or it comes from another version of confide"
            )
        return cls(
            question=Question.stored(plain["question"]),
            reports=tuple(SiteReport.from_dict(report) for report in plain["reports"]),
            total=plain["total"],
            sites=plain["sites"],
            rounds=int(plain["rounds"]),
            seconds=float(plain["seconds"]),
            transcript=plain.get("transcript", {}),
        )


class RunError(FederationError):
    """A run ended without a result; `reports` has the report of each site.

    `rounds` is how many rounds had begun when it ended; before the second nothing is charged or sent. `summary` is the
    message with the names of sites alone, to stand beside a table of `reports`. The exit code is 3 if a site lacks
    budget, and 4 if a person at a site has not decided yet.
    """

    def __init__(
        self, message: str, reports: tuple[SiteReport, ...], *, rounds: int, summary: str | None = None
    ) -> None:
        super().__init__(message)
        self.reports = reports
        self.rounds = rounds
        self.summary = message if summary is None else summary
        self.exit_code = _exit_code(reports)

    @classmethod
    def naming(
        cls,
        groups: Sequence[tuple[str, Sequence[SiteReport]]],
        then: str,
        reports: tuple[SiteReport, ...],
        *,
        rounds: int,
    ) -> RunError:
        """Make the error of a run that some sites ended: what happened at which sites, and what to do then."""
        full = [_joined(what, [one.in_words() for one in sites]) for what, sites in groups]
        short = [_joined(what, [one.name for one in sites]) for what, sites in groups]
        return cls(" ".join((*full, then)), reports, rounds=rounds, summary=" ".join((*short, then)))

    def without_reports(self) -> RunError:
        """Return the error with its summary as its message."""
        return RunError(self.summary, self.reports, rounds=self.rounds)


def _exit_code(reports: tuple[SiteReport, ...]) -> int:
    if any(report.reason is RefusalReason.BUDGET for report in reports):
        return 3
    return 4 if any(report.state is SiteState.HELD for report in reports) else 1


def _joined(what: str, sites: Sequence[str]) -> str:
    return f"{what} {'; '.join(sites)}." if sites else what
