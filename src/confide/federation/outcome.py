"""Outcome of the two rounds: sums, tables and releases that may be seen, and a report of each site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confide.errors import FederationError
from confide.federation.question import Question
from confide.federation.site_state import RefusalReason, SiteState

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
            raise FederationError("this is no outcome of a validation, or of another version of confide")
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
