"""The Ladder: a leaderboard that tells only the best score so far, and a new one only if it is clearly better.

It bounds how far a leaderboard can be climbed by chance (Blum and Hardt 2015). It promises nothing about single labels:
`climb` reads them from whether the answer moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.attacks.contest.oracle import Answer, Oracle
from confide.attacks.contest.recovered import Recovered
from confide.attacks.disclosure import LOSSES, MEANS, Publication, Window
from confide.attacks.numbers import exact_number_of
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.guarantee import exact_fraction
from confide.sources.labels import binary_labels

_LARGEST = {"log_loss": Fraction(37)}  # of a score that was moved inwards by the machine epsilon
_SMALLEST = np.finfo(np.float64).eps

Rule = Callable[[FloatArray, Fraction, Fraction | None], tuple[bool, Fraction]]
"""From scores, their exact number and the best so far to whether it counts as better, and what is shown then."""


class LadderOracle(Oracle):
    """Answers with the best score so far.

    `allowance` is how far above it a score may lie without being shown, `rounding` the multiples that are shown, and
    `group` how many right rows more are always seen; all of this is public.
    """

    def __init__(
        self,
        labels: NDArray[np.bool_],
        metric: str,
        rule: Rule,
        *,
        allowance: Fraction,
        rounding: Fraction,
        group: int,
        limit: int | None = None,
    ) -> None:
        super().__init__(self._told, rows=labels.size, published=Publication(metric=metric), limit=limit)
        self.allowance, self.rounding, self.group = allowance, rounding, group
        self.best: Fraction | None = None
        self._labels, self._rule, self._moved = labels, rule, False

    def _told(self, scores: FloatArray) -> Answer:
        exact = Fraction(exact_number_of(self._labels, scores, self.published.metric))
        self._moved, shown = self._rule(scores, exact, self.best)
        if self._moved or self.best is None:
            self._moved, self.best = True, shown
        return self.best

    def window(self, answer: Answer) -> Window:
        """What the latest answer says: the score up to rounding if it moved, else that it is not clearly better."""
        shown = Fraction(answer)
        if self._moved:
            return Window(lower=shown - self.rounding / 2, upper=shown + self.rounding / 2)
        if self.published.metric in LOSSES:
            return Window(lower=shown - self.allowance, upper=_LARGEST.get(self.published.metric, Fraction(1)))
        return Window(lower=Fraction(0), upper=shown + self.allowance)


def ladder(labels: ArrayLike, metric: str, *, step: object, limit: int | None = None) -> LadderOracle:
    """The Ladder with a fixed step: a score better by more than that is shown, rounded to a multiple of the step.

    Blum and Hardt, Algorithm 1. For n rows and k submissions they take a step near `(log(k n) / n)^(1/3)`.

    >>> board = ladder([0, 1, 1, 0], "accuracy", step="0.3")
    >>> [float(board.ask(scores)) for scores in ([1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0])]
    [0.6, 0.6, 0.9]
    """
    hidden = binary_labels(labels)
    width = exact_fraction(step, "step")
    if not 0 < width < 1:
        raise ParameterError(f"step must lie between 0 and 1, for example 0.01; got {step!r}")

    def rule(scores: FloatArray, exact: Fraction, best: Fraction | None) -> tuple[bool, Fraction]:
        gain = None if best is None else best - exact if metric in LOSSES else exact - best
        return gain is None or gain > width, round(exact / width) * width

    group = math.floor(width * 3 / 2 * hidden.size) + 1  # the best so far may be shown half a step too high
    return LadderOracle(hidden, metric, rule, allowance=width, rounding=width, group=group, limit=limit)


def parameter_free_ladder(labels: ArrayLike, metric: str = "accuracy", *, limit: int | None = None) -> LadderOracle:
    """The Ladder whose step is the standard error of the difference to the best submission: `s / sqrt(n)`.

    Blum and Hardt, Algorithm 2, with s the standard deviation (divisor n - 1, as in the authors' own program) of the
    differences between the two submissions' losses at each row; shown to a multiple of 1/n. For means over rows only.
    """
    if metric not in MEANS:
        raise ParameterError(f"losses must belong to rows: choose from {', '.join(MEANS)}, or use a fixed step")
    hidden = binary_labels(labels)
    leader: list[FloatArray] = []

    def rule(scores: FloatArray, exact: Fraction, best: Fraction | None) -> tuple[bool, Fraction]:
        losses = row_losses(hidden, scores, metric)
        if best is not None:
            gain = float(best - exact if metric in LOSSES else exact - best)
            error = float(np.std(losses - leader[0], ddof=1)) / math.sqrt(hidden.size)
            if not gain > error * (1.0 + 1e-9):  # a gain of just one error, but for rounding, is none
                return False, best
        leader[:] = [losses]
        return True, Fraction(round(exact * hidden.size), hidden.size)

    most = _LARGEST.get(metric, Fraction(1)) / math.isqrt(hidden.size)
    nearest = Fraction(1, hidden.size)
    return LadderOracle(hidden, metric, rule, allowance=most, rounding=nearest, group=2, limit=limit)


def row_losses(labels: NDArray[np.bool_], scores: FloatArray, metric: str) -> FloatArray:
    """What each row adds to a mean loss; for accuracy, whether it is on the wrong side of one half."""
    if metric == "accuracy":
        return np.where((scores >= 0.5) != labels, 1.0, 0.0)
    if metric == "brier":
        return np.asarray((scores - labels) ** 2)
    inside = np.clip(scores, _SMALLEST, 1.0 - _SMALLEST)
    return np.asarray(-np.where(labels, np.log(inside), np.log1p(-inside)))


def climb(oracle: LadderOracle, *, queries: int, rng: np.random.Generator | int | None = None) -> Recovered:
    """Read labels from a Ladder of accuracy: turn a group of guesses around and see whether the answer moves.

    It moves if all of them were wrong, as so many are just enough to be seen: one row if the step is below 2/(3n), two
    for the parameter-free Ladder (whose step is then the standard error of the difference, `sqrt(2)/n`). If it does not
    move, each is less likely to be wrong, and the rows that are most likely wrong are asked for next. A move is proof
    with groups of one or two, and no move is with groups of one; all else are guesses.

    >>> hidden = np.arange(50) % 3 == 0
    >>> found = climb(ladder(hidden, "accuracy", step="0.01"), queries=51)
    >>> bool((found.labels == hidden).all()), bool(found.certain.all()), found.queries
    (True, True, 51)
    """
    if oracle.published.metric != "accuracy":
        raise ParameterError(f"climbing is for accuracy; got {oracle.published.metric}")
    if oracle.best is not None:
        raise ParameterError("the Ladder was asked before, so a first guess need not show; climb a Ladder that was not")
    rng = np.random.default_rng(rng)
    asked = oracle.asked
    allowed = queries if oracle.left is None else min(queries, oracle.left)
    guess = rng.integers(0, 2, oracle.rows).astype(np.float64)
    wrong, moved = np.full(oracle.rows, 0.5), np.zeros(oracle.rows, dtype=np.bool_)
    best = oracle.ask(guess) if allowed > 0 else Fraction(1)
    while oracle.asked - asked < allowed:
        chosen = _likely_wrong(wrong, oracle.group, rng)
        if chosen.size < oracle.group:
            break
        turned = guess.copy()
        turned[chosen] = 1.0 - turned[chosen]
        answer = oracle.ask(turned)
        if answer > best:
            guess, best = turned, answer
            wrong[chosen], moved[chosen] = 0.0, True
        else:
            wrong[chosen] = _less_likely(wrong[chosen])
    return Recovered(
        labels=guess.astype(np.int8),
        certain=(moved & (oracle.group <= 2)) | ((wrong == 0.0) & (oracle.group == 1)),
        queries=oracle.asked - asked,
        published=oracle.published,
        method="climbing",
    )


def _likely_wrong(wrong: FloatArray, group: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A group of the rows that are most likely wrong, ties by chance; fewer if fewer can be."""
    can = np.flatnonzero(wrong > 0.0)
    return can[np.lexsort((rng.random(can.size), -wrong[can]))[:group]]


def _less_likely(wrong: FloatArray) -> FloatArray:
    """Chances of being wrong, once it is known that not all of a group are."""
    together = float(np.prod(wrong))
    return np.asarray((wrong - together) / (1.0 - together))
