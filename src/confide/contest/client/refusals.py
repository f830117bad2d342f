"""Refusals of a server, as exceptions: what was wrong, and the next step for somebody who uses the client.

A server speaks to programs that speak HTTP. The kinds of refusals that it shares with the client get the words of the
client; what else a server says is told as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from confide.errors import LimitError, OracleError, TokenError

UNREACHABLE = "unreachable"

_LONGEST = 2000
_MOST_ERRORS = 10


class ProblemKind(StrEnum):
    """Kinds of refusals of an evaluation server."""

    MALFORMED = "urn:confide:problem:malformed-request"
    NO_TOKEN = "urn:confide:problem:no-token"  # noqa: S105  # the name of a problem
    WRONG_ROLE = "urn:confide:problem:wrong-role"
    BUDGET_SPENT = "urn:confide:problem:budget-spent"
    NOT_FOUND = "urn:confide:problem:not-found"
    METHOD = "urn:confide:problem:method-not-allowed"
    SLOW = "urn:confide:problem:too-slow"
    WRONG_STATE = "urn:confide:problem:wrong-state"
    TOO_LARGE = "urn:confide:problem:too-large"
    MEDIA_TYPE = "urn:confide:problem:media-type"
    INVALID = "urn:confide:problem:invalid"
    BAD_FILE = "urn:confide:problem:bad-file"
    KEY_REUSED = "urn:confide:problem:key-reused"
    LIMIT = "urn:confide:problem:limit"
    UPLOADS = "urn:confide:problem:uploads"
    UNCOUNTED = "urn:confide:problem:uncounted"
    HEADERS = "urn:confide:problem:headers-too-large"
    FAILED = "urn:confide:problem:failed"
    BUSY = "urn:confide:problem:busy"
    STORE = "urn:confide:problem:store"


_KINDS = {kind.value: kind for kind in ProblemKind}
_VERSIONS = "check the address, and install the server's version of confide"
_AGAIN = "submit again later: the same file is never scored twice"
_OWN_DETAILS: Mapping[ProblemKind, str] = {
    ProblemKind.MALFORMED: "the server cannot read the request",
    ProblemKind.METHOD: "the server does not know this request",
    ProblemKind.MEDIA_TYPE: "the server does not know this kind of file",
    ProblemKind.HEADERS: "the request is too large for the server",
    ProblemKind.KEY_REUSED: "this `idempotency_key` was used for a file with other scores",
    ProblemKind.TOO_LARGE: "the file is larger than the server takes",
    ProblemKind.SLOW: "the file did not arrive in time",
}
_OWN_STEPS: Mapping[ProblemKind, str] = {
    ProblemKind.MALFORMED: _VERSIONS,
    ProblemKind.METHOD: _VERSIONS,
    ProblemKind.MEDIA_TYPE: "submit CSV or Parquet",
    ProblemKind.HEADERS: _VERSIONS,
    ProblemKind.WRONG_ROLE: "set CONFIDE_TOKEN to a token of that role",
    ProblemKind.NOT_FOUND: "check the address and the name of the contest",
    ProblemKind.SLOW: "submit it again over a faster connection, or as Parquet",
    ProblemKind.TOO_LARGE: "submit the two columns of ids and scores alone, or Parquet",
    ProblemKind.BAD_FILE: "correct the file and submit it again; `confide contest check` checks it at no cost",
    ProblemKind.KEY_REUSED: "leave it out, or choose another one",
    ProblemKind.BUSY: _AGAIN,
    ProblemKind.STORE: _AGAIN,
}
_STEPS = {
    HTTPStatus.UNAUTHORIZED: "set CONFIDE_TOKEN to the token that the organiser gave you",
    HTTPStatus.FORBIDDEN: "ask the organiser; your token does not allow it",
    HTTPStatus.NOT_FOUND: "check the address and the name of the contest",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "submit the two columns of ids and scores alone",
    HTTPStatus.TOO_MANY_REQUESTS: "submit again when the limit allows it",
    HTTPStatus.SERVICE_UNAVAILABLE: _AGAIN,
}
_CLASSES: Mapping[int, type[OracleError]] = {
    HTTPStatus.UNAUTHORIZED: TokenError,
    HTTPStatus.FORBIDDEN: TokenError,
    HTTPStatus.TOO_MANY_REQUESTS: LimitError,
}
_PLACE = re.compile(r"(?:path|query|header|body)(?:\.[\w-]+)*?(?:\.(?P<field>[\w-]+))?: (?P<rule>.*)")


def problem(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    *,
    retry_after: float | None = None,
    with_token: bool = True,
) -> OracleError:
    """Return the exception for a refusal. A document of problems (RFC 9457) says what was wrong.

    `with_token` tells whether the request had a token.
    """
    plain = _document(headers, content)
    name = printable(plain.get("type") or "")
    kind = _KINDS.get(name)
    detail, step = _words(plain, status, kind, with_token=with_token)
    listed = [printable(one) for one in _listed(plain.get("errors"))]
    if kind == ProblemKind.INVALID:
        listed = [_without_place(one) for one in listed]
    words = "; ".join([detail.rstrip(". "), *listed])
    spent = kind == ProblemKind.BUDGET_SPENT
    return (LimitError if spent else _CLASSES.get(status, OracleError))(
        refusal_text(words, step), status=status, kind=name, next_step=step, retry_after=retry_after
    )


def refusal_text(words: str, step: str) -> str:
    """Write what was wrong and the next step as sentences."""
    return f"{words}. {step[:1].upper()}{step[1:]}" if step else words


def _words(plain: Mapping[str, Any], status: int, kind: ProblemKind | None, *, with_token: bool) -> tuple[str, str]:
    """Return what was wrong, and the next step."""
    detail = printable(plain.get("detail") or plain.get("title") or f"the server answered with status {status}")
    step = printable(plain.get("next_step") or _step(status))
    if kind is None:
        return detail, step
    if kind == ProblemKind.NO_TOKEN and not with_token:
        return "this needs a token", "give token=, or set CONFIDE_TOKEN, to the one that the organiser gave you"
    if kind == ProblemKind.INVALID and _has_places(plain.get("errors")):
        return "the server cannot take this", "correct it and try again"
    return _OWN_DETAILS.get(kind, detail), _OWN_STEPS.get(kind, step)


def _has_places(errors: object) -> bool:
    return any(_PLACE.fullmatch(printable(one)) for one in _listed(errors))


def _without_place(error: str) -> str:
    """Return an error without the place in the request and without the pattern that the server compared with.

    >>> _without_place("body.participant: String should match pattern '^[a-z]+$'")
    'participant: this is not what the server expects'
    """
    found = _PLACE.fullmatch(error)
    if found is None:
        return error
    rule = "this is not what the server expects" if "pattern" in found["rule"] else found["rule"]
    return f"{found['field']}: {rule}" if found["field"] else rule


def printable(text: object) -> str:
    """Return text of a server without characters that could steer a terminal, and not too much of it.

    >>> printable("no\x1b[2J")
    'no?[2J'
    """
    kept = "".join(one if one.isprintable() else "?" for one in " ".join(str(text).split()))
    return kept if len(kept) <= _LONGEST else f"{kept[:_LONGEST]}…"


def _document(headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
    if not headers.get("content-type", "").split(";")[0].strip().endswith("json"):
        return {}
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}


def _listed(errors: object) -> list[object]:
    if not isinstance(errors, list):
        return []
    return [
        one.get("message") or one.get("detail") or "" if isinstance(one, dict) else one for one in errors[:_MOST_ERRORS]
    ]


def _step(status: int) -> str:
    if status in _STEPS:
        return _STEPS[HTTPStatus(status)]
    return "tell the organiser" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
