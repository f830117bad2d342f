"""Contest rehearsed before it is held, and attacks on a server that answers over a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.attacks.contest.ladder import BOOSTABLE, Boosted, LadderOracle, boost, climb, ladder
from confide.attacks.contest.oracle import Agreement, Answer, Oracle, Recovered, least_queries
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.disclosure import SCHEMA, Publication
from confide.attacks.numbers import exact_number_of
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound

Ask = Callable[[FloatArray], float]
"""From the scores of all rows to the server's answer."""


class BestSoFar(LadderOracle):
    """Board that shows a submitter's best answer so far, where somebody else gives the answers.

    `climb` needs no more than whether the board moves. Answers must rise whenever one more call is right, as accuracy
    and, for two levels of score, AUC do.

    >>> from confide.attacks.contest.ladder import climb
    >>> hidden = np.arange(50) % 3 == 0
    >>> board = BestSoFar(lambda scores: float(((scores > 0.5) == hidden).mean()), rows=50)
    >>> bool((climb(board, queries=51).labels == hidden).all())
    True
    """

    def __init__(self, ask: Ask, *, rows: int, limit: int | None = None) -> None:
        Oracle.__init__(self, self._shown, rows=rows, published=Publication(metric="accuracy"), limit=limit)
        self.allowance, self.rounding, self.group = Fraction(0), Fraction(0), 1
        self.best: Fraction | None = None
        self._ask, self._moved = ask, False

    def _shown(self, scores: FloatArray) -> Answer:
        answer = Fraction(self._ask(scores))
        self._moved = self.best is None or answer > self.best
        if self.best is None or self._moved:
            self.best = answer
        return self.best


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """One question about one label, asked many times in other words.

    `answers` is the number of different answers: 1 means that averaging tells nothing more than asking once. `label` is
    the label that the average points to, None if it points nowhere.
    """

    row: int
    times: int
    answers: int
    label: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"row": self.row, "times": self.times, "answers": self.answers, "label": self.label}


def repeat_question(ask: Ask, *, rows: int, row: int, times: int, rng: np.random.Generator) -> Repeated:
    """Ask whether one row is positive, so often that independent noise would average out.

    All rows have the same score but one, once above and once below the others. Each repetition has other scores in the
    same order, so that a server which recognises a file it has seen still answers. AUC of the two differs by the sign
    of the label. Fresh noise of each answer would vanish in the mean; a label that was masked once stays masked.
    """
    if not 0 <= row < rows:
        raise ParameterError(f"row must lie between 0 and {rows - 1}; got {row}")
    if times < 1:
        raise ParameterError(f"times must be at least 1; got {times}")
    above, below = [], []
    for _ in range(times):
        low, high = np.sort(rng.uniform(0.1, 0.9, 2))
        scores = np.full(rows, low)
        scores[row] = high
        above.append(ask(scores))
        scores = np.full(rows, high)
        scores[row] = low
        below.append(ask(scores))
    difference = float(np.mean(above) - np.mean(below))
    return Repeated(
        row=row,
        times=times,
        answers=max(np.unique(above).size, np.unique(below).size),
        label=None if difference == 0.0 else int(difference > 0.0),
    )


MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Result of a rehearsed contest: labels read from answers, and the score of random submissions put together.

    `boosted` is the true score that random submissions, combined by their answers, reach on the contest's rows;
    `honest` is their score on other rows. Both are None for metrics that cannot be boosted. `bound` is the
    largest probability of one label that all answers together allow; None where there is no guarantee.
    """

    published: Publication
    step: str | None
    rows: int
    positives: int
    queries: int
    agreement: Agreement
    certain: int
    used: int
    method: str
    fewest: int
    bound: float | None
    boosted: float | None
    honest: float | None

    @property
    def majority(self) -> int:
        """Return the labels that always guessing the larger class gets right."""
        return max(self.positives, self.rows - self.positives)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        share = self.agreement.share
        return {
            "schema": SCHEMA,
            "oracle": self.published.spec,
            "ladder": self.step,
            "rows": self.rows,
            "positives": self.positives,
            "queries": self.queries,
            "labels": {
                "said": self.agreement.said,
                "right": self.agreement.right,
                "certain": self.certain,
                "share": None if self.agreement.said == 0 else share,
                "interval": None if self.agreement.said == 0 else self.agreement.interval.to_dict(),
                "majority": self.majority,
                "queries": self.used,
                "method": self.method,
            },
            "two_per_label": 2 * self.rows,
            "fewest": self.fewest,
            "bound": self.bound,
            "leaderboard": None if self.boosted is None else {"boosted": self.boosted, "honest": self.honest},
        }


def rehearse_contest(
    rows: int,
    published: Publication,
    *,
    queries: int,
    positives: int | None = None,
    step: str | None = None,
    generator: np.random.Generator | None = None,
) -> Rehearsal:
    """Hold a contest with labels at random, half of them positive by default, and attack it twice.

    Each attack has all `queries` to itself. With a `step` the oracle is a Ladder.

    >>> held = rehearse_contest(100, Publication.parse("log_loss:digits=6"), queries=50)
    >>> held.agreement.right, held.certain
    (100, 100)
    """
    positives = rows // 2 if positives is None else positives
    _check(rows, published, positives=positives, queries=queries, step=step)
    rng = generator or np.random.default_rng()
    labels = rng.permutation(np.arange(rows) < positives)
    oracle = _oracle(labels, published, step, queries)
    found = _recovered(oracle, queries, rng)
    boosted = _boosted(_oracle(labels, published, step, queries), queries, rng)
    total = None if published.epsilon is None else float(published.epsilon * found.queries)
    return Rehearsal(
        published=published,
        step=step,
        rows=rows,
        positives=positives,
        queries=queries,
        agreement=found.agreement(labels),
        certain=int(found.certain.sum()),
        used=found.queries,
        method=found.method,
        fewest=least_queries(rows, positives, published.metric),
        bound=None if total is None else success_bound(total),
        boosted=None if boosted is None else float(exact_number_of(labels, boosted.submission, published.metric)),
        honest=None if boosted is None else boosted.honest[-1],
    )


def _check(rows: int, published: Publication, *, positives: int, queries: int, step: str | None) -> None:
    if not 2 <= rows <= MOST_ROWS:
        raise ParameterError(f"rows must lie between 2 and {MOST_ROWS}; got {rows}")
    if not 0 < positives < rows:
        raise ParameterError(f"positives must lie between 1 and rows - 1, {rows - 1}; got {positives}")
    if queries < 1:
        raise ParameterError(f"queries must be at least 1; got {queries}")
    if published.times > 1:
        raise ParameterError("every submission is answered once; give the number of submissions as queries")
    if step is not None and (published.private or published.digits is not None):
        raise ParameterError("a Ladder rounds by itself; give the metric alone, such as accuracy")


def _oracle(labels: NDArray[np.bool_], published: Publication, step: str | None, queries: int) -> Oracle:
    if step is not None:
        return ladder(labels, published.metric, step=step, limit=queries)
    return Oracle.of_labels(labels, published, limit=queries)


def _recovered(oracle: Oracle, queries: int, rng: np.random.Generator) -> Recovered:
    if isinstance(oracle, LadderOracle) and oracle.published.metric == "accuracy":
        return climb(oracle, queries=queries, rng=rng)
    return recover_labels(oracle, budget=queries, rng=rng)


def _boosted(oracle: Oracle, queries: int, rng: np.random.Generator) -> Boosted | None:
    if oracle.published.metric not in BOOSTABLE or queries < 2:
        return None
    hidden = rng.permutation(np.arange(oracle.rows) % 2)
    return boost(oracle, queries - 1, hidden=hidden, rng=rng)
