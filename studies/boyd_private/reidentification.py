"""Attack on the class of a missing row from the AUC of all rows (Figures 2 and 5.1), and two neighbours (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide import ScoreCounts, auc_score
from confide.attacks.disclosure import Publication
from confide.attacks.one_row.games import missing_row_game
from confide.counts import FloatArray
from studies.boyd_private.data import Population, test_set
from studies.boyd_private.published import DIGITS, MOST_ROWS, NEIGHBOUR_AUCS, NEIGHBOUR_SIZES
from studies.repeatable_noise import generator_for, repeatable_noise
from studies.store import Arrays

RELEASED = "auc:epsilon=1"
PUBLICATIONS = (*(f"{digits} digits" for digits in DIGITS), "exact", "epsilon 1, class by a coin")

_PLACES = 10_000  # tried for the scores of Figure 1


def measure_attack(population: Population, rows: int, trials: int, releases: int, seed: int) -> Arrays:
    """Leave a row out of balanced test sets and guess its class from the AUC: rounded, exact, and released.

    For the release a coin decides the missing row's class. As published, the known rows are one short of it.
    """
    generator = generator_for(seed, "boyd-private", "attack", population.key, rows)
    pool = population.draw(MOST_ROWS, MOST_ROWS, generator)
    written = [*(Publication(metric="auc", digits=digits) for digits in DIGITS), Publication(metric="auc")]
    games = missing_row_game(pool, written, trials=trials, rng=generator, sample=rows)
    released = missing_row_game(
        pool,
        [Publication.parse(RELEASED)],
        trials=releases,
        rng=generator,
        sample=rows,
        coin=True,
        noise=repeatable_noise(generator),
    )
    every = (*games, *released)
    return {
        "hits": np.array([game.hits for game in every]),
        "trials": np.array([game.trials for game in every]),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """Two datasets that differ in one row: a negative became a positive with another score."""

    first: ScoreCounts
    second: ScoreCounts

    @property
    def aucs(self) -> tuple[float, float]:
        """Return both AUCs."""
        return auc_score(self.first), auc_score(self.second)


def neighbours(seed: int) -> Neighbours:
    """Find normal scores of the sizes of Figure 1 with the printed AUCs, and one changed row that leads from D to D'.

    With 15 positives and 15 negatives only 179/225 is printed as 0.796; with 16 and 14 only 173/224 as 0.772.
    """
    (n, m), (_, fewer) = NEIGHBOUR_SIZES
    first_wins, second_wins = (round(auc * n * m) for auc, (n, m) in zip(NEIGHBOUR_AUCS, NEIGHBOUR_SIZES, strict=True))
    generator = generator_for(seed, "boyd-private", "neighbours")
    for _ in range(_PLACES):
        ours, theirs = 1.2 + generator.standard_normal(n), np.sort(generator.standard_normal(m))
        beaten = (ours[:, None] > theirs).sum(axis=0)
        removed = int(generator.integers(m))
        needed = second_wins - (first_wins - int(beaten[removed]))
        if beaten.sum() != first_wins or not 0 < needed < fewer:
            continue
        kept = np.delete(theirs, removed)
        score = (kept[needed - 1] + kept[needed]) / 2.0
        return Neighbours(first=test_set(ours, theirs), second=test_set(np.append(ours, score), kept))
    raise RuntimeError("no such scores were drawn")


def successes(arrays: Arrays) -> tuple[FloatArray, FloatArray]:
    """Return the share of right guesses from each publication, and the number of trials."""
    return arrays["hits"] / arrays["trials"], arrays["trials"].astype(np.float64)


def balanced_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes up to the right end of Figure 2."""
    return tuple(size for size in sizes if size <= MOST_ROWS)
