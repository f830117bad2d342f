"""Finalists and finals of a contest: chosen by participants, computed by the holder of the labels."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from starlette.responses import Response, StreamingResponse

from confide.contest.board import Board
from confide.contest.bundles import Finalist, Finalists, choose, scores_digest
from confide.contest.final_result import FinalEntry, FinalResult
from confide.contest.forms import metric_range
from confide.contest.server.boards import best_submissions
from confide.contest.server.chain import Writer
from confide.contest.server.clock import written
from confide.contest.server.contests import LoadedContest, State, change_state, state_of
from confide.contest.server.database import FINALISTS, FINALS, MEMBERS, SUBMISSIONS
from confide.contest.server.home import Home, disk, load_scores
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.tokens import Caller
from confide.contest.terms import ContestTerms
from confide.errors import ConfideError
from confide.records.chain import canonical_json

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Submissions of a participant in the final; `chosen` is False where the best one stands by default."""

    submissions: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A submission in the final."""

    participant: str
    submission: str
    digest: str


def choice_of(connection: Connection, caller: Caller) -> Choice:
    """Return a participant's finalists."""
    chosen = tuple(
        connection.execute(
            select(FINALISTS.c.submission).where(FINALISTS.c.member == caller.member).order_by(FINALISTS.c.submission)
        ).scalars()
    )
    if chosen:
        return Choice(submissions=chosen, chosen=True)
    best = (one.submission for one in best_submissions(connection, caller.contest, member=caller.member))
    return Choice(submissions=tuple(best), chosen=False)


def set_choice(writer: Writer, contest: LoadedContest, caller: Caller, wanted: Sequence[str]) -> None:
    """Choose finalists, in place of an earlier choice; none means the best submission."""
    connection = writer.connection
    state = state_of(connection, contest.name)
    if state not in (State.OPEN, State.PAUSED):
        raise Refused(
            Kind.WRONG_STATE, f"the contest is {state}; finalists are chosen until it closes", "look at the final"
        )
    unique = sorted(set(wanted))
    if len(unique) > contest.terms.finalists:
        raise Refused(
            Kind.INVALID,
            f"a participant has at most {contest.terms.finalists} finalists",
            "choose fewer submissions",
        )
    own = set(
        connection.execute(
            select(SUBMISSIONS.c.id).where(SUBMISSIONS.c.member == caller.member, SUBMISSIONS.c.id.in_(unique))
        ).scalars()
    )
    if len(own) < len(unique):
        raise Refused(
            Kind.NOT_FOUND,
            "one of these submissions is not yours, or does not exist",
            f"GET /v1/contests/{contest.name}/submissions lists yours",
        )
    connection.execute(delete(FINALISTS).where(FINALISTS.c.member == caller.member))
    if unique:
        connection.execute(insert(FINALISTS), [{"member": caller.member, "submission": one} for one in unique])
    writer.append({"kind": "finalists", "participant": caller.participant, "submissions": unique})


