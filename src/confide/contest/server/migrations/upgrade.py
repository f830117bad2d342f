"""Bring the tables of a database to the newest version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from confide.contest.server.database import SCHEMA, Database
from confide.errors import HomeError

_LOCK = 0x6F7261636C65  # "oracle": the lock of those who change tables
_VERSIONS = "oracle_version"


def upgrade(database: Database, adopt: Callable[[Connection, str], None] | None = None) -> None:
    """Change the tables to the newest version, in one transaction and by one process at a time.

    `adopt` gets the connection and the version from which the tables came, and fills new columns of old rows.
    """
    script = _script()
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        current = version_of(connection)
        if current is not None and current not in {one.revision for one in script.walk_revisions()}:
            raise HomeError("the database was written by a newer confide; install that version, or a later one")

        def steps(revision: Any, _context: Any) -> Any:
            return script._upgrade_revs("head", revision)

        with EnvironmentContext(Config(), script, fn=steps) as environment:
            environment.configure(
                connection=connection, target_metadata=SCHEMA, version_table=_VERSIONS, transactional_ddl=False
            )
            environment.run_migrations()
        if adopt is not None and current is not None:
            adopt(connection, current)


def version_of(connection: Connection) -> str | None:
    """Return the version of the tables; None if there are none."""
    return MigrationContext.configure(connection, opts={"version_table": _VERSIONS}).get_current_revision()


def newest_version() -> str | None:
    """Return the version of the tables that this code uses."""
    return _script().get_current_head()


def differences(database: Database) -> list[Any]:
    """Return how the tables of a database differ from those that this version expects."""
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": _VERSIONS, "compare_type": True, "include_name": _is_ours}
        )
        return list(compare_metadata(context, SCHEMA))


def _is_ours(name: str | None, kind: str, _parents: Any) -> bool:
    return kind != "table" or (name or "").startswith("oracle_")


def _script() -> ScriptDirectory:
    here = str(Path(__file__).parent)
    return ScriptDirectory(here, version_locations=[f"{here}/versions"])
