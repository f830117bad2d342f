"""Labelings that a published AUC leaves possible: how many, and how an oracle tells which.

Whitehill (2019) asks for one label at a time, two submissions each. An AUC has many more than two values, so a new
ranking of all rows splits the possible labelings into many parts at once: `ranking_attack` needs a handful of answers
where the tree needs dozens.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.contest.oracle import Oracle, OutOfQueries, label_by_two_queries
from confide.attacks.disclosure import SCHEMA, Window
from confide.attacks.from_auc.labelings import MOST_LISTED, Labelings, LabelMatrix
from confide.counts import FloatArray, read_only
from confide.errors import ParameterError, UsageError

_RANKINGS = 24
_JUDGED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recovery:
    """Result of an attack: the labels of all rows if one labeling is left, and the number of queries.

    `possible` labelings fitted the first answer, `left` fit all answers; `labels` is the first of these, in the
    oracle's order of rows.
    """

    labels: NDArray[np.uint8]
    queries: int
    possible: int
    left: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", read_only(self.labels))

    @property
    def complete(self) -> bool:
        """Tell whether all labels are certain."""
        return self.left == 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"queries": self.queries, "possible": self.possible, "left": self.left, "complete": self.complete}


def most_queries(labelings: Labelings) -> int:
    """Return the most submissions that the tree attack needs, the first one included: `2 depth + 1`.

    >>> most_queries(Labelings.untied(11, "17/24", positives=8))  # Whitehill's Figure 3
    9
    """
    from confide.kernels.labelings import tree_depths

    listed = labelings.listed()
    if not len(listed):
        raise ParameterError("no labeling has that AUC; check the AUC and the number of rows")
    return 2 * int(tree_depths(listed).max()) + 1


def tree_attack(oracle: Oracle, scores: ArrayLike | None = None, *, positives: int | None = None) -> Recovery:
    """Ask for the most telling label, two submissions each, until one labeling is left (Whitehill 2019).

    `scores` is the first submission, by default any ranking without ties. Stops early at the oracle's limit, or
    where rounding hides every label that is open.
    """
    from confide.kernels.labelings import most_telling

    listed, order = _first_answer(oracle, scores, positives)
    chosen = np.arange(len(listed))
    hidden = np.zeros(oracle.rows, dtype=bool)
    while chosen.size > 1:
        open_rows = np.flatnonzero(~hidden)
        if not open_rows.size:
            break
        narrow = np.ascontiguousarray(listed[:, open_rows]) if hidden.any() else listed
        place, ones = most_telling(narrow, chosen)
        if ones in (0, chosen.size):
            break
        row = int(open_rows[place])
        try:
            label = label_by_two_queries(oracle, int(order[row]))
        except OutOfQueries:
            break
        if label is None:
            hidden[row] = True
            continue
        chosen = chosen[listed[chosen, row] == label]
    return _recovered(oracle, listed, chosen, order)


def ranking_attack(
    oracle: Oracle,
    scores: ArrayLike | None = None,
    *,
    positives: int | None = None,
    generator: np.random.Generator | None = None,
) -> Recovery:
    """Submit the ranking, among some random ones, whose AUC tells the possible labelings apart best, and go on.

    Judged by the largest number of bits that its answer is expected to give; at most twice as many submissions as there
    are rows.
    """
    rng = generator or np.random.default_rng()
    listed, order = _first_answer(oracle, scores, positives)
    chosen = np.arange(len(listed))
    for _ in range(2 * oracle.rows):
        if chosen.size <= 1:
            break
        some = listed[rng.choice(chosen, min(chosen.size, _JUDGED), replace=False)]
        rankings = [rng.permutation(oracle.rows) for _ in range(_RANKINGS)]
        best = max(rankings, key=lambda ranks: _bits(_wins(some, ranks)))
        submission = np.empty(oracle.rows)
        submission[order] = best / oracle.rows
        try:
            window = _window(oracle, oracle.ask(submission))
        except OutOfQueries:
            break
        chosen = chosen[_fits(listed[chosen], best, window)]
    return _recovered(oracle, listed, chosen, order)


def _first_answer(
    oracle: Oracle, scores: ArrayLike | None, positives: int | None
) -> tuple[LabelMatrix, NDArray[np.int64]]:
    """Return the labelings that fit the first answer, for ascending scores, and the rows in that order."""
    if oracle.published.metric != "auc":
        raise ParameterError("this attack reads AUCs; give an oracle of auc, or use recover_labels for other numbers")
    submission = np.arange(oracle.rows) / oracle.rows if scores is None else np.asarray(scores, dtype=np.float64)
    window = _window(oracle, oracle.ask(submission))
    labelings = Labelings.of_scores(submission, window, positives=positives)
    listed = labelings.listed()
    if not len(listed):
        raise ParameterError("no labeling fits the oracle's answer; check that it answers the AUC of these rows")
    return listed, np.argsort(submission, kind="stable")


def _window(oracle: Oracle, answer: float | Fraction) -> Window:
    window = oracle.window(answer)
    if window is None:
        raise ParameterError("the oracle adds noise, which leaves every labeling possible; this attack has no use here")
    return window


def _wins(listed: LabelMatrix, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the AUC of each labeling under a ranking without ties, 0 to rows - 1."""
    labels = listed.astype(np.float64)
    positives = labels.sum(axis=1)
    wins = labels @ ranks - positives * (positives - 1.0) / 2.0
    found: FloatArray = wins / (positives * (listed.shape[1] - positives))
    return found


def _fits(listed: LabelMatrix, ranks: NDArray[np.int64], window: Window) -> NDArray[np.bool_]:
    parts = np.array_split(np.arange(len(listed)), max(len(listed) // 100_000, 1))
    return np.concatenate([window.holds(_wins(listed[part], ranks)) for part in parts])


def _bits(answers: FloatArray) -> float:
    """Return the entropy of the answers, which are floats of the same fractions where they are equal."""
    shares = np.unique(np.round(answers, 12), return_counts=True)[1] / answers.size
    return float(-np.sum(shares * np.log2(shares)))


def _recovered(oracle: Oracle, listed: LabelMatrix, chosen: NDArray[np.int64], order: NDArray[np.int64]) -> Recovery:
    labels = np.empty(oracle.rows, dtype=np.uint8)
    if not chosen.size:
        raise ParameterError("no labeling fits all answers; the oracle does not answer AUC of the same rows each time")
    labels[order] = listed[chosen[0]]
    return Recovery(labels=labels, queries=oracle.asked, possible=len(listed), left=chosen.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingCount:
    """Labelings that fit an AUC: their number, and the numbers of positives that they have.

    `auc` is the number as it was published. `queries` is the largest number of submissions to a scoring oracle that
    finds the true labeling, if it was computed.
    """

    labelings: Labelings
    auc: str
    positives: tuple[int, ...]
    count: int
    queries: int | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.labelings.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "rows": self.rows,
            "auc": self.auc,
            "positives": list(self.positives),
            "count": self.count,
        }
        return plain if self.queries is None else {**plain, "queries": self.queries}


def count_labelings(labelings: Labelings, auc: str, *, queries: bool = False) -> LabelingCount:
    """Count the labelings. With `queries`, also find how many submissions tell them apart."""
    by_positives = labelings.count_by_positives()
    count = sum(by_positives.values())
    if queries and count > MOST_LISTED:
        raise UsageError(
            "`queries` goes through every labeling, and there are too many; leave it out, or give `positives`"
        )
    most = most_queries(labelings) if queries else None
    return LabelingCount(labelings=labelings, auc=auc, positives=tuple(by_positives), count=count, queries=most)
