"""The paper's noisy scores: calibrated as it says, computed as it says, and labelled as what they are not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc_glm import equidistant_thresholds, roc_glm
from confide.errors import DataError, FederationError, ParameterError
from confide.federation.modes.noisy_scores import (
    NOT_PRIVATE,
    Moments,
    NoisyScores,
    PlacementSums,
    analytic_gaussian_scale,
    noise_scale,
    noisy_scores,
    pooled_noisy_scores,
    site_noisy_scores,
    site_sums,
    system_normals,
    validated,
)
from confide.federation.question import Question
from confide.intervals.delong import delong_variance


def question(**changes: Any) -> Question:
    given: dict[str, Any] = {"epsilon": 5, "delta": "0.01", "sensitivity": "0.177211", **changes}
    return Question.checked(study="s", model="m", mode="noisy-scores", sites=("a", "b", "c"), **given)


def sites(seed: int = 0, number: int = 3) -> list[ScoreCounts]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        labels = rng.random(80) < 0.4
        found.append(ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-rng.normal(labels * 1.2, 1.0)))))
    return found


def silent(count: int) -> FloatArray:
    return np.zeros(count)


def test_scale_against_the_published_one() -> None:
    assert analytic_gaussian_scale(5.0, 0.01, 0.177211) == pytest.approx(0.1009003, abs=5e-8)
    assert noise_scale(question()) == pytest.approx(0.1009003, abs=5e-8)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 5.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-2, 0.1, 0.5])
def test_scale_is_the_least_by_definition(epsilon: float, delta: float) -> None:
    """Delta is what one density exceeds e^epsilon times the other by, added up on a fine grid."""
    scale = analytic_gaussian_scale(epsilon, delta, 2.0)

    def needed(deviation: float) -> float:
        x = np.linspace(-40.0, 40.0, 60_001) * deviation + 1.0
        excess = norm.pdf(x, 2.0, deviation) - np.exp(epsilon) * norm.pdf(x, 0.0, deviation)
        return float(np.trapezoid(np.maximum(excess, 0.0), x))

    assert needed(scale) == pytest.approx(delta, rel=2e-3)
    assert needed(scale * 0.98) > delta > needed(scale * 1.02)


def test_scale_is_never_above_the_usual_one() -> None:
    """The classic Gaussian mechanism's scale, which holds for epsilon up to 1, is larger."""
    for epsilon in (0.1, 0.5, 1.0):
        assert analytic_gaussian_scale(epsilon, 1e-5, 1.0) < math.sqrt(2.0 * math.log(1.25e5)) / epsilon


