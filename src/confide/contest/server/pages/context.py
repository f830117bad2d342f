"""What every page needs: rendering with escaping always on, forms, the contest, and who reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse

from confide.contest.server.clock import now
from confide.contest.server.contests import Counts, LoadedContest, counts, is_public
from confide.contest.server.oracle import Oracle
from confide.contest.server.pages.views import ContestView, Tab, tabs
from confide.contest.server.problems import LOG, Kind, Problem, Refused, place_of, unavailable
from confide.contest.server.tokens import COOKIE, Caller, Role
from confide.contest.terms import NAME
from confide.errors import HomeError
from confide.report.writers.html import STYLE

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With "no-referrer" browsers send no origin along with forms, and the check of origins needs one.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_TYPES = {"style.css": "text/css; charset=utf-8", "upload.js": "text/javascript; charset=utf-8"}


@cache
def static_file(name: str) -> bytes | None:
    """Return a file that pages load; None if there is none with this name. The style is that of reports, and more."""
    if name not in _TYPES:
        return None
    own = (files("confide.contest.server") / "static" / name).read_text(encoding="utf-8")
    return (STYLE + own if name == "style.css" else own).encode()


@cache
def version() -> str:
    """Return a mark that changes with the files that pages load, so that browsers may keep them."""
    return sha256(b"".join(static_file(name) or b"" for name in sorted(_TYPES))).hexdigest()[:12]


def static_response(name: str) -> Response | None:
    """Return a file that pages load as a response; None if there is none with this name."""
    content = static_file(name)
    if content is None:
        return None
    headers = HEADERS | {"Cache-Control": "public, max-age=86400"}
    return Response(content, media_type=_TYPES[name], headers=headers)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("confide.contest.server", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = sentence
    return environment


def sentence(words: str) -> str:
    """Write a message with a capital letter and a full stop.

    >>> sentence("the file cannot be scored")
    'The file cannot be scored.'
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")


def page(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Render a page. All text among the values is escaped."""
    filled = {"version": version(), "member": None, "error": None, "notice": None} | values
    html = _templates().get_template(template).render(filled)
    return HTMLResponse(html, status_code=status, headers=HEADERS | (headers or {}))


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page, or an answer for programs, as everybody without a session sees it. `key` is all that it depends on."""

    key: Hashable
    content: bytes
    etag: str


class KeptPages:
    """Pages for readers without a session, each rendered once until its key changes.

    Only the newest form of a page is kept, and only the contests of the server have pages here: memory has a bound.
    """

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], KeptPage] = {}
        self._locks: dict[tuple[str, str], anyio.Lock] = defaultdict(anyio.Lock)

    async def get(self, contest: str, name: str, key: Hashable, render: Callable[[], Response]) -> KeptPage:
        """Return a page of a contest. If it must be rendered, that is done once, in a thread, however many ask."""
        place = (contest, name)
        if (kept := self._known(place, key)) is not None:
            return kept
        async with self._locks[place]:
            if (kept := self._known(place, key)) is not None:
                return kept
            content = bytes((await run_in_threadpool(render)).body)
            self._pages[place] = KeptPage(key, content, f'"{sha256(content).hexdigest()}"')
            return self._pages[place]

    def _known(self, place: tuple[str, str], key: Hashable) -> KeptPage | None:
        kept = self._pages.get(place)
        return kept if kept is not None and kept.key == key else None


LARGEST = 64 * 1024
_FIELDS = 2_100  # a participant may have a thousand submissions to choose from


@dataclass(frozen=True, slots=True)
class Form:
    """Fields of a form."""

    fields: dict[str, list[str]]

    def text(self, name: str) -> str:
        """Return the value of a field; the empty text if it is missing."""
        return self.fields.get(name, [""])[0]

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.fields.get(name, [])


