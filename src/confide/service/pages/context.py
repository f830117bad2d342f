"""What every page needs: the server's state, the contest, and who reads. Refusals become pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from confide.contest.terms import NAME
from confide.errors import HomeError
from confide.service.clock import now
from confide.service.contests import Counts, LoadedContest, counts
from confide.service.oracle import Oracle
from confide.service.pages.forms import Form, FormError, is_own_origin, read_form
from confide.service.pages.rendering import HEADERS, page
from confide.service.pages.views import ContestView, Tab, tabs
from confide.service.problems import LOG, Kind, Problem, Refused, place_of, unavailable
from confide.service.sessions import COOKIE
from confide.service.states import is_public
from confide.service.tokens import Caller, Role


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
