"""Write tables as files for a paper: CSV, LaTeX, Markdown, and one Word document.

Tables hold numbers as they are printed. `numbers.csv` holds them with all digits, one in each row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.atomic_files import replace_file, replacement
from confide.errors import ParameterError, UsageError
from confide.report.writers.terminal import Table, file_stem
from confide.tasks.output_files import check_folder

if TYPE_CHECKING:
    from pandas import DataFrame


# Brackets and stars stand in groups: after the \\ that ends a line they would be its arguments.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",  # babel gives the straight sign a meaning in some languages
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\0": "{}",
    "–": "--",
    "−": "$-$",
    "∞": r"$\infty$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "…": r"\ldots{}",
}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def latex_table(table: Table) -> str:
    """Return a floating table with caption, label and note. Text is escaped; `booktabs` draws the rules."""
    columns = "".join("l" if left else "r" for left in table.aligned_left)
    note = [rf"  \par\smallskip{{\footnotesize {latex_text(table.note)}\par}}"] if table.note else []
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_text(table.title)}}}",
        rf"  \label{{tab:{file_stem(table.title)}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _latex_line(table.head),
        r"    \midrule",
        *map(_latex_line, table.body),
        r"    \bottomrule",
        r"  \end{tabular}",
        *note,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX. Letters beyond Latin need an engine and a font that have them.

    >>> latex_text("cost_in_$ & 50 %")
    'cost\\_in\\_\\$ \\& 50 \\%'
    """
    plain = re.sub("-(?=-)", "-\0", _UNPRINTABLE.sub(" ", text))  # two hyphens would become a dash
    return "".join(_SPECIAL.get(letter, letter) for letter in plain)


def _latex_line(cells: tuple[str, ...]) -> str:
    return f"    {' & '.join(map(latex_text, cells))} \\\\"


_MARKUP = re.compile(r"([\\`*_{}\[\]<>&|$~^#!])")


def markdown_table(table: Table) -> str:
    """Return a table with its title above and its note below."""
    rule = ("---" if left else "---:" for left in table.aligned_left)
    note = ("", markdown_text(table.note)) if table.note else ()
    lines = (
        f"**{markdown_text(table.title)}**",
        "",
        _markdown_line(map(markdown_text, table.head)),
        _markdown_line(rule),
        *(_markdown_line(map(markdown_text, row)) for row in table.body),
        *note,
    )
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    r"""Escape text, so that no sign in it is markup. Line breaks become spaces.

    >>> markdown_text("a|b_c")
    'a\\|b\\_c'
    """
    return _MARKUP.sub(r"\\\1", _UNPRINTABLE.sub(" ", text))


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


MISSING = "tables for Word need python-docx, which is not installed: `pip install 'confide[word]'`"

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def word_is_available() -> bool:
    """Tell whether python-docx is installed."""
    return find_spec("docx") is not None


def save_word(tables: Iterable[Table], path: Path) -> None:
    """Write tables to one document: each with its title above, its header line in bold, and its note below."""
    try:
        import docx
    except ImportError:
        raise UsageError(MISSING) from None
    document = docx.Document()
    document.core_properties.author = "confide"
    document.core_properties.comments = ""
    for table in tables:
        document.add_paragraph(_text(table.title), style="Caption").paragraph_format.keep_with_next = True
        _add(document, table)
        document.add_paragraph(_text(table.note))
    document.save(str(path))


def _add(document: Any, table: Table) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    grid = document.add_table(rows=0, cols=len(table.head), style="Light Shading")
    sides = [WD_ALIGN_PARAGRAPH.LEFT if left else WD_ALIGN_PARAGRAPH.RIGHT for left in table.aligned_left]
    for number, row in enumerate((table.head, *table.body)):
        for cell, text, side in zip(grid.add_row().cells, row, sides, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.alignment = side
            paragraph.add_run(_text(text)).bold = number == 0


def _text(text: str) -> str:
    """Replace what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


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
