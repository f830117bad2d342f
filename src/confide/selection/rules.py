"""Which features are to be taken: a method, a score and a few numbers, all of them public and checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, get_args

from confide.errors import ParameterError, did_you_mean
from confide.privacy.mechanisms.feature_scores import checked_score, units_of
from confide.privacy.mechanisms.row_limits import checked_limit

Method = Literal["score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters"]
METHODS: tuple[Method, ...] = get_args(Method)

DEFAULT_CLUSTERS = 8

DEFAULT_MOST_FEATURES = 10
"""How many features of a row count, where a limit lessens the noise and none is given."""

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
    """Which features are to be taken, by public numbers alone.

    `threshold` is in rows for scores that are counts, and in rows times nats for information gain. `most_features` says
    how many features of a row count, None that all do.
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
        """Check every number, that the method takes it, and that none is missing."""
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
        """The numbers that the selection depends on, as plain data."""
        numbers = {
            "k": self.k,
            "threshold": self.threshold,
            "clusters": self.clusters,
            "most_features": self.most_features,
        }
        return {name: number for name, number in numbers.items() if number is not None}

    @property
    def least(self) -> int:
        """The least whole units of the score that reach the threshold."""
        return math.ceil(Fraction(repr(self.threshold)) * units_of(self.score))


DEFAULT_K = 100


def default_k(method: str, threshold: object, width: int) -> int | None:
    """Return the number of features to take if the caller names none, or None where the method needs none."""
    needs = method != "clusters" and (threshold is None or method == "sparse-vector")
    return min(DEFAULT_K, width) if needs else None


def limit_helps(method: str, score: str) -> bool:
    """Whether limiting the features of a row lessens the noise.

    It does where all scores get noise for the sum of their changes, and only features that a row has can change.
    """
    return method in ("score-perturbation", "clusters") and score in ("total-count", "difference-count")


def _checked_method(method: object) -> Method:
    for known in METHODS:
        if method == known:
            return known
    hint = did_you_mean(method, METHODS)
    raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {str(method)[:40]!r}. {hint}".rstrip())


def _check_given(method: str, given: Mapping[str, object]) -> None:
    """Refuse a number that the method does not take, and the lack of one that it needs."""
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
