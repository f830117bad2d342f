"""The game of one label against a released curve: what the noisy counts say about one row, all others being known."""

from __future__ import annotations

import numpy as np

from confide.attacks.bounds import Game, finished
from confide.attacks.disclosure import NEIGHBOURS, Published
from confide.attacks.one_row.game import check_trials, right_guess
from confide.attacks.one_row.rows import flipped_row, row_drawer
from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.releases.curve_set import noisy_counts
from confide.releases.curves import prepare_curves
from confide.releases.release import Release


def curve_game(
    counts: ScoreCounts,
    published: Published,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    level: float = 0.95,
) -> Game:
    """Guess a row's label, which a fair coin decided, from released curves; all else, the row's score too, is known.

    A label moves one count from one class to the other in the row's cell, and nothing else. So the adversary
    looks at the difference of the classes there, summed over all releases, and guesses the nearer of two worlds.
    """
    check_trials(counts, trials)
    target = row_drawer(counts, rng)
    hits, guarantee = 0, None
    for _ in range(trials):
        at, positive = target()
        truth = bool(rng.integers(2))
        flipped = flipped_row(counts, at, positive)
        world, other = (counts, flipped) if truth == positive else (flipped, counts)
        prepared = prepare_curves(world, epsilon=published.epsilon, neighbours=neighbours)
        guarantee = prepared.guarantee
        releases = [prepared.draw()[0] for _ in range(published.times)]
        score = float(counts.scores[at])
        seen = sum(_difference(_released_table(release), _grid(release), score) for release in releases)
        expected = [
            sum(_difference(_table(each, _grid(release)), _grid(release), score) for release in releases)
            for each in (world, other)
        ]
        hits += right_guess(abs(seen - expected[0]), abs(seen - expected[1]), rng)
    return finished(published, hits, trials, level=level, guarantee=guarantee, times=published.times)


def _grid(release: Release) -> Grid:
    return Grid(np.array(release.options["grid"]))


def _released_table(release: Release) -> FloatArray:
    """Noisy counts of both classes in every cell."""
    return noisy_counts(release.parts["noisy_integers"], release.options).agreed()


def _table(counts: ScoreCounts, grid: Grid) -> FloatArray:
    cells = grid.cells(counts.scores)
    table = np.zeros((2, len(grid)))
    np.add.at(table[0], cells, counts.positives)
    np.add.at(table[1], cells, counts.negatives)
    return table


def _difference(table: FloatArray, grid: Grid, score: float) -> float:
    cell = int(grid.cells([score])[0])
    return float(table[0, cell] - table[1, cell])
