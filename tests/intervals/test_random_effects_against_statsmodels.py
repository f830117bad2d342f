"""Random-effects summaries against published numbers, brute force and statsmodels."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm, t

from confide.counts import FloatArray
from confide.errors import ConfideError
from confide.intervals.random_effects import (
    RandomEffects,
    auc_random_effects,
    observed_expected_random_effects,
    random_effects,
    ratio_random_effects,
    restricted_likelihood,
)

# Thirteen trials of the BCG vaccine (Colditz et al. 1994): with and without tuberculosis, vaccinated and not.
BCG = np.array(
    [
        [4, 119, 11, 128],
        [6, 300, 29, 274],
        [3, 228, 11, 209],
        [62, 13536, 248, 12619],
        [33, 5036, 47, 5761],
        [180, 1361, 372, 1079],
        [8, 2537, 10, 619],
        [505, 87886, 499, 87892],
        [29, 7470, 45, 7232],
        [17, 1699, 65, 1600],
        [186, 50448, 141, 27197],
        [5, 2493, 3, 2338],
        [27, 16886, 29, 17825],
    ],
    dtype=np.float64,
)


def log_risk_ratios() -> tuple[FloatArray, FloatArray]:
    a, b, c, d = BCG.T
    return np.log(a / (a + b)) - np.log(c / (c + d)), 1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d)


def test_bcg_as_metafor_has_it() -> None:
    """The values that metafor's documentation prints for REML with test="knha", and for confint."""
    found = random_effects(*log_risk_ratios())
    assert found.tau_squared == pytest.approx(0.3132, abs=5e-5)
    assert found.i_squared == pytest.approx(0.9222, abs=5e-5)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.value == pytest.approx(-0.7145, abs=5e-5)
    assert found.standard_error == pytest.approx(0.1808, abs=5e-5)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((-1.1084, -0.3206), abs=5e-5)
    profile = found.tau_squared_interval
    assert profile is not None
    assert (profile.lower, profile.upper) == pytest.approx((0.1197, 1.1115), abs=5e-5)
    usual = 1.0 / math.sqrt((1.0 / (log_risk_ratios()[1] + found.tau_squared)).sum())
    assert usual == pytest.approx(0.1798, abs=5e-5)  # metafor's standard error without knha


def test_prediction_by_formula() -> None:
    """metafor's own, with k - 1 degrees, prints 0.14 to 1.76; ours has k - 2, as Partlett and Riley's."""
    found = random_effects(*log_risk_ratios())
    assert found.prediction is not None
    for degrees, ends in ((12, (0.14, 1.76)), (11, (found.prediction.lower, found.prediction.upper))):
        reach = t.ppf(0.975, degrees) * math.sqrt(found.tau_squared + found.standard_error**2)
        if degrees == 12:
            assert np.exp([found.mean - reach, found.mean + reach]).round(2).tolist() == list(ends)
        else:
            assert ends == pytest.approx((found.mean - reach, found.mean + reach), abs=1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(15))
def test_tau_squared_maximises_the_restricted_likelihood(seed: int) -> None:
    """Against the likelihood of the contrasts, computed as a multivariate normal density on a grid."""
    rng = np.random.default_rng(seed)
    sites = int(rng.integers(2, 9))
    variances = rng.uniform(0.01, 0.3, sites)
    estimates = rng.normal(0.0, rng.choice([0.0, 0.2, 1.0]), sites) + rng.normal(size=sites) * np.sqrt(variances)
    contrasts = np.eye(sites)[1:] - np.eye(sites)[:1]

    def likelihood(tau_squared: float) -> float:
        covariance = contrasts @ np.diag(variances + tau_squared) @ contrasts.T
        differences = contrasts @ estimates
        _, size = np.linalg.slogdet(covariance)
        return float(-0.5 * (size + differences @ np.linalg.solve(covariance, differences)))

    found = random_effects(estimates, variances).tau_squared
    tried = np.concatenate((np.linspace(0.0, 6.0, 6001), np.linspace(0.0, 0.05, 1001)))
    best = max(likelihood(tau) for tau in tried)
    assert likelihood(found) >= best - 1e-12
    shift = restricted_likelihood(0.3, estimates, variances) - likelihood(0.3)
    assert restricted_likelihood(1.1, estimates, variances) - likelihood(1.1) == pytest.approx(shift, abs=1e-9)


def test_the_higher_of_two_maxima_is_found() -> None:
    """Near 0.03 there is another, where scoring from a poor start would stay."""
    estimates = np.array([-0.058, -3.357, 0.173, 0.026, -0.016, -0.01])
    variances = np.array([2.9254, 1.08586, 0.00048, 3.69573, 0.01107, 3.74055])
    tried = np.geomspace(1e-3, 1e2, 2001)
    heights = np.array([restricted_likelihood(tau, estimates, variances) for tau in tried])
    inner = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])
    assert np.count_nonzero(inner) == 2
    found = random_effects(estimates, variances).tau_squared
    assert restricted_likelihood(found, estimates, variances) >= heights.max()
    assert found > 1.0


