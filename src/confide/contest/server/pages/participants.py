"""Pages of participants: submit scores, see own submissions, choose finalists."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from confide.contest.server.clock import now
from confide.contest.server.contests import State
from confide.contest.server.finals import Choice, choice_of, set_choice
from confide.contest.server.home import MEBIBYTE
from confide.contest.server.intake import accept_upload, check_length
from confide.contest.server.pages.context import HEADERS, PageRoute, Visit, form_of, redirect, shown_on_page, visit
from confide.contest.server.pages.multipart import FRAMING, FormFile, UploadError
from confide.contest.server.pages.views import interval_of, moment
from confide.contest.server.problems import Kind, Problem, Refused
from confide.contest.server.submissions import (
    FileKind,
    Limits,
    Outcome,
    Submission,
    limits_of,
    list_submissions,
    not_open,
)
from confide.contest.server.tokens import Caller, Role
from confide.contest.template import Template
from confide.report.numbers import interval_text, number, percent

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_SHOWN = 1_000
_IDENTITY = re.compile(r"[0-9A-Z]{26}")
_KINDS: dict[str, FileKind] = {"csv": "csv", "parquet": "parquet", "pq": "parquet"}
_LINES = 2_000


@router.get("/contests/{contest}/submit")
async def show_submit(request: Request) -> Response:
    """Show the form for a file, and what is left today."""
    here = await visit(request)
    return await _submit_page(request, here, here.require(Role.PARTICIPANT))


async def _submit_page(
    request: Request, here: Visit, caller: Caller, status: int = 200, error: Problem | None = None
) -> Response:
    limits = await run_in_threadpool(_limits, here, caller)
    terms = here.contest.terms
    rules = "Scores are finite numbers; a higher one means that the label is more likely positive."
    if terms.metric.kind.probabilities:
        rules = "Scores are probabilities of the positive label, from 0 to 1."
    most = here.oracle.settings.largest_body / MEBIBYTE
    return here.page(
        "submit.html",
        "/submit",
        status=status,
        error=error,
        limits=_limit_values(limits),
        rules=f"{rules} At most {most:,.4g} MiB. The name of the file ends in .csv or .parquet.",
        closed=_CLOSED.get(here.counts.state, ""),
        origin=f"{request.url.scheme}://{request.url.netloc}",
    )


_CLOSED = {
    State.DRAFT: "The contest is not open yet. Come back when the organiser has opened it.",
    State.PAUSED: "The contest is paused. Come back when the organiser has opened it again.",
    State.CLOSED: "The contest is closed and takes no more submissions.",
    State.PUBLISHED: "The contest has ended. Its final is published.",
}


def _limits(here: Visit, caller: Caller) -> Limits:
    with here.oracle.database.reading() as connection:
        return limits_of(connection, here.contest.terms, caller.member, now())


def _limit_values(limits: Limits) -> dict[str, str]:
    return {
        "daily_left": f"{limits.daily_left:,}",
        "daily_limit": f"{limits.daily_limit:,}",
        "total_left": f"{limits.total_left:,}",
        "total_limit": f"{limits.total_limit:,}",
        "resets": f"{limits.resets_at[11:16]} UTC",
    }


@router.post("/contests/{contest}/submit")
async def submit(request: Request) -> Response:
    """Score a file. One that cannot be scored is free; the page says what is wrong."""
    here = await visit(request)
    caller = here.require(Role.PARTICIPANT)
    try:
        outcome = await _accept(request, here, caller)
    except Refused as error:
        problem = shown_on_page(error).problem
        if error.kind == Kind.BAD_FILE:
            problem = problem.model_copy(update={"detail": _NOT_COUNTED, "next_step": _CORRECT})
        return await _submit_page(request, here, caller, problem.status, problem)
    again = "&again=1" if outcome.replayed else ""
    return redirect(f"{here.view.address}/mine?scored={outcome.submission.id}{again}")


_NOT_COUNTED = "Nothing was scored, and no submission was used."
_CORRECT = "correct what is listed, and submit the file again. `confide contest check` finds such errors offline"


async def _accept(request: Request, here: Visit, caller: Caller) -> Outcome:
    check_length(request.headers.get("content-length"), here.oracle.settings.largest_body + FRAMING)
    if here.oracle.draining.is_set():
        raise Refused(Kind.BUSY, "the server is stopping", "submit the file again in a minute", retry_after=30)
    if here.counts.state != State.OPEN:
        raise not_open(here.counts.state)
    try:
        file = FormFile(request.stream(), request.headers.get("content-type", ""))
        kind = _kind(await file.begin())
        return await accept_upload(here.oracle, here.contest, caller, file.content(), kind)
    except UploadError as error:
        raise Refused(
            Kind.MALFORMED, str(error), "choose a file, and submit it again. No submission was used"
        ) from None


def _kind(filename: str) -> FileKind:
    """Return the kind of a file by the end of its name."""
    kind = _KINDS.get(filename.rpartition(".")[2].lower())
    if kind is None:
        step = "choose a file whose name ends in .csv or .parquet. No submission was used"
        raise Refused(Kind.MEDIA_TYPE, "the name of the file does not tell what it is", step)
    return kind


@router.get("/contests/{contest}/mine")
async def show_mine(request: Request) -> Response:
    """Show the reader's own submissions."""
    here = await visit(request)
    caller = here.require(Role.PARTICIPANT)
    return await _mine_page(here, caller, scored=request.query_params)


