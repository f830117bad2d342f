"""Administration on the server's machine: tokens, backups, and the check of all records."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from confide.contest.server import chain
from confide.contest.server.database import (
    CONTESTS,
    FINALISTS,
    FINALS,
    KEYS,
    MEMBERS,
    ORACLE,
    SUBMISSIONS,
    TOKENS,
    Database,
)
from confide.contest.server.home import Home, database_from_environment
from confide.contest.server.records import Records
from confide.contest.server.submissions import Submission, all_submissions, chain_entry, is_sealed_key
from confide.contest.server.tokens import Role, TokenRecord, fits_chain, issue, list_tokens, revoke
from confide.errors import HomeError, ParameterError

Sealed = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of a check of all records."""

    contests: int
    entries: int
    submissions: int
    faults: tuple[chain.Fault, ...] = field(default=())

    def summary(self) -> str:
        """Return one line."""
        return f"{self.contests} contests, {self.submissions} submissions, {self.entries} sealed entries: all are whole"


def check_records(connection: Connection, place: Home, key: bytes) -> Verification:
    """Check every contest of a home folder."""
    chains = chain.chains_on(connection, key)
    chains.heads()
    names = connection.execute(select(CONTESTS.c.name).order_by(CONTESTS.c.name)).scalars().all()
    entries = submissions = 0
    faults: list[chain.Fault] = []
    for contest in names:
        sealed, broken = chain.checked_entries(chains, contest)
        faults += broken or _readable_faults(sealed, connection, place, key, contest)
        entries += len(sealed)
        submissions += sum(entry["kind"] == "submission" for entry in sealed)
    faults += _strays(connection, set(names))
    return Verification(contests=len(names), entries=entries, submissions=submissions, faults=tuple(faults))


def _readable_faults(
    sealed: Sealed, connection: Connection, place: Home, key: bytes, contest: str
) -> list[chain.Fault]:
    """Return the faults of a contest. A value that cannot be read is one, whatever reading it raises."""
    try:
        return list(_faults(sealed, connection, place, key, contest))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return [chain.Fault(contest=contest, sequence=len(sealed), problem="does not fit a record that is damaged")]


def _faults(sealed: Sealed, connection: Connection, place: Home, key: bytes, contest: str) -> Iterator[chain.Fault]:
    """Yield each record that is not as its sealed entry says."""
    last, history = len(sealed), chain.History()
    for entry in sealed:
        history.apply(entry)
    checks = (
        (_same_state(sealed, history, connection, contest), "does not fit the state of the contest"),
        (_is_whole(place.bundle(contest), sealed[0]["bundle"]), "does not fit the bundle in the home folder"),
        (fits_chain(connection, key, contest, history), "does not fit the members and tokens"),
        (_sealed_keys(connection, key, contest), "does not fit an idempotency key"),
        (_own_members(connection, contest), "does not fit a submission of a member of another contest"),
        (_same_finalists(sealed, connection, contest), "does not fit the finalists"),
        (_same_final(sealed, connection, contest), "does not fit the published final"),
    )
    yield from (chain.Fault(contest=contest, sequence=last, problem=problem) for whole, problem in checks if not whole)
    yield from _of_submissions(sealed, connection, place, contest)


def _strays(connection: Connection, contests: set[str]) -> Iterator[chain.Fault]:
    """Yield a fault for each table with rows that belong to no contest, which no chain speaks of."""
    members = set(connection.execute(select(MEMBERS.c.id).where(MEMBERS.c.contest.in_(contests))).scalars())
    submissions = set(connection.execute(select(SUBMISSIONS.c.id).where(SUBMISSIONS.c.contest.in_(contests))).scalars())
    owners = (
        (MEMBERS.c.contest, contests),
        (ORACLE.heads.c.chain, contests),
        (ORACLE.entries.c.chain, contests),
        (FINALS.c.contest, contests),
        (SUBMISSIONS.c.contest, contests),
        (SUBMISSIONS.c.member, members),
        (TOKENS.c.member, members),
        (FINALISTS.c.member, members),
        (FINALISTS.c.submission, submissions),
        (KEYS.c.member, members),
        (KEYS.c.submission, submissions),
    )
    for column, known in owners:
        for owner in sorted(set(connection.execute(select(column).distinct()).scalars()) - known, key=str):
            problem = f"is a row of {column.table.name} that belongs to no contest"
            yield chain.Fault(contest=str(owner) if known is contests else "", sequence=0, problem=problem)


