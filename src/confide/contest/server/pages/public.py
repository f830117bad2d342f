"""Pages that everybody may read, and signing in and out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from confide.contest.board import Board
from confide.contest.final_result import FinalResult
from confide.contest.metric import ContestMetric
from confide.contest.server.boards import Snapshot
from confide.contest.server.clock import now
from confide.contest.server.contests import Counts, State, counts, is_public
from confide.contest.server.finals import published, shake_up
from confide.contest.server.middleware import tagged_response
from confide.contest.server.pages.context import (
    HEADERS,
    KeptPages,
    PageRoute,
    Visit,
    caller_of,
    form_of,
    oracle_of,
    page,
    reader,
    redirect,
    static_response,
    unknown_page,
    visit,
)
from confide.contest.server.pages.views import (
    CAPTION,
    DRAWN,
    SHOWN,
    ContestView,
    Plot,
    RankRow,
    entries_plot,
    facts,
    first_entries,
    late_words,
    move_rows,
    moves_plot,
    parts_words,
    rank_rows,
    ranks_note,
    ties_words,
)
from confide.contest.server.problems import Kind, Problem, Refused
from confide.contest.server.tokens import COOKIE, Caller, clear_cookie, find_caller, set_cookie
from confide.contest.terms import FinalMechanism
from confide.report.contest import promise_of
from confide.report.contest_plots import Move, RankedEntry, moves_words
from confide.report.numbers import percent

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """A board or a final for templates."""

    rows: list[RankRow]
    words: str
    plot: Plot
    caption: str
    metric: str
    level: str
    note: str
    late: str


@router.get("/")
async def show_contests(request: Request) -> Response:
    """Show all contests that the reader may see."""
    oracle, caller = oracle_of(request), await caller_of(request)

    def count() -> dict[str, Counts]:
        with oracle.database.reading() as connection:
            return counts(connection, oracle.contests)

    found = await run_in_threadpool(count)
    own = None if caller is None else caller.contest
    views = [
        ContestView.of(
            contest.terms,
            found[name].state.value,
            participants=found[name].participants,
            submissions=found[name].submissions,
        )
        for name, contest in oracle.contests.items()
        if name == own or is_public(found[name].state)
    ]
    return page("contests.html", contests=views, member=reader(caller))


@router.get("/contests/{contest}")
async def show_contest(request: Request) -> Response:
    """Show a contest: its board, its promise and its terms."""
    here = await visit(request)
    snapshot = await here.oracle.boards.current(here.contest.name)
    # As many submissions as the board has: the page changes with the board, not with each of them.
    here = replace(here, counts=replace(here.counts, submissions=snapshot.board.scored))
    terms = here.contest.terms

    def render() -> Response:
        ranking = _board(snapshot, _own(here))
        return here.page("contest.html", "", board=ranking, promise=promise_of(terms), facts=facts(terms))

    return await _answer(request, here, snapshot, "board", render)


async def _answer(
    request: Request, here: Visit, snapshot: Snapshot, name: str, render: Callable[[], Response]
) -> Response:
    """Return a page: a kept one to readers without a session, and one that nobody keeps to all others."""
    if here.caller is not None:
        return await run_in_threadpool(render)
    pages: KeptPages = request.app.state.pages
    kept = await pages.get(here.contest.name, name, (here.counts, snapshot.etag, snapshot.late), render)
    headers = HEADERS | {"Cache-Control": "no-cache", "Vary": "Cookie"}
    return tagged_response(kept.content, "text/html", kept.etag, request.headers.get("if-none-match"), headers)


def _own(here: Visit) -> str | None:
    return None if here.member is None else here.member.participant


def _board(snapshot: Snapshot, own: str | None) -> _Ranking:
    board = snapshot.board
    ranking = _ranking(board.entries, board.terms.metric, board.terms.level, own, "board", CAPTION)
    return replace(ranking, late=late_words(board.as_of) if snapshot.late else "")


def _ranking(
    entries: Sequence[RankedEntry], metric: ContestMetric, level: float, own: str | None, name: str, caption: str
) -> _Ranking:
    shown, drawn = first_entries(entries, SHOWN, own), first_entries(entries, DRAWN, own)
    return _Ranking(
        rows=rank_rows(shown, own),
        words=ties_words(entries) if entries else "",
        plot=entries_plot(drawn, metric, own, name),
        caption=caption + parts_words(len(entries)),
        metric=metric.title,
        level=percent(level),
        note=ranks_note(level),
        late="",
    )


@router.get("/contests/{contest}/final")
async def show_final(request: Request) -> Response:
    """Show the final beside the board, or when it will be there."""
    here = await visit(request)
    if here.contest.terms.final_epsilon is None:
        raise Refused(Kind.NOT_FOUND, "this contest has no final", "look at its board")
    if here.counts.state != State.PUBLISHED:
        return here.page("final.html", "/final", final=None, waiting=_WAITING[here.counts.state])
    snapshot = await here.oracle.boards.current(here.contest.name)

    def render() -> Response:
        return here.page("final.html", "/final", final=_final(here, snapshot.board), waiting="")

    return await _answer(request, here, snapshot, "final", render)


_WAITING = {
    State.DRAFT: "The contest is not open yet. The final comes after it closes.",
    State.OPEN: "Submissions are open. The final is computed once, after the contest closes.",
    State.PAUSED: "The contest is paused. The final is computed once, after it closes.",
    State.CLOSED: "The contest is closed. The data holder computes the final; it will appear here.",
}


def _final(here: Visit, board: Board) -> dict[str, Any]:
    with here.oracle.database.reading() as connection:
        found = published(connection, here.contest.name)
        assert found is not None  # noqa: S101  # the state says so
    lines = shake_up(found, board)
    result = FinalResult.from_dict(found.result)
    own = _own(here)
    mine = next((line["name"] for line in lines if line["participant"] == own), None)
    caption = CAPTION.replace("one participant's best submission", "one finalist")
    ranking = _ranking(result.entries, result.metric, here.contest.terms.level, mine, "final", caption)
    moves = _moves(lines, comparable=len(lines) == len(board.entries))
    how = "noise shaped to the finalists" if result.mechanism == FinalMechanism.SHAPED else "masked labels"
    origin = f"Published {found.at[:10]}, from {result.rows:,} rows that the board never used, by {how}."
    return {
        "rows": ranking.rows,
        "words": " ".join((ranking.words, origin, *promise_of(here.contest.terms).final)),
        "plot": ranking.plot,
        "caption": ranking.caption,
        "metric": ranking.metric,
        "level": ranking.level,
        "note": ranking.note,
        "moves": move_rows(moves[:SHOWN]),
        "moves_words": moves_words(moves),
        "slopes": moves_plot(moves[:DRAWN]),
    }


def _moves(lines: list[dict[str, Any]], *, comparable: bool) -> list[Move]:
    return [
        Move(
            name=line["name"],
            before=line["board_rank"],
            before_span=(line["board_rank_lowest"], line["board_rank_highest"]),
            after=line["rank"],
            after_span=(line["rank_lowest"], line["rank_highest"]),
            comparable=comparable,
        )
        for line in lines
        if line["board_rank"] is not None
    ]


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a style sheet or a script."""
    response = static_response(name)
    if response is None:
        raise unknown_page()
    return response
