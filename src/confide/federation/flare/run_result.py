"""Result of a run as one text, which the server hands to the coordinator's session. The session does not trust it.

A session checks what it can: the outcome must be for the question that was asked, with its sizes, and texts must be
printable. It cannot check the numbers: a dishonest server can invent them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from confide.errors import ConfideError, FederationError
from confide.federation.modes.registry import mode_of
from confide.federation.outcome import Outcome, RunError, SiteReport
from confide.federation.question import Question

MOST_ROUNDS = 5
_LONGEST = 4_000
_LONGEST_MESSAGE = 600
_CELL_BYTES = 8
_UNREADABLE = (
    "the server's result of the run cannot be read; install the same version of confide at the server and here, and "
    "ask again"
)
_ANOTHER = (
    "the server returned a result for another question than was asked, or for other sites; nothing of it is used. Ask "
    "whoever runs the server, and do not trust it until you know why"
)
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def write_outcome(outcome: Outcome) -> str:
    """Write the outcome of a run."""
    return json.dumps({"outcome": outcome.to_dict()})


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


def read_result(text: object, asked: Question, reports: tuple[SiteReport, ...] = ()) -> Outcome:
    """Read the outcome of a question that was asked; `reports` are used where a failure has none.

    Raises RunError where the run has no outcome, and FederationError where the text is no result of this question.
    """
    try:
        plain = json.loads(text) if isinstance(text, str) else {}
        if "failure" in plain:
            raise _failure(plain["failure"], asked, reports)
        outcome = Outcome.from_dict(plain["outcome"])
        if outcome.question != asked.of(outcome.question.sites):
            raise FederationError(_ANOTHER)
        return _checked(outcome, asked)
    except FederationError:
        raise
    except ConfideError:
        raise FederationError(_ANOTHER) from None
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


def _checked(outcome: Outcome, asked: Question) -> Outcome:
    question, mode = outcome.question, mode_of(outcome.question)
    if (outcome.total is not None) != mode.masked:
        raise ValueError("a sum belongs to the modes that mask")
    if outcome.total is not None:
        _check_total(question, outcome.total)
    if not set(outcome.sites) <= set(question.sites):
        raise ValueError("a site that does not take part sent something")
    if not mode.masked and set(outcome.sites) != set(question.sites):
        raise ValueError("a site that takes part sent nothing")
    if not all(mode.can_read(question, sent) for sent in outcome.sites.values()):
        raise ValueError("what a site sent cannot be read")
    reports = tuple(_report(report, asked) for report in outcome.reports)
    if sorted(report.name for report in reports) != sorted(asked.sites):
        raise ValueError("reports are of every site, once")
    if not math.isfinite(outcome.seconds) or outcome.seconds < 0:
        raise ValueError("a run takes some seconds")
    return replace(outcome, reports=reports, rounds=_whole(outcome.rounds))


def _check_total(question: Question, total: Mapping[str, Any]) -> None:
    counts, wide = base64.b64decode(total["counts"], validate=True), total["wide"]
    cells, sums = mode_of(question).sum_shape(question)
    if (len(counts), len(wide)) != (_CELL_BYTES * cells, sums):
        raise ValueError("a sum has as many values as were asked for")
    if not all(isinstance(value, str) and value.removeprefix("-").isdecimal() for value in wide):
        raise ValueError("a sum has whole numbers")


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


def _whole(rounds: object) -> int:
    if type(rounds) is not int or not 0 <= rounds <= MOST_ROUNDS:
        raise ValueError("a run has at most five rounds")
    return rounds
