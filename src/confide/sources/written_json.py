"""JSON as it is written: the values of named keys as text, and no row with a say in how another is read.

DuckDB guesses columns and types from all rows together. Here the request names the columns, and each row must have a
value for each of them, null included: otherwise a key of one row alone would reveal that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confide.errors import ColumnError, UnreadableError


def select_written(connection: Any, path: str, start: bytes, given: object, columns: Sequence[str]) -> Any:
    """Return an Ibis table with the named columns of a file of objects as text.

    `path` is as DuckDB reads it, and `start` the file's first byte that is no space: a list begins with a bracket.
    """
    form = "array" if start == b"[" else "unstructured"
    wanted = list(dict.fromkeys(columns))
    values = [f"json ->> {_quoted(_pointer(name))} AS {_name(name)}" for name in wanted]
    present = [
        f"count(*) FILTER (WHERE NOT coalesce(json_exists(json, {_quoted(_pointer(name))}), false))" for name in wanted
    ]
    source = f"read_json_objects({_quoted(path)}, format = '{form}')"
    con = connection.con
    con.execute(f"CREATE TEMP TABLE objects AS SELECT json FROM {source}")  # noqa: S608 - names are quoted
    others, *absent = con.execute(
        f"SELECT count(*) FILTER (WHERE json_type(json) <> 'OBJECT'), {', '.join(present)} FROM objects"  # noqa: S608
    ).fetchone()
    if others:
        raise UnreadableError(f"{given} has rows without named values; check that it holds one JSON object a line")
    for name, rows in zip(wanted, absent, strict=True):
        if rows:
            raise ColumnError(
                f"not every row of {given} has the key {name!r}; check the name, and write null where there is no value"
            )
    con.execute(f"CREATE TEMP TABLE written AS SELECT {', '.join(values)} FROM objects; DROP TABLE objects")  # noqa: S608
    return connection.table("written")


def _pointer(name: str) -> str:
    """A key as a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
