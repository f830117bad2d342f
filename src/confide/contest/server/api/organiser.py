"""Routes of organisers: state, tokens, finalists and the final of their contest."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from confide.contest.server.api.access import PROTECTED, MemberRoute, Organiser, TheOracle
from confide.contest.server.api.contests import contest_model
from confide.contest.server.chain import list_events
from confide.contest.server.clock import now
from confide.contest.server.contests import State, change_state, counts, status_of
from confide.contest.server.finals import (
    archive_response,
    final_entries,
    is_published,
    publish,
    read_result,
    require_closed,
)
from confide.contest.server.models import (
    ContestModel,
    EntryModel,
    FinalResultModel,
    IssuedTokenModel,
    NewTokenModel,
    RecordModel,
    StateChangeModel,
    StatusModel,
    TokenModel,
    TokensModel,
)
from confide.contest.server.problems import Kind, Refused, refusals
from confide.contest.server.tokens import TokenRecord, issue, list_tokens, revoke
from confide.errors import ParameterError

router = APIRouter(prefix="/v1/contests/{contest}", tags=["organiser"], route_class=MemberRoute)

Identity = Annotated[str, Path(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
_ORGANISERS_ONLY = (Kind.NO_TOKEN, Kind.WRONG_ROLE, Kind.NOT_FOUND)
_BODY = (Kind.MALFORMED, Kind.SLOW, Kind.TOO_LARGE)


@router.get("/status", responses=refusals(*_ORGANISERS_ONLY), openapi_extra=PROTECTED)
def read_status(oracle: TheOracle, caller: Organiser) -> StatusModel:
    """Read the state of the contest, and what its members have sent."""
    with oracle.database.reading() as connection:
        return StatusModel.model_validate(status_of(connection, caller.contest, now()))


@router.post("/state", responses=refusals(*_ORGANISERS_ONLY, *_BODY, Kind.WRONG_STATE), openapi_extra=PROTECTED)
def set_state(oracle: TheOracle, caller: Organiser, change: StateChangeModel) -> ContestModel:
    """Open, pause or close the contest. A closed contest stays closed."""
    contest, new = oracle.contest(caller.contest), State(change.state)
    with oracle.records.writing(caller) as writer:
        change_state(writer, new)
        found = counts(writer.connection, [contest.name])[contest.name]
    return contest_model(contest, found)


@router.get("/record", responses=refusals(*_ORGANISERS_ONLY), openapi_extra=PROTECTED)
def read_record(
    oracle: TheOracle,
    caller: Organiser,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> RecordModel:
    """Read the sealed record of the contest, the newest entry first: what was done, by whom, and with which token."""
    with oracle.database.reading() as connection:
        found = list_events(connection, caller.contest, limit=limit, before=before)
    return RecordModel(
        entries=[EntryModel(**asdict(one)) for one in found],
        next=found[-1].sequence if len(found) == limit and found[-1].sequence > 1 else None,
    )


@router.get("/tokens", responses=refusals(*_ORGANISERS_ONLY), openapi_extra=PROTECTED)
def read_tokens(oracle: TheOracle, caller: Organiser) -> TokensModel:
    """List tokens, without their secrets."""
    with oracle.database.reading() as connection:
        return TokensModel(tokens=[_shown(one) for one in list_tokens(connection, caller.contest)])


@router.post("/tokens", status_code=201, responses=refusals(*_ORGANISERS_ONLY, *_BODY), openapi_extra=PROTECTED)
def make_token(oracle: TheOracle, caller: Organiser, wanted: NewTokenModel) -> IssuedTokenModel:
    """Make a token for a participant or another organiser. It is shown once."""
    try:
        with oracle.records.writing(caller) as writer:
            secret, record = issue(writer, wanted.participant, wanted.role, wanted.until)
    except ParameterError as error:
        raise Refused(Kind.INVALID, str(error), "correct the name or the day") from None
    return IssuedTokenModel(
        id=record.id,
        participant=record.participant,
        role=record.role,
        expires_at=record.expires_at,
        token=secret,
    )


@router.delete("/tokens/{token}", status_code=204, responses=refusals(*_ORGANISERS_ONLY), openapi_extra=PROTECTED)
def revoke_token(oracle: TheOracle, caller: Organiser, token: Identity) -> None:
    """Revoke a token. What was sent with it stays."""
    with oracle.records.writing(caller) as writer:
        if not revoke(writer, token):
            raise Refused(Kind.NOT_FOUND, "there is no such token", "GET .../tokens lists the tokens of the contest")


@router.get(
    "/finalists/archive",
    response_class=Response,
    responses={
        200: {
            "description": "The file finalists.zip, for `confide contest publish`.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **refusals(*_ORGANISERS_ONLY, Kind.WRONG_STATE),
    },
    openapi_extra=PROTECTED,
)
def read_archive(oracle: TheOracle, caller: Organiser) -> Response:
    """Read the finalists of a closed contest and their scores."""
    contest = oracle.contest(caller.contest)
    with oracle.database.reading() as connection:
        finalists = final_entries(connection, oracle.home, contest)
    return archive_response(oracle.home, contest.name, finalists)


@router.put("/final", responses=refusals(*_ORGANISERS_ONLY, *_BODY, Kind.WRONG_STATE), openapi_extra=PROTECTED)
def publish_final(oracle: TheOracle, caller: Organiser, body: FinalResultModel) -> ContestModel:
    """Publish the result of the final, which the holder of the labels made from the finalists."""
    contest = oracle.contest(caller.contest)
    plain: dict[str, Any] = body.model_dump(by_alias=True)
    with oracle.database.reading() as connection:
        if is_published(connection, contest.name, plain):  # the answer to an earlier request may have been lost
            return contest_model(contest, counts(connection, [contest.name])[contest.name])
        require_closed(connection, contest)
        finalists = final_entries(connection, oracle.home, contest)
    result = read_result(plain, contest, finalists)
    with oracle.records.writing(caller) as writer:
        publish(writer, contest, result, finalists)
        found = counts(writer.connection, [contest.name])[contest.name]
    return contest_model(contest, found)


def _shown(record: TokenRecord) -> TokenModel:
    """Return a token without what the database keeps of its secret."""
    return TokenModel(
        id=record.id,
        participant=record.participant,
        role=record.role,
        created_at=record.created_at,
        expires_at=record.expires_at,
        revoked_at=record.revoked_at,
    )
