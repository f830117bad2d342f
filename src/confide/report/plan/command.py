"""Write parameters of a release as the command that a user types."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from confide.privacy.guarantee import shown

_FLAGS = {"metrics": "--metric"}


def release_command(parameters: Mapping[str, object]) -> str:
    """Return the command line of `confide release` with some parameters.

    >>> release_command({"metrics": "auc", "epsilon": Fraction(1, 2)})
    'confide release FILE --label COL --score COL --metric auc --epsilon 0.5'
    """
    options = [
        f"{_FLAGS.get(name, '--' + name.replace('_', '-'))} {_written(value)}" for name, value in parameters.items()
    ]
    return " ".join(["confide release FILE --label COL --score COL", *options])


def _written(value: object) -> str:
    if isinstance(value, Fraction):
        return shown(value).removeprefix("about ")
    return f"{value:g}" if isinstance(value, float) else str(value)
