"""Contests of a server: their bundles, in memory, and their states, in the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Connection, func, insert, select, update

from confide.contest.bundle import ServerBundle
from confide.contest.template import Template
from confide.contest.terms import ContestTerms
from confide.errors import ConfideError, HomeError, ParameterError
from confide.service import chain
from confide.service.chain import Writer
from confide.service.clock import written
from confide.service.home import Home
from confide.service.problems import Kind, Refused
from confide.service.records import Records
from confide.service.settings import DATABASE
from confide.service.states import NEXT, State
from confide.service.storage import store
from confide.service.tables import CONTESTS, MEMBERS, SUBMISSIONS, TOKENS
from confide.sources.score_process import Expected


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
            "chain_length": 0,
            "chain_end": chain.START,
            "chain_seal": chain.end(writer.key, contest.name, 0, chain.START),
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
