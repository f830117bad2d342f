"""Details about rows in messages: left out, unless the data holder asks for them.

A line number reveals how many rows stand before it, and an error about a value reveals that a row has it. Private
tasks therefore report only whether a file can be used. The data holder, who may see the rows, sets
`CONFIDE_SHOW_ERRORS=1` in the environment for details, and to have values refused that are otherwise ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from confide.errors import ConfideError

VARIABLE = "CONFIDE_SHOW_ERRORS"

MORE = f"the data holder sees more with {VARIABLE}=1 in the environment"
"""Next step in a message without details."""


_shown: ContextVar[bool] = ContextVar("errors_shown", default=False)


def shows_errors() -> bool:
    """Return whether messages may tell about single rows."""
    return _shown.get() or os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show details to whoever runs this: for steps that only the data holder takes, such as setting up a site."""
    token = _shown.set(True)
    try:
        yield
    finally:
        _shown.reset(token)


def detail(text: str) -> str:
    """Return a text about single rows where it may be shown, and nothing elsewhere.

    >>> detail(" near line 17")
    ''
    """
    return text if shows_errors() else ""


@contextmanager
def replaced_errors(ours: Callable[[Exception], ConfideError]) -> Iterator[None]:
    """Raise our error instead of any other, whose message may quote rows.

    The other error is not kept as `__context__` either: notebooks and error trackers show what they find there. An
    error that is ours already is raised as it is, but alone too.
    """
    try:
        yield
    except (ConfideError, MemoryError) as error:
        _forget_origin(error)
        raise
    except Exception as error:
        replacement = ours(error)
        try:
            raise replacement
        except ConfideError:
            _forget_origin(replacement)  # Python has just set it
            raise


def first_error(error: BaseException) -> BaseException:
    """Return the error that a driver's one followed: closing a cursor after an error fails too, and hides it."""
    while hasattr(error, "sqlstate") and error.__context__ is not None:
        error = error.__context__
    return error


def _forget_origin(error: BaseException) -> None:
    error.__cause__ = error.__context__ = None