def finalists_of(connection: Connection, contest: str) -> list[Chosen]:
    """Return all finalists of a contest, by participant and submission."""
    rows = connection.execute(
        select(MEMBERS.c.id, MEMBERS.c.name, SUBMISSIONS.c.id, SUBMISSIONS.c.digest)
        .select_from(FINALISTS)
        .join(SUBMISSIONS, FINALISTS.c.submission == SUBMISSIONS.c.id)
        .join(MEMBERS, FINALISTS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
    ).all()
    found = [Chosen(participant=row[1], submission=row[2], digest=row[3]) for row in rows]
    chose = {row[0] for row in rows}
    found += [
        Chosen(participant=one.participant, submission=one.submission, digest=one.digest)
        for one in best_submissions(connection, contest)
        if one.member not in chose
    ]
    return sorted(found, key=lambda one: (one.participant, one.submission))


def load_finalists(home: Home, contest: LoadedContest, chosen: Sequence[Chosen]) -> Finalists:
    """Read the scores of finalists."""
    entries = [
        Finalist(
            participant=one.participant,
            submission=one.submission,
            scores=load_scores(home.scores(contest.name, one.digest), contest.terms.rows),
        )
        for one in chosen
    ]
    return choose(entries, contest=contest.name, template=contest.template.digest)


def require_closed(connection: Connection, contest: LoadedContest) -> None:
    """Refuse what is only possible between the end of submissions and the publication of the final."""
    state = state_of(connection, contest.name)
    if state != State.CLOSED:
        step = "close the contest first" if state != State.PUBLISHED else "the final is published already"
        raise Refused(Kind.WRONG_STATE, f"the contest is {state}, not closed", step)


def final_entries(connection: Connection, home: Home, contest: LoadedContest) -> Finalists:
    """Return the finalists of a closed contest, with their scores."""
    state = state_of(connection, contest.name)
    if state not in (State.CLOSED, State.PUBLISHED):
        raise Refused(Kind.WRONG_STATE, f"the contest is {state}, not closed", "close the contest first")
    chosen = finalists_of(connection, contest.name)
    if not chosen:
        raise Refused(Kind.WRONG_STATE, "nobody has submitted anything", "there is no final without finalists")
    return load_finalists(home, contest, chosen)


def archive_response(
    home: Home, contest: str, finalists: Finalists, headers: Mapping[str, str] | None = None
) -> Response:
    """Return `finalists.zip`, which may be larger than the memory: it is read from the disk while it is sent."""
    with ExitStack() as unsent, disk():
        file = unsent.enter_context(tempfile.TemporaryFile(dir=home.temporary))
        finalists.write(file)
        size = file.tell()
        file.seek(0)
        unsent.pop_all()

    def pieces() -> Iterator[bytes]:
        with file:
            while piece := file.read(_PIECE):
                yield piece

    named = {"Content-Disposition": f'attachment; filename="{contest}-finalists.zip"', "Content-Length": str(size)}
    return StreamingResponse(pieces(), 200, {**(headers or {}), **named}, "application/zip")


def read_result(plain: dict[str, Any], contest: LoadedContest, finalists: Finalists) -> FinalResult:
    """Read a result; refuse one that does not follow from the terms of the contest and its finalists."""
    try:
        result = FinalResult.from_dict(plain)
    except ConfideError as error:
        raise _unfit(str(error)) from None
    terms, final = contest.terms, contest.bundle.final_rows
    if terms.final_epsilon is None:
        raise _unfit("the terms of the contest have no final")
    expected = {name: scores_digest(one.scores[final]) for name, one in finalists.by_name().items()}
    guarantee = result.guarantee
    faults = [
        (result.contest != terms.name, "the result is that of another contest"),
        (result.metric != terms.metric, "the metric is not that of the terms"),
        (result.mechanism != terms.final_mechanism, "the mechanism is not that of the terms"),
        (result.rows != final.size, "the number of rows is not that of the final part"),
        (not _within(float(guarantee.epsilon), float(terms.final_epsilon)), "epsilon is larger than in the terms"),
        (not _within(float(guarantee.delta), float(terms.final_delta)), "delta is larger than in the terms"),
        (guarantee.neighbours.value != "label-only", "the guarantee is not about labels"),
        ({one.name: one.digest for one in result.entries} != expected, "the entries are not the finalists"),
        (len(result.entries) != len(expected), "an entry occurs twice"),
        (not all(_possible(one, terms, len(expected)) for one in result.entries), "a number is impossible"),
    ]
    wrong = tuple(message for fault, message in faults if fault)
    if wrong:
        raise _unfit("the result does not belong to this final", wrong)
    return result


def publish(writer: Writer, contest: LoadedContest, result: FinalResult, finalists: Finalists) -> None:
    """Record a result, and show it to everybody."""
    require_closed(writer.connection, contest)
    names = {name: (one.participant, one.submission) for name, one in finalists.by_name().items()}
    row = {"result": canonical_json(result.to_dict(), "a result"), "names": json.dumps(names)}
    shown = {"contest": contest.name, "published_at": written(writer.at)}
    writer.connection.execute(insert(FINALS), row | shown)
    writer.append({"kind": "final", **{name: sha256(text.encode()).hexdigest() for name, text in row.items()}})
    change_state(writer, State.PUBLISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published result; `names` maps the names of its entries to participant and submission."""

    result: dict[str, Any]
    names: dict[str, tuple[str, str]]
    at: str


def published(connection: Connection, contest: str) -> Published | None:
    """Return the published result of a contest; None if there is none."""
    row = connection.execute(select(FINALS).where(FINALS.c.contest == contest)).first()
    if row is None:
        return None
    names = {name: (one[0], one[1]) for name, one in json.loads(row.names).items()}
    return Published(result=json.loads(row.result), names=names, at=row.published_at)


def is_published(connection: Connection, contest: str, plain: dict[str, Any]) -> bool:
    """Return whether a result is the published one."""
    row = connection.execute(select(FINALS.c.result).where(FINALS.c.contest == contest)).first()
    if row is None:
        return False
    try:
        return bool(row.result == canonical_json(FinalResult.from_dict(plain).to_dict(), "a result"))
    except ConfideError:
        return False


def shake_up(final: Published, board: Board) -> list[dict[str, Any]]:
    """Return the ranks of each finalist on the board and in the final, in the order of the final."""
    places = {entry.name: entry for entry in board.entries}
    lines = []
    for entry in final.result["entries"]:
        participant, submission = final.names[entry["name"]]
        place = places.get(participant)
        lines.append(
            {
                "name": entry["name"],
                "participant": participant,
                "submission": submission,
                "board_rank": None if place is None else place.rank,
                "board_rank_lowest": None if place is None else place.rank_lowest,
                "board_rank_highest": None if place is None else place.rank_highest,
                "rank": entry["rank"],
                "rank_lowest": entry["rank_lowest"],
                "rank_highest": entry["rank_highest"],
            }
        )
    return lines


def _possible(entry: FinalEntry, terms: ContestTerms, entries: int) -> bool:
    """Return whether an entry's value and intervals lie in the metric's range, and its ranks among the entries."""
    low, high = metric_range(terms.metric)
    intervals = (entry.sample, entry.population)
    return (
        low <= entry.value <= high
        and all(low <= one.lower <= one.upper <= high and one.level == terms.level for one in intervals)
        and 1 <= entry.rank_lowest <= entry.rank <= entry.rank_highest <= entries
    )


def _within(number: float, most: float) -> bool:
    return number <= most * (1.0 + 1e-9)  # results hold decimals of exact fractions


def _unfit(detail: str, errors: tuple[str, ...] = ()) -> Refused:
    step = "publish the result that `confide contest publish` made from this contest's finalists"
    return Refused(Kind.INVALID, detail, step, errors=errors)
