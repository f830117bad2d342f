"""Result of a run as one text, which the server writes and the coordinator reads.

Apart from `job`, which sites read too: reading a result replays the coordinator's rounds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from confide.errors import ConfideError, FederationError
from confide.federation.coordinator.rounds import replay
from confide.federation.modes.registry import mode_of
from confide.federation.protocol import Outcome, RunError, SiteReport
from confide.federation.question import Question

MOST_ROUNDS = 5
_LONGEST = 4_000
_LONGEST_MESSAGE = 600
_UNREADABLE = (
    "the server's result of the run cannot be read; install the same version of confide at the server and here, and "
    "ask again"
)
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def write_outcome(outcome: Outcome) -> str:
    """Write the outcome of a run: its transcript, from which everything else follows."""
    return json.dumps({"transcript": dict(outcome.transcript), "seconds": outcome.seconds})


def write_failure(error: ConfideError) -> str:
    """Write why a run has no outcome."""
    run = error if isinstance(error, RunError) else RunError(str(error), (), rounds=MOST_ROUNDS)
    plain = {
        "message": str(run),
        "summary": run.summary,
        "reports": [report.to_dict() for report in run.reports],
        "rounds": run.rounds,
    }
    return json.dumps({"failure": plain})


def read_result(
    text: object,
    asked: Question,
    reports: tuple[SiteReport, ...] = (),
    *,
    session: str,
    root: str,
    pinned: Mapping[str, str] | None = None,
    revoked: Mapping[str, datetime] | None = None,
) -> Outcome:
    """Read the outcome of a question that was asked; `reports` are used where a failure has none.

    `session` is the name of the run, `root` the federation's root certificate in PEM, and `pinned` the fingerprints of
    the sites' own keys. `revoked` has the times of `Revocations`. Raises RunError where the run has no outcome, and
    FederationError where the text is no result of this run, or not as the sites signed it.
    """
    try:
        plain = json.loads(text) if isinstance(text, str) else {}
        if "failure" in plain:
            raise _failure(plain["failure"], asked, reports)
        outcome = replay(asked, plain["transcript"], root=root, session=session, pinned=pinned, revoked=revoked)
        return replace(
            outcome,
            reports=tuple(_report(report, asked) for report in outcome.reports),
            seconds=_seconds(plain["seconds"]),
        )
    except RunError as error:
        raise RunError(str(error), error.reports or reports, rounds=error.rounds, summary=error.summary) from None
    except FederationError:
        raise
    except _MALFORMED:
        raise FederationError(_UNREADABLE) from None


def printable(text: object, longest: int = _LONGEST_MESSAGE) -> str:
    """Return a text on one line, not too long, without characters that a terminal would obey."""
    line = " ".join(str(text).split())[:longest]
    return "".join(letter if letter.isprintable() else "·" for letter in line)


def _failure(plain: Mapping[str, Any], asked: Question, otherwise: tuple[SiteReport, ...]) -> RunError:
    reports = tuple(_report(SiteReport.from_dict(report), asked) for report in plain["reports"])
    rounds = _whole(plain["rounds"])
    message = printable(plain["message"], _LONGEST)
    summary = printable(plain.get("summary", message), _LONGEST)
    return RunError(message, reports or otherwise, rounds=rounds, summary=summary)


def _report(report: SiteReport, asked: Question) -> SiteReport:
    if report.name not in asked.sites:
        raise ValueError("a report is of a site that was asked")
    message = printable(report.message) if report.message else ""
    return replace(report, message=message, receipt=_receipt(report.receipt, asked))


def _receipt(receipt: object, asked: Question) -> Mapping[str, Any] | None:
    """Return what a site reports that it was charged; None unless its budgets are finite numbers."""
    if not mode_of(asked).private or not isinstance(receipt, Mapping):
        return None
    budgets = {name: _budget(receipt.get(name)) for name in ("charged", "remaining")}
    if None in budgets.values():
        return None
    return {**budgets, "reused": receipt.get("reused") is True}


def _budget(value: object) -> dict[str, float] | None:
    if not isinstance(value, Mapping):
        return None
    names = ("epsilon", "delta", *(("rho",) if "rho" in value else ()))  # rho if the site's ledger adds it up
    amounts = {name: value.get(name) for name in names}
    fine = all(type(amount) in (int, float) and math.isfinite(amount) for amount in amounts.values())  # type: ignore[arg-type]
    return {name: float(amount) for name, amount in amounts.items()} if fine else None  # type: ignore[arg-type]


def _seconds(seconds: object) -> float:
    if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:  # type: ignore[operator]
        raise ValueError("a run takes some seconds")
    return float(seconds)  # type: ignore[arg-type]


def _whole(rounds: object) -> int:
    if type(rounds) is not int or not 0 <= rounds <= MOST_ROUNDS:
        raise ValueError("a run has at most five rounds")
    return rounds
