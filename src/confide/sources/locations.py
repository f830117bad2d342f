"""Locations of tables: URLs of databases, names of tables, and the text of queries.

    postgresql://user@host:port/database/schema.table     also ?table=schema.table
    duckdb:///file.db?table=schema.table                  four slashes before an absolute path
    spark://host:port/path/of/rows.parquet                or a path, with the engine `spark`

With a query the URL names the database alone, and the rows are those that the query returns.

A location never holds a password: command lines are visible to every user of a machine. PostgreSQL's own driver reads
credentials from the environment (PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE) and from `~/.pgpass`. No message quotes a
URL that could not be parsed, as what looks like a host may be part of a password.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from confide.errors import ColumnError, ParameterError, UsageError, did_you_mean
from confide.sources.error_details import replaced_errors

_BYTE_ORDER_MARK = "\ufeff"


def statement_of(query: str, dialect: str) -> str:
    """Return a query without the semicolons that end it, nor comments after them.

    Semicolons inside stay, and what cannot be divided into words of SQL stays as it is: the engine refuses both.

    >>> statement_of("SELECT ';' AS a; -- done", "duckdb")
    "SELECT ';' AS a"
    """
    text = query.removeprefix(_BYTE_ORDER_MARK).strip()
    if dialect == Engine.DUCKDB:
        return _duckdb_statement(text)
    import sqlglot
    from sqlglot.errors import TokenError

    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except TokenError:
        return text
    end = len(text)
    for token in reversed(tokens):
        if token.text != ";" or text[token.start] != ";":
            break
        end = token.start
    return text[:end].rstrip()


def _duckdb_statement(text: str) -> str:
    import duckdb

    written = text.encode("utf-8", "surrogatepass")
    end = len(written)
    for start, kind in reversed(duckdb.tokenize(text)):  # places are those of bytes
        if kind == duckdb.token_type.comment:
            continue
        if written[start : start + 1] != b";":
            break
        end = start
    return written[:end].decode("utf-8", "surrogatepass").rstrip()


_SECRETS = ("password", "sslpassword")
_SECRET_INSIDE = re.compile(r"(password|passwd|pwd|token|secret|api[_-]?key)\s*=", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a path has one slash left of two
_SETTINGS = (
    "host", "port", "user", "service", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout",
    "application_name", "target_session_attrs", "channel_binding", "gssencmode", "krbsrvname",
)  # fmt: skip
_SCHEMES = {
    "postgresql": "postgresql", "postgres": "postgresql", "duckdb": "duckdb", "spark": "spark",
}  # fmt: skip
_FORMS: Mapping[str, str] = {
    "postgresql": "postgresql://host/database/schema.table",
    "duckdb": "duckdb:///file.db?table=name",
    "spark": "spark://host:7077/path/of/rows.parquet",
}
_LONGEST_QUERY = 1 << 20
_THIS_MACHINE = ("", "localhost", "127.0.0.1", "::1")
_USUAL_PORT = "5432"
CSV = (".csv", ".csv.gz")
"""Endings of files that Spark reads as CSV."""


class Engine(StrEnum):
    """Engines that hold tables."""

    POSTGRESQL = "postgresql"
    DUCKDB = "duckdb"
    SPARK = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLocation:
    """Location of a table, or of the rows that a query returns. Make one with `TableLocation.parse`.

    Parameters
    ----------
    engine
        The engine that holds the rows.
    place
        The database of PostgreSQL, the file of DuckDB, or the path that Spark reads.
    table
        Name of the table, with its schema if there is one; empty with a query, and for a path on Spark.
    query
        Text of a SQL query whose rows are read.
    settings
        Settings of the connection: host, port, user and those of TLS.
    """

    engine: Engine
    place: str = ""
    table: tuple[str, ...] = ()
    query: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        if not set(self.settings) <= set(_SETTINGS):
            raise ParameterError(f"the settings of a connection are {', '.join(_SETTINGS)}; leave others out")
        names = (self.place, *self.table, *self.settings.values())
        if any(map(_holds_secret, names)) or ":" in self.settings.get("user", ""):
            raise _password_given()
        if self.query is not None:
            _check_query(self.query)
            if self.table:
                raise ParameterError("a query says which tables are read; take the table out of the URL")
        elif not self.table and self.engine is not Engine.SPARK:
            raise ParameterError(f"the URL names no table; write it as {_FORMS[self.engine]}, or give a `query`")

    def __hash__(self) -> int:
        return hash((self.url, self.query))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.engine, self.place, self.table, self.query, dict(self.settings))

    @classmethod
    def parse(cls, url: str, *, query: str | Path | None = None, engine: str | None = None) -> TableLocation:
        """Read a URL, or a path for the engine `spark`; `query` is the text of a query or the path of its file.

        >>> TableLocation.parse("postgresql://ana@db.example/heart/trial.scores").table
        ('trial', 'scores')
        """
        text = read_query(query) if isinstance(query, Path) else query
        if engine is not None and engine not in tuple(Engine):
            hint = did_you_mean(str(engine), [str(one) for one in Engine])
            raise ParameterError(f"there is no engine {engine!r}. {hint}The engines are {', '.join(Engine)}")
        scheme = _scheme(url)
        if scheme is None and "://" not in url and engine == Engine.SPARK:
            if url and text is not None:
                raise ParameterError("a query says which tables are read; leave the path out")
            return cls(engine=Engine.SPARK, place=url, query=text)
        if scheme is None or (engine is not None and engine != _SCHEMES[scheme]):
            raise ParameterError(
                f"a table must have a URL such as {', '.join(_FORMS.values())}"
                + ("" if engine in (None, Engine.SPARK) else f", and that of {engine} with this engine")
            )
        kind = Engine(_SCHEMES[scheme])
        with replaced_errors(lambda error: _unreadable(kind)):  # the original error quotes the URL
            parts = urlsplit(url)
            parts.port  # noqa: B018 - raises where it is no number
        return _PARSERS[kind](parts, text)

    @property
    def url(self) -> str:
        """URL that is parsed as this location; it holds no password."""
        user = self.settings.get("user")
        login = "" if user is None else f"{quote(user, safe='')}@"
        return self._written(login)

    @property
    def shown(self) -> str:
        """URL for messages and titles: without the user, and without settings of TLS."""
        return self._written("", brief=True)

    @property
    def name(self) -> str:
        """Short name for the title of a report."""
        if self.query is not None:
            return f"a query on {Path(self.place).name or self.engine}"
        return ".".join(self.table) or Path(self.place).name

    @property
    def infers_types(self) -> bool:
        """True if the engine decides the types of columns by their values: Spark does for CSV."""
        return self.engine is Engine.SPARK and self.place.lower().endswith(CSV)

    @property
    def query_sha256(self) -> str | None:
        """SHA-256 digest of the query's text; None without a query."""
        return None if self.query is None else query_digest(self.query)

    def details(self) -> dict[str, str]:
        """Return the public facts that tell tables of declared data apart: the table, or the digest of the query."""
        if self.query_sha256 is not None:
            return {"query": self.query_sha256}
        return {"table": ".".join(self.table) or self.place}

    def database(self) -> tuple[str, ...]:
        """Return what identifies the database: engine, host, port and place, a file by its resolved path."""
        if self.engine is Engine.DUCKDB:
            return (self.engine, str(Path(self.place).resolve()))
        given = self.settings
        host, port = given.get("host", ""), given.get("port", "")
        here = "" if host in _THIS_MACHINE else host
        return (self.engine, here, "" if port == _USUAL_PORT else port, given.get("service", ""), self.place)

    def table_name(self) -> tuple[str, ...]:
        """Return the table's name without what the engine adds by itself, so that one table has one name.

        >>> TableLocation.parse("duckdb:///heart.db?table=main.Scores").table_name()
        ('scores',)
        """
        if self.engine is Engine.DUCKDB:
            names = tuple(name.lower() for name in self.table)
            usual: tuple[str, ...] = ("main", Path(self.place).stem.lower())
        else:
            names, usual = self.table, ("public",)
        while len(names) > 1 and names[0] in usual:
            names = names[1:]
        return names

    def _written(self, login: str, *, brief: bool = False) -> str:
        given = dict(self.settings)
        given.pop("user", None)
        host, port = given.pop("host", ""), given.pop("port", "")
        if host.startswith("/") or "," in host:  # the folder of a socket, or several hosts
            given["host"], host = host, ""
            if port:
                given["port"], port = port, ""
        network = f"[{host}]" if ":" in host else host
        more = {key: value for key, value in given.items() if not brief or key in ("host", "port")}
        named = ".".join(quote(part, safe="").replace(".", "%2E") for part in self.table)
        path = quote(self.place, safe="/" if self.engine is not Engine.POSTGRESQL else "")
        if self.engine is Engine.POSTGRESQL:
            path += f"/{named}" if named else ""
        elif named:
            more["table"] = ".".join(self.table)
        if self.engine is Engine.SPARK:
            if not network:
                return self.place
            path = path.removeprefix("/")
        after = f"?{urlencode(more, safe='/.,')}" if more else ""
        return f"{self.engine}://{login}{network}{f':{port}' if port else ''}/{path}{after}"


