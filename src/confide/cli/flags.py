"""Messages in the words of the command line: flags for parameters, and whole commands as advice.

The core names parameters in backticks: "give `positive`". A user of the command line reads "give --positive". What a
user wrote, such as the name of a column, stands in quotation marks and stays as it is.

The core advises calls of Python: "open it (`Ledger.open_account('trial', epsilon=E)`)". A user of the command line
reads the command, which works as it is printed once E is a number.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from confide.cli.lazy_verbs import LazyCommand

_QUOTED = r"""(?<![\w`)])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""  # as repr writes it; no apostrophe
_PARAMETER = r"(?<![^\s(])`(?P<name>[a-z][a-z0-9_]*)(?:=(?P<value>[^`]*))?`(?![\w/\\]|\.\w)"  # no part of a path
_PARTS = re.compile(f"{_QUOTED}|{_PARAMETER}")
_HELP = ("-h", "--help")


def translate(message: str, command: TyperCommand | TyperGroup) -> str:
    """Replace each parameter in backticks by the flag of a command.

    `name=value` becomes the flag with its value. A name that the command does not have stays as it is, and so does
    text in quotation marks.
    """
    params = {param.name: param for param in command.params}

    def replace_name(match: re.Match[str]) -> str:
        name, value = match.groups()
        param = params.get(name)  # text in quotation marks has no name
        if isinstance(param, TyperArgument):
            return str(param.metavar or name.upper())
        if not isinstance(param, TyperOption):
            return match.group()
        flag = max(param.opts, key=len)
        return flag if value is None or param.is_flag else f"{flag} {value}"

    return _PARTS.sub(replace_name, message)


def find_command(command: TyperCommand | TyperGroup, arguments: Sequence[str]) -> TyperCommand | TyperGroup:
    """Return the command that the arguments of a command line name, by the rules by which they are parsed.

    A group has its own options before the name of a command. If it lacks an option there, no command runs, and the
    group is returned.
    """
    return find_call(command, arguments)[0]


def find_call(
    command: TyperCommand | TyperGroup, arguments: Sequence[str]
) -> tuple[TyperCommand | TyperGroup, list[str]]:
    """Return the command that a command line names, and the arguments that follow its name."""
    rest = list(arguments)
    while isinstance(command, TyperGroup):
        default = getattr(command, "default_command", None)  # of a group that runs it unless another is named
        if default is None:
            rest = _without_options(command, rest)
        elif not rest or (rest[0] not in command.commands and rest[0] not in _HELP):
            rest = [default]
        found = _load(command.commands.get(rest[0])) if rest else None
        if not isinstance(found, TyperCommand | TyperGroup):
            break
        command, rest = found, rest[1:]
    return command, rest


def _without_options(group: TyperGroup, arguments: Sequence[str]) -> list[str]:
    """Return what follows the options of a group; nothing if one of them is not its own."""
    options = [param for param in group.params if isinstance(param, TyperOption)]
    flags = {flag for param in options if param.is_flag for flag in (*param.opts, *param.secondary_opts)}
    with_value = {flag for param in options if not param.is_flag for flag in param.opts}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        name, given, _ = rest.pop(0).partition("=")
        if name in with_value:
            del rest[: 0 if given else 1]
        elif name not in flags:
            return []
    return rest


def _load(command: object) -> object:
    return command.loaded if isinstance(command, LazyCommand) else command


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
