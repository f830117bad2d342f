"""Value of a selection: features that were chosen under a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee, shown

SCHEMA = "confide.selection/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Features that were chosen from `width` features, as ascending numbers. It may be published.

    `scores` holds the noisy score of each chosen feature, if the method releases it: in rows for counts, in rows times
    nats for information gain. `options` holds the public parameters of the method. A selection may be empty.
    """

    features: tuple[int, ...]
    width: int
    method: str
    score: str
    scores: tuple[float, ...] | None = None
    guarantee: Guarantee
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(int(feature) for feature in self.features))
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        inside = (-1, *self.features, self.width)
        if any(right <= left for left, right in pairwise(inside)):
            raise ParameterError("features must be numbers from 0 to width - 1, ascending, each once; sort them")
        if self.scores is not None:
            object.__setattr__(self, "scores", tuple(float(score) for score in self.scores))
            if len(self.scores) != len(self.features):
                raise ParameterError("scores must have one number for each feature that was chosen, or be None")

    def __hash__(self) -> int:
        return hash((self.features, self.width, self.method, self.score, self.guarantee))

    def __reduce__(self) -> tuple[Callable[..., Selection], tuple[Any, ...]]:
        return _rebuilt, (self.to_dict(), self.guarantee)

    def __str__(self) -> str:
        price = f"epsilon = {shown(self.guarantee.epsilon)}"
        return f"{len(self.features):,} of {self.width:,} features by {self.method} on {self.score} ({price})"

    @property
    def support(self) -> NDArray[np.bool_]:
        """Return a mask of the chosen features."""
        chosen = np.zeros(self.width, dtype=np.bool_)
        chosen[list(self.features)] = True
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "score": self.score,
            "width": self.width,
            "features": list(self.features),
            "scores": None if self.scores is None else list(self.scores),
            "guarantee": self.guarantee.to_dict(),
            "options": dict(self.options),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Selection:
        """Rebuild a selection. Its guarantee is a parameter, because plain data do not hold exact fractions."""
        if plain.get("schema") != SCHEMA:
            raise ParameterError(f"this is no selection: its schema must be {SCHEMA!r}; give what to_dict returned")
        scores = plain["scores"]
        return cls(
            features=tuple(plain["features"]),
            width=plain["width"],
            method=plain["method"],
            score=plain["score"],
            scores=None if scores is None else tuple(scores),
            guarantee=guarantee,
            options=plain["options"],
        )


def _rebuilt(plain: Mapping[str, Any], guarantee: Guarantee) -> Selection:
    return Selection.from_dict(plain, guarantee)
