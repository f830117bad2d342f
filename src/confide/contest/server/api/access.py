"""Access to contests: who calls, and what the caller may see."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from confide.contest.server.clock import now
from confide.contest.server.contests import LoadedContest, is_public, state_of
from confide.contest.server.oracle import Oracle, no_contest
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.tokens import Caller, Role, find_caller

ContestName = Annotated[str, Path(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$", description="Name of a contest.")]

PUBLIC: dict[str, Any] = {"security": [{}, {"token": []}]}
PROTECTED: dict[str, Any] = {"security": [{"token": []}]}
"""What OpenAPI says about tokens: contests that are no drafts can be read without one."""


def oracle_of(request: Request) -> Oracle:
    """Return the state of the server."""
    oracle: Oracle = request.app.state.oracle
    return oracle


TheOracle = Annotated[Oracle, Depends(oracle_of)]


async def optional_caller(request: Request, oracle: TheOracle) -> Caller | None:
    """Return who holds the token of a request; None if it has no token. An unknown, revoked or ended one is refused."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    caller = await run_in_threadpool(_caller, oracle, secret.strip()) if scheme.lower() == "bearer" else None
    if caller is None:
        raise Refused(Kind.NO_TOKEN, "the token is unknown or was revoked", "ask the organiser for a new token")
    return caller


def _caller(oracle: Oracle, secret: str) -> Caller | None:
    with oracle.database.reading() as connection:
        return find_caller(connection, oracle.records.histories, secret, now())


OptionalCaller = Annotated[Caller | None, Depends(optional_caller)]


async def visible_contest(contest: ContestName, oracle: TheOracle, caller: OptionalCaller) -> LoadedContest:
    """Return a contest that everybody may read, or the caller's own."""
    found = oracle.contest(contest)
    if caller is None or caller.contest != contest:
        await run_in_threadpool(_require_public, oracle, contest)
    return found


def _require_public(oracle: Oracle, contest: str) -> None:
    with oracle.database.reading() as connection:
        if not is_public(state_of(connection, contest)):
            raise no_contest()


VisibleContest = Annotated[LoadedContest, Depends(visible_contest)]


@dataclass(frozen=True, slots=True)
class Membership:
    """Dependency that returns the caller, who is a member of the contest in one of these roles."""

    roles: tuple[Role, ...]

    async def __call__(self, contest: ContestName, oracle: TheOracle, caller: OptionalCaller) -> Caller:
        """Return the caller; refuse anybody else."""
        if caller is None:
            raise Refused(Kind.NO_TOKEN, "this needs a token", "send the header `Authorization: Bearer <token>`")
        oracle.contest(contest)
        if caller.contest != contest:
            raise no_contest()
        if caller.role not in self.roles:
            rule = f"this is for a token of the role {' or '.join(self.roles)}"
            raise Refused(Kind.WRONG_ROLE, rule, "use that token")
        return caller


class MemberRoute(APIRoute):
    """Route of members. Who calls is checked before a body is read and parsed: FastAPI alone parses bodies first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, after the check if the route has a body."""
        inner = super().get_route_handler()
        if self.body_field is None:
            return inner
        [membership] = [one.call for one in self.dependant.dependencies if isinstance(one.call, Membership)]

        async def handle(request: Request) -> Response:
            oracle = oracle_of(request)
            await membership(str(request.path_params["contest"]), oracle, await optional_caller(request, oracle))
            return await inner(request)

        return handle


Participant = Annotated[Caller, Depends(Membership((Role.PARTICIPANT,)))]
Organiser = Annotated[Caller, Depends(Membership((Role.ORGANISER,)))]
Member = Annotated[Caller, Depends(Membership((Role.PARTICIPANT, Role.ORGANISER)))]
