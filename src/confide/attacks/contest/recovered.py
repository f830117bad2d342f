"""Labels that an attacker recovers from a contest's answers, and their agreement with the true ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import Publication
from confide.counts import read_only
from confide.errors import ParameterError
from confide.intervals.interval import Interval
from confide.intervals.proportion import wilson_interval_of
from confide.sources.labels import binary_labels

UNKNOWN = -1
"""Placeholder of a label that the attacker does not give."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recovered:
    """Labels that an attacker recovers from a contest's answers.

    `labels` are 0, 1, or -1 where the attacker gives none. `certain` marks labels that are the only ones to agree with
    the answers; the others are guesses. `positives` is the number of positive rows, if it is certain.
    """

    labels: NDArray[np.int8]
    certain: NDArray[np.bool_]
    queries: int
    published: Publication
    method: str
    positives: int | None = None

    def __post_init__(self) -> None:
        for name in ("labels", "certain"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def agreement(self, labels: ArrayLike, *, level: float = 0.95) -> Agreement:
        """Count the labels that are right."""
        true = binary_labels(labels, one_class=True)
        if true.size != self.labels.size:
            raise ParameterError(f"give the true label of each of {self.labels.size} rows; got {true.size}")
        said = self.labels != UNKNOWN
        right = int((self.labels[said] == true[said]).sum())
        return Agreement.of(right, int(said.sum()), true.size, level=level)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published.spec,
            "method": self.method,
            "queries": self.queries,
            "positives": self.positives,
            "labels": [None if label == UNKNOWN else label for label in self.labels.tolist()],
            "certain": self.certain.tolist(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Number of recovered labels that are right, and their share with Wilson's interval."""

    right: int
    said: int
    rows: int
    interval: Interval

    @classmethod
    def of(cls, right: int, said: int, rows: int, *, level: float = 0.95) -> Agreement:
        """From counts."""
        share = right / said if said else math.nan
        return cls(right=right, said=said, rows=rows, interval=wilson_interval_of(share, said, level=level))

    @property
    def share(self) -> float:
        """Return the share of right labels among those given, NaN if none was given."""
        return self.right / self.said if self.said else math.nan


def least_queries(rows: int, positives: int, metric: str) -> int:
    """Fewer submissions than this cannot tell all labelings with so many positives apart, with exact answers.

    The number of labelings is at most the number of different answers to the power of the number of submissions. AUC
    shows one of `2 n1 n0 + 1` numbers and accuracy one of `n + 1`. The others show almost any float: one submission.
    """
    answers = {"auc": 2 * positives * (rows - positives) + 1, "accuracy": rows + 1}.get(metric)
    labelings = math.comb(rows, positives)
    if answers is None or labelings == 1:
        return int(labelings > 1)
    return math.ceil(math.log2(labelings) / math.log2(answers))
