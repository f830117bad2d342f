"""Rows with one more, one less, or one label changed: the neighbours that the attacks on single rows compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from confide.attacks.numbers import checked_rows
from confide.counts import ScoreCounts, merge_counts
from confide.errors import ParameterError


def with_row(counts: ScoreCounts, score: float, positive: bool) -> ScoreCounts:
    """Return the rows and one more."""
    if not math.isfinite(score):
        raise ParameterError("score must be a finite number; leave out rows without one")
    checked_rows(counts)
    one, none = np.array([int(positive)]), np.array([int(not positive)])
    row = (np.array([float(score)]), one, none)
    return ScoreCounts(*merge_counts([counts.scores, row[0]], [counts.positives, row[1]], [counts.negatives, row[2]]))


def without_row(counts: ScoreCounts, at: int, positive: bool) -> ScoreCounts:
    """Return the rows without one of that class at that score."""
    ours, theirs = counts.positives.copy(), counts.negatives.copy()
    (ours if positive else theirs)[at] -= 1
    left = ours + theirs > 0
    return ScoreCounts(counts.scores[left], ours[left], theirs[left])


def flipped_row(counts: ScoreCounts, at: int, positive: bool) -> ScoreCounts:
    """Return the rows with the other label for one row of that class at that score."""
    step = np.zeros(len(counts), dtype=np.int64)
    step[at] = -1 if positive else 1
    return ScoreCounts(counts.scores, counts.positives + step, counts.negatives - step)


def row_drawer(counts: ScoreCounts, rng: np.random.Generator) -> Callable[[], tuple[int, bool]]:
    """Return a function that draws a row: where its score is, and whether it is positive."""
    through = np.cumsum(np.concatenate((counts.positives, counts.negatives)))

    def draw() -> tuple[int, bool]:
        found = int(np.searchsorted(through, rng.integers(through[-1]), "right"))
        return found % len(counts), found < len(counts)

    return draw


def coin_worlds(
    counts: ScoreCounts, trials: int, rng: np.random.Generator
) -> Iterator[tuple[int, ScoreCounts, ScoreCounts]]:
    """For each trial a random row: where its score is, the rows with a label that a coin decided, and the other."""
    target = row_drawer(counts, rng)
    for _ in range(trials):
        at, positive = target()
        flipped = flipped_row(counts, at, positive)
        yield (at, counts, flipped) if bool(rng.integers(2)) == positive else (at, flipped, counts)