def as_location(source: Any) -> Any:
    """Return the location that a URL stands for; anything else, such as a path or a dataframe, as it is.

    What looks like a URL of another kind is refused here: as a path that does not exist it would be quoted, perhaps
    with a password.
    """
    if not isinstance(source, str):
        return source
    if _scheme(source) is not None or (_like_url(source) and not os.path.exists(source)):
        return TableLocation.parse(source)
    return source


def no_file(path: str | Path) -> UsageError:
    """Return the error for a file that does not exist; a URL is not quoted, as it may hold a password."""
    text = str(path)
    if _URL.match(text.strip()) or _like_url(text):
        return UsageError(
            "this is a URL, and a file is needed here; give the path of one. `confide evaluate` and `confide release` "
            "read rows in a database with --table, and `confide ledger new` names them with --data-name"
        )
    return UsageError(f"{path} does not exist; check the path")


def read_query(file: Path) -> str:
    """Read the text of a SQL query from a file."""
    if not file.exists():
        raise no_file(file)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the query {file} cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise UsageError(f"the query {file} is not text in UTF-8; save it as such") from None
    _check_query(text)
    return text


def query_digest(text: str) -> str:
    """Return the SHA-256 digest of a query's text, as `sha256sum` gives it for the file."""
    return sha256(text.encode()).hexdigest()


