"""Leaderboards under attack: boosting by submissions, and the ladder, which tells only of real progress.

It bounds how far a leaderboard can be climbed by chance (Blum and Hardt 2015). It promises nothing about single labels:
`climb` reads them from whether the answer moves.

A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard
from scipy.special import bdtrc, gammaln

from confide.attacks.contest.oracle import Answer, Oracle, Recovered
from confide.attacks.disclosure import LOSSES, MEANS, Publication, Window
from confide.attacks.numbers import exact_number_of
from confide.counts import FloatArray, read_only
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
        """Return the window of the latest answer.

        It is the score up to rounding if the answer moved; otherwise the score is not clearly better.
        """
        shown = Fraction(answer)
        if self._moved:
            return Window(lower=shown - self.rounding / 2, upper=shown + self.rounding / 2)
        if self.published.metric in LOSSES:
            return Window(lower=shown - self.allowance, upper=_LARGEST.get(self.published.metric, Fraction(1)))
        return Window(lower=Fraction(0), upper=shown + self.allowance)


def ladder(labels: ArrayLike, metric: str, *, step: object, limit: int | None = None) -> LadderOracle:
    """Return the Ladder with a fixed step. It shows a score that is better by more than the step, rounded to a
    multiple.

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
    """Return the Ladder whose step is the standard error of the difference to the best submission: `s / sqrt(n)`.

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
    """Return what each row adds to a mean loss; for accuracy, whether it is on the wrong side of one half."""
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
    """Return a group of the rows that are most likely wrong, ties by chance; fewer if fewer can be."""
    can = np.flatnonzero(wrong > 0.0)
    return can[np.lexsort((rng.random(can.size), -wrong[can]))[:group]]


def _less_likely(wrong: FloatArray) -> FloatArray:
    """Chances of being wrong, once it is known that not all of a group are."""
    together = float(np.prod(wrong))
    return np.asarray((wrong - together) / (1.0 - together))


BOOSTABLE = ("accuracy", "auc")
"""Numbers that are one half for scores at random, whatever the labels."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Boosted:
    """Majority vote of random submissions, and its scores on the leaderboard as it grew.

    `leaderboard[i]` was answered when `members[i]` random submissions had been put together; `honest[i]` is its score
    on rows that the oracle never answers for (empty if none were given). `queries` counts all submissions.
    """

    submission: FloatArray
    members: tuple[int, ...]
    leaderboard: tuple[float, ...]
    honest: tuple[float, ...]
    queries: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "submission", read_only(self.submission))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "members": list(self.members),
            "leaderboard": list(self.leaderboard),
            "honest": list(self.honest),
            "queries": self.queries,
            "submission": self.submission.tolist(),
        }


