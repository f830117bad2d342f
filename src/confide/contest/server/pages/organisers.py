"""Pages of organisers: state, members, tokens and finalists."""

from __future__ import annotations

from datetime import date
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from confide.contest.server.chain import Event, list_events
from confide.contest.server.clock import now, written
from confide.contest.server.contests import State, change_state, status_of
from confide.contest.server.finals import archive_response, final_entries
from confide.contest.server.pages.context import HEADERS, PageRoute, Visit, form_of, redirect, shown_on_page, visit
from confide.contest.server.pages.views import moment
from confide.contest.server.problems import Kind, Problem, Refused
from confide.contest.server.tokens import DAYS, Caller, Role, TokenRecord, issue, list_tokens, revoke
from confide.errors import ParameterError
from confide.report.numbers import DASH

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_STEPS = {
    State.OPEN: "Open the contest",
    State.PAUSED: "Pause the contest",
    State.CLOSED: "Close the contest for good",
}
_WORDS = {
    State.DRAFT: "Only its members can see it.",
    State.OPEN: "It takes submissions.",
    State.PAUSED: "Everybody can read it, and it takes no submissions.",
    State.CLOSED: "It takes no more submissions, and waits for its final.",
    State.PUBLISHED: "Its final is published.",
}


_EVENTS = 50
"""Newest entries of the record that the page shows; the API lists all."""


@router.get("/contests/{contest}/organise")
async def show_organise(request: Request) -> Response:
    """Show state, members and tokens to the organiser."""
    here = await visit(request)
    here.require(Role.ORGANISER)
    return await _organise_page(here, notice=_NOTICES.get(request.query_params.get("done", "")))


_NOTICES = {"state": "The state is changed.", "revoked": "The token is revoked, and its sessions have ended."}


async def _organise_page(here: Visit, status: int = 200, **values: Any) -> Response:
    found, tokens, events = await run_in_threadpool(_status, here, here.require(Role.ORGANISER))
    state = State(found["state"])
    steps = [
        {"state": one.value, "name": _STEPS[one], "stop": one == State.CLOSED}
        for one in _STEPS
        if one in found["next_states"]
    ]
    members = [
        {"name": one["name"], "role": ", ".join(one["roles"]) or "no valid token", "submissions": one["submissions"]}
        for one in found["members"]
    ]
    listed = [
        {
            "id": one.id,
            "name": one.participant,
            "role": one.role.value,
            "made": moment(one.created_at),
            "ends": moment(one.expires_at),
            "ended": one.expires_at <= written(now()),
            "revoked": one.revoked_at is not None,
        }
        for one in tokens
    ]
    final = here.contest.terms.final_epsilon is not None
    shown = {
        "made": None,
        "steps": steps,
        "state_words": _WORDS[state],
        "members": members,
        "tokens": listed,
        "days": DAYS,
        "events": [
            {
                "at": moment(one.at),
                "what": one.kind if one.about is None else f"{one.kind} {one.about}",
                "by": one.by or DASH,
                "token": one.by_token or DASH,
            }
            for one in events
        ],
        "archive": final and state in (State.CLOSED, State.PUBLISHED) and here.counts.submissions > 0,
    }
    return here.page("organise.html", "/organise", status=status, **(shown | values))


def _status(here: Visit, caller: Caller) -> tuple[dict[str, Any], list[TokenRecord], list[Event]]:
    with here.oracle.database.reading() as connection:
        here.oracle.records.require_valid(connection, caller, now())  # a form may have arrived slowly
        name = here.contest.name
        events = list_events(connection, name, limit=_EVENTS)
        return status_of(connection, name, now()), list_tokens(connection, name), events


@router.post("/contests/{contest}/state")
async def set_state(request: Request) -> Response:
    """Open, pause or close the contest."""
    here = await visit(request)
    caller = here.require(Role.ORGANISER)
    form = await form_of(request)
    wanted = form.text("state")
    new = next((one for one in _STEPS if one.value == wanted), None)
    if new is None:
        raise Refused(Kind.INVALID, "the form names no state", "use the buttons of the page")
    if new == State.CLOSED and not form.text("sure"):
        unsure = Refused(Kind.INVALID, "a closed contest cannot be opened again", "tick the box above the button first")
        return await _organise_page(here, unsure.problem.status, error=unsure.problem)

    def change() -> None:
        with here.oracle.records.writing(caller) as writer:
            change_state(writer, new)

    try:
        await run_in_threadpool(change)
    except Refused as error:
        problem = shown_on_page(error).problem
        return await _organise_page(here, problem.status, error=problem)
    return redirect(f"{here.view.address}/organise?done=state")


@router.post("/contests/{contest}/tokens")
async def make_token(request: Request) -> Response:
    """Make a token, and show it once."""
    here = await visit(request)
    caller = here.require(Role.ORGANISER)
    form = await form_of(request)
    role = Role.ORGANISER if form.text("role") == Role.ORGANISER.value else Role.PARTICIPANT
    try:
        until = _day(form.text("until").strip())
        secret = await run_in_threadpool(_issue, here, caller, form.text("participant").strip(), role, until)
    except ParameterError as error:
        problem = Problem(
            type=Kind.INVALID.type,
            title="The token cannot be made",
            status=422,
            detail=str(error),
            next_step="correct the name or the day",
        )
        return await _organise_page(here, 422, error=problem)
    return await _organise_page(here, made={"participant": form.text("participant").strip(), "token": secret})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise ParameterError("the last day of a token must look like 2026-12-31") from None


def _issue(here: Visit, caller: Caller, participant: str, role: Role, until: date | None) -> str:
    with here.oracle.records.writing(caller) as writer:
        return issue(writer, participant, role, until)[0]


@router.post("/contests/{contest}/tokens/{token}/revoke")
async def revoke_token(request: Request, token: str) -> Response:
    """Revoke a token."""
    here = await visit(request)
    caller = here.require(Role.ORGANISER)

    def end() -> bool:
        with here.oracle.records.writing(caller) as writer:
            return revoke(writer, token)

    if not await run_in_threadpool(end):
        raise Refused(Kind.NOT_FOUND, "there is no such token", "the page lists the tokens of the contest")
    return redirect(f"{here.view.address}/organise?done=revoked")


@router.get("/contests/{contest}/finalists.zip")
async def read_archive(request: Request) -> Response:
    """Return the finalists of a closed contest and their scores."""
    here = await visit(request)
    here.require(Role.ORGANISER)

    def read() -> Response:
        with here.oracle.database.reading() as connection:
            finalists = final_entries(connection, here.oracle.home, here.contest)
        return archive_response(here.oracle.home, here.contest.name, finalists, HEADERS)

    return await run_in_threadpool(read)
