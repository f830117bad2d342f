"""Refusals: every error is `application/problem+json` (RFC 9457) with the next step."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from confide.errors import HomeError

LOG = logging.getLogger("confide.contest.server")
MEDIA = "application/problem+json"
STORE_SECONDS = 30


class Kind(Enum):
    """Kinds of refusals: status, code and title."""

    MALFORMED = (400, "malformed-request", "The request cannot be read")
    NO_TOKEN = (401, "no-token", "A valid token is needed")
    WRONG_ROLE = (403, "wrong-role", "The token does not allow this")
    BUDGET_SPENT = (403, "budget-spent", "The budget is spent")
    NOT_FOUND = (404, "not-found", "Not found")
    METHOD = (405, "method-not-allowed", "The address does not have this method")
    SLOW = (408, "too-slow", "The body took too long")
    WRONG_STATE = (409, "wrong-state", "The state of the contest does not allow this")
    TOO_LARGE = (413, "too-large", "The body is too large")
    MEDIA_TYPE = (415, "media-type", "The content type is not known")
    INVALID = (422, "invalid", "The request does not fit its description")
    BAD_FILE = (422, "bad-file", "The file cannot be scored")
    KEY_REUSED = (422, "key-reused", "The idempotency key belongs to another file")
    LIMIT = (429, "limit", "No submission is left for now")
    UPLOADS = (429, "uploads", "Too many uploads at once")
    UNCOUNTED = (429, "uncounted", "Too many files that were not scored")
    HEADERS = (431, "headers-too-large", "The headers are too large")
    FAILED = (500, "failed", "Something unexpected went wrong")
    BUSY = (503, "busy", "The server is busy")
    STORE = (503, "store", "The server cannot record anything")

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self.value[0]

    @property
    def type(self) -> str:
        """Return the identifier of the kind."""
        return f"urn:confide:problem:{self.value[1]}"

    @property
    def title(self) -> str:
        """Return the title of the kind."""
        return self.value[2]


class Problem(BaseModel):
    """A refusal: what is wrong, and what to do next."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="Identifier of the kind of problem; it does not change.")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    next_step: str
    errors: list[str] = Field(default_factory=list, description="Each thing that is wrong, if there are several.")


class Refused(HTTPException):
    """A request that is refused on purpose."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        next_step: str,
        *,
        errors: tuple[str, ...] = (),
        retry_after: int | None = None,
    ) -> None:
        headers = {"WWW-Authenticate": "Bearer"} if kind.status == HTTPStatus.UNAUTHORIZED else {}
        if retry_after is not None:
            headers["Retry-After"] = str(max(1, retry_after))
        super().__init__(kind.status, detail, headers)
        self.kind = kind
        self.problem = Problem(
            type=kind.type,
            title=kind.title,
            status=kind.status,
            detail=detail,
            next_step=next_step,
            errors=list(errors),
        )

    def __str__(self) -> str:
        return f"{self.problem.detail}. {self.problem.next_step}"


def refusals(*kinds: Kind, parameters: bool = True) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about the refusals of a route; every route may also fail, or lack its database.

    A route without `parameters` cannot be called wrongly.
    """
    found: dict[int | str, dict[str, Any]] = {}
    always = {Kind.FAILED, Kind.STORE} | ({Kind.INVALID} if parameters else set())
    for kind in sorted({*kinds, *always}, key=lambda one: (one.status, one.name)):
        earlier = found.get(kind.status)
        description = kind.title if earlier is None else f"{earlier['description']}; or: {kind.title}"
        found[kind.status] = {
            "description": description,
            "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        if kind.status in (429, 503):
            seconds = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
            found[kind.status]["headers"] = {"Retry-After": seconds}
    return found


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    return Response(problem.model_dump_json(), problem.status, dict(headers or {}), MEDIA)


def install(app: FastAPI) -> None:
    """Answer every error with a problem."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(HomeError, _unavailable)


def unexpected() -> Response:
    """Return the response to a defect; it holds no details."""
    refused = Refused(
        Kind.FAILED, "the request was not carried out", "try again; if it happens again, tell the organiser"
    )
    return problem_response(refused.problem)


def place_of(error: BaseException) -> str:
    """Return the place of a defect in our code, for a log. The error's text is not logged: it may quote a file."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "?")
        place = f"{name}:{trace.tb_lineno}" if name.startswith("confide") else place
        trace = trace.tb_next
    return place


def unavailable() -> Refused:
    """Return the refusal of a request while the database or the home folder cannot be used."""
    return Refused(
        Kind.STORE,
        "the server cannot use its database or its home folder at present; the request is not confirmed",
        "send it again in a minute: a file counts once; if it happens again, tell the organiser",
        retry_after=STORE_SECONDS,
    )


async def _unavailable(_request: Request, error: Exception) -> Response:
    LOG.error("the store is unavailable: %s at %s", type(error).__name__, place_of(error))
    refused = unavailable()
    return problem_response(refused.problem, refused.headers)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101  # registered for this class
    return problem_response(error.problem, error.headers)


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for this class
    known = {400: Kind.MALFORMED, 404: Kind.NOT_FOUND, 405: Kind.METHOD}
    steps = {
        400: "send the body as JSON in UTF-8",
        404: "check the address; /v1/openapi.json lists all of them",
        405: "use a method of the header Allow",
    }
    kind = known.get(error.status_code)
    if kind is None:
        return unexpected()
    refused = Refused(kind, kind.title.lower(), steps[kind.status])
    return problem_response(refused.problem, error.headers)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for this class
    # Only places and rules: what was sent is not repeated.
    found = tuple(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}"[:300] for one in error.errors()[:20])
    detail = "a parameter or the body does not fit its description"
    refused = Refused(Kind.INVALID, detail, "correct what `errors` names; see /v1/openapi.json", errors=found)
    return problem_response(refused.problem)


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it
