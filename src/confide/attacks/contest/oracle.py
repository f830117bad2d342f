"""A contest's scoring oracle: whoever submits scores is told how good they are, against labels that stay hidden."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.disclosure import NEIGHBOURS, NUMBERS, Publication, Window
from confide.attacks.numbers import exact_number_of, released
from confide.counts import FloatArray
from confide.errors import OneClassError, ParameterError, ScoreError, UsageError
from confide.sources.arrays import checked_scores, count_checked
from confide.sources.labels import binary_labels

Answer: TypeAlias = float | Fraction

_PROBABILITIES = ("log_loss", "brier")
_BOTH_CLASSES = ("auc", "average_precision")


class OutOfQueries(UsageError):  # noqa: N818  # said as the oracle would say it
    """The oracle has given as many answers as it may."""


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
            raise ParameterError("an oracle draws once for each submission; leave out times, and ask so often")
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
        """How many more answers there are, None without a limit."""
        return None if self.limit is None else self.limit - self.asked

    def ask(self, scores: ArrayLike) -> Answer:
        """What is shown for a submission."""
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
        """What an answer, the latest one, says of the exact number; None where noise was added."""
        return None if self.published.private else self.published.window(answer)

    @classmethod
    def of_labels(cls, labels: ArrayLike, published: Publication | str, *, limit: int | None = None) -> Oracle:
        """The oracle of a contest with these hidden labels.

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
    """The function from scores to what is shown of them."""
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