def _check_query(text: str) -> None:
    if not text.strip() or len(text) > _LONGEST_QUERY:
        raise ParameterError("the query is empty or very long; give one SELECT statement")


def _scheme(url: str) -> str | None:
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator and scheme.lower() in _SCHEMES else None


def _like_url(text: str) -> bool:
    """Return whether a text may hold a login."""
    named = text.strip().lower().startswith(tuple(f"{scheme}:" for scheme in (*_SCHEMES, "jdbc")))
    return named or ("://" in text and "@" in text) or _holds_secret(text)


def _holds_secret(text: str) -> bool:
    """Return whether a text says `password=`, also where percent signs hide it."""
    return any(_SECRET_INSIDE.search(each) for each in (text, unquote(text), unquote(unquote(text))))


def _postgresql(parts: SplitResult, query: str | None) -> TableLocation:
    _refuse_secrets(parts, Engine.POSTGRESQL)
    given = _query_settings(parts, (*_SETTINGS, "table"), Engine.POSTGRESQL)
    table = given.pop("table", None)
    database, _, named = parts.path.removeprefix("/").partition("/")
    if "/" in named or (named and table is not None):
        raise _unreadable(Engine.POSTGRESQL)
    settings = {
        name: value
        for name, value in (
            ("host", unquote(parts.hostname or "")),
            ("port", str(parts.port or "")),
            ("user", unquote(parts.username or "")),
        )
        if value
    }
    if settings.keys() & given.keys():
        raise ParameterError("the URL gives its host, port or user twice; give each once")
    return TableLocation(
        engine=Engine.POSTGRESQL,
        place=unquote(database),
        table=_names(table or named, Engine.POSTGRESQL, written=table is not None),
        query=query,
        settings={**settings, **given},
    )


