"""Commands that load when they are called: `confide evaluate` does not wait for the modules of the other verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command, get_group


class Verb(NamedTuple):
    """A command, as a function or as "module:attribute", and the first sentence of its help."""

    home: str | Callable[..., None]
    summary: str


class PlainFlags:
    """Mixin for commands whose help shows flags without a type, as they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of a command and its help option."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperOption) and param.is_flag and param.metavar is None:
                param.metavar = ""
        return params


class PlainCommand(PlainFlags, TyperCommand):
    """Command that is a function."""


class PlainGroup(PlainFlags, TyperGroup):
    """Group of commands."""


class LazyCommand(TyperCommand):
    """Stand-in for a command in the list of a group. It loads the command as soon as one calls it."""

    def __init__(self, name: str, verb: Verb | Callable[..., None]) -> None:
        self._verb = verb if isinstance(verb, Verb) else Verb(verb, _summary(verb))
        super().__init__(name, help=self._verb.summary, rich_markup_mode="markdown")

    @cached_property
    def loaded(self) -> TyperCommand | TyperGroup:
        """Return the command itself: a function, or the Typer app of a group."""
        defined: Any = self._verb.home
        if isinstance(defined, str):
            module, attribute = defined.split(":")
            defined = getattr(import_module(module), attribute)
        if isinstance(defined, typer.Typer):
            command: object = get_group(defined)
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
            alone.command(self.name, cls=PlainCommand)(defined)
            command = get_command(alone)
        if not isinstance(command, TyperCommand | TyperGroup):
            raise TypeError(f"{self._verb.home} is not a command")
        command.name = self.name
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse arguments with the command itself, which then runs."""
        return self.loaded.make_context(*args, **kwargs)


class LazyGroup(PlainGroup):
    """Group whose `verbs` are set up when they are called. Subclasses list them in the order of the help.

    A verb is a function of the group's own module, or the place of one that loads more.
    """

    verbs: ClassVar[Mapping[str, Verb | Callable[..., None]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, verb in self.verbs.items():
            self.add_command(LazyCommand(name, verb))


def _summary(function: Callable[..., None]) -> str:
    """Return the first sentence of a function's help."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
