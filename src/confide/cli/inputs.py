"""Read what a command takes: FILE as a path or `-` for standard input, and options that name several columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from confide.errors import ParameterError


def readable(file: str) -> Path:
    """Return the path of a file. Standard input is copied to a temporary file, since its bytes are needed twice."""
    if file != "-":
        return Path(file)
    from confide.sources.files import spooled_input

    return spooled_input()


def split_columns(given: Iterable[str], parameter: str = "score") -> list[str]:
    """Return the columns that a repeatable option names, each time one or several with commas.

    A name with a comma stands in double quotes, as in a CSV file.

    >>> split_columns(["new,old", "age"])
    ['new', 'old', 'age']
    >>> split_columns(['"risk, adjusted",age'])
    ['risk, adjusted', 'age']
    """
    return [name for text in given for name in _split(text, parameter)]


def _split(text: str, parameter: str) -> list[str]:
    if "," not in text and not text.startswith('"'):
        return [text]
    try:
        (names,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        names = []
    if not names or not all(name.strip() for name in names):
        raise ParameterError(
            f"`{parameter}` must name columns with commas, for example new,old, and a name that has a comma in double "
            f"quotes, for example '\"risk, adjusted\",old'; got {text!r}"
        )
    return [name if '"' in text else name.strip() for name in names]
