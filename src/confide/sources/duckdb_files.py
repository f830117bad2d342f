"""Files as tables of DuckDB: CSV, JSON lines and Parquet.

This is the reader of CSV for rows that may be looked at: types are those that the values of a column have together.
DuckDB would decide the types of all columns from the whole file, which it then reads three times. Here the named
columns are read once as text. If each value of a column is written plainly, its type is beyond doubt. Otherwise DuckDB
decides. Rows that must not change how others are read, as private ones, are read by `written_files`.
"""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import sys
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from confide.errors import ColumnError, DataError, NoRowsError, UnreadableError, UsageError
from confide.sources.duckdb_tables import DuckTable, quoted_name, quoted_text
from confide.sources.error_details import detail
from confide.sources.locations import no_file
from confide.sources.written_files import literally, read_written, select_written

_WHOLE_DIGITS = 18  # digits, with the sign, that a 64-bit integer always holds


def _read_named(con: Any, file: str, columns: Sequence[str]) -> DuckTable | None:
    """Read columns of a CSV file, whose path is as DuckDB reads it; None if a type is in doubt or the file is odd."""
    import duckdb

    nulls = ", ".join(quoted_text(each) for each in MISSING)
    options = f"header = true, all_varchar = true, hive_partitioning = false, nullstr = [{nulls}]"
    source = f"read_csv({quoted_text(file)}, {options})"
    chosen = ", ".join(quoted_name(column) for column in columns)
    try:
        if not set(columns) <= set(DuckTable(con, f"SELECT * FROM {source}").columns):  # noqa: S608  # quoted
            return None  # DuckDB would take "Score" for a column "score"
        con.execute(f"CREATE TEMP TABLE confide_text AS SELECT {chosen} FROM {source}")  # noqa: S608  # quoted
        tests = ", ".join(test for column in columns for test in _tests(column))
        row = con.execute(f"SELECT {tests} FROM confide_text").fetchone()  # noqa: S608  # quoted
        kinds = [_kind(*row[first : first + 6]) for first in range(0, len(row), 6)]
        if any(kind is None for kind in kinds):
            con.execute("DROP TABLE confide_text")
            return None
        casts = ", ".join(
            f"CAST({quoted_name(column)} AS {kind}) AS {quoted_name(column)}"
            for column, kind in zip(columns, kinds, strict=True)
        )
        table = DuckTable(con, f"SELECT {casts} FROM confide_text").kept()  # noqa: S608  # quoted
        con.execute("DROP TABLE confide_text")
        return table
    except duckdb.Error:  # an unknown column, or a file that cannot be read: the caller finds out what
        con.execute("DROP TABLE IF EXISTS confide_text")
        return None


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
    return "BIGINT" if longest is not None and longest <= _WHOLE_DIGITS else None


_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
    ".json": "read_json",
}
MISSING = ["", "NA"]
_WIDEST = 38  # digits of DuckDB's decimals
# Types are decided from the whole file: a late odd value must be neither rounded nor fail. Of text only
# numbers are read as such: "yes", "T" and dates stay what was written. "NA" is a missing value, as R writes it.
# A folder such as `died=1` is no column: DuckDB would let it replace the one in the file.
_OPTIONS: dict[str, dict[str, str]] = {
    "read_csv": {
        "header": "true",
        "sample_size": "-1",
        "auto_type_candidates": "['BIGINT', 'DOUBLE', 'VARCHAR']",
        "nullstr": f"[{', '.join(map(quoted_text, MISSING))}]",
        "hive_partitioning": "false",
    },
    "read_json": {
        "sample_size": "-1",
        "convert_strings_to_integers": "false",
        "maximum_depth": "2",
        "hive_partitioning": "false",
    },
    "read_parquet": {"hive_partitioning": "false"},
}


