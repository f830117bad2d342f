"""Plans of contests: against closed forms, SciPy, large samples and a separate simulation of the same model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from confide.contest.estimators import ratio_form
from confide.contest.metric import KINDS, ContestMetric
from confide.contest.plan import ContestPlan, Expected, plan_contest, usual_repetitions
from confide.contest.simulation import (
    Scenario,
    draw_labels,
    draw_signal,
    entry_scores,
    kendall_tau,
    separation,
    signal_of,
    true_value,
)
from confide.contest.terms import FinalMechanism
from confide.errors import ParameterError
from confide.metrics.names import Better
from tests.contest.small_contests import unmasked

TRIAL_AUC = float(norm.cdf(1.5 / math.sqrt(2.0 * (1.0 + 0.875**2 + 0.15**2))))  # signal 1.5


def small_plan(**changes: object) -> ContestPlan:
    options = {"rows": 400, "prevalence": 0.4, "answers": 60, "epsilon": 2, "teams": 10, "repetitions": 3}
    return plan_contest(**{**options, "rng": np.random.default_rng(1), **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_kendall_tau_against_scipy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, 9, 20), generator.integers(0, 9, 20)
    assert kendall_tau(first.astype(float), second.astype(float)) == pytest.approx(kendalltau(first, second).statistic)


def test_a_typical_team_reaches_the_auc() -> None:
    scenario = Scenario(
        rows=10, prevalence=0.5, answers=2, teams=2, metric=ContestMetric.checked("auc"), signal=signal_of(0.8)
    )
    assert true_value(scenario.metric, separation(scenario, 0.875), 0.5) == pytest.approx(0.8)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.better != Better.ZERO])
def test_true_values_against_a_large_sample(name: str) -> None:
    """300,000 rows, seeded: their value lies within 4 standard errors of the true one, of which it misses by chance
    with probability 6e-5. A separation that is 3 % too large must be told apart."""
    metric = ContestMetric.checked(name, 0.3 if KINDS[name].threshold else None)
    scenario = Scenario(rows=300_000, prevalence=0.2, answers=2, teams=2, metric=metric, signal=1.5)
    generator = np.random.default_rng(12)
    labels = draw_labels(scenario, generator)
    seen = draw_signal(scenario, labels, generator)
    own = generator.standard_normal(scenario.rows, dtype=np.float32)
    form = ratio_form(metric, entry_scores(scenario, seen, own, 0.5, generator), unmasked(labels))
    truth = true_value(metric, separation(scenario, 0.5), 0.2)
    residual = form.projection[0] - form.value * form.projection[1]
    error = math.sqrt(float(residual @ residual)) / form.denominator
    assert abs(form.value - truth) <= 4.0 * error
    assert abs(true_value(metric, separation(replace(scenario, signal=1.6), 0.5), 0.2) - truth) > 4.0 * error


@pytest.mark.parametrize(("epsilon", "price"), [(1, 7.5), (2, 2.28), (4, 1.13)])
def test_the_price_in_rows_against_the_closed_form(epsilon: int, price: float) -> None:
    """Half positive: noise of masking `v N (N^2 - 1) / 3 / (2 n m)^2` against the variance of placements."""
    grid = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    placements = float(np.var(norm.cdf(grid + math.sqrt(2.0) * norm.ppf(0.8))))
    flip = 1.0 / (1.0 + math.exp(epsilon))
    closed = 1.0 + (flip * (1.0 - flip) / (1.0 - 2.0 * flip) ** 2) * (4.0 / 3.0) / (4.0 * placements)
    assert closed == pytest.approx(price, abs=0.03)
    assert small_plan(epsilon=epsilon, prevalence=0.5).planned.rows_price == pytest.approx(closed, rel=0.03)


def test_boards_get_better_with_epsilon_and_exact_labels_are_best() -> None:
    plan = small_plan(repetitions=8)
    exact, half, planned, twice = plan.boards
    assert (exact, planned) == (plan.exact, plan.planned)
    assert [board.epsilon for board in plan.boards] == [None, 1, 2, 4]
    assert half.kendall_tau.value < planned.kendall_tau.value < twice.kendall_tau.value + 0.02
    assert exact.error.value < planned.error.value < half.error.value
    assert 1.0 == exact.rows_price < twice.rows_price < planned.rows_price < half.rows_price
    assert [round(board.certainty, 3) for board in plan.boards] == [1.0, 0.731, 0.881, 0.982]


def test_plans_can_be_repeated_and_are_plain_data() -> None:
    first, second = small_plan().to_dict(), small_plan().to_dict()
    assert first == second == json.loads(json.dumps(first, allow_nan=False))
    assert first["schema"] == "confide.contest-plan/1"
    assert small_plan(rng=np.random.default_rng(2)).to_dict() != first


def test_each_repetition_is_announced() -> None:
    names: list[str] = []
    small_plan(begin=names.append)
    assert names == ["contest 1", "contest 2", "contest 3"]


@pytest.mark.parametrize("metric", ["average_precision", "f1", "log_loss"])
def test_other_metrics(metric: str) -> None:
    plan = small_plan(metric=metric)
    assert plan.exact.kendall_tau.value > 0.5
    assert plan.planned.rows_price > 1.2


def test_the_number_of_repetitions_suits_the_work() -> None:
    assert usual_repetitions(10_000, 1_000) == 6
    assert usual_repetitions(100, 10) == 40
    assert usual_repetitions(10**7, 10**4) == 2


def test_the_mean_comes_with_its_standard_error() -> None:
    assert Expected.of([1.0, 3.0]).to_dict() == {"value": 2.0, "standard_error": pytest.approx(1.0)}
    assert Expected.of([1.0]).standard_error == 0.0


@pytest.mark.parametrize(
    ("delta", "mechanism", "noise"), [(0, FinalMechanism.MASKED, 0.0088), (1e-6, FinalMechanism.SHAPED, 0.0048)]
)
def test_noise_of_the_final_is_that_of_a_separate_simulation(
    delta: float, mechanism: FinalMechanism, noise: float
) -> None:
    """5,000 rows, 20 finalists, epsilon 1: a separate simulation measured .0088 (masked) and .0048 (shaped)."""
    plan = small_plan(
        rows=10_000, prevalence=0.5, public=0.5, teams=50, auc=TRIAL_AUC, final_epsilon=1, final_delta=delta,
        repetitions=1,
    )  # fmt: skip
    assert plan.final is not None
    assert (plan.final.mechanism, plan.final.rows, plan.public_rows) == (mechanism, 5_000, 5_000)
    assert plan.final.noise == pytest.approx(noise, rel=0.2)
    assert 0.003 < plan.final.sampling < 0.01
    assert plan.final.epsilon == Fraction(1)


def test_average_precision_has_a_masked_final() -> None:
    plan = small_plan(metric="average_precision", public=0.5, final_epsilon=1, final_delta=1e-6)
    assert plan.final is not None
    assert plan.final.mechanism == FinalMechanism.MASKED
    assert plan.final.delta == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 5}, "`rows`"),
        ({"answers": 0}, "`answers`"),
        ({"answers": 1}, "two teams"),
        ({"teams": True}, "`teams`"),
        ({"prevalence": 1.0}, "`prevalence`"),
        ({"auc": 0.4}, "`auc`"),
        ({"public": 0.0}, "`public`"),
        ({"public": 0.01}, "public part"),
        ({"final_epsilon": 1}, "`public` below 1"),
        ({"repetitions": 0}, "`repetitions`"),
        ({"epsilon": -1}, "epsilon"),
        ({"metric": "calibration_in_the_large"}, "another metric"),
        ({"metric": "aucc"}, "Did you mean 'auc'"),
    ],
)
def test_parameters_that_no_contest_has_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        small_plan(**changes)


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rows", "repetitions", "expected"),
    [(1_000, 15, (0.85, 0.71, 0.80, 0.84)), (10_000, 4, (0.95, 0.89, 0.93, 0.95))],
)
def test_boards_are_those_of_a_separate_simulation(
    rows: int, repetitions: int, expected: tuple[float, float, float, float]
) -> None:
    """1,000 submissions of 50 teams, half positive. Both sides have standard errors of about .01; .04 is allowed."""
    plan = plan_contest(rows, 0.5, 1_000, 2, auc=TRIAL_AUC, repetitions=repetitions, rng=np.random.default_rng(3))
    found = [board.kendall_tau.value for board in plan.boards]
    assert found == pytest.approx(expected, abs=0.04)
