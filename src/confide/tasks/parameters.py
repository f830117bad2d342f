"""Declare the parameters of a task once, for the functions that share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def with_parameters_of(prepare: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Make a function of a prepared task take the parameters of the function that prepares it.

    >>> def prepare(number: int) -> str:
    ...     return str(number)
    >>> @with_parameters_of(prepare)
    ... def digits(text: str) -> int:
    ...     return len(text)
    >>> digits(number=100)
    3
    """

    def decorate(finish: Callable[[R], T]) -> Callable[P, T]:
        @wraps(finish)
        def task(*args: P.args, **kwargs: P.kwargs) -> T:
            return finish(prepare(*args, **kwargs))

        signature = inspect.signature(prepare)
        returned: Any = finish.__annotations__["return"]
        task.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
        return task

    return decorate
