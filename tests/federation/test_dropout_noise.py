"""Shares of noise at a site are sized for the fewest sites that may be left, less the colluders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import hyp2f1

from confide.counts import ScoreCounts
from confide.federation.crypto.shares import Seal
from confide.federation.question import Question
from confide.federation.site.private_answer import opened_share, prepare_share
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.mechanisms.strategies import best_strategy

SEAL = Seal.of(bytes(range(32)))
COUNTS = ScoreCounts.from_arrays(np.array([0, 1, 1]), np.array([0.2, 0.5, 0.9]))
DRAWS = 60


def chance_of_zero(ratio: float, honest: int) -> float:
    """Of a share, by noise_shares.proof.md: the difference of two negative binomial variates of shape 1/honest."""
    shape = 1 / honest
    return float((1 - ratio) ** (2 * shape) * hyp2f1(shape, shape, 1, ratio**2))


def measured(counts: ScoreCounts, question: Question) -> Any:
    """The integers of a share without noise."""
    cells = cells_on(counts, question.public_grid)
    return best_strategy(len(question.public_grid)).measure(np.asarray(cells)).reshape(-1)


@pytest.mark.parametrize(
    ("given", "honest", "all_less_colluders"),
    [({"colluders": 2, "fewest": 4}, 2, 3), ({"colluders": 0, "fewest": 3}, 3, 5), ({"colluders": 2}, 3, 3)],
)
def test_a_share_has_the_law_of_the_fewest_that_may_be_left(
    given: dict[str, Any], honest: int, all_less_colluders: int
) -> None:
    question = Question.checked(
        study="s",
        model="m",
        mode="private",
        sites=("a", "b", "c", "d", "e"),
        epsilon="1/10",
        site_share=0,
        grid="uniform:20",
        **given,
    )
    assert (question.honest, len(question.sites) - (question.colluders or 0)) == (honest, all_less_colluders)
    drawn = [opened_share(prepare_share(COUNTS, question, SEAL).draw()[0], question, SEAL) for _ in range(DRAWS)]
    full = measured(COUNTS, question)
    noise = np.array(drawn) - full
    zeros = float((noise == 0).mean())
    ratio = math.exp(-1 / 10)
    expected, wrong = chance_of_zero(ratio, honest), chance_of_zero(ratio, honest + 1)
    error = math.sqrt(expected * (1 - expected) / noise.size)
    assert abs(zeros - expected) < 5 * error < abs(wrong - expected)
