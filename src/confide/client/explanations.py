"""Refusals that only the contest itself explains: what is not there, and what its state does not allow.

The server's answer names the kind of the refusal. What the client asked for, and what the server says about the contest
when asked once more, tell the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from confide.client.problems import ProblemKind, refusal_text
from confide.client.results import Contest
from confide.errors import OracleError


class Wish(Enum):
    """What a request wanted, as far as it decides what a refusal means."""

    OTHER = auto()
    SUBMIT = auto()
    CHOOSE = auto()
    FINAL = auto()
    REVOKE = auto()


_ABSENT = {
    Wish.CHOOSE: (
        "one of these submissions is not yours, or does not exist",
        "choose among the ids that your own submissions got",
    ),
    Wish.FINAL: ("the final is not published yet", "look at the board until then"),
    Wish.REVOKE: ("there is no token with this id", "list the tokens of the contest for their ids"),
}
_ENDED = {
    Wish.SUBMIT: "submissions have ended",
    Wish.CHOOSE: "finalists can no longer be chosen",
}


def needs_contest(error: OracleError, wish: Wish) -> bool:
    """Return whether the contests of the server explain a refusal."""
    if error.kind == ProblemKind.NOT_FOUND:
        return True
    return error.kind == ProblemKind.WRONG_STATE and wish in _ENDED


def explained(
    error: OracleError, wish: Wish, name: str, contests: Sequence[Contest], *, with_token: bool
) -> OracleError:
    """Return a refusal in words that fit the contest, of those that the server shows."""
    found = next((one for one in contests if one.name == name), None)
    if error.kind == ProblemKind.WRONG_STATE:
        return error if found is None else _in(error, *_state(found, wish))
    if found is None:
        known = ", ".join(one.name for one in contests)
        step = f"choose from {known}" if known else "check the address; the server shows no contest"
        return _in(error, f"the server has no contest {name!r}", step)
    if wish in _ABSENT:
        return _in(error, *_ABSENT[wish])
    if with_token:
        step = f"a token is for one contest; set CONFIDE_TOKEN to the one for {name!r}"
        return _in(error, f"contest {name!r} does not know this token", step)
    return error


def _state(contest: Contest, wish: Wish) -> tuple[str, str]:
    """Return what a contest's state means for a participant, and the next step."""
    if contest.state in ("closed", "published"):
        step = "look at the final" if contest.state == "published" else _after_closing(contest)
        return f"contest {contest.name!r} is {contest.state}: {_ENDED[wish]}", step
    return f"contest {contest.name!r} is {contest.state}", "wait until the organiser opens it"


def _after_closing(contest: Contest) -> str:
    return "the board stands" if contest.terms.final_epsilon is None else "wait for the final"


def _in(error: OracleError, words: str, step: str) -> OracleError:
    return type(error)(
        refusal_text(words, step),
        status=error.status,
        kind=error.kind,
        next_step=step,
        retry_after=error.retry_after,
    )
