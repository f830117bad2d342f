"""Oracle that scores submissions, and how many labels an attacker recovered from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import NEIGHBOURS, NUMBERS, Publication, Window
from confide.attacks.numbers import exact_number_of, released
from confide.counts import FloatArray, read_only
from confide.errors import OneClassError, ParameterError, ScoreError, UsageError
from confide.intervals.interval import Interval
from confide.intervals.proportions import wilson_interval_of
from confide.sources.arrays import checked_scores, count_checked
from confide.sources.labels import binary_labels

Answer: TypeAlias = float | Fraction

_PROBABILITIES = ("log_loss", "brier")
_BOTH_CLASSES = ("auc", "average_precision")


class OutOfQueries(UsageError):  # noqa: N818  # said as the oracle would say it
    """Raised when the oracle has given all its answers."""


class Oracle:
    """Answers submissions (an array of scores, one for each row in a fixed order) and counts them.

    `answer` turns checked scores into what is shown. `published` says which number that is and how it is shown, which
    contests make known; `limit` is the largest number of answers. What is refused is not counted.
    """

    def __init__(
        self,
        answer: Callable[[FloatArray], Answer],
        *,
        rows: int,
        published: Publication | str,
        limit: int | None = None,
    ) -> None:
        published = Publication.parse(published) if isinstance(published, str) else published
        if published.metric not in NUMBERS:
            raise ParameterError(f"an oracle answers with one number; choose from {', '.join(NUMBERS)}")
        if published.times > 1:
            raise ParameterError("an oracle draws once for each submission; leave out times, and submit as often")
        if rows < 1:
            raise ParameterError(f"rows must be at least 1; got {rows}")
        if limit is not None and limit < 0:
            raise ParameterError(f"limit must not be negative; got {limit}. Leave it out for no limit")
        self.rows, self.published, self.limit = rows, published, limit
        self.asked = 0
        self._answer = answer

    def __repr__(self) -> str:
        return f"Oracle({self.published}, rows={self.rows}, asked={self.asked}, limit={self.limit})"

    @property
    def left(self) -> int | None:
        """Return the number of answers left, None without a limit."""
        return None if self.limit is None else self.limit - self.asked

    def ask(self, scores: ArrayLike) -> Answer:
        """Return the answer to a submission."""
        submitted = checked_scores(scores)
        if submitted.size != self.rows:
            raise ParameterError(f"a submission has one score for each of {self.rows} rows; got {submitted.size}")
        if self.published.metric in _PROBABILITIES and not ((submitted >= 0.0) & (submitted <= 1.0)).all():
            raise ScoreError("scores must be probabilities between 0 and 1 for this number; bring them there first")
        if self.left is not None and self.left <= 0:
            raise OutOfQueries(f"the oracle gives {self.limit} answers and has given them; ask for a larger limit")
        answer = self._answer(submitted)
        self.asked += 1
        return answer

    def window(self, answer: Answer) -> Window | None:
        """Return the window that an answer, by default the latest one, leaves; None where noise was added."""
        return None if self.published.private else self.published.window(answer)

    @classmethod
    def of_labels(cls, labels: ArrayLike, published: Publication | str, *, limit: int | None = None) -> Oracle:
        """Return the oracle of a contest with these hidden labels.

        AUC and accuracy are fractions, computed without rounding; the other numbers are floats. With an epsilon every
        answer is a release of its own with fresh noise and that whole epsilon (replace-one: a changed label is a
        changed row), so k answers together are k epsilon private and no better. A contest that promises an epsilon in
        total over k submissions gives an epsilon of total / k here.

        >>> oracle = Oracle.of_labels([0, 1, 1, 0], Publication.parse("auc"))
        >>> oracle.ask([0.1, 0.8, 0.4, 0.4]), oracle.asked
        (Fraction(7, 8), 1)
        """
        published = Publication.parse(published) if isinstance(published, str) else published
        hidden = binary_labels(labels, one_class=True)
        if published.metric in _BOTH_CLASSES and not published.private and (hidden.all() or not hidden.any()):
            raise OneClassError(
                "all rows belong to one class, so there is nothing to rank; add rows of the other class"
            )
        return cls(_scoring(hidden, published), rows=hidden.size, published=published, limit=limit)


def _scoring(labels: NDArray[np.bool_], published: Publication) -> Callable[[FloatArray], Answer]:
    """Return the function from scores to the answer."""
    if published.private:
        return _released(labels, published)
    digits = published.digits

    def answer(scores: FloatArray) -> Answer:
        exact = exact_number_of(labels, scores, published.metric)
        return exact if digits is None else exact.__round__(digits)

    return answer


def _released(labels: NDArray[np.bool_], published: Publication) -> Callable[[FloatArray], Answer]:
    def answer(scores: FloatArray) -> Answer:
        counts = count_checked(labels, scores)
        (release,), _ = released(counts, published.metric, epsilon=published.epsilon, neighbours=NEIGHBOURS)
        return release.value

    return answer


def label_by_two_queries(oracle: Oracle, row: int) -> int | None:
    """One row's label from two answers of AUC: all scores distinct, the row once above and once below all others.

    The first answer is the larger one if and only if the row is positive (Whitehill 2019, Proposition 1), so 2n
    answers give n labels. None where both answers are equal, as rounding to few digits can make them. Answers with
    noise are taken at their word; without it the label is certain.
    """
    if oracle.published.metric != "auc":
        raise ParameterError("two queries tell a label from AUC; ask an oracle of auc, or use recover_labels")
    if not 0 <= row < oracle.rows:
        raise ParameterError(f"row must lie between 0 and {oracle.rows - 1}; got {row}")
    scores = (np.arange(oracle.rows) + 1.0) / (oracle.rows + 1.0)
    scores[row] = 1.0
    above = oracle.ask(scores)
    scores[row] = 0.0
    below = oracle.ask(scores)
    return None if above == below else int(above > below)


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
