"""Contests of a server: their bundles in memory, their states, and what their organisers see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, case, func, insert, select, update

from confide.contest.bundles import ServerBundle
from confide.contest.server.chain import Writer
from confide.contest.server.clock import written
from confide.contest.server.database import CONTESTS, FINALISTS, MEMBERS, SUBMISSIONS, TOKENS
from confide.contest.server.home import DATABASE, Home, store
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.records import Records
from confide.contest.template import Template
from confide.contest.terms import ContestTerms
from confide.errors import ConfideError, HomeError, ParameterError
from confide.sources.score_process import Expected


class State(StrEnum):
    """State of a contest."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"
    PUBLISHED = "published"


NEXT = MappingProxyType(
    {
        State.DRAFT: frozenset({State.OPEN}),
        State.OPEN: frozenset({State.PAUSED, State.CLOSED}),
        State.PAUSED: frozenset({State.OPEN, State.CLOSED}),
        State.CLOSED: frozenset({State.PUBLISHED}),  # by publishing the final, not by name
        State.PUBLISHED: frozenset[State](),
    }
)


def is_public(state: State) -> bool:
    """Return whether everybody may see the contest."""
    return state != State.DRAFT


@dataclass(frozen=True)
class LoadedContest:
    """A contest whose bundle is in memory."""

    bundle: ServerBundle
    digest: str

    @property
    def terms(self) -> ContestTerms:
        """Return the terms."""
        return self.bundle.terms

    @property
    def name(self) -> str:
        """Return the name in addresses."""
        return self.terms.name

    @property
    def template(self) -> Template:
        """Return the template of submissions."""
        return self.bundle.template

    @cached_property
    def template_json(self) -> bytes:
        """Return the text of `template.json`."""
        return self.template.to_json().encode()

    @cached_property
    def template_etag(self) -> str:
        """Return the entity tag of `template.json`."""
        return f'"{sha256(self.template_json).hexdigest()}"'

    @property
    def expected(self) -> Expected:
        """Return what a score file must hold."""
        template = self.template
        columns = (template.id_column, template.score_column)
        return Expected(ids=template.ids, columns=columns, probabilities=template.probabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """State of a contest, and how many participants and scored submissions it has."""

    state: State
    participants: int
    submissions: int


def import_bundle(home: Home, path: Path) -> str:
    """Copy a bundle into the home folder; return the contest's name. Another bundle under a known name is refused."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"the bundle {path} cannot be read ({error.strerror}); check its path") from None
    name = ServerBundle.from_bytes(content).terms.name
    target = home.bundle(name)
    if target.exists():
        if target.read_bytes() != content:
            raise HomeError(
                f"this server has a contest {name!r} with other files. Terms and labels of a contest cannot change; "
                "give the new one another name, or another --home"
            )
        return name
    home.make_contest(name)
    store(target, content, home.temporary)
    return name


def load_contests(home: Home, records: Records) -> dict[str, LoadedContest]:
    """Load all bundles of the home folder, and record new contests in the database."""
    loaded = {}
    for path in sorted(home.contests.glob("*/server.zip")):
        try:
            content = path.read_bytes()
            contest = LoadedContest(ServerBundle.from_bytes(content), sha256(content).hexdigest())
        except (ConfideError, OSError):
            raise HomeError(f"{path} is damaged; restore it from a backup") from None
        if contest.name != path.parent.name:
            raise HomeError(f"{path} holds the contest {contest.name!r}; restore the folder from a backup")
        home.make_contest(contest.name)
        _record(home, records, contest)
        loaded[contest.name] = contest
    return loaded


def _record(home: Home, records: Records, contest: LoadedContest) -> None:
    with records.administering(contest.name) as writer:
        if writer.known:
            row = writer.connection.execute(select(CONTESTS.c.bundle).where(CONTESTS.c.name == contest.name)).one()
            if row.bundle != contest.digest:
                raise HomeError(
                    f"the database knows another bundle of the contest {contest.name!r}; restore both from one backup"
                )
            return
        if any(home.scores(contest.name, "").parent.iterdir()):
            raise HomeError(
                f"the home folder has submissions to {contest.name!r} that the database does not know. Set "
                f"{DATABASE} as it was, or restore both from one backup"
            )
        fresh = {
            "name": contest.name,
            "state": State.DRAFT.value,
            "bundle": contest.digest,
            "created_at": written(writer.at),
        }
        writer.connection.execute(insert(CONTESTS), fresh)
        writer.append({"kind": "contest", "bundle": contest.digest})


def state_of(connection: Connection, contest: str) -> State:
    """Return the state of a contest."""
    return State(connection.execute(select(CONTESTS.c.state).where(CONTESTS.c.name == contest)).scalar_one())


def counts(connection: Connection, contests: Iterable[str]) -> dict[str, Counts]:
    """Return state and counts of contests. Members with a participant's token count as participants."""
    names = list(contests)
    states = connection.execute(select(CONTESTS.c.name, CONTESTS.c.state).where(CONTESTS.c.name.in_(names))).all()
    members = {
        row[0]: int(row[1])
        for row in connection.execute(
            select(MEMBERS.c.contest, func.count(func.distinct(MEMBERS.c.id)))
            .join(TOKENS, TOKENS.c.member == MEMBERS.c.id)
            .where(TOKENS.c.role == "participant", MEMBERS.c.contest.in_(names))
            .group_by(MEMBERS.c.contest)
        )
    }
    scored = {
        row[0]: int(row[1])
        for row in connection.execute(
            select(SUBMISSIONS.c.contest, func.count())
            .where(SUBMISSIONS.c.contest.in_(names))
            .group_by(SUBMISSIONS.c.contest)
        )
    }
    return {
        name: Counts(state=State(state), participants=members.get(name, 0), submissions=scored.get(name, 0))
        for name, state in states
    }


def change_state(writer: Writer, new: State) -> None:
    """Move a contest to another state, if there is a way."""
    old = state_of(writer.connection, writer.contest)
    if new not in NEXT[old]:
        ways = ", ".join(sorted(NEXT[old])) or "none"
        raise Refused(
            Kind.WRONG_STATE,
            f"the contest is {old}, and cannot become {new}",
            f"possible now: {ways}",
        )
    writer.connection.execute(update(CONTESTS).where(CONTESTS.c.name == writer.contest).values(state=new.value))
    writer.append({"kind": "state", "state": new.value})


def status_of(connection: Connection, contest: str, at: datetime) -> dict[str, Any]:
    """Count what the members of a contest have sent."""
    found = counts(connection, [contest])[contest]
    ours = MEMBERS.c.contest == contest
    today = case((SUBMISSIONS.c.day == at.date().isoformat(), 1), else_=0)
    sent = {
        row[0]: row
        for row in connection.execute(
            select(SUBMISSIONS.c.member, func.count(), func.max(SUBMISSIONS.c.received_at), func.sum(today))
            .where(SUBMISSIONS.c.contest == contest)
            .group_by(SUBMISSIONS.c.member)
        )
    }
    roles: dict[int, list[str]] = {}
    for member, role in connection.execute(
        select(TOKENS.c.member, TOKENS.c.role)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(ours, TOKENS.c.revoked_at.is_(None), TOKENS.c.expires_at > written(at))
        .distinct()
        .order_by(TOKENS.c.role)
    ):
        roles.setdefault(member, []).append(role)
    chosen = {
        row[0]: int(row[1])
        for row in connection.execute(
            select(FINALISTS.c.member, func.count())
            .join(MEMBERS, FINALISTS.c.member == MEMBERS.c.id)
            .where(ours)
            .group_by(FINALISTS.c.member)
        )
    }
    members = connection.execute(select(MEMBERS.c.id, MEMBERS.c.name).where(ours).order_by(MEMBERS.c.name))
    nothing = (None, 0, None, 0)
    return {
        "name": contest,
        "state": found.state,
        "participants": found.participants,
        "submissions": found.submissions,
        "submissions_today": sum(int(row[3]) for row in sent.values()),
        "members": [
            {
                "name": name,
                "roles": roles.get(member, []),
                "submissions": sent.get(member, nothing)[1],
                "last_at": sent.get(member, nothing)[2],
                "finalists": chosen.get(member, 0),
            }
            for member, name in members
        ],
        "next_states": sorted(NEXT[found.state] - {State.PUBLISHED}),
    }
