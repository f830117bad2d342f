"""Routes of participants: send files, read own submissions and limits, choose finalists."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from confide.contest.server.api.access import PROTECTED, Member, MemberRoute, Participant, TheOracle
from confide.contest.server.clock import now
from confide.contest.server.contests import LoadedContest, State, state_of
from confide.contest.server.finals import choice_of, set_choice
from confide.contest.server.intake import accept_upload, check_length, media_kind
from confide.contest.server.models import (
    ChoiceModel,
    FinalistsModel,
    LimitsModel,
    SubmissionModel,
    SubmissionsModel,
)
from confide.contest.server.oracle import Oracle
from confide.contest.server.problems import Kind, Refused, refusals
from confide.contest.server.submissions import (
    Limits,
    Submission,
    find_submission,
    limits_of,
    list_submissions,
    not_open,
)

router = APIRouter(prefix="/v1/contests/{contest}", tags=["submissions"], route_class=MemberRoute)

Identity = Annotated[str, Path(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
_MEMBERS_ONLY = (Kind.NO_TOKEN, Kind.WRONG_ROLE, Kind.NOT_FOUND)
_FILES = {
    "text/csv": {"schema": {"type": "string"}},
    "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
}


@router.post(
    "/submissions",
    status_code=201,
    responses={
        200: {"model": SubmissionModel, "description": "These scores were submitted before; nothing is counted."},
        **refusals(
            *_MEMBERS_ONLY,
            Kind.BUDGET_SPENT,
            Kind.SLOW,
            Kind.WRONG_STATE,
            Kind.TOO_LARGE,
            Kind.MEDIA_TYPE,
            Kind.BAD_FILE,
            Kind.KEY_REUSED,
            Kind.LIMIT,
            Kind.UPLOADS,
            Kind.UNCOUNTED,
            Kind.BUSY,
        ),
    },
    openapi_extra={**PROTECTED, "requestBody": {"required": True, "content": _FILES}},
)
async def submit(
    request: Request,
    response: Response,
    oracle: TheOracle,
    caller: Participant,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")] = None,
) -> SubmissionModel:
    """Send a file of scores, as the body: CSV or Parquet, with the columns that the template names.

    Only a file that is scored counts. The same scores are the same submission, whatever the file looks like.
    """
    settings, contest = oracle.settings, oracle.contest(caller.contest)
    kind = media_kind(request.headers.get("content-type"))
    check_length(request.headers.get("content-length"), settings.largest_body)
    if oracle.draining.is_set():
        raise Refused(Kind.BUSY, "the server is stopping", "send the file again in a minute", retry_after=30)
    await run_in_threadpool(_require_open, oracle, contest)
    outcome = await accept_upload(oracle, contest, caller, request.stream(), kind, idempotency_key)
    if outcome.replayed:
        response.status_code = 200
    return submission_model(contest, outcome.submission, outcome.limits, replayed=outcome.replayed)


@router.get("/submissions", responses=refusals(Kind.NO_TOKEN, Kind.NOT_FOUND), openapi_extra=PROTECTED)
def list_own(
    oracle: TheOracle,
    caller: Member,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[str | None, Query(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")] = None,
) -> SubmissionsModel:
    """List the caller's submissions, or for an organiser all of the contest, the newest first."""
    contest = oracle.contest(caller.contest)
    with oracle.database.reading() as connection:
        found = list_submissions(connection, caller, limit=limit, before=before)
    return SubmissionsModel(
        submissions=[submission_model(contest, one) for one in found],
        next=found[-1].id if len(found) == limit else None,
    )


@router.get("/submissions/{submission}", responses=refusals(Kind.NO_TOKEN, Kind.NOT_FOUND), openapi_extra=PROTECTED)
def read_submission(oracle: TheOracle, caller: Member, submission: Identity) -> SubmissionModel:
    """Read a submission."""
    with oracle.database.reading() as connection:
        found = find_submission(connection, caller, submission)
    if found is None:
        step = f"GET /v1/contests/{caller.contest}/submissions lists yours"
        raise Refused(Kind.NOT_FOUND, "there is no such submission", step)
    return submission_model(oracle.contest(caller.contest), found)


@router.get("/limits", responses=refusals(*_MEMBERS_ONLY), openapi_extra=PROTECTED)
def read_limits(oracle: TheOracle, caller: Participant) -> LimitsModel:
    """Read how many submissions are left."""
    with oracle.database.reading() as connection:
        limits = limits_of(connection, oracle.contest(caller.contest).terms, caller.member, now())
    return LimitsModel(**asdict(limits))


@router.get("/finalists", responses=refusals(*_MEMBERS_ONLY), openapi_extra=PROTECTED)
def read_finalists(oracle: TheOracle, caller: Participant) -> FinalistsModel:
    """Read the caller's finalists. Without a choice the best submission stands."""
    with oracle.database.reading() as connection:
        choice = choice_of(connection, caller)
    most = oracle.contest(caller.contest).terms.finalists
    return FinalistsModel(submissions=list(choice.submissions), chosen=choice.chosen, most=most)


@router.put(
    "/finalists",
    responses=refusals(*_MEMBERS_ONLY, Kind.MALFORMED, Kind.SLOW, Kind.WRONG_STATE, Kind.TOO_LARGE),
    openapi_extra=PROTECTED,
)
def choose_finalists(oracle: TheOracle, caller: Participant, choice: ChoiceModel) -> FinalistsModel:
    """Choose submissions for the final, until the contest closes. An empty list means the best one."""
    contest = oracle.contest(caller.contest)
    with oracle.records.writing(caller) as writer:
        set_choice(writer, contest, caller, choice.submissions)
    return read_finalists(oracle, caller)


def submission_model(
    contest: LoadedContest, submission: Submission, limits: Limits | None = None, *, replayed: bool = False
) -> SubmissionModel:
    """Return a submission as its owner sees it."""
    return SubmissionModel.model_validate(
        {
            "id": submission.id,
            "contest": submission.contest,
            "participant": submission.participant,
            "received_at": submission.received_at,
            "digest": submission.digest,
            "rows": contest.terms.rows,
            "metric": contest.terms.metric.to_dict(),
            "value": submission.value,
            **submission.detail,
            "token": submission.token,
            "limits": None if limits is None else asdict(limits),
            "replayed": replayed,
        }
    )


def _require_open(oracle: Oracle, contest: LoadedContest) -> None:
    with oracle.database.reading() as connection:
        state = state_of(connection, contest.name)
    if state != State.OPEN:
        raise not_open(state)
