"""The games of one label: the published figure's shape, and the bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts
from confide.attacks import numbers
from confide.attacks.disclosure import Publication
from confide.attacks.one_row.games import flipped_row, label_game, missing_row_game
from confide.errors import DataError, ParameterError
from confide.intervals.proportions import wilson_interval_of
from confide.privacy.adversary import success_bound
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.squared_error import squared_error
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery
from confide.releases.registry import prepare
from tests.noises import seeded

SMALL = ScoreCounts.from_arrays(np.arange(20) % 2, np.concatenate((np.arange(1, 11), np.arange(90, 100))) / 100)
Query = Callable[[ScoreCounts, Fraction, Neighbours], IntegerQuery]


@pytest.fixture(scope="module")
def simulated() -> ScoreCounts:
    rng = np.random.default_rng(5)
    labels = np.arange(4000) < 2000
    return ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-rng.normal(1.5 * labels))))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("auc:epsilon=1", {"reading": "everything"}),
        ("auc:epsilon=1", {"neighbours": "label-only"}),
        ("brier:epsilon=2", {}),
        ("accuracy:epsilon=1", {"mechanism": "gaussian", "delta": "1e-5"}),
    ],
)
def test_the_bound_is_that_of_what_was_spent(text: str, options: dict[str, Any]) -> None:
    game = label_game(SMALL, Publication.parse(text), trials=2, rng=np.random.default_rng(6), **options)
    epsilon, delta = float(text.partition("=")[2]), float(options.get("delta", 0))
    assert (game.epsilon, game.delta) == (epsilon, delta)
    assert game.bound == success_bound(epsilon, delta) < 1.0


def best_success(ask: Query, epsilon: int, columns: int, noisier: float = 1.0) -> float:
    """How often a likelihood-ratio test of so many columns of a release tells the label of a row.

    By drawing from the discrete Laplace distribution, which is good to 0.003.
    """
    rng, found = np.random.default_rng(0), []
    for at, positive in enumerate(SMALL.positives):
        worlds = (SMALL, flipped_row(SMALL, at, bool(positive)))
        here, there = (ask(world, Fraction(epsilon), Neighbours.REPLACE_ONE) for world in worlds)
        evidence = np.zeros(2_000)
        for x, y, scale in list(zip(here.values, there.values, here.scales, strict=True))[:columns]:
            stop = -np.expm1(-1.0 / (noisier * float(scale)))
            noise = rng.geometric(stop, evidence.size) - rng.geometric(stop, evidence.size)
            evidence += (np.abs(noise + x - y) - np.abs(noise)) / float(scale)
        found.append(np.mean(evidence > 0.0) + np.mean(evidence == 0.0) / 2)
    return float(np.mean(found))


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("text", "options", "query"),
    [("brier:epsilon=2", {}, (squared_error, 2, 1)), ("auc:epsilon=3", {"reading": "everything"}, (rank_sum, 3, 2))],
)
def test_the_adversary_is_the_likelihood_ratio_test(
    text: str, options: dict[str, Any], query: tuple[Query, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often right as the best test can be, and no more, with noise from a seed: within three standard errors.

    Half the noise, or twice, would be further away.
    """
    monkeypatch.setattr(numbers, "prepare", partial(prepare, noise=seeded(11)))
    game = label_game(SMALL, Publication.parse(text), trials=160, rng=np.random.default_rng(6), **options)
    expected = best_success(*query)
    error = np.sqrt(expected * (1.0 - expected) / game.trials)
    assert abs(game.success - expected) < 3.0 * error
    assert min(abs(best_success(*query, noisier) - expected) for noisier in (0.5, 2.0)) > 3.0 * error
    assert game.bound is not None
    assert expected < game.bound


@pytest.mark.statistical
def test_the_game_sees_more_where_more_is_spent() -> None:
    """Weak noise is seen through, so that keeping the bound above is no accident; repeating adds up."""
    small = ScoreCounts.from_arrays([0, 0, 0, 1, 0, 1, 1, 1], np.arange(1, 9) / 9)
    rng = np.random.default_rng(7)
    weak = label_game(small, Publication.parse("brier:epsilon=100"), trials=30, rng=rng)
    assert weak.success > 0.9
    published = Publication.parse("auc:epsilon=4")
    often = label_game(small, replace(published, times=6), trials=15, rng=rng, reading="everything")
    assert (often.epsilon, often.times, often.bound) == (24.0, 6, success_bound(24.0))
    assert often.success > 0.7  # of 0.98, measured
    assert often.published == "auc:epsilon=4,times=6"
    doubled = label_game(small, Publication.parse("auc:epsilon=1"), trials=1, rng=rng, neighbours="add-remove-one")
    assert doubled.epsilon == 2.0  # a changed label is a row removed and one added


