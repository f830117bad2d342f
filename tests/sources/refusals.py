"""What a refusal must look like: its type, a next step, and nothing of the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from confide.errors import ConfideError

STEPS = "add|check|correct|did you mean|fill|for example|give|make|must be one of|remove|replace|say|use"
NEXT_STEP = re.compile(rf"\b({STEPS})\b", re.IGNORECASE)


def shown(error: BaseException) -> str:
    """All that a traceback would print of an error and of those it names as its cause or context."""
    texts, current = [], error
    while True:
        texts.append(f"{type(current).__name__}: {current}")
        following = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if following is None:
            return "\n".join(texts)
        current = following


def spellings(value: object) -> set[str]:
    """The ways in which a value could turn up in a message."""
    found = {str(value), repr(value)}
    if isinstance(value, float) and value.is_integer():
        found.add(str(int(value)))
    return found


@contextmanager
def refused(error: type[ConfideError], *, private: Iterable[object] = (), says: str | None = None) -> Iterator[None]:
    """Expect exactly this error, saying what to do next and `says`, and showing none of the private values."""
    with pytest.raises(error, match=says) as caught:
        yield
    assert type(caught.value) is error
    text = shown(caught.value)
    assert NEXT_STEP.search(text), f"no next step in: {text}"
    for value in private:
        for spelling in spellings(value):
            assert not re.search(rf"(?<![\w.]){re.escape(spelling)}(?![\w])", text), f"{spelling} is shown in: {text}"
