"""Declare the parameters of a task once, for the functions that share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from confide.errors import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def with_parameters_of(
    prepare: Callable[P, R], *, by_position: str = ""
) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Make a function of a prepared task take the parameters of the function that prepares it.

    `by_position` is the advice for a call with too many arguments without a name.

    >>> def prepare(number: int) -> str:
    ...     return str(number)
    >>> @with_parameters_of(prepare)
    ... def digits(text: str) -> int:
    ...     return len(text)
    >>> digits(number=100)
    3
    """

    signature = inspect.signature(prepare)

    def decorate(finish: Callable[[R], T]) -> Callable[P, T]:
        @wraps(finish)
        def task(*args: P.args, **kwargs: P.kwargs) -> T:
            _check_names(finish.__name__, signature, len(args), kwargs, by_position)
            return finish(prepare(*args, **kwargs))

        returned: Any = finish.__annotations__["return"]
        task.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
        return task

    return decorate


def _check_names(
    task: str, signature: inspect.Signature, positions: int, named: Mapping[str, object], by_position: str
) -> None:
    """Refuse arguments that a task does not have, in the words of the task. Python would name what prepares it."""
    parameters = signature.parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return
    for name in named:
        if name not in parameters:
            hint = did_you_mean(name, parameters) or f"See help(confide.{task}). "
            raise TypeError(f"{task}() has no parameter {name!r}. {hint}".rstrip())
    unnamed = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    if positions > len(unnamed):
        taken = " and ".join(unnamed)
        raise TypeError(f"{task}() takes {taken} alone by position; name the others. {by_position}".rstrip())
    for name in unnamed[positions:]:
        if name not in named and parameters[name].default is inspect.Parameter.empty:
            raise TypeError(f"{task}() needs {name}. See help(confide.{task})")