@pytest.mark.parametrize(
    ("wrong", "message"),
    [((0.0, 0.1, 1.0), "epsilon"), ((1.0, 0.0, 1.0), "delta"), ((1.0, 1.0, 1.0), "delta"), ((1.0, 0.1, 0.0), "sens")],
)
def test_scales_that_do_not_exist_are_refused(wrong: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        analytic_gaussian_scale(*wrong)


def test_noise_is_normal() -> None:
    """A test at level 1e-6 on 20,000 draws; a deviation that is wrong by 15 % is rejected.

    The distance is then 0.034 in the mean, with a standard deviation of 0.004; 0.019 is rejected.
    """
    drawn = system_normals(20_000)
    assert kstest(drawn, "norm").pvalue > 1e-6
    assert kstest(1.15 * drawn, "norm").pvalue < 1e-6
    assert noisy_scores(np.full(500, 0.5), 0.1).std() == pytest.approx(0.1, rel=0.25)


def test_without_noise_it_is_the_pooled_roc_glm_and_delongs_variance() -> None:
    every = sites()
    pooled = NoisyScores.pooled([NoisyScores.of(counts, 0.1, normals=silent) for counts in every])
    at = equidistant_thresholds()
    first, *others = (PlacementSums.of(counts, pooled, at) for counts in every)
    total = first
    for other in others:
        total = total + other
    together = every[0] + every[1] + every[2]
    found = validated(total)
    assert found.curve.auc == pytest.approx(roc_glm(together).auc, abs=1e-12)
    assert found.auc.standard_error == pytest.approx(math.sqrt(delong_variance(together)), rel=1e-12)
    assert found.auc.known_interval.lower < found.auc.value < found.auc.known_interval.upper


def test_messages_bring_what_the_functions_make() -> None:
    every = sites()
    asked = question()
    sent = [json.loads(json.dumps(site_noisy_scores(counts, asked))) for counts in every]
    pooled = json.loads(json.dumps(pooled_noisy_scores(sent)))
    assert len(pooled["positives"]) == sum(int(counts.total_positives) for counts in every)
    assert pooled["negatives"] == sorted(pooled["negatives"])
    tables = [json.loads(json.dumps(site_sums(counts, asked, pooled))) for counts in every]
    total = PlacementSums.from_dict(tables[0])
    for table in tables[1:]:
        total = total + PlacementSums.from_dict(table)
    direct = PlacementSums.of(every[0] + every[1] + every[2], NoisyScores.from_dict(pooled), equidistant_thresholds())
    assert total.below.tolist() == direct.below.tolist()
    assert total.positives.squares == pytest.approx(direct.positives.squares)
    assert validated(total).to_dict()["promise"] == NOT_PRIVATE
    for message in (*sent, pooled, *tables):
        assert message["promise"] == NOT_PRIVATE


def test_the_label_says_why() -> None:
    for words in ("not differentially private", "one changed feature", "every row", "no noise"):
        assert words in NOT_PRIVATE


def test_noisy_scores_show_no_order_of_rows() -> None:
    sent = site_noisy_scores(sites()[0], question())
    assert sent["positives"] == sorted(sent["positives"])


def test_moments_by_hand() -> None:
    moments = Moments.of(np.array([0.25, 0.75])) + Moments.of(np.array([0.5]))
    assert (moments.rows, moments.total, moments.squares) == (3, 1.5, 0.875)
    assert moments.variance == pytest.approx(0.0625)
    with pytest.raises(DataError, match="at least two rows"):
        _ = Moments.of(np.array([0.5])).variance


def test_small_sites_are_refused_without_a_number() -> None:
    few = ScoreCounts.from_arrays([1, 1, 0, 0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    with pytest.raises(DataError, match="too few rows of a class") as refusal:
        site_noisy_scores(few, question())
    assert not any(letter.isdigit() for letter in str(refusal.value))
    weighted = ScoreCounts(np.array([0.1, 0.2]), np.array([5.5, 6.0]), np.array([6.0, 7.0]))
    with pytest.raises(DataError, match="weights"):
        site_noisy_scores(weighted, question())


GOOD = {"positives": [0.5, 0.7], "negatives": [0.1, 0.2], "scale": 0.1}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "scores",
        {},
        {**GOOD, "positives": []},
        {**GOOD, "negatives": [0.1, "0.2"]},
        {**GOOD, "negatives": [0.1, True]},
        {**GOOD, "positives": [float("nan")]},
        {**GOOD, "positives": [10**400]},
        {**GOOD, "scale": 0.0},
        {**GOOD, "scale": None},
    ],
)
def test_garbage_is_refused(wrong: object) -> None:
    with pytest.raises(FederationError):
        NoisyScores.from_dict(wrong)
    with pytest.raises(FederationError):
        pooled_noisy_scores([GOOD, wrong])


def test_sites_must_have_noise_of_one_scale() -> None:
    with pytest.raises(FederationError, match="different scales"):
        pooled_noisy_scores([GOOD, {**GOOD, "scale": 0.2}])
    with pytest.raises(FederationError, match="different scales, or none"):
        pooled_noisy_scores([])


SUMS: dict[str, Any] = {
    "below": [1] * 14 + [2] * 14,
    "positives": {"rows": 2, "sum": 0.6, "squares": 0.3},
    "negatives": {"rows": 3, "sum": 1.6, "squares": 1.1},
}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {**SUMS, "below": [1, 2]},
        {**SUMS, "below": [2] * 14 + [1] * 14},
        {**SUMS, "below": [1] * 14 + [3] * 14},
        {**SUMS, "below": [0.5] * 14 + [1] * 14},
        {**SUMS, "positives": {"rows": 2, "sum": 2.5, "squares": 1.0}},
        {**SUMS, "positives": {"rows": 2, "sum": 0.5, "squares": 0.7}},
        {**SUMS, "negatives": {"rows": 2.5, "sum": 0.5, "squares": 0.2}},
        {**SUMS, "negatives": 3},
    ],
)
def test_garbled_sums_are_refused(wrong: object) -> None:
    assert PlacementSums.from_dict(SUMS).positives.rows == 2
    with pytest.raises(FederationError):
        PlacementSums.from_dict(wrong)
