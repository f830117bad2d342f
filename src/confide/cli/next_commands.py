"""Commands that a message advises, with the ledger and the file of the command that failed.

The core advises calls of Python: "open it (`Ledger.open_account('trial', epsilon=E)`)". A user of the command line
reads the command, which works as it is printed once E is a number.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

_CALL = re.compile(r"`Ledger\.(?P<call>open_account|change_caps)\((?P<name>'(?:[^'\\]|\\.)*'|NAME), epsilon=E\)`")
_FILE = ("FILE", "[FILE]")
_COMMAND = re.compile(r"`(?P<command>confide ledger (?:show|verify))`")


def as_commands(message: str, called: TyperCommand | TyperGroup, arguments: Sequence[str]) -> str:
    """Replace calls that a message advises by commands, with the options of the command that was called."""
    if not _CALL.search(message) and not _COMMAND.search(message):
        return message
    values = _values(called, arguments)
    ledger = _ledger(values.get("ledger"))

    def call(match: re.Match[str]) -> str:
        name = match["name"]
        quoted = name if name == "NAME" else shlex.quote(name[1:-1])
        more = " --change" if match["call"] == "change_caps" else _data(called, values)
        return f"`confide ledger new {quoted} --epsilon E{more}{ledger}`"

    return _COMMAND.sub(lambda match: f"`{match['command']}{ledger}`", _CALL.sub(call, message))


def _values(called: TyperCommand | TyperGroup, arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return the values that the command line gave."""
    with called.make_context("", list(arguments), resilient_parsing=True) as context:
        return context.params


def _ledger(place: object) -> str:
    if place is None:
        return ""
    from confide.tasks.ledger import shown_place

    return f" --ledger {shlex.quote(shown_place(str(place)))}"


def _data(called: TyperCommand | TyperGroup, values: Mapping[str, Any]) -> str:
    """Return the option that names the file of private rows."""
    files = [one.name for one in called.params if isinstance(one, TyperArgument) and one.metavar in _FILE]
    given = values.get(files[0] or "") if files else None
    return "" if given is None else f" --data {shlex.quote(str(given))}"
