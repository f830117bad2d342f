"""Finalists: chosen by participants, or else the best submission of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from confide.contest.finalists import Finalist, Finalists, choose
from confide.service.boards import best_submissions
from confide.service.chain import Writer
from confide.service.contests import LoadedContest, state_of
from confide.service.home import Home
from confide.service.problems import Kind, Refused
from confide.service.states import State
from confide.service.storage import load_scores
from confide.service.tables import FINALISTS, MEMBERS, SUBMISSIONS
from confide.service.tokens import Caller


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
