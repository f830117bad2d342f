"""Translate the names of parameters in messages to the flags of a command.

The core names parameters in backticks: "give `positive`". A user of the command line reads "give --positive". What a
user wrote, such as the name of a column, stands in quotation marks and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

    def written(match: re.Match[str]) -> str:
        name, value = match.groups()
        param = params.get(name)  # text in quotation marks has no name
        if isinstance(param, TyperArgument):
            return str(param.metavar or name.upper())
        if not isinstance(param, TyperOption):
            return match.group()
        flag = max(param.opts, key=len)
        return flag if value is None or param.is_flag else f"{flag} {value}"

    return _PARTS.sub(written, message)


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
        found = _loaded(command.commands.get(rest[0])) if rest else None
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


def _loaded(command: object) -> object:
    return command.loaded if isinstance(command, LazyCommand) else command
