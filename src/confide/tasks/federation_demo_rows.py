"""Rows of the demonstration's hospitals: one file, split among sites, each part written to a file of its own."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from confide.errors import ColumnError, DataError, UsageError

FEWEST_SITES, MOST_SITES = 3, 5
MOST_NAMED_SITES = 10
"""The most sites that a column may name; each takes processes of its own."""

Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoData:
    """A file and its columns.

    `site_column` names each row's site; without it, rows go to the sites in turn. `model_name` is the name by which
    sites know the model that made the scores.
    """

    file: Path
    label: str
    score: str | None = None
    positive: str | None = None
    model_file: Path | None = None
    features: tuple[str, ...] = ()
    site_column: str | None = None
    model_name: str = "model"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a site needs."""
        scored = self.features if self.score is None else (self.score,)
        return tuple(dict.fromkeys((self.label, *scored)))


def split_rows(data: DemoData, sites: int) -> dict[str, Rows]:
    """Read the file and give each row to a site."""
    from confide.sources.tables import as_table, discreet

    with discreet(data.file):
        table = as_table(data.file)
        needed = (*data.columns, *(() if data.site_column is None else (data.site_column,)))
        ColumnError.require(needed, list(table.columns))
        rows = table.select(*dict.fromkeys(needed)).to_pyarrow().to_pylist()
    if not rows:
        raise DataError(f"{data.file} has no rows; check the file")
    if data.site_column is None:
        return {f"hospital-{'abcde'[number]}": rows[number::sites] for number in range(sites)}
    return _by_column(rows, data.site_column)


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows to a file that only its owner may read; numbers keep their exact values."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _by_column(rows: Rows, column: str) -> dict[str, Rows]:
    values = sorted({row[column] for row in rows if row[column] is not None}, key=str)
    if any(row[column] is None for row in rows):
        raise UsageError(f"column {column!r} is empty in some rows; every row needs a site")
    if not FEWEST_SITES <= len(values) <= MOST_NAMED_SITES:
        raise UsageError(
            f"column {column!r} must name {FEWEST_SITES} to {MOST_NAMED_SITES} sites; choose another column"
        )
    names = {value: _site_name(value) for value in values}
    if len({name.lower() for name in names.values()}) < len(names):
        raise UsageError(f"column {column!r} has names of sites that differ in signs alone; give clearer ones")
    parts: dict[str, Rows] = {name: [] for name in names.values()}
    for row in rows:
        parts[names[row[column]]].append(row)
    return parts


def _site_name(value: object) -> str:
    """Return a name that certificates may hold: letters, digits, - and _."""
    plain = re.sub("[^A-Za-z0-9_-]+", "-", str(value)).strip("-_")[:40]
    return plain if plain[:1].isalpha() else f"site-{plain}"