def is_own_origin(request: Request) -> bool:
    """Return whether a request was sent by a page of this server.

    Browsers tell with each form where it came from, in `Origin` and, newer ones, in `Sec-Fetch-Site`; a page of
    another site cannot change them. A request with neither is refused. The scheme is not compared: behind a proxy that
    ends TLS, this server sees plain HTTP.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return site is not None
    host = request.headers.get("host", "").lower()
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host


class FormError(Exception):
    """A form that is too large, or not what a page of ours sends."""


async def read_form(chunks: AsyncIterator[bytes]) -> Form:
    """Read the fields of a form from a small body."""
    body = b""
    async for chunk in chunks:
        body += chunk
        if len(body) > LARGEST:
            raise FormError("the form is too large")
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise FormError("the form cannot be read") from None


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a page, as its head shows it."""

    name: str
    organiser: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page of a contest, by somebody who may see it."""

    oracle: Oracle
    contest: LoadedContest
    caller: Caller | None
    counts: Counts

    @property
    def view(self) -> ContestView:
        """Return the contest for templates."""
        found = self.counts
        return ContestView.of(
            self.contest.terms, found.state.value, participants=found.participants, submissions=found.submissions
        )

    @property
    def member(self) -> Caller | None:
        """Return the reader if a member of this contest."""
        return self.caller if self.caller is not None and self.caller.contest == self.contest.name else None

    def tabs(self, current: str) -> list[Tab]:
        """Return the links of the contest's pages."""
        role = None if self.member is None else self.member.role
        return tabs(
            self.view,
            current,
            participant=role == Role.PARTICIPANT,
            organiser=role == Role.ORGANISER,
            final=self.contest.terms.final_epsilon is not None,
        )

    def page(self, template: str, current: str, *, status: int = 200, **values: Any) -> Response:
        """Render a page of the contest."""
        shared: dict[str, Any] = {"contest": self.view, "tabs": self.tabs(current), "member": reader(self.caller)}
        return page(template, status, **(shared | values))

    def require(self, role: Role) -> Caller:
        """Return the reader, who must be a member of this contest in a role."""
        if self.caller is None:
            raise SignInNeeded
        if self.member is None:
            raise Refused(
                Kind.WRONG_ROLE, "your token belongs to another contest", "sign out, and sign in with another token"
            )
        if self.member.role != role:
            step = "sign out, and sign in with another token"
            raise Refused(Kind.WRONG_ROLE, f"this page is for a token of the role {role.value}", step)
        return self.member


def shown_on_page(error: Refused) -> Refused:
    """Return a refusal that a member's own page may show; raise one of a token that is not valid any more."""
    if error.kind == Kind.NO_TOKEN:
        raise error
    return error


class SignInNeeded(Exception):  # noqa: N818 - no error: the reader is led to the page
    """The page needs a session."""


def reader(caller: Caller | None) -> Reader | None:
    """Return the reader for the head of a page."""
    return None if caller is None else Reader(caller.participant, caller.role == Role.ORGANISER)


def oracle_of(request: Request) -> Oracle:
    """Return the server's state."""
    oracle: Oracle = request.app.state.oracle
    return oracle


async def caller_of(request: Request) -> Caller | None:
    """Return whose session the browser has; None if there is none."""
    secret = request.cookies.get(COOKIE)
    if secret is None:
        return None

    def find() -> Caller | None:
        records = oracle_of(request).records
        with records.database.reading() as connection:
            return records.sessions.find(connection, records.histories, secret, now())

    return await run_in_threadpool(find)


async def _known_caller(request: Request) -> Caller | None:
    """Return whose session the browser has, for the head of a refusal; None also if the database does not answer."""
    try:
        return await caller_of(request)
    except HomeError:
        return None


async def visit(request: Request) -> Visit:
    """Return the contest of the address, if the reader may see it."""
    oracle, caller = oracle_of(request), await caller_of(request)
    name = str(request.path_params.get("contest", ""))
    contest = oracle.contests.get(name) if NAME.fullmatch(name) else None
    if contest is None:
        raise unknown_page()

    def count() -> Counts:
        with oracle.database.reading() as connection:
            return counts(connection, [name])[name]

    found = Visit(oracle, contest, caller, await run_in_threadpool(count))
    if found.member is None and not is_public(found.counts.state):
        raise unknown_page()
    return found


def unknown_page() -> Refused:
    """Return the refusal of an address that leads nowhere, and of a contest that the reader may not see."""
    return Refused(Kind.NOT_FOUND, "there is no such page here", "the list of contests leads to every page")


async def form_of(request: Request) -> Form:
    """Return the fields of a small form."""
    try:
        return await read_form(request.stream())
    except FormError as error:
        raise Refused(Kind.MALFORMED, str(error), "go back and send the form again") from None


def redirect(path: str) -> Response:
    """Lead the browser to another page of this server, after a form was carried out."""
    return RedirectResponse(path, 303, headers=HEADERS)


class PageRoute(APIRoute):
    """Route of a page: forms must come from our own pages, and refusals are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with both rules around it."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                if request.method == "POST" and not is_own_origin(request):
                    return problem_page(_FOREIGN)
                return await inner(request)
            except SignInNeeded:
                here = request.url.path if request.method == "GET" else ""
                return redirect(f"/signin?next={here}")
            except RequestValidationError:
                return problem_page(unknown_page().problem)
            except HomeError as error:
                LOG.error("the store is unavailable: %s at %s", type(error).__name__, place_of(error))
                refused = unavailable()
                return problem_page(refused.problem, refused.headers)
            except Refused as error:
                return problem_page(error.problem, error.headers, await _known_caller(request))

        return handle


_FOREIGN = Problem(
    type="urn:confide:problem:foreign-form",
    title="The form came from elsewhere",
    status=403,
    detail="the form was not sent by a page of this server",
    next_step="open the page on this server again, and send its form",
)


def problem_page(
    problem: Problem, headers: Mapping[str, str] | None = None, caller: Caller | None = None, back: str = "/"
) -> Response:
    """Return a refusal as a page."""
    kept = {name: value for name, value in (headers or {}).items() if name == "Retry-After"}
    return page("problem.html", problem.status, kept, error=problem, back=back, member=reader(caller))
