"""Files and folders of sites and engines: written whole, readable by their owner alone.

TOML is written here by hand, a few lines, and not by a library: `site.toml` and `policy.toml` carry comments for the
administrator, which libraries that write TOML from values leave out.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from confide.atomic_files import flush, replace_file
from confide.errors import OwnFilesError, ParameterError, did_you_mean


def read_text(path: Path, what: str) -> str:
    """Return the text of a file; the error of a missing or unreadable one says what to do."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OwnFilesError(f"there is no {what} at {path}; make it with `confide site init`, or put it back") from None
    except OSError as error:
        raise OwnFilesError(f"the {what} {path} cannot be read ({error.strerror}); check its permissions") from None
    except UnicodeDecodeError:
        raise OwnFilesError(f"the {what} {path} is not text in UTF-8; save it as such") from None


def parsed(text: str, source: str) -> dict[str, Any]:
    """Parse TOML; the error names the line that is not valid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"line \d+", str(error))
        raise ParameterError(
            f"{source} is not valid TOML{f' in {where.group()}' if where else ''}; texts, and fractions such as "
            '"1/2", stand in quotes, and lists in brackets'
        ) from None


def plain_fingerprint(written: str) -> str:
    """Return a fingerprint as people write it, in lower case and without colons and spaces.

    >>> plain_fingerprint("0F:3C 77aa")
    '0f3c77aa'
    """
    return "".join(written.replace(":", " ").split()).lower()


def check_keys(given: Mapping[str, Any], known: Collection[str], source: str) -> None:
    """Refuse an unknown key, and suggest a known one that looks like it."""
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ParameterError(f"{source}: there is no key {key!r}. {hint}The keys are {', '.join(known)}")


def table_text(name: str, values: Mapping[str, Any]) -> str:
    """Return a TOML table of texts, numbers and lists of texts; values that are None are left out.

    >>> print(table_text('models."a b"', {"data": "x.csv", "positive": 1, "table": None}))
    [models."a b"]
    data = "x.csv"
    positive = 1
    """
    lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]
    return "\n".join([f"[{name}]", *lines])


def toml_value(value: object) -> str:
    """Return a text, number, truth value or list of texts as TOML: JSON writes these in the same way."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_whole(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    try:
        replace_file(path, text, owner_only=True)
    except OSError as error:
        raise OwnFilesError(
            f"{path} cannot be written ({error.strerror}); make its folder, or make it writable"
        ) from None


OWNER_FOLDER, OWNER_FILE = 0o700, 0o600


def write_json(path: Path, plain: Any) -> None:
    """Write plain data as JSON, whole or not at all."""
    write_whole(path, json.dumps(plain, indent=1) + "\n")


def make_owned(folder: Path) -> Path:
    """Make a folder that only its owner may enter; restrict an existing one."""
    folder.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
    folder.chmod(OWNER_FOLDER)
    return folder


def own_tree(folder: Path) -> None:
    """Restrict a folder and everything in it to its owner."""
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(OWNER_FOLDER)
        for name in names:
            (Path(parent) / name).chmod(OWNER_FILE)


def flush_tree(folder: Path) -> None:
    """Bring everything in a folder to the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            flush(Path(parent) / name)
        flush(Path(parent))