def _duckdb(parts: SplitResult, query: str | None) -> TableLocation:
    _refuse_secrets(parts, Engine.DUCKDB)
    table = _query_settings(parts, ("table",), Engine.DUCKDB).get("table", "")
    file = unquote(parts.path.removeprefix("/"))
    if parts.netloc or not file or file == ":memory:":
        raise _unreadable(Engine.DUCKDB)
    return TableLocation(
        engine=Engine.DUCKDB, place=file, table=_names(table, Engine.DUCKDB, written=True), query=query
    )


def _spark(parts: SplitResult, query: str | None) -> TableLocation:
    _refuse_secrets(parts, Engine.SPARK)
    table = _query_settings(parts, ("table",), Engine.SPARK).get("table", "")
    if not parts.hostname or parts.username:
        raise _unreadable(Engine.SPARK)
    place = unquote(parts.path) if parts.path != "/" else ""
    if bool(place) + bool(table) + (query is not None) != 1:
        raise ParameterError("a table on Spark is one of a path, ?table=name and a `query`; give one of them")
    return TableLocation(
        engine=Engine.SPARK,
        place=place,
        table=_names(table, Engine.SPARK, written=True),
        query=query,
        settings={"host": parts.hostname, "port": str(parts.port or 7077)},
    )


_PARSERS = {Engine.POSTGRESQL: _postgresql, Engine.DUCKDB: _duckdb, Engine.SPARK: _spark}


def _refuse_secrets(parts: SplitResult, engine: Engine) -> None:
    """Refuse passwords, wherever they stand; an @ outside of the login may be a part of one."""
    names = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if parts.password or names & set(_SECRETS):
        raise _password_given()
    if "@" in parts.path + parts.query + parts.fragment or parts.netloc.count("@") > 1 or parts.fragment:
        raise _unreadable(engine)


def _query_settings(parts: SplitResult, known: Iterable[str], engine: Engine) -> dict[str, str]:
    """Return what follows the question mark. Unknown settings are refused without being quoted."""
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    found = {name: value for name, value in pairs if value}
    if len(found) != len(pairs) or not set(found) <= set(known):
        raise ParameterError(f"after the question mark, a URL of {engine} has {', '.join(known)}, each once")
    return found


def _names(text: str, engine: Engine, *, written: bool) -> tuple[str, ...]:
    """Split a name at its points; inside a path a point that belongs to a name is written %2E."""
    if not text:
        return ()
    names = tuple(part if written else unquote(part) for part in text.split("."))
    if not all(names) or len(names) > (3 if engine is Engine.SPARK else 2) or not "".join(names).isprintable():
        raise _unreadable(engine)
    return names


def _password_given() -> ParameterError:
    return ParameterError(
        "a password does not belong into a URL, where other users of this machine can see it; leave it out, and "
        "set PGPASSWORD, or PGPASSFILE with a file that only you may read, in the environment. Change this "
        "password if others use this machine"
    )


def _unreadable(engine: Engine) -> ParameterError:
    return ParameterError(f"the URL of the table cannot be read; write it as {_FORMS[engine]}, and @ in names as %40")


def _rebuilt(
    engine: Engine, place: str, table: tuple[str, ...], query: str | None, settings: Mapping[str, str]
) -> TableLocation:
    return TableLocation(engine=engine, place=place, table=table, query=query, settings=settings)


def unused_name() -> str:
    """Return a name for a temporary view that no table or column has."""
    return f"confide_{secrets.token_hex(8)}"


def check_columns(columns: Sequence[str]) -> None:
    """Refuse a table in which two columns have one name, as joins in a query can have."""
    twice = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if twice is not None:
        raise ColumnError(f"the query returns two columns {twice!r}; give each a name of its own with AS")
