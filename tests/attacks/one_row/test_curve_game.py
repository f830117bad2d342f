"""The game of one label against released curves: every release is drawn, and all are read."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest

from confide import Release, ScoreCounts
from confide.attacks.disclosure import Publication
from confide.attacks.one_row import games as module
from confide.attacks.one_row.games import curve_game
from confide.privacy.adversary import success_bound
from confide.releases import PreparedRelease
from confide.releases.curves import prepare_curves
from tests.noises import SILENT, seeded

COUNTS = ScoreCounts.from_arrays(np.arange(12) % 2, np.linspace(0.05, 0.95, 12))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Release]:
    """Everything that is drawn: with noise from a seed the first time that a prepared release draws, then with none."""
    found: list[Release] = []
    noise = seeded(3)

    def prepared(*data: Any, **terms: Any) -> PreparedRelease:
        first, later = (prepare_curves(*data, **terms, noise=each) for each in (noise, SILENT))
        draws = chain([first.draw], repeat(later.draw))

        def draw() -> tuple[Release, ...]:
            releases = next(draws)()
            found.extend(releases)
            return releases

        return replace(first, draw=draw)

    monkeypatch.setattr(module, "prepare_curves", prepared)
    return found


@pytest.mark.parametrize("times", [1, 4])
def test_every_trial_draws_as_often_as_is_published(times: int, drawn: list[Release]) -> None:
    published = Publication.parse(f"roc:epsilon=1/2,times={times}")
    game = curve_game(COUNTS, published, trials=3, rng=np.random.default_rng(1))
    assert len(drawn) == 3 * times
    assert (game.times, game.epsilon, game.bound) == (times, times / 2, success_bound(times / 2))


def test_all_that_is_drawn_is_read(drawn: list[Release]) -> None:
    """Whatever the first says, two without noise outweigh it; alone it is next to a coin."""
    rng = np.random.default_rng(1)
    once, often = (
        curve_game(COUNTS, Publication.parse(f"roc:epsilon=1/100,times={times}"), trials=25, rng=rng)
        for times in (1, 3)
    )
    assert often.success == 1.0
    assert once.success < 0.9
