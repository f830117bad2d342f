"""Tables of text, which the terminal and the pages both show."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A titled table of text.

    The first column holds names and is aligned left. Other columns hold numbers and are aligned right, except those
    listed in `text_columns`.
    """

    title: str
    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    note: str = ""
    text_columns: tuple[str, ...] = ()

    @property
    def aligned_left(self) -> tuple[bool, ...]:
        """Alignment of each column: True for left, False for right."""
        return tuple(position == 0 or name in self.text_columns for position, name in enumerate(self.head))


def file_stem(title: str) -> str:
    """Return the name of a table's files: its title in lower case, with hyphens.

    >>> file_stem("AUCPR by estimator")
    'aucpr-by-estimator'
    """
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-") or "table"
