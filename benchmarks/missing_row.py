"""The label of a row whose score is known, from releases of the AUC on Adult: success beside its bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from studies.boyd_private.data import ADULT, RowPopulation, adult

from benchmarks.shared import shared_file
from benchmarks.timing import table
from confide.attacks.disclosure import Game, Publication
from confide.attacks.one_row.games import label_game

RELEASED = Publication.parse("auc:epsilon=1")

GAMES = ((20, 1), (20, 10), (500, 1))
"""Rows, and how many times the AUC is released."""


def run(*, quick: bool = False) -> None:
    file = shared_file(ADULT.name)
    if file is None:
        print(f"{ADULT.name} is not here: set CONFIDE_SHARED to the folder that holds data/")
        return
    population, draws = adult(file, 0), 20 if quick else 200
    print(f"all rows known but one label, which a coin decides, from releases with epsilon 1; {draws} games each")
    table(("rows", "answers", "right", "95 % interval", "bound"), [bounded(population, *each, draws) for each in GAMES])


def bounded(population: RowPopulation, size: int, times: int, draws: int) -> tuple[str, ...]:
    rng = np.random.default_rng([size, times])
    counts = population.draw(size // 2, size // 2, rng)
    game = label_game(counts, replace(RELEASED, times=times), trials=draws, rng=rng, reading="everything")
    return (f"{size:,}", f"{times}", f"{game.success:.3f}", _interval(game), f"{game.bound:.4f}")


def _interval(game: Game) -> str:
    return f"{game.interval.lower:.3f} to {game.interval.upper:.3f}"
