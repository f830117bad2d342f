"""The demonstration's hospitals: rows of one file, each written to a file of the hospital that has them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import DataError, UsageError

FEWEST, MOST = 3, 5
MOST_NAMED = 10
"""Of sites that a column names; each takes processes of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file and its columns; `site_column` names each row's site, without it rows are dealt in turn.

    `model` is the name by which sites know what made the scores.
    """

    file: Path
    label: str
    score: str | None = None
    positive: str | None = None
    model_file: Path | None = None
    features: tuple[str, ...] = ()
    site_column: str | None = None
    model: str = "model"

    @property
    def columns(self) -> tuple[str, ...]:
        """What a site needs of a row."""
        scored = self.features if self.score is None else (self.score,)
        return tuple(dict.fromkeys((self.label, *scored)))


def deal(source: Source, sites: int) -> dict[str, list[dict[str, Any]]]:
    """Read the file and give each row to a site."""
    from confide.errors import ColumnError
    from confide.sources.tables import as_table, discreet

    with discreet(source.file):
        table = as_table(source.file)
        needed = (*source.columns, *(() if source.site_column is None else (source.site_column,)))
        ColumnError.require(needed, list(table.columns))
        rows = table.select(*dict.fromkeys(needed)).to_pyarrow().to_pylist()
    if not rows:
        raise DataError(f"{source.file} has no rows; check the file")
    if source.site_column is None:
        return {f"hospital-{'abcde'[number]}": rows[number::sites] for number in range(sites)}
    return _by_column(rows, source.site_column)


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write rows that only their owner may read; numbers come back as they were."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _by_column(rows: Sequence[dict[str, Any]], column: str) -> dict[str, list[dict[str, Any]]]:
    values = sorted({row[column] for row in rows if row[column] is not None}, key=str)
    if any(row[column] is None for row in rows):
        raise UsageError(f"column {column!r} is empty in some rows; every row needs a site")
    if not FEWEST <= len(values) <= MOST_NAMED:
        raise UsageError(f"column {column!r} must name {FEWEST} to {MOST_NAMED} sites; choose another column")
    names = {value: _site_name(value) for value in values}
    if len({name.lower() for name in names.values()}) < len(names):
        raise UsageError(f"column {column!r} has names of sites that differ in signs alone; give clearer ones")
    dealt: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
    for row in rows:
        dealt[names[row[column]]].append(row)
    return dealt


def _site_name(value: object) -> str:
    """A name for certificates: letters, digits, - and _."""
    plain = re.sub("[^A-Za-z0-9_-]+", "-", str(value)).strip("-_")[:40]
    return plain if plain[:1].isalpha() else f"site-{plain}"
