"""Details about rows in messages: left out, unless the data holder asks for them.

A line number tells how many rows stand before it, and an error about one value tells that somebody has it. Private
verbs therefore say no more than whether a file is fit for use. The data holder, who may see the rows, sets
`CONFIDE_SHOW_ERRORS=1` in the environment to be told more, and to have values refused that would otherwise be passed
over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

VARIABLE = "CONFIDE_SHOW_ERRORS"

MORE = f"the data holder sees more with {VARIABLE}=1 in the environment"
"""The next step in a message that leaves details out."""


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
