"""Selection of features: its rule, its terms and its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError, did_you_mean
from confide.privacy.guarantee import Guarantee, shown
from confide.privacy.mechanisms.feature_scores import checked_score, units_of
from confide.privacy.mechanisms.row_limits import checked_limit
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms


def feature_guarantee(terms: Terms, public: Sequence[str] = (), *, rho: Fraction | None = None) -> Guarantee:
    """Return the guarantee for rows of features; with Gaussian noise it has a delta, and `rho` for single rows.

    The list of features is public. Under label-only neighbours, the features of every row are public too.
    """
    public = ("which features there are", *public)
    guarantee = terms.guarantee(needs_delta=rho is not None, public=public, rho=rho)
    if terms.neighbours != Neighbours.LABEL_ONLY:
        return guarantee
    others = (fact for fact in guarantee.public if fact != "scores")
    return replace(guarantee, public=("features of every row", *others))


FAMILIES = ("laplace", "gaussian")


def checked_family(mechanism: object, terms: Terms) -> str:
    """Return the noise that was asked for; Gaussian noise needs a delta, and Laplace noise takes none."""
    if mechanism not in FAMILIES:
        raise ParameterError(f"mechanism must be one of {', '.join(FAMILIES)}; got {str(mechanism)[:40]!r}")
    if mechanism == "laplace" and terms.delta:
        raise ParameterError("delta is for Gaussian noise; give `mechanism` gaussian, or leave delta out")
    return str(mechanism)


def check_part(part: Part | None, terms: Terms) -> None:
    """Refuse a part of the rows under replace-one neighbours, where the guarantee would not hold for all rows.

    The caller must know that all rows of a person lie in one part.
    """
    if part is not None and terms.neighbours == Neighbours.REPLACE_ONE:
        raise ParameterError(
            "under replace-one a row may leave a part, whose number of rows is then not public; "
            "ask for add-remove-one, or for all rows"
        )


Method = Literal["score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters"]
METHODS: tuple[Method, ...] = get_args(Method)

DEFAULT_CLUSTERS = 8

DEFAULT_MOST_FEATURES = 10
"""Default number of features of a row that count, where a limit reduces the noise."""

LARGEST_THRESHOLD = 10**12

_TAKES: Mapping[str, tuple[str, ...]] = {
    "score-perturbation": ("k", "threshold"),
    "sparse-vector": ("k", "threshold"),
    "peeling": ("k",),
    "permute-and-flip": ("k",),
    "clusters": ("threshold", "clusters"),
}
_MEANING = {
    "k": "the number of features to take",
    "threshold": "the score that a feature must reach",
    "clusters": "the number of clusters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Rule that selects features by public numbers.

    `threshold` is in rows for scores that are counts, and in rows times nats for information gain. `most_features` is
    the number of features of a row that count; None means all.
    """

    method: Method
    score: str
    k: int | None
    threshold: float | None
    clusters: int | None
    most_features: int | None

    @classmethod
    def checked(
        cls, *, method: object, score: object, k: object, threshold: object, clusters: object, most_features: object
    ) -> Rule:
        """Check every number. Refuse numbers that the method does not take, and missing ones."""
        known, scored = _checked_method(method), checked_score(score)
        if known == "clusters" and clusters is None:
            clusters = DEFAULT_CLUSTERS
        _check_given(known, {"k": k, "threshold": threshold, "clusters": clusters})
        if most_features is None and limit_helps(known, scored):
            most_features = DEFAULT_MOST_FEATURES
        return cls(
            method=known,
            score=scored,
            k=None if k is None else checked_limit(k, "k"),
            threshold=None if threshold is None else _checked_threshold(threshold),
            clusters=None if clusters is None else checked_limit(clusters, "clusters"),
            most_features=None if most_features is None else checked_limit(most_features, "most_features"),
        )

    @property
    def options(self) -> dict[str, Any]:
        """Return the numbers that the selection depends on, as plain data."""
        numbers = {
            "k": self.k,
            "threshold": self.threshold,
            "clusters": self.clusters,
            "most_features": self.most_features,
        }
        return {name: number for name, number in numbers.items() if number is not None}

    @property
    def least(self) -> int:
        """Return the threshold in whole units of the score, rounded up."""
        return math.ceil(Fraction(repr(self.threshold)) * units_of(self.score))


DEFAULT_K = 100


def default_k(method: str, threshold: object, width: int) -> int | None:
    """Return the number of features to take if the caller names none, or None where the method needs none."""
    needs = method != "clusters" and (threshold is None or method == "sparse-vector")
    return min(DEFAULT_K, width) if needs else None


def limit_helps(method: str, score: str) -> bool:
    """Tell whether a limit on the features of a row reduces the noise.

    It does if the noise is scaled to the sum of all scores' changes, and only features that a row has can change.
    """
    return method in ("score-perturbation", "clusters") and score in ("total-count", "difference-count")


def _checked_method(method: object) -> Method:
    for known in METHODS:
        if method == known:
            return known
    hint = did_you_mean(method, METHODS)
    raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {str(method)[:40]!r}. {hint}".rstrip())


def _check_given(method: str, given: Mapping[str, object]) -> None:
    """Refuse a number that the method does not take, and a missing one that it needs."""
    takes = _TAKES[method]
    for name, value in given.items():
        if value is not None and name not in takes:
            others = ", ".join(other for other in METHODS if name in _TAKES[other])
            raise ParameterError(f"{method} takes no {name}; leave it out, or choose a method that does: {others}")
    missing = [name for name in takes if given[name] is None]
    if method == "score-perturbation":
        if len(missing) != 1:
            raise ParameterError(
                f"{method} takes either k, {_MEANING['k']}, or threshold, {_MEANING['threshold']}; give exactly one"
            )
    elif missing:
        raise ParameterError(f"{method} needs {missing[0]}, {_MEANING[missing[0]]}; give {missing[0]}")


def _checked_threshold(threshold: object) -> float:
    given: Any = threshold
    if isinstance(threshold, Real) and not isinstance(given, bool) and abs(given) <= LARGEST_THRESHOLD:  # no NaN
        return float(given)
    raise ParameterError(
        f"threshold must be a number within ±{LARGEST_THRESHOLD:.0e}, in the unit of the score; "
        f"got {str(threshold)[:40]!r}"
    )


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
            raise ParameterError(f"this is not a selection: its schema must be {SCHEMA!r}; give what to_dict returned")
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
