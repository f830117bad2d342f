"""Tables as files for a paper: CSV, LaTeX and Markdown for each table, and one Word document of all.

Tables hold numbers as they are printed. `numbers.csv` holds them with all digits, one in each row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError, UsageError
from confide.files import replace_file, replacement
from confide.report.shared.latex import latex_table
from confide.report.shared.markdown import markdown_table
from confide.report.shared.tables import Table, file_stem
from confide.report.shared.word import MISSING, save_word, word_is_available
from confide.tasks.output_files import check_folder

if TYPE_CHECKING:
    from pandas import DataFrame

NUMBERS = "numbers.csv"
WORD = "tables.docx"


def csv_table(table: Table) -> str:
    """Return a table as CSV: the head and the body, without title and note."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows((table.head, *table.body))
    return buffer.getvalue()


_TEXTS: Mapping[str, Callable[[Table], str]] = {"csv": csv_table, "tex": latex_table, "md": markdown_table}

FORMATS = (*_TEXTS, "docx")


def available_formats() -> tuple[str, ...]:
    """Return the formats that can be written here: all but Word, unless python-docx is installed."""
    return FORMATS if word_is_available() else tuple(_TEXTS)


def write_tables(
    tables: Sequence[Table],
    folder: str | Path,
    *,
    formats: Sequence[str] | None = None,
    numbers: DataFrame | None = None,
    source: str | Path | None = None,
) -> tuple[Path, ...]:
    """Write tables in each format, and return the files.

    The folder is made if it does not exist. Files that an earlier run wrote are replaced, each in one step. The default
    formats are those of `available_formats`. `numbers` are written with all digits as `numbers.csv`. `source` is the
    file that was evaluated: a table never overwrites it.
    """
    folder = Path(folder)
    stems = _stems(tables)
    chosen = check_tables(folder, formats=formats, stems=stems, source=source)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {folder / NUMBERS: numbers.to_csv(index=False)} if numbers is not None else {}
    for stem, table in zip(stems, tables, strict=True):
        texts |= {folder / f"{stem}.{kind}": _TEXTS[kind](table) for kind in chosen if kind in _TEXTS}
    for path, text in texts.items():
        replace_file(path, text)
    if "docx" not in chosen:
        return tuple(texts)
    with replacement(folder / WORD) as unfinished:
        save_word(tables, unfinished)
    return (*texts, folder / WORD)


def check_tables(
    folder: Path,
    *,
    formats: Sequence[str] | None = None,
    stems: Sequence[str] = (),
    source: str | Path | None = None,
) -> tuple[str, ...]:
    """Refuse formats and folders that `write_tables` cannot write. Return the formats."""
    chosen = available_formats() if formats is None else tuple(dict.fromkeys(formats))
    unknown = [name for name in chosen if name not in FORMATS]
    if unknown or not chosen:
        raise ParameterError(f"`formats` must be some of {', '.join(FORMATS)}; got {', '.join(unknown) or 'none'}")
    if "docx" in chosen and not word_is_available():
        raise UsageError(MISSING)
    check_folder(folder, [NUMBERS, WORD, *(f"{stem}.{kind}" for stem in stems for kind in chosen)], source)
    return chosen


def _stems(tables: Sequence[Table]) -> list[str]:
    """Return the names of the files of each table; a name that was used before, `numbers` among them, gets a number."""
    stems: list[str] = []
    for table in tables:
        stem = file_stem(table.title)
        taken = {Path(NUMBERS).stem, *stems}
        stems.append(
            next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, len(tables) + 3))) if name not in taken)
        )
    return stems
