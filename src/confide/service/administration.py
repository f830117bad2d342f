"""Administration on the server's machine: first tokens, checks, backup and restore."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import select

from confide.errors import HomeError, ParameterError
from confide.service import chain
from confide.service.clock import now, written
from confide.service.database import Database
from confide.service.home import Home
from confide.service.migrations.upgrade import version_of
from confide.service.settings import database_from_environment
from confide.service.tables import CONTESTS
from confide.service.tokens import Role, TokenRecord, issue, list_tokens, revoke
from confide.service.tokens import chain_entry as token_entry
from confide.service.verification import Verification, check_records


def new_token(home: Path, contest: str, participant: str, role: str = Role.PARTICIPANT) -> str:
    """Make a token, also while the server runs; return the secret, which is stored nowhere."""
    if role not in set(Role):
        raise ParameterError(f"`role` must be participant or organiser; got {role!r}")
    place = Home(home)
    with _opened(place) as database, database.writing() as connection:
        if chain.locked(connection, contest) is None:
            known = ", ".join(connection.execute(select(CONTESTS.c.name)).scalars()) or "none"
            raise ParameterError(f"this server has no contest {contest!r}; it has {known}")
        secret, record = issue(connection, contest, participant, Role(role), now())
        chain.append(connection, place.key(), contest, token_entry(record, by="administrator"))
    return secret


def tokens(home: Path, contest: str) -> tuple[TokenRecord, ...]:
    """Return the tokens of a contest, without their secrets."""
    with _opened(Home(home)) as database, database.reading() as connection:
        return tuple(list_tokens(connection, contest))


def revoke_token(home: Path, contest: str, identity: str) -> None:
    """Revoke a token by its id, also while the server runs. What was sent with it stays."""
    place = Home(home)
    with _opened(place) as database, database.writing() as connection:
        chain.locked(connection, contest)
        if not revoke(connection, contest, identity, at := now()):
            raise ParameterError("the contest has no token with this id; list its tokens with `confide contest token`")
        entry = {"kind": "revocation", "token": identity, "by": "administrator", "at": written(at)}
        chain.append(connection, place.key(), contest, entry)


def verify(home: Path) -> Verification:
    """Check every seal, every record against its sealed entry, and every score file against its digest."""
    place = Home(home)
    with _opened(place) as database, database.reading() as connection:
        found = check_records(connection, place)
    if found.faults:
        first = found.faults[0]
        raise HomeError(
            f"contest {first.contest!r}: entry {first.sequence} {first.problem}. Restore the home folder from a backup"
        )
    return found


def backup(home: Path, destination: Path) -> Verification:
    """Copy a home folder, also while the server runs. The copy is checked."""
    place, copy = Home(home), Home(destination)
    place.require()
    if destination.exists() and any(destination.iterdir()):
        raise ParameterError(f"{destination} is not empty; name a new folder")
    _require_sqlite()
    copy.make()
    # First the database, then the files: a file is on the disk before the database mentions it.
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
            "the records are in PostgreSQL: make a backup of it with pg_dump, then copy the home folder"
        )


@contextmanager
def _opened(place: Home) -> Iterator[Database]:
    place.require()
    url = database_from_environment()
    if url is None and not place.database.exists():
        raise HomeError(f"{place.database} is missing; restore the home folder from a backup")
    database = Database.at(place.database, url)
    try:
        database.check()
        with database.engine.connect() as connection:
            if version_of(connection) is None:
                raise HomeError("the database has no tables; start the server once with `confide serve`")
        yield database
    finally:
        database.close()
