"""Signing in by a token, and signing out."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from confide.service.clock import now
from confide.service.pages.context import PageRoute, caller_of, form_of, oracle_of, reader, redirect
from confide.service.pages.rendering import page
from confide.service.problems import Kind, Problem
from confide.service.sessions import COOKIE, clear_cookie, set_cookie
from confide.service.tokens import Caller, find_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_NEXT = re.compile(r"/contests/[a-z0-9-]{1,40}(?:/(?:submit|mine|final|organise))?")


@router.get("/signin")
async def show_signin(request: Request) -> Response:
    """Show the form for a token."""
    wanted = _next(request.query_params.get("next", ""))
    return page("signin.html", next=wanted, insecure=_is_insecure(request), member=reader(await caller_of(request)))


@router.post("/signin")
async def sign_in(request: Request) -> Response:
    """Begin a session, in place of an earlier one of this browser."""
    form = await form_of(request)
    started = await run_in_threadpool(_start, request, form.text("token").strip())
    if started is None:
        wanted = _next(form.text("next"))
        return page("signin.html", 401, next=wanted, insecure=_is_insecure(request), error=_UNKNOWN)
    secret, caller = started
    place = "organise" if caller.role == "organiser" else "submit"
    response = redirect(_next(form.text("next")) or f"/contests/{caller.contest}/{place}")
    set_cookie(response, secret)
    return response


def _start(request: Request, token: str) -> tuple[str, Caller] | None:
    records = oracle_of(request).records
    with records.database.reading() as connection:
        caller = find_caller(connection, records.histories, token, now())
    if caller is None:
        return None
    records.sessions.end(request.cookies.get(COOKIE, ""))
    return records.sessions.start(caller, now()), caller


@router.post("/signout")
async def sign_out(request: Request) -> Response:
    """End the session."""
    oracle_of(request).records.sessions.end(request.cookies.get(COOKIE, ""))
    response = redirect("/")
    clear_cookie(response)
    return response


def _is_insecure(request: Request) -> bool:
    """Return whether browsers will not keep the cookie: they need TLS, or a server on their own machine."""
    return request.url.scheme == "http" and request.url.hostname not in ("localhost", "127.0.0.1", "::1")


def _next(path: str) -> str:
    """Return a page of ours to show after signing in; the empty text for anything else."""
    return path if _NEXT.fullmatch(path) else ""


_UNKNOWN = Problem(
    type=Kind.NO_TOKEN.type,
    title="Unknown token",
    status=401,
    detail="no contest here knows this token, or it was revoked",
    next_step="copy the whole token, which begins with cfd_, or ask the organiser for a new one",
)