async def _mine_page(
    here: Visit, caller: Caller, status: int = 200, error: Problem | None = None, scored: Any = None
) -> Response:
    submissions, choice, limits = await run_in_threadpool(_mine, here, caller)
    terms, state = here.contest.terms, here.counts.state
    final = terms.final_epsilon is not None
    return here.page(
        "mine.html",
        "/mine",
        status=status,
        error=error,
        notice=_notice(submissions, scored or {}, terms.metric.title),
        limits=_limit_values(limits),
        rows=[_row(one, choice) for one in submissions],
        choosing=final and state in (State.OPEN, State.PAUSED),
        chosen=final,
        most=terms.finalists,
        metric=terms.metric.title,
        level=percent(terms.level),
        calibration=_calibration(submissions[0]) if submissions else None,
    )


def _mine(here: Visit, caller: Caller) -> tuple[list[Submission], Choice, Limits]:
    with here.oracle.database.reading() as connection:
        return (
            list_submissions(connection, caller, limit=_SHOWN),
            choice_of(connection, caller),
            limits_of(connection, here.contest.terms, caller.member, now()),
        )


def _notice(submissions: list[Submission], query: Any, metric: str) -> str | None:
    """Say what became of a file that was just sent, or of a choice."""
    if query.get("saved"):
        return "Your finalists are saved."
    found = next((one for one in submissions if one.id == query.get("scored")), None)
    if found is None:
        return None
    interval = interval_text(interval_of(found.detail["population"]), 4)
    value = f"{metric} {number(found.value, 4)}, interval for new rows {interval}"
    if query.get("again"):
        return f"You had submitted these scores before; they do not count again. {value}."
    return f"The file was scored. {value}."


def _row(submission: Submission, choice: Choice) -> dict[str, Any]:
    return {
        "id": submission.id,
        "received_at": submission.received_at,
        "received": moment(submission.received_at),
        "value": number(submission.value, 4),
        "sample": interval_text(interval_of(submission.detail["sample"]), 4),
        "population": interval_text(interval_of(submission.detail["population"]), 4),
        "digest": submission.digest[:12],
        "finalist": submission.id in choice.submissions,
    }


def _calibration(submission: Submission) -> dict[str, Any] | None:
    """Return the table of calibration, if the scorer made one."""
    bins = submission.detail.get("calibration")
    if not bins:
        return None
    return {
        "head": ("Predicted from", "to", "Rows", "Mean predicted", "Observed", "Interval"),
        "body": [
            (
                number(one["lower"]),
                number(one["upper"]),
                f"{one['rows']:,}",
                number(one["predicted"]),
                number(one["observed"]),
                interval_text(interval_of(one["interval"])),
            )
            for one in bins
        ],
    }


@router.post("/contests/{contest}/finalists")
async def choose_finalists(request: Request) -> Response:
    """Save the reader's choice of finalists."""
    here = await visit(request)
    caller = here.require(Role.PARTICIPANT)
    wanted = [one for one in (await form_of(request)).every("submission") if _IDENTITY.fullmatch(one)]

    def choose() -> None:
        with here.oracle.records.writing(caller) as writer:
            set_choice(writer, here.contest, caller, wanted)

    try:
        await run_in_threadpool(choose)
    except Refused as error:
        problem = shown_on_page(error).problem
        return await _mine_page(here, caller, problem.status, problem)
    return redirect(f"{here.view.address}/mine?saved=1")


@router.get("/contests/{contest}/template.csv")
async def read_template(request: Request) -> Response:
    """Return all ids with an empty column for scores."""
    here = await visit(request)
    disposition = f'attachment; filename="{here.contest.name}-template.csv"'
    headers = HEADERS | {"Content-Disposition": disposition}
    return StreamingResponse(_template_lines(here.contest.template), 200, headers, "text/csv; charset=utf-8")


def _template_lines(template: Template) -> Iterator[str]:
    ids = template.ids
    for start in range(0, max(len(ids), 1), _LINES):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if start == 0:
            writer.writerow((template.id_column, template.score_column))
        writer.writerows((one, "") for one in ids[start : start + _LINES])
        yield text.getvalue()
