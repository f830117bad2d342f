"""Named columns of a CSV file, read once: their types follow from their values, and other columns are not looked at.

DuckDB decides the types of all columns from the whole file, which it then reads three times. Here the named columns are
read once as text. If each value of a column is written plainly, its type is beyond doubt. Otherwise the caller lets
DuckDB decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMED = "confide_named"
"""Table that holds the named columns."""

_WHOLE = 18  # digits, with the sign, that a 64-bit integer always holds


def read_named(connection: Any, file: str, columns: Sequence[str], *, missing: Sequence[str]) -> Any | None:
    """Read columns of a CSV file into a table of an Ibis connection; None if a type is in doubt or the file is odd.

    `file` is a path as DuckDB reads it, and `missing` are the texts that stand for missing values.
    """
    found = keep_named(connection.con, file, columns, missing=missing)
    return connection.table(NAMED) if found else None


def keep_named(con: Any, file: str, columns: Sequence[str], *, missing: Sequence[str]) -> bool:
    """Read columns into the table `NAMED` of a DuckDB connection, as `read_named` does; tell whether they were read."""
    import duckdb

    nulls = ", ".join(quoted_text(each) for each in missing)
    options = f"header = true, all_varchar = true, hive_partitioning = false, nullstr = [{nulls}]"
    source = f"read_csv({quoted_text(file)}, {options})"
    chosen = ", ".join(quoted_name(column) for column in columns)
    try:
        con.execute(f"CREATE TEMP TABLE confide_text AS SELECT {chosen} FROM {source}")  # noqa: S608  # quoted
        tests = ", ".join(test for column in columns for test in _tests(column))
        row = con.execute(f"SELECT {tests} FROM confide_text").fetchone()  # noqa: S608  # quoted
        kinds = [_kind(*row[first : first + 6]) for first in range(0, len(row), 6)]
        if any(kind is None for kind in kinds):
            con.execute("DROP TABLE confide_text")
            return False
        casts = ", ".join(
            f"CAST({quoted_name(column)} AS {kind}) AS {quoted_name(column)}"
            for column, kind in zip(columns, kinds, strict=True)
        )
        con.execute(f"CREATE TEMP TABLE {NAMED} AS SELECT {casts} FROM confide_text")  # noqa: S608  # quoted
        con.execute("DROP TABLE confide_text")
    except duckdb.Error:  # an unknown column, or a file that cannot be read: the caller finds out what
        con.execute("DROP TABLE IF EXISTS confide_text")
        return False
    return True


def _tests(column: str) -> list[str]:
    """Return the numbers that `_kind` takes: of values, and of those with certain characters.

    DuckDB takes numbers with a plus sign or leading zeros for text: such columns are left to it.
    """
    name = quoted_name(column)
    return [
        f"count({name})",
        f"count(TRY_CAST({name} AS DOUBLE))",
        f"count_if(contains({name}, '\"') OR contains({name}, ''''))",
        f"count_if(regexp_matches({name}, '[^0-9.eE+-]|^([+]|-?0[0-9])'))",
        f"count_if(regexp_matches({name}, '[^0-9-]'))",
        f"max(length({name}))",
    ]


def _kind(values: int, numbers: int, quoted: int, odd: int, not_whole: int, longest: int | None) -> str | None:
    """Return the type of a column: whole numbers, numbers or text; None if that is in doubt."""
    if not values or quoted:
        return None
    if numbers < values:
        return "VARCHAR"
    if odd:
        return None
    if not_whole:
        return "DOUBLE"
    return "BIGINT" if longest is not None and longest <= _WHOLE else None


def quoted_text(value: str) -> str:
    """Write a text for DuckDB."""
    return "'" + value.replace("'", "''") + "'"


def quoted_name(column: str) -> str:
    """Write the name of a column for DuckDB."""
    return '"' + column.replace('"', '""') + '"'