def test_shape_of_the_published_figure_on_simulated_scores(simulated: ScoreCounts) -> None:
    figure = success_by(simulated, (50, 250, 1000), (2, 4, 7), trials=150)
    check_shape(figure)


def test_shape_of_the_published_figure_on_adult(shared_data: Path) -> None:
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = pd.read_csv(shared_data / "adult.csv.gz", keep_default_na=False)
    label = (rows["income"] == ">50K").to_numpy()
    train = (rows["split"] == "train").to_numpy()
    features = rows.select_dtypes("number").drop(columns=["fnlwgt"], errors="ignore")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(features[train], label[train])
    counts = ScoreCounts.from_arrays(label[~train], model.predict_proba(features[~train])[:, 1])
    check_shape(success_by(counts, (50, 250, 1000), (2, 4, 7), trials=150))


def success_by(
    counts: ScoreCounts, sizes: tuple[int, ...], digits: tuple[int, ...], trials: int
) -> dict[tuple[int, int], float]:
    rng = np.random.default_rng(8)
    published = [Publication(metric="auc", digits=each) for each in digits]
    found = {}
    for size in sizes:
        for each, game in zip(
            digits, missing_row_game(counts, published, trials=trials, rng=rng, sample=size), strict=True
        ):
            assert (game.trials, game.chance, game.bound) == (trials, 0.5, None)
            found[size, each] = game.success
    return found


def check_shape(success: dict[tuple[int, int], float]) -> None:
    """Figure 2 of Boyd, Lantz & Page (2015): near 1 with many digits and few rows, near a coin with two digits."""
    assert min(success[50, 7], success[250, 7], success[1000, 7], success[50, 4]) > 0.85
    assert success[50, 4] > success[1000, 4] + 0.15
    assert success[250, 7] > success[250, 4] + 0.15 > success[250, 2]
    assert max(success[size, 2] for size in (50, 250, 1000)) < 0.7


@pytest.mark.statistical
def test_leaving_out_rows_of_the_file_itself(simulated: ScoreCounts) -> None:
    rng = np.random.default_rng(9)
    few = ScoreCounts.from_arrays([0] * 30 + [1] * 10, rng.normal(size=40))
    exact, private = missing_row_game(
        few, [Publication.parse("auc"), Publication.parse("auc:epsilon=1")], trials=60, rng=rng
    )
    assert exact.chance == 0.75
    assert exact.success > 0.8
    assert exact.interval == wilson_interval_of(exact.success, 60)
    assert (private.success < exact.success, private.bound) == (True, None)


@pytest.mark.statistical
def test_a_sample_with_half_of_each_class_gives_the_label_away(simulated: ScoreCounts) -> None:
    """Far outside, every number makes the attack name the class that is short; a coin takes that away."""
    rng = np.random.default_rng(10)
    released = [Publication.parse("auc:epsilon=0.01")]
    (paper,) = missing_row_game(simulated, released, trials=30, rng=rng, sample=50)
    (fair,) = missing_row_game(simulated, released, trials=30, rng=rng, sample=50, coin=True)
    assert paper.success > 0.85
    assert fair.bound == success_bound(0.01)
    assert fair.success < 0.85


def test_what_is_refused() -> None:
    rng = np.random.default_rng(0)
    counts = ScoreCounts.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    auc = Publication.parse("auc")
    with pytest.raises(ParameterError, match="trials"):
        label_game(counts, auc, trials=0, rng=rng)
    with pytest.raises(ParameterError, match="1 without an epsilon"):
        label_game(counts, replace(auc, times=2), trials=1, rng=rng)
    with pytest.raises(ParameterError, match="one release"):
        missing_row_game(counts, [Publication.parse("auc:epsilon=1,times=2")], trials=1, rng=rng)
    with pytest.raises(ParameterError, match="only a released AUC"):
        label_game(counts, Publication.parse("brier:epsilon=1"), trials=1, rng=rng, reading="everything")
    with pytest.raises(ParameterError, match="takes the AUC"):
        missing_row_game(counts, [Publication.parse("brier")], trials=1, rng=rng)
    with pytest.raises(ParameterError, match="even number"):
        missing_row_game(counts, [auc], trials=1, rng=rng, sample=5)
    with pytest.raises(ParameterError, match="give sample"):
        missing_row_game(counts, [auc], trials=1, rng=rng, coin=True)
    with pytest.raises(DataError, match="two rows of each class"):
        label_game(ScoreCounts.from_arrays([0, 0, 1], [0.1, 0.2, 0.3]), auc, trials=1, rng=rng)
