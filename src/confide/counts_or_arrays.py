"""Rows given as labels and scores to functions of counts.

Metrics and curves are pure functions of `ScoreCounts`. `accepts_predictions` lets them take `(labels, scores)` too,
as scikit-learn's functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.device import to_host
from confide.errors import ParameterError

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_NOTE = """

Give `counts`, or `labels, scores` in its place. With labels, `sample_weight` weighs the rows (rows of weight 0 are left
out), and `pos_label` names the positive label; it is needed unless labels are 0/1, -1/1 or false/true.
"""


class CountsFunction(Protocol[P, R_co]):
    """A function of counts, or of labels and scores that are counted first."""

    @overload
    def __call__(self, counts: ScoreCounts, /, *args: P.args, **options: P.kwargs) -> R_co: ...

    @overload
    def __call__(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        /,
        *args: Any,
        sample_weight: ArrayLike | None = None,
        pos_label: object = None,
        **options: Any,
    ) -> R_co: ...


def accepts_predictions(function: Callable[Concatenate[ScoreCounts, P], R]) -> CountsFunction[P, R]:
    """Let a function of counts take `labels, scores` in place of its first argument."""

    @wraps(function)
    def call(first: Any, /, *args: Any, sample_weight: Any = None, pos_label: object = None, **options: Any) -> R:
        if isinstance(first, ScoreCounts):
            for name, value in (("sample_weight", sample_weight), ("pos_label", pos_label)):
                if value is not None:
                    raise ParameterError(f"`{name}` cannot be given beside a ScoreCounts; give labels and scores")
            return function(first, *args, **options)
        if not args:
            raise ParameterError("`scores` are needed with labels; or give one ScoreCounts")
        scores, *rest = args
        return function(count_predictions(first, scores, sample_weight, pos_label), *rest, **options)

    call.__doc__ = cleandoc(function.__doc__ or "") + _NOTE
    return call


def count_predictions(
    labels: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: object = None
) -> ScoreCounts:
    """Count rows as scikit-learn reads them: rows of weight 0 do not exist.

    >>> count_predictions(["no", "yes", "no"], [0.1, 0.8, 0.4], [1, 2, 0], "yes").positives
    array([0, 2])
    """
    if sample_weight is not None:
        weights, label, score = (np.asarray(to_host(values)) for values in (sample_weight, labels, scores))
        kept = weights != 0
        if weights.ndim == 1 and weights.shape == label.shape == score.shape and not kept.all():
            labels, scores, sample_weight = label[kept], score[kept], weights[kept]
    return ScoreCounts.from_arrays(labels, scores, sample_weight, positive=pos_label)
