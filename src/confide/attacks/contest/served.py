"""Attacks on a server that answers over a network: its answers stand in for an oracle's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.attacks.contest.ladder import LadderOracle
from confide.attacks.contest.oracle import Answer, Oracle
from confide.attacks.disclosure import Publication
from confide.counts import FloatArray
from confide.errors import ParameterError

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
