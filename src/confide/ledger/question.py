"""Public descriptions of questions, by which a ledger recognises repeated requests.

A ledger answers the same question twice with the same noise, at no further cost. Whether two questions are the same
can be seen in the price, the answer and the exit code. So it must not depend on private values. If a question were
identified by its counts, two different questions, such as two submissions to a contest, would share one answer exactly
when their counts coincide. That would reveal a label without noise and without a price.

So a question is identified by public facts: the data (a name and version that the data holder declares, or a keyed
digest of the whole source), the column of the labels, the positive value, the origin of the scores, and every
parameter. Nothing that is derived from private values enters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.errors import ParameterError

_LONGEST = 200
_DIGEST = re.compile("data-[0-9a-f]{32}")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicQuestion:
    """Public description of a question and its data.

    Parameters
    ----------
    data
        The identity of the data: a name and version that the data holder declares, such as "heart attacks, version 2",
        or the result of `Ledger.identify` for a file. Declare a new version whenever the rows change. Case, spaces and
        compatible characters make no difference: the ledger keeps a name as it was first given.
    label, positive
        The name of the labels, such as their column, and the positive value where it was named.
    source
        The identity of the file that was read, where `data` is a declared name. Parts of the rows are disjoint
        within one source only.
    details
        Everything else that decides the answer, as plain data: the score's column, the digest of a model, under
        label-only neighbours the digest of the submitted scores (`score_digest`).

    >>> PublicQuestion(data="heart attacks, version 2", label="died", details={"score": "logistic"}).label
    'died'
    """

    data: str
    label: str | None = None
    positive: str | None = None
    source: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_text(self.data, "data")
        for name in ("label", "positive", "source"):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise ParameterError(f"the {name} of a question must be text; got {type(text).__name__}")
        if not isinstance(self.details, Mapping):
            raise ParameterError("the details of a question must be a mapping of public facts")
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __reduce__(self) -> tuple[Callable[..., PublicQuestion], tuple[Any, ...]]:
        return _rebuilt, (self.data, self.label, self.positive, self.source, dict(self.details))

    @property
    def rows(self) -> str:
        """Identity of the rows: that of the source, if there is one."""
        return self.source or self.data

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {"data": self.data, "label": self.label, "positive": self.positive, "source": self.source}
        return {**{name: value for name, value in plain.items() if value is not None}, "details": dict(self.details)}


def _rebuilt(
    data: str, label: str | None, positive: str | None, source: str | None, details: Mapping[str, Any]
) -> PublicQuestion:
    return PublicQuestion(data=data, label=label, positive=positive, source=source, details=details)


def score_digest(scores: ArrayLike) -> str:
    """Hash scores row by row, for the details of a question under label-only neighbours.

    The scores are public there; labels must never be hashed.

    >>> score_digest([0.1, 0.2]) == score_digest([0.2, 0.1])
    False
    """
    rows = np.asarray(scores, dtype="<f8")
    if rows.ndim != 1:
        raise ParameterError("scores must be a list of numbers, one for each row")
    return sha256((rows + 0.0).tobytes()).hexdigest()  # adding zero makes minus zero zero


def is_digest(data: str) -> bool:
    """Return whether an identity comes from `Ledger.identify`, and is no declared name."""
    return _DIGEST.fullmatch(data) is not None


def folded_name(name: str) -> str:
    """Return the form by which names are compared: without case, compatible characters and spaces alike.

    Characters are those of NFKC, case-folded; invisible ones are left out, and runs of spaces are one space. Letters of
    other scripts that look alike stay different.

    >>> folded_name("  Heart \uff21ttacks,  Version 2 ")
    'heart attacks, version 2'
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(_INVISIBLE.sub("", plain).replace("\u2800", " ").split())


def same_name(first: str, second: str) -> bool:
    """Return whether two names of data mean the same data, however they are written."""
    return folded_name(first) == folded_name(second)


def checked_text(text: object, parameter: str) -> str:
    """Return an identity of data that can be shown in one line."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
        raise ParameterError(
            f"{parameter} must be a name and version of 1 to {_LONGEST} printable characters, for example "
            "'heart attacks, version 2'"
        )
    return text
