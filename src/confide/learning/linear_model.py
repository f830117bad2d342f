"""Trained linear model: weights of features and an intercept, all of which may be published."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import expit

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.features import row_products
from confide.privacy.guarantee import Guarantee

SCHEMA = "confide.model/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearModel:
    """`log-odds = intercept + sum of weights * features`, for some of the `width` features that rows have.

    `options` holds the public parameters of the training. `frequencies`, where the training released them, are the
    shares of rows that have each feature, noise included.
    """

    kind: str
    features: tuple[int, ...]
    weights: tuple[float, ...]
    intercept: float
    width: int
    guarantee: Guarantee
    options: Mapping[str, Any] = field(default_factory=dict)
    frequencies: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "intercept", _number(self.intercept))
        for name in ("weights", "frequencies"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, tuple(_number(value) for value in given))
        places = (self.width, *self.features)
        if not all(isinstance(place, int) and not isinstance(place, bool) and place >= 0 for place in places):
            raise ParameterError("features of a model must be whole numbers; train it again")
        if len(self.features) != len(self.weights) or any(place >= self.width for place in self.features):
            raise ParameterError("a model must have one weight for each of its features; train it again")

    def __hash__(self) -> int:
        return hash((self.kind, self.features, self.weights, self.intercept))

    def __reduce__(self) -> tuple[Callable[..., LinearModel], tuple[Any, ...]]:
        return _rebuilt, (self.to_dict(), self.guarantee)

    def decision(self, matrix: Any) -> FloatArray:
        """Return the log-odds of each row of a matrix, sparse or dense, with all features as columns.

        A row's log-odds are a function of that row alone, to the last digit: its features are added up in ascending
        order, whatever other rows there are and however the matrix is stored.
        """
        if matrix.shape[1] != self.width:
            raise ParameterError(f"the model was trained on {self.width} features; give rows with as many")
        return row_products(matrix, self.all_weights) + self.intercept

    def probabilities(self, matrix: Any) -> FloatArray:
        """Return the probability of the positive class for each row."""
        found: FloatArray = expit(self.decision(matrix))
        return found

    @property
    def all_weights(self) -> FloatArray:
        """Return a weight for every feature: 0 for those that the model leaves out."""
        weights = np.zeros(self.width)
        weights[list(self.features)] = self.weights
        return weights

    @property
    def importances(self) -> tuple[float, ...]:
        """Return the importance of each feature: the size of its weight, times its frequency where that is known."""
        often = (1.0,) * len(self.weights) if self.frequencies is None else self.frequencies
        return tuple(abs(weight) * share for weight, share in zip(self.weights, often, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "width": self.width,
            "features": list(self.features),
            "weights": list(self.weights),
            "intercept": self.intercept,
            "frequencies": None if self.frequencies is None else list(self.frequencies),
            "guarantee": self.guarantee.to_dict(),
            "options": dict(self.options),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> LinearModel:
        """Rebuild a model; its guarantee is given, as plain data does not hold exact fractions."""
        return cls(
            kind=plain["kind"],
            features=tuple(plain["features"]),
            weights=tuple(plain["weights"]),
            intercept=plain["intercept"],
            width=plain["width"],
            guarantee=guarantee,
            options=plain["options"],
            frequencies=None if plain["frequencies"] is None else tuple(plain["frequencies"]),
        )


def _rebuilt(plain: Mapping[str, Any], guarantee: Guarantee) -> LinearModel:
    return LinearModel.from_dict(plain, guarantee)


def _number(value: object) -> float:
    """Return a finite number; anything else, such as a list, could make scores depend on other rows."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError("weights and intercept of a model must be numbers; train it again")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParameterError("weights and intercept of a model must be finite numbers; train it again")
    return number
