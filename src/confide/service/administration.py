"""Administration on the server's machine: first tokens, checks, backup and restore."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from sqlalchemy import select

from confide.errors import HomeError, ParameterError
from confide.service import chain
from confide.service.database import Database
from confide.service.home import Home
from confide.service.records import Records
from confide.service.settings import database_from_environment
from confide.service.tables import CONTESTS
from confide.service.tokens import Role, TokenRecord, issue, list_tokens, revoke
from confide.service.verification import Verification, check_records


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
            found, heads = check_records(connection, place, records.key), chain.heads_of(connection)
        _require_whole(found)
        seen = records.anchor.read() or {}
        records.anchor.replace(heads)
        for contest, head in heads.items():
            if contest in seen and seen[contest] != head:
                with records.administering(contest) as writer:
                    writer.append({"kind": "rollback", "seen": seen[contest].length, "found": head.length})
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
