"""Tables as a Word document, which python-docx writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from confide.errors import UsageError
from confide.report.shared.tables import Table

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