def open_file(path: str | Path, *, as_written: bool = False, columns: Sequence[str] | None = None) -> DuckTable:
    """Open a file as a table; `-` reads CSV, JSON lines or Parquet from standard input.

    Types are those of the values in a column together; with `as_written` all columns of CSV and JSON are text, so
    that no row changes how another is read. Parquet has its own types. `columns` are all that will be needed.
    """
    import duckdb

    file = spooled_input() if str(path) == "-" else Path(path)
    reader, packed = reader_of(file, path)
    start = b"" if reader == "read_parquet" else _check_text(file, path, packed, reader)
    con = connect_duckdb()
    if as_written and reader == "read_csv":
        tabs = file.name.lower().removesuffix(".gz").endswith(".tsv")
        return read_written(con, file, path, tabs=tabs, packed=packed, columns=columns)
    try:
        if as_written and reader == "read_json" and columns is not None:
            return select_written(con, literally(file), start, path, columns)
        if reader == "read_csv" and columns is not None:
            named = _read_named(con, literally(file), columns)
            if named is not None:
                return named
        if reader == "read_parquet":
            return _open_parquet(con, file, columns, as_written)
        table = _read(con, reader, file)
        if reader == "read_json" and table.columns == ("json",):
            raise UnreadableError(f"{path} has no rows with named values; check that it holds one JSON object a line")
        if as_written:
            texts = ", ".join(f"{quoted_name(name)}: 'VARCHAR'" for name in table.columns)
            table = _read(con, reader, file, columns=f"{{{texts}}}")
        return table.kept()  # text is parsed once and kept in columns
    except duckdb.Error as error:
        # DuckDB quotes the line that it could not read, which may be somebody's data.
        kind = detail(f" ({type(error).__name__})") if as_written else f" ({type(error).__name__})"
        raise UnreadableError(
            f"{path} cannot be read as {reader.removeprefix('read_').upper()}{kind}; "
            "check that it is complete, that its ending says what it is, and that text is encoded as UTF-8"
        ) from None


def _read(con: Any, reader: str, file: Path, **more: str) -> DuckTable:
    """Return the table of DuckDB's reader of a file."""
    options = "".join(f", {name} = {value}" for name, value in {**_OPTIONS[reader], **more}.items())
    table = DuckTable(con, f"SELECT * FROM {reader}({quoted_text(literally(file))}{options})")  # noqa: S608  # quoted
    table.schema()  # what cannot be read is refused here
    return table


def _open_parquet(con: Any, file: Path, columns: Sequence[str] | None, as_written: bool) -> DuckTable:
    """Open a Parquet file, which is read again as needed; refuse decimals that DuckDB would read as other numbers."""
    schema = f"parquet_schema({quoted_text(literally(file))})"
    found = con.execute(f"SELECT name, precision, logical_type, num_children FROM {schema}").fetchall()  # noqa: S608  # quoted
    for name, digits, _, _ in found:
        if digits is not None and digits > _WIDEST and (columns is None or name in columns):
            raise ColumnError(
                f"column {name!r} has decimals of more than {_WIDEST} digits, which cannot be read; "
                "write it with fewer, as floats or as text"
            )
    table = _read(con, "read_parquet", file)
    names = outer_names([(name, children) for name, _, _, children in found])
    if names != list(table.columns) and columns is not None and _told_apart(columns, names):
        # DuckDB gives a column a new name if another differs from it in letter case alone.
        table = table.select(**{name: table[table.columns[names.index(name)]] for name in columns})
    # DuckDB reads columns of nulls, which have no type, as whole numbers.
    empty = [name for name, _, kind, _ in found if kind == "NullType()" and name in table.columns] if as_written else []
    return table.mutate(**{name: table[name].cast("string") for name in empty}) if empty else table


