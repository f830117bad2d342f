"""Noise that every site draws from one seed is taken off again; noise from the system's generator is not."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from studies.schalk.shared_seed import (
    differences,
    fitting_seeds,
    from_known_site,
    seed_from_number,
    seeded_normals,
    shared_noise,
    without_noise,
)

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.federation.modes import noisy_scores
from confide.federation.question import Question
from confide.privacy.noise.shares import laplace_share

SCALE = 0.4
SENT_BY_COORDINATOR = 0.177211  # the sensitivity, say: every site has it, and so has who sent it


def site_scores() -> list[FloatArray]:
    rng = np.random.default_rng(0)
    return [np.sort(rng.beta(2.0, 3.0, rows)) for rows in (45, 51, 60)]


def as_the_packages_send(scores: Sequence[FloatArray]) -> list[FloatArray]:
    """Every site seeds with the same number, then adds normal numbers to its sorted scores."""
    seed = seed_from_number(SENT_BY_COORDINATOR)
    return [each + SCALE * seeded_normals(seed, len(each)) for each in scores]


def as_our_sites_send(scores: Sequence[FloatArray]) -> list[FloatArray]:
    """Each site's noise in the order of its scores, so that the attacks have what they need."""
    return [each + SCALE * noisy_scores.system_normals(len(each)) for each in scores]


def test_the_coordinator_takes_the_noise_off() -> None:
    scores = site_scores()
    read = without_noise(as_the_packages_send(scores), SCALE, seed_from_number(SENT_BY_COORDINATOR))
    for exact, found in zip(scores, read, strict=True):
        assert found == pytest.approx(exact, abs=1e-12)


def test_an_unknown_seed_is_found_by_trying() -> None:
    seed = seed_from_number(SENT_BY_COORDINATOR)
    tried = range(seed - 500, seed + 500)
    assert fitting_seeds(as_the_packages_send(site_scores()), SCALE, tried) == (seed,)


def test_equal_noise_cancels_between_sites() -> None:
    scores = site_scores()
    found = differences(as_the_packages_send(scores))
    assert found.shape == (2, 45)
    assert found[1] == pytest.approx(scores[2][:45] - scores[0][:45], abs=1e-12)


def test_a_hospital_that_takes_part_reads_all_others() -> None:
    scores = site_scores()
    first, third = from_known_site(as_the_packages_send(scores), 1, scores[1])
    assert first == pytest.approx(scores[0], abs=1e-12)
    assert third == pytest.approx(scores[2][:51], abs=1e-12)
    assert shared_noise(as_the_packages_send(scores), scores)


def test_nothing_of_it_applies_to_noise_from_the_system() -> None:
    """False alarms are rarer than 1e-9: deviations of 40 or more normal numbers would have to be half as large."""
    scores = site_scores()
    sent = as_our_sites_send(scores)
    assert not shared_noise(sent, scores)
    seed = seed_from_number(SENT_BY_COORDINATOR)
    assert fitting_seeds(sent, SCALE, range(seed - 100, seed + 100)) == ()
    for found, exact in zip(without_noise(sent, SCALE, seed), scores, strict=True):
        assert np.std(found - exact) > 0.5 * np.sqrt(2.0) * SCALE
    for found, exact in zip(from_known_site(sent, 0, scores[0]), scores[1:], strict=True):
        assert np.std(found - exact[:45]) > 0.5 * np.sqrt(2.0) * SCALE
    assert np.std(differences(sent)[0] - (scores[1][:45] - scores[0])) > 0.5 * np.sqrt(2.0) * SCALE


def question() -> Question:
    return Question.checked(
        study="s", model="m", mode="noisy-scores", sites=("a", "b"), epsilon=1, delta="0.01", sensitivity="0.1"
    )


def test_two_sites_with_the_same_rows_send_different_scores() -> None:
    counts = ScoreCounts.from_arrays([0, 1] * 40, np.linspace(0.0, 1.0, 80))
    one, other = (noisy_scores.site_noisy_scores(counts, question()) for _ in range(2))
    assert not set(one["positives"]) & set(other["positives"])
    assert not set(one["negatives"]) & set(other["negatives"])


def test_no_seed_reaches_our_noise() -> None:
    def drawn() -> tuple[list[float], list[int]]:
        random.seed(1)
        np.random.seed(1)  # what somebody would do who looks for a seed
        return noisy_scores.system_normals(50).tolist(), laplace_share([0] * 50, Fraction(50), 3)

    assert drawn()[0] != drawn()[0]
    assert drawn()[1] != drawn()[1]
    for sampler in (noisy_scores.system_normals, noisy_scores.noisy_scores, laplace_share):
        assert not any("seed" in name for name in inspect.signature(sampler).parameters)


def test_shares_of_the_private_mode_are_independent_between_sites() -> None:
    """Correlations of 2,000 pairs pass 5.5 standard errors with a chance below 1e-6: shares are heavy-tailed."""
    shares = np.clip(np.array([laplace_share([0] * 2_000, Fraction(4), 3) for _ in range(2)]), -20, 20)
    assert abs(np.corrcoef(shares)[0, 1]) < 5.5 / np.sqrt(2_000)
    assert abs(np.corrcoef(shares[0, :-1], shares[0, 1:])[0, 1]) < 5.5 / np.sqrt(2_000)


def test_what_cannot_be_attacked_is_refused() -> None:
    for attack in (lambda: differences([np.array([0.5])]), lambda: without_noise([], 1.0, 0)):
        with pytest.raises(ParameterError, match="at least"):
            attack()
