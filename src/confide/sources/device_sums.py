"""Functions of labels and scores that work from rank sums where the scores lie on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from confide.device import on_device

Function = TypeVar("Function", bound=Callable[..., Any])


def sums_on_device(function_of_sums: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let a function of labels and scores work from rank sums if its scores lie on a device and have no weights."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(first: Any, /, *args: Any, **options: Any) -> Any:
            if not (args and on_device(args[0])) or options.get("sample_weight") is not None:
                return function(first, *args, **options)
            from confide.sources.device_rows import device_sums

            options.pop("sample_weight", None)
            scores, *rest = args
            sums = device_sums(first, scores, positive=options.pop("pos_label", None))
            return function_of_sums(sums, *rest, **options)

        return cast(Function, call)

    return decorate
