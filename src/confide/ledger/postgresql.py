"""A ledger in a PostgreSQL database.

Durability: a commit waits until it is on the disk (`synchronous_commit`), and a server that does not
write through (`fsync=off`) is refused.

Isolation: the row that holds the end of an account's chain is locked (`FOR UPDATE`) before the chain
is read. In READ COMMITTED, what is read after the lock includes all that was committed before it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Engine, NullPool, create_engine, insert, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from confide.errors import LedgerError, ParameterError
from confide.ledger.place import ServerPlace
from confide.ledger.store import LOCK_SECONDS, Store
from confide.ledger.tables import ENTRIES, META, SCHEMA
from confide.ledger.transaction import first_meta
from confide.postgresql_reach import Reach, reach_of

_CONNECT_SECONDS = 10
_LOST = "08"  # class of SQLSTATE: connection exception
_MAKING = 0x636F6E66696465  # "confide": the lock of those who make a ledger

# Classes and codes of SQLSTATE; the first that fits.
_MEANING = {
    "08": "the connection to the server was lost; try again",
    "28": "the server does not let this user in; check the user and the password",
    "3D": "there is no such database; create it first (createdb)",
    "42501": "the user may not use the tables; let the database's owner grant it",
    "25006": "the server only lets us read; connect to the one that writes",
    "55P03": f"another process has held its lock for {LOCK_SECONDS} seconds; try again",
    "40": "another process was faster; try again",
    "53": "the server has run out of connections, memory or disk; try again later",
    "57": "the server is stopping; try again later",
    "23": "two processes took the same place; try again",
}
_STRANGE = """
WITH ours AS (
    SELECT oid, relrowsecurity FROM pg_class WHERE relname = ANY(:names) AND relkind = 'r' AND pg_table_is_visible(oid)
)
SELECT (SELECT count(*) FROM pg_trigger JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal)
     + (SELECT count(*) FROM pg_rewrite JOIN ours ON ev_class = ours.oid)
     + (SELECT count(*) FROM ours WHERE relrowsecurity)
"""
_DAMAGED = "its tables are damaged or no ledger; restore them from a backup, or name another database"


class PostgreSQLStore(Store):
    """A database on a server."""

    def __init__(self, place: ServerPlace) -> None:
        self.shown = place.shown
        self._seen = False
        try:
            self.engine = create_engine(
                place.url, poolclass=NullPool, connect_args={"connect_timeout": _CONNECT_SECONDS}
            )
        except ModuleNotFoundError:
            raise LedgerError(
                "a ledger in PostgreSQL needs its driver: pip install 'confide[postgres]'. Nothing is released"
            ) from None
        except ArgumentError:
            raise ParameterError("ledger must look like postgresql://user@host:port/database") from None

    def exists(self) -> bool:
        """Return whether all tables exist; some without the others are no ledger.

        Once seen they are not looked for again: were they dropped since, whatever uses them fails.
        """
        if not self._seen:
            with self.transaction(writing=False) as connection:
                self._seen = self._tables_are_there(connection)
        return self._seen

    def create(self, settle: Callable[[], bytes]) -> None:
        """Make the tables, in one transaction and by one process at a time."""
        with self.transaction(writing=True) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:making)"), {"making": _MAKING})
            if not self._tables_are_there(connection):
                SCHEMA.create_all(connection, checkfirst=False)
                # Uncompressed, as the room that a padded answer takes would otherwise depend on what it says.
                connection.execute(text(f"ALTER TABLE {ENTRIES.name} ALTER COLUMN answer SET STORAGE EXTERNAL"))
                connection.execute(insert(META), first_meta(settle()))

    def _tables_are_there(self, connection: Connection) -> bool:
        # In one statement, as another process may make them meanwhile: all are seen, or none.
        there = connection.execute(
            text("SELECT count(*) FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)"),
            {"names": list(SCHEMA.tables)},
        ).scalar_one()
        if there not in (0, len(SCHEMA.tables)):
            raise LedgerError(f"ledger {self.shown}: {_DAMAGED}. Nothing is released")
        return bool(there)

    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin, with settings for this transaction only: a pool in between may share sessions."""
        if not writing:
            # One moment for all that is read.
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        if connection.exec_driver_sql("SHOW synchronous_commit").scalar() != "remote_apply":  # which is stronger
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
            raise LedgerError(
                f"ledger {self.shown}: the server runs with fsync off, so that a crash could lose charges; switch it on"
            )

    def strange_objects(self, connection: Connection) -> bool:
        """Return whether the ledger's tables have a trigger, a rule or a row-level policy."""
        strange = connection.execute(text(_STRANGE), {"names": list(SCHEMA.tables)}).scalar_one()
        return bool(strange)

    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step."""
        if not isinstance(error, DBAPIError):
            return _DAMAGED
        reach = unreached(error, self.engine)
        if reach is not None:
            return f"{reach}. Host, user and database are in the ledger's URL"
        state = getattr(error.orig, "sqlstate", None) or _LOST
        return next((meaning for known, meaning in _MEANING.items() if state.startswith(known)), _DAMAGED)


def unreached(error: DBAPIError, engine: Engine) -> Reach | None:
    """Return how far a connection of an engine came that failed before it stood; None if it stood, or has a code."""
    if error.connection_invalidated or getattr(error.orig, "sqlstate", None):
        return None
    settings = {name: _first(engine.url.query.get(name)) for name in ("host", "port", "sslmode", "sslrootcert")}
    given = {"host": engine.url.host, "port": None if engine.url.port is None else str(engine.url.port)}
    return reach_of(error.orig, settings | {name: one for name, one in given.items() if one})


def _first(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value
