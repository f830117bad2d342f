"""Translate the names of parameters in messages to the flags of a command.

The core names parameters in backticks: "give `positive`". A user of the command line reads "give --positive".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from confide.cli.lazy_verbs import LazyCommand

_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")


def translate(message: str, command: TyperCommand | TyperGroup) -> str:
    """Replace each parameter in backticks by the flag of a command.

    `name=value` becomes the flag with its value. A name that the command does not have stays as it is.
    """
    params = {param.name: param for param in command.params}

    def written(match: re.Match[str]) -> str:
        name, value = match.groups()
        param = params.get(name)
        if isinstance(param, TyperArgument):
            return str(param.metavar or name.upper())
        if not isinstance(param, TyperOption):
            return match.group()
        flag = max(param.opts, key=len)
        return flag if value is None or param.is_flag else f"{flag} {value}"

    return _PARAMETER.sub(written, message)


def find_command(command: TyperCommand | TyperGroup, arguments: Sequence[str]) -> TyperCommand | TyperGroup:
    """Return the command that the arguments of a command line name."""
    for argument in arguments:
        if not isinstance(command, TyperGroup):
            break
        found = _loaded(command.commands.get(argument))
        if isinstance(found, TyperCommand | TyperGroup):
            command = found
    default = getattr(command, "default_command", None)  # of a group that runs it unless another is named
    if isinstance(command, TyperGroup) and default is not None:
        found = _loaded(command.commands[default])
        if isinstance(found, TyperCommand):
            return found
    return command


def _loaded(command: object) -> object:
    return command.loaded if isinstance(command, LazyCommand) else command