def _told_apart(columns: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether all columns are among the names, and one DuckDB table can have them all."""
    return set(columns) <= set(names) and len({name.lower() for name in columns}) == len(set(columns))


def outer_names(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return the names of columns from the names of all nodes of a schema, each before its children."""
    names, inside = [], [1]
    for name, children in schema:
        if len(inside) == 2:
            names.append(name)
        inside[-1] -= 1
        inside.append(children or 0)
        while inside and not inside[-1]:
            inside.pop()
    return names


def reader_of(file: Path, given: str | Path) -> tuple[str, bool]:
    """Return the DuckDB reader for a file's ending, and whether the file is gzipped."""
    if file.is_dir():
        raise UsageError(f"{given} is a folder; give a file")
    if not file.exists():
        raise no_file(given)
    if not os.access(file, os.R_OK):
        raise UsageError(f"{given} may not be read by you; check its permissions")
    endings = [suffix.lower() for suffix in file.suffixes]
    packed = bool(endings) and endings[-1] == ".gz"
    ending = endings[-2 if packed else -1] if len(endings) > packed else ""
    if ending not in _READERS or (packed and _READERS[ending] == "read_parquet"):
        raise UsageError(
            f"{given}: the ending must be one of {', '.join(_READERS)}, or .gz after one of those that are text"
        )
    if file.stat().st_size == 0:
        raise _empty(_READERS[ending], given)
    return _READERS[ending], packed


def _empty(reader: str, given: str | Path) -> DataError:
    """Return the error for a file without content: JSON lines of no rows are such a file, and other tables are not."""
    kind = NoRowsError if reader == "read_json" else UnreadableError
    return kind(f"{given} is empty; give a file with a header and rows")


def _check_text(file: Path, given: str | Path, packed: bool, reader: str) -> bytes:
    """Return the first byte that is no space.

    Refuse text that holds nothing, and gzip that ends early, which DuckDB reads as if it were whole.
    """
    start = b""
    try:
        with gzip.open(file) if packed else file.open("rb") as stream:
            while block := stream.read(1 << 20):
                start = start or block.removeprefix(BOM_UTF8).lstrip()[:1]
                if start and not packed:
                    return start
    except (OSError, EOFError, zlib.error):
        raise UnreadableError(f"{given} is not a complete gzip file; check that it arrived whole") from None
    if not start:
        raise _empty(reader, given)
    return start


def connect_duckdb(file: Path | None = None) -> Any:
    """Open a DuckDB in this process, or a file of its own read-only."""
    import duckdb

    config: dict[str, Any] = {"temp_directory": spill_folder()}
    con = duckdb.connect(config=config) if file is None else duckdb.connect(file, read_only=True, config=config)
    _limit_engine(con)
    return con


@cache
def spill_folder() -> str:
    """Return a folder for what engines of this process cannot hold in memory; it is removed at the end."""
    spill = tempfile.mkdtemp(prefix="confide-")
    atexit.register(shutil.rmtree, spill, ignore_errors=True)
    return spill


def _limit_engine(con: Any) -> None:
    """Keep a DuckDB connection quiet, and within the memory that this process may use."""
    con.execute("SET enable_progress_bar = false")  # it would be drawn among the output
    limit = _memory_limit()
    if limit is not None:
        con.execute(f"SET memory_limit = '{limit // 2**20}MiB'")


def _memory_limit() -> int | None:
    """A third of what this process may use, where it may use less than the machine has."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    set_limits = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(set_limits) // 3 if set_limits else None


def spooled_input() -> Path:
    """Copy standard input to a temporary file whose ending says what it holds."""
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise UnreadableError("standard input is empty; pipe a file with a header and rows")
    packed = content[:2] == b"\x1f\x8b"
    try:
        start = zlib.decompressobj(wbits=31).decompress(content, 1 << 10) if packed else content[: 1 << 10]
    except zlib.error:
        raise UnreadableError("standard input is not a complete gzip file; check that it arrived whole") from None
    ending = ".parquet" if start[:4] == b"PAR1" else ".jsonl" if start.lstrip()[:1] in (b"{", b"[") else ".csv"
    ending += ".gz" if packed else ""
    folder = tempfile.mkdtemp(prefix="confide-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / f"input{ending}"
    file.write_bytes(content)
    return file