def boost(
    oracle: Oracle,
    members: int | Sequence[int],
    *,
    hidden: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Boosted:
    """Submit scores at random, turn those around that got less than one half, and let all of them vote.

    For accuracy submissions are fair coins and the vote is their majority; for AUC they are uniform scores and the vote
    is their mean. `members` says after how many of them the vote is submitted too (one answer more each time).
    `hidden` are labels of further rows, those of the private leaderboard, which the same votes are tried on.

    >>> from confide.attacks.disclosure import Publication
    >>> contest = Oracle.of_labels(np.arange(100) % 2, Publication.parse("accuracy"))
    >>> boosted = boost(contest, 301, hidden=np.arange(1000) % 2, rng=1)
    >>> boosted.leaderboard[0] > 0.85, abs(boosted.honest[0] - 0.5) < 0.05, boosted.queries
    (True, True, 302)
    """
    metric = oracle.published.metric
    if metric not in BOOSTABLE:
        raise ParameterError(f"boosting is for {' and '.join(BOOSTABLE)}, which are one half at random; got {metric}")
    stops = [members] if isinstance(members, int) else sorted(set(members))
    if not stops or stops[0] < 1:
        raise ParameterError("members must be at least 1: how many random submissions are put together")
    others = np.zeros(0, dtype=np.bool_) if hidden is None else binary_labels(hidden, one_class=True)
    rng = np.random.default_rng(rng)
    vote = np.zeros(oracle.rows + others.size)
    leaderboard, honest, asked = [], [], oracle.asked
    for member in range(1, stops[-1] + 1):
        drawn = rng.integers(0, 2, vote.size).astype(np.float64) if metric == "accuracy" else rng.random(vote.size)
        better = 1.0 if oracle.ask(drawn[: oracle.rows]) >= 0.5 else -1.0
        vote += better * (drawn - 0.5)
        if member in stops:
            voted = _voted(vote, metric, rng)
            leaderboard.append(float(oracle.ask(voted[: oracle.rows])))
            if others.size:
                honest.append(float(exact_number_of(others, voted[oracle.rows :], metric)))
    return Boosted(
        submission=_voted(vote, metric, rng)[: oracle.rows],
        members=tuple(stops),
        leaderboard=tuple(leaderboard),
        honest=tuple(honest),
        queries=oracle.asked - asked,
    )


def _voted(vote: FloatArray, metric: str, rng: np.random.Generator) -> FloatArray:
    if metric == "auc":
        return vote.copy()
    return np.where((vote > 0.0) | ((vote == 0.0) & (rng.random(vote.size) < 0.5)), 1.0, 0.0)


def expected_accuracy(rows: int, members: int) -> float:
    """Return the expected score on the leaderboard of the majority vote of fair coins, each turned to one half or more.

    A coin's agreement with a label, S rows of n in all beyond one half, is right with a probability of `p = 1/2 +
    E|2S|/(2n)`, and coins are independent of each other: the majority of k is right with a probability of `P(Bin(k, p)
    > k/2)`, a tie counting half. With `E|2S|` near `sqrt(2n/pi)` that is `Phi(sqrt(2k/(pi n)))`, near `1/2 +
    sqrt(k/n)/pi` while k is well below n.

    >>> round(expected_accuracy(1000, 100), 3), round(0.5 + math.sqrt(100 / 1000) / math.pi, 3)
    (0.599, 0.601)
    """
    half = (rows + 1) // 2
    excess = 2 * half * math.exp(gammaln(2 * half + 1) - 2 * gammaln(half + 1) - 2 * half * math.log(2.0))
    p = 0.5 + excess / (2 * rows)
    more = float(bdtrc(members // 2, members, p))
    return more if members % 2 else (more + float(bdtrc(members // 2 - 1, members, p))) / 2.0


def orthogonal_signs(rows: int, submissions: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Plus and minus one for each row, a line for each submission: Hadamard matrices of the least order above the rows.

    Over a whole turn of as many submissions as the order, any two rows agree exactly half of the time. Every turn has
    its lines in another order and other columns turned around.
    """
    order = 1 << int(rows).bit_length()
    matrix = hadamard(order, dtype=np.int8)[:, 1 : rows + 1]
    turns = [
        matrix[rng.permutation(order)] * rng.choice(np.array([-1, 1], dtype=np.int8), rows)
        for _ in range(math.ceil(submissions / order))
    ]
    return np.concatenate(turns)[:submissions] if turns else np.zeros((0, rows), dtype=np.int8)


def pulls(signs: NDArray[np.int8], answers: FloatArray, centre: float | None) -> FloatArray:
    """Return how far each row's sign goes with the answers; answers that are not numbers are left out.

    Two-level submissions shift a score by very nearly a sum of one term for each row, so that its noise is divided by
    the root of the number of answers (Dinur and Nissim 2003). `centre` is the score of coins, None for the mean.
    """
    told = np.isfinite(answers)
    if not told.any():
        return np.zeros(signs.shape[1])
    around = float(answers[told].mean()) if centre is None else centre
    return np.asarray((answers[told] - around) @ signs[told].astype(np.float64))