def _of_submissions(sealed: Sealed, connection: Connection, place: Home, contest: str) -> Iterator[chain.Fault]:
    expected = {
        entry["id"]: (number, entry) for number, entry in enumerate(sealed, start=1) if entry["kind"] == "submission"
    }
    for submission in all_submissions(connection, contest):
        number, entry = expected.pop(submission.id, (0, None))
        if not _is_sealed(submission, entry):
            yield chain.Fault(contest=contest, sequence=number, problem="does not fit its submission")
        elif not _is_whole(place.scores(contest, submission.digest), submission.digest):
            yield chain.Fault(contest=contest, sequence=number, problem="has lost its score file")
    for number, _entry in expected.values():
        yield chain.Fault(contest=contest, sequence=number, problem="has lost its submission")


def _same_state(sealed: Sealed, history: chain.History, connection: Connection, contest: str) -> bool:
    row = connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest)).one()
    return (row.state, row.bundle, row.created_at) == (history.state, sealed[0]["bundle"], sealed[0]["at"])


def _is_sealed(submission: Submission, entry: dict[str, Any] | None) -> bool:
    """Return whether a submission is as its entry says."""
    actor = {"at": submission.received_at, "by": submission.participant, "by_token": submission.token}
    return entry == chain_entry(submission) | actor


