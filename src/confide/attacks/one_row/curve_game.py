"""The game of one label against a released curve: what the noisy counts say about one row, all others being known."""

from __future__ import annotations

import numpy as np

from confide.attacks.bounds import Game, finished
from confide.attacks.disclosure import NEIGHBOURS, Publication
from confide.attacks.one_row.game import check_trials, right_guess
from confide.attacks.one_row.rows import coin_worlds
from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.privacy.guarantee import checked_epsilon
from confide.releases.curves import prepare_curves
from confide.releases.curves_from_counts import noisy_counts
from confide.releases.release import Release


def curve_game(
    counts: ScoreCounts,
    published: Publication,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    level: float = 0.95,
) -> Game:
    """Guess a row's label, which a fair coin decided, from released curves; all else, the row's score too, is known.

    A label moves one count from one class to the other in the row's cell, and nothing else. So the adversary
    looks at both counts there, and guesses the world with the smaller sum of absolute distances over all releases: the
    likelihood-ratio test where each cell has Laplace noise of its own, but for the sharing out of the public number of
    rows among all cells.
    """
    check_trials(counts, trials)
    epsilon = checked_epsilon(published.epsilon)
    hits, guarantee = 0, None
    for at, world, other in coin_worlds(counts, trials, rng):
        prepared = prepare_curves(world, epsilon=epsilon, neighbours=neighbours)
        guarantee = prepared.guarantee
        releases = [prepared.draw()[0] for _ in range(published.times)]
        score = float(counts.scores[at])
        costs = [sum(_distance(each, release, score) for release in releases) for each in (world, other)]
        hits += right_guess(costs[0], costs[1], rng)
    return finished(published, hits, trials, level=level, guarantee=guarantee, times=published.times)


def _distance(world: ScoreCounts, release: Release, score: float) -> float:
    """How far the noisy counts of the score's cell, one of each class, are from a world's."""
    grid = Grid(np.array(release.options["grid"]))
    cell = int(grid.cells([score])[0])
    inside = grid.cells(world.scores) == cell
    seen = noisy_counts(release.parts["noisy_integers"], release.options).agreed()[:, cell]
    exact = np.array([world.positives[inside].sum(), world.negatives[inside].sum()])
    return float(np.abs(seen - exact).sum())
