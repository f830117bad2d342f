"""Routes that everybody may read: contests, templates, leaderboards and finals; and whether the server is up."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from confide.contest.board import Board
from confide.contest.server.api.access import PUBLIC, OptionalCaller, TheOracle, VisibleContest
from confide.contest.server.contests import Counts, LoadedContest, State, counts, is_public, state_of
from confide.contest.server.finals import published, shake_up
from confide.contest.server.middleware import tagged_response
from confide.contest.server.models import (
    BoardModel,
    ContestModel,
    ContestsModel,
    FinalModel,
    HealthModel,
    PromiseModel,
    TermsModel,
)
from confide.contest.server.oracle import Oracle
from confide.contest.server.pages.context import KeptPages
from confide.contest.server.problems import Kind, Refused, refusals, unavailable
from confide.report.contest import promise_of

router = APIRouter(prefix="/v1", tags=["contests"])
watching = APIRouter(tags=["health"])


@router.get("/contests", responses=refusals(Kind.NO_TOKEN, parameters=False), openapi_extra=PUBLIC)
def list_contests(oracle: TheOracle, caller: OptionalCaller) -> ContestsModel:
    """List the contests that the caller may see."""
    with oracle.database.reading() as connection:
        found = counts(connection, oracle.contests)
    own = None if caller is None else caller.contest
    return ContestsModel(
        contests=[
            contest_model(contest, found[name])
            for name, contest in oracle.contests.items()
            if name == own or is_public(found[name].state)
        ]
    )


@router.get("/contests/{contest}", responses=refusals(Kind.NO_TOKEN, Kind.NOT_FOUND), openapi_extra=PUBLIC)
def read_contest(oracle: TheOracle, contest: VisibleContest) -> ContestModel:
    """Read a contest: state, terms and promise."""
    with oracle.database.reading() as connection:
        return contest_model(contest, counts(connection, [contest.name])[contest.name])


@router.get(
    "/contests/{contest}/template",
    responses={
        200: {
            "description": "The file template.json.",
            "content": {"application/json": {"schema": {"type": "object"}}},
            "headers": {"ETag": {"schema": {"type": "string"}}},
        },
        304: {"description": "The caller has it already."},
        **refusals(Kind.NO_TOKEN, Kind.NOT_FOUND),
    },
    response_class=Response,
    openapi_extra=PUBLIC,
)
async def read_template(
    contest: VisibleContest, if_none_match: Annotated[str | None, Header(max_length=1000)] = None
) -> Response:
    """Read the template: the ids to score, and the columns of a file."""
    return tagged_response(contest.template_json, "application/json", contest.template_etag, if_none_match)


@router.get(
    "/contests/{contest}/leaderboard",
    response_model=BoardModel,
    responses={
        200: {"headers": {"ETag": {"schema": {"type": "string"}}}},
        304: {"description": "The caller has it already."},
        **refusals(Kind.NO_TOKEN, Kind.NOT_FOUND, Kind.BUSY),
    },
    openapi_extra=PUBLIC,
)
async def read_leaderboard(
    oracle: TheOracle, contest: VisibleContest, if_none_match: Annotated[str | None, Header(max_length=1000)] = None
) -> Response:
    """Read the leaderboard: the best submission of each participant, with intervals and ranks that keep ties.

    It is that of the instant `as_of`.
    """
    snapshot = await oracle.boards.current(contest.name)
    return tagged_response(snapshot.json, "application/json", snapshot.etag, if_none_match, {"Vary": "Authorization"})


@router.get(
    "/contests/{contest}/final",
    response_model=FinalModel,
    responses=refusals(Kind.NO_TOKEN, Kind.NOT_FOUND),
    openapi_extra=PUBLIC,
)
async def read_final(request: Request, oracle: TheOracle, contest: VisibleContest) -> Response:
    """Read the published final, beside the ranks of the board."""
    await run_in_threadpool(_require_final, oracle, contest)
    snapshot = await oracle.boards.current(contest.name)
    pages: KeptPages = request.app.state.pages
    # It is the same for everybody, and large: made once for each board, in a thread.
    kept = await pages.get(contest.name, "final.json", snapshot.etag, lambda: _final(oracle, contest, snapshot.board))
    return Response(kept.content, media_type="application/json")


def _require_final(oracle: Oracle, contest: LoadedContest) -> None:
    with oracle.database.reading() as connection:
        if state_of(connection, contest.name) != State.PUBLISHED:
            raise _no_final()


def _final(oracle: Oracle, contest: LoadedContest, board: Board) -> Response:
    """Return the published final as JSON."""
    with oracle.database.reading() as connection:
        found = published(connection, contest.name)
        if found is None:
            raise _no_final()
    model = FinalModel.model_validate({**found.result, "published_at": found.at, "shake_up": shake_up(found, board)})
    return Response(model.model_dump_json(by_alias=True))


def _no_final() -> Refused:
    return Refused(Kind.NOT_FOUND, "the final is not published yet", "look at the leaderboard until then")


def contest_model(contest: LoadedContest, found: Counts) -> ContestModel:
    """Return what everybody may know about a contest."""
    terms = contest.terms
    return ContestModel(
        name=terms.name,
        title=terms.title,
        state=found.state,
        terms=TermsModel.model_validate(terms.to_dict()),
        promise=PromiseModel(
            epsilon=float(terms.epsilon),
            certainty=terms.certainty,
            final_certainty=terms.final_certainty,
            words=promise_of(terms).words(),
        ),
        participants=found.participants,
        submissions=found.submissions,
    )


@watching.get("/healthz", responses=refusals(parameters=False))
async def health() -> HealthModel:
    """Report that the process answers."""
    return HealthModel(status="up")


@watching.get("/readyz", responses=refusals(Kind.BUSY, parameters=False))
def ready(oracle: TheOracle) -> HealthModel:
    """Report whether the server takes submissions: database and disk can be written to, and it is not stopping."""
    if oracle.draining.is_set():
        raise Refused(Kind.BUSY, "the server is stopping", "ask again in a minute", retry_after=30)
    if not oracle.store.is_writable():
        raise unavailable()
    return HealthModel(status="ready")