def _sealed_keys(connection: Connection, key: bytes, contest: str) -> bool:
    rows = connection.execute(
        select(KEYS, SUBMISSIONS.c.member.label("owner"))
        .join(SUBMISSIONS, KEYS.c.submission == SUBMISSIONS.c.id)
        .join(MEMBERS, KEYS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
    )
    return all(is_sealed_key(key, row) and row.owner == row.member for row in rows)


def _own_members(connection: Connection, contest: str) -> bool:
    """Return whether all submissions belong to members of the contest: a namesake in another one is somebody else."""
    foreign = (
        select(SUBMISSIONS.c.id)
        .join(MEMBERS, SUBMISSIONS.c.member == MEMBERS.c.id)
        .where(SUBMISSIONS.c.contest == contest, MEMBERS.c.contest != contest)
    )
    return connection.execute(foreign.limit(1)).first() is None


def _same_finalists(sealed: Sealed, connection: Connection, contest: str) -> bool:
    chosen = {entry["participant"]: set(entry["submissions"]) for entry in sealed if entry["kind"] == "finalists"}
    rows = connection.execute(
        select(MEMBERS.c.name, FINALISTS.c.submission)
        .join(MEMBERS, FINALISTS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
    ).all()
    return {(name, one) for name, several in chosen.items() for one in several} == {(row[0], row[1]) for row in rows}


def _same_final(sealed: Sealed, connection: Connection, contest: str) -> bool:
    """Return whether the result, its names and its date are those that were sealed."""
    row = connection.execute(select(FINALS).where(FINALS.c.contest == contest)).first()
    entries = [entry for entry in sealed if entry["kind"] == "final"]
    if row is None or len(entries) != 1:
        return row is None and not entries
    (entry,) = entries
    digests = {"result": _digest(row.result), "names": _digest(row.names), "at": row.published_at}
    return digests.items() <= entry.items()


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _is_whole(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def new_token(
    home: Path, contest: str, participant: str, role: str = Role.PARTICIPANT, *, until: date | None = None
) -> str:
    """Make a token, also while the server runs; return the secret, which is stored nowhere.

    The token is valid through the day `until`, in UTC, and by default for 180 days.
    """
    if role not in set(Role):
        raise ParameterError(f"`role` must be participant or organiser; got {role!r}")
    with _opened(Home(home)) as records, records.administering(contest) as writer:
        if not writer.known:
            known = ", ".join(writer.connection.execute(select(CONTESTS.c.name)).scalars()) or "none"
            raise ParameterError(f"this server has no contest {contest!r}; it has {known}")
        return issue(writer, participant, Role(role), until)[0]


def tokens(home: Path, contest: str) -> tuple[TokenRecord, ...]:
    """Return the tokens of a contest, without their secrets."""
    with _opened(Home(home)) as records, records.database.reading() as connection:
        return tuple(list_tokens(connection, contest))


def revoke_token(home: Path, contest: str, identity: str) -> None:
    """Revoke a token by its id, also while the server runs. What was sent with it stays."""
    with _opened(Home(home)) as records, records.administering(contest) as writer:
        if not revoke(writer, identity):
            raise ParameterError("the contest has no token with this id; list its tokens with `confide contest token`")


def verify(home: Path) -> Verification:
    """Check the ends of all chains against the home folder, every seal, every record against its sealed entry, and
    every score file against its digest.
    """
    place = Home(home)
    with _opened(place) as records, records.database.reading() as connection:
        found = check_records(connection, place, records.key)
    _require_whole(found)
    return found


def accept_rollback(home: Path) -> Verification:
    """Go on with a database that lacks entries which the home folder has seen, if all that it has is whole.

    Each chain gets an entry that says so, with the end that the home folder had seen.
    """
    place = Home(home)
    with place.occupied(), _opened(place, rollback=True) as records:
        with records.database.reading() as connection:
            found = check_records(connection, place, records.key)
            ends = chain.chains_on(connection, records.key).ends()
        _require_whole(found)
        seen = records.anchor.read(records.key) or {}
        records.anchor.replace(records.key, ends)
        for contest, end in ends.items():
            if contest in seen and seen[contest] != end:
                with records.administering(contest) as writer:
                    writer.append({"kind": "rollback", "seen": seen[contest].number, "found": end.number})
    return verify(home)


def _require_whole(found: Verification) -> None:
    if found.faults:
        first = found.faults[0]
        raise HomeError(
            f"contest {first.contest!r}: entry {first.sequence} {first.problem}. Restore the home folder from a backup"
        )


def backup(home: Path, destination: Path) -> Verification:
    """Copy a home folder, also while the server runs. The copy is checked."""
    place, copy = Home(home), Home(destination)
    place.require()
    if destination.exists() and any(destination.iterdir()):
        raise ParameterError(f"{destination} is not empty; name a new folder")
    _require_sqlite()
    copy.make()
    # The anchor follows the database, and score files precede it: in this order the copy lacks nothing.
    shutil.copy2(place.anchor_file, copy.anchor_file)
    copy.anchor_file.chmod(0o600)
    with closing(sqlite3.connect(place.database)) as source, closing(sqlite3.connect(copy.database)) as target:
        source.backup(target)
    copy.database.chmod(0o600)
    _copy_files(place, copy)
    return verify(destination)


def restore(source: Path, home: Path) -> Verification:
    """Put a backup in the place of a home folder that does not exist yet. The backup is checked first."""
    if home.exists() and any(home.iterdir()):
        raise ParameterError(f"{home} is not empty; move it away first")
    _require_sqlite()
    verify(source)
    return backup(source, home)


def _copy_files(place: Home, copy: Home) -> None:
    shutil.copy2(place.key_file, copy.key_file)
    copy.key_file.chmod(0o600)
    for name in ("contests", "scores"):  # influences are computed again where they are missing
        shutil.copytree(place.folder / name, copy.folder / name, dirs_exist_ok=True)


def _require_sqlite() -> None:
    if database_from_environment() is not None:
        raise ParameterError(
            "the records are in PostgreSQL: copy oracle.anchor, then make a backup of the database with pg_dump, then "
            "copy the rest of the home folder"
        )


@contextmanager
def _opened(place: Home, *, rollback: bool = False) -> Iterator[Records]:
    place.require()
    url = database_from_environment()
    if url is None and not place.database.exists():
        raise HomeError(f"{place.database} is missing; restore the home folder from a backup")
    database = Database.at(place.database, url)
    try:
        database.check()
        yield Records.of(place, database, rollback=rollback)
    finally:
        database.close()