@pytest.mark.filterwarnings("ignore")
def test_pieces_against_statsmodels() -> None:
    """Q; and, with our tau^2 added to the variances, their mean and their interval with scaled weights."""
    from statsmodels.stats.meta_analysis import combine_effects

    estimates, variances = log_risk_ratios()
    ours = random_effects(estimates, variances)
    assert ours.q == pytest.approx(combine_effects(estimates, variances).q, rel=1e-12)
    theirs = combine_effects(estimates, variances + ours.tau_squared, use_t=True)
    assert ours.mean == pytest.approx(theirs.mean_effect_fe, abs=1e-12)
    assert ours.standard_error == pytest.approx(theirs.sd_eff_w_fe_hksj, abs=1e-12)
    assert (ours.interval.lower, ours.interval.upper) == pytest.approx(tuple(theirs.conf_int()[2]), abs=1e-12)


def test_one_site_is_itself() -> None:
    found = random_effects([0.4], [0.04])
    assert (found.value, found.standard_error, found.tau_squared) == pytest.approx((0.4, 0.2, 0.0))
    assert found.interval.upper == pytest.approx(0.4 + norm.ppf(0.975) * 0.2)
    assert (found.prediction, found.tau_squared_interval, found.q_p_value, found.i_squared) == (None,) * 4


def test_two_sites_have_one_degree_of_freedom_and_no_prediction() -> None:
    found = random_effects([0.0, 1.0], [0.1, 0.1])
    assert found.prediction is None
    assert found.interval.upper - found.value == pytest.approx(t.ppf(0.975, 1) * 0.5)


def test_equal_estimates_have_no_width_but_with_the_floor() -> None:
    plain, floored = (random_effects([0.3] * 4, [0.04] * 4, floor=floor) for floor in (False, True))
    assert plain.interval.width == 0.0
    assert floored.standard_error == pytest.approx(0.1)
    assert floored.interval.width == pytest.approx(2 * t.ppf(0.975, 3) * 0.1)


def test_the_floor_changes_nothing_where_sites_differ() -> None:
    estimates, variances = log_risk_ratios()
    assert random_effects(estimates, variances, floor=True) == random_effects(estimates, variances)


def test_aucs_are_summarised_in_log_odds() -> None:
    aucs, variances = np.array([0.7, 0.82, 0.75, 0.68]), np.array([0.001, 0.002, 0.0015, 0.003])
    found = auc_random_effects(aucs, variances, level=0.9)
    plain = random_effects(np.log(aucs / (1 - aucs)), variances / (aucs * (1 - aucs)) ** 2, level=0.9)
    assert found.value == pytest.approx(1.0 / (1.0 + math.exp(-plain.mean)))
    assert found.prediction is not None
    assert plain.prediction is not None
    assert found.prediction.lower == pytest.approx(1.0 / (1.0 + math.exp(-plain.prediction.lower)))
    assert (found.scale, found.tau_squared, found.weights) == ("logit", plain.tau_squared, plain.weights)
    assert 0.0 < found.interval.lower < found.value < found.interval.upper < 1.0


def test_ratios_are_summarised_in_logarithms() -> None:
    observed, expected, rows = np.array([40, 25, 60]), np.array([50.0, 20.0, 61.0]), np.array([200, 150, 400])
    found = observed_expected_random_effects(observed, expected, rows)
    plain = ratio_random_effects(observed / expected, 1.0 / observed - 1.0 / rows)
    assert found == plain
    assert found.value == pytest.approx(math.exp(found.mean))
    corrected = observed_expected_random_effects([0, 25], [2.0, 20.0], [30, 150])
    by_hand = ratio_random_effects([0.5 / 2.5, 25 / 20.0], [1 / 0.5 - 1 / 31, 1 / 25 - 1 / 150])
    assert corrected == by_hand


def test_the_variance_of_the_logarithm_is_that_of_binomial_counts() -> None:
    """Over 20,000 draws; the share of false alarms at four standard errors is below 1 in 10,000."""
    drawn = np.random.default_rng(4).binomial(400, 0.3, 20_000)
    spread = np.log(drawn).var()
    assert spread == pytest.approx(1 / 120 - 1 / 400, rel=4 * math.sqrt(2 / 20_000) + 0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: random_effects([], []),
        lambda: random_effects([0.1, 0.2], [0.1]),
        lambda: random_effects([0.1, 0.2], [0.1, 0.0]),
        lambda: random_effects([0.1, math.nan], [0.1, 0.1]),
        lambda: random_effects([0.1, 0.2], [0.1, 0.1], level=95),
        lambda: auc_random_effects([0.7, 1.0], [0.1, 0.1]),
        lambda: ratio_random_effects([0.7, 0.0], [0.1, 0.1]),
        lambda: observed_expected_random_effects([5], [0.0], [10]),
        lambda: observed_expected_random_effects([11], [3.0], [10]),
    ],
)
def test_what_cannot_be_summarised_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ConfideError):
        wrong()


def test_plain_data_can_be_written() -> None:
    found = auc_random_effects([0.7, 0.8, 0.75], [0.001, 0.002, 0.001])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(plain) == set(RandomEffects.__slots__)
    assert plain["interval"]["lower"] == found.interval.lower
