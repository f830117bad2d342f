"""Intervals of private numbers cover what they say, and what ignores noise or sampling does not.

Data are drawn from normal scores of known AUC, noise from the right distributions with a seed, so each
test either always passes or always fails. An interval of level p is refused if it covers in fewer of
200 runs than Binomial(200, p - 0.01) does with probability 1e-3: that is the false-alarm rate for
an interval that covers the promised p - 1 %. The power: one that covers 10 points less than p is refused
with probability over 0.85, one that covers 20 points less with over 0.99.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from confide import Release, ScoreCounts, delong_interval
from confide.metrics.calibration import brier_score
from confide.metrics.ranking import auc_score
from confide.metrics.threshold import confusion_matrix
from confide.privacy.mechanisms.average_precision_sensitivity import pessimistic_average_precision
from tests.noises import Way, seeded

pytestmark = pytest.mark.statistical

TIMES = 200


def enough(level: float) -> float:
    """The least coverage that is not refused."""
    return float(stats.binom.ppf(1e-3, TIMES, level - 0.01)) / TIMES


def test_the_stated_power_holds() -> None:
    for level in (0.8, 0.95, 0.99):
        refused = enough(level) * TIMES - 1
        assert stats.binom.cdf(refused, TIMES, level - 0.01) <= 1e-3
        assert stats.binom.cdf(refused, TIMES, level - 0.2) > 0.99
    assert stats.binom.cdf(enough(0.95) * TIMES - 1, TIMES, 0.85) > 0.85


@dataclass(frozen=True)
class Setting:
    """How rows are drawn, and how a number is released from them."""

    way: Way
    rows: int
    prevalence: float
    epsilon: str
    shift: float = 1.2
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.way} N={self.rows} pi={self.prevalence} epsilon={self.epsilon} level={self.level}"


@dataclass(frozen=True)
class Run:
    """One release, and what it was about."""

    release: Release
    counts: ScoreCounts
    exact: float


@functools.cache
def runs(setting: Setting, times: int = TIMES) -> tuple[Run, ...]:
    rng, noise = np.random.default_rng(setting.rows), seeded(setting.rows + 1)
    measures = {"measures": ("recall",)} if setting.way.metric == "confusion" else {}
    found = []
    for _ in range(times):
        labels = rng.random(setting.rows) < setting.prevalence
        normal = rng.standard_normal(setting.rows) + setting.shift * (labels - 0.5)
        counts = ScoreCounts.from_arrays(labels, stats.norm.cdf(normal), one_class=True)
        prepared = setting.way.prepare(
            counts, epsilon=setting.epsilon, level=setting.level, noise=noise, delta="1e-5", **measures
        )
        found.append(Run(prepared.draw()[0], counts, exact(setting.way.metric, counts)))
    return tuple(found)


def exact(metric: str, counts: ScoreCounts) -> float:
    if metric == "auc":
        return auc_score(counts)
    if metric == "average_precision":
        return pessimistic_average_precision(counts)
    if metric == "brier":
        return brier_score(counts)
    if metric == "prevalence":
        return counts.prevalence
    return confusion_matrix(counts, 0.5).recall


def truth(setting: Setting) -> float:
    """The population's value, in closed form or by quadrature."""
    half, pi = setting.shift / 2.0, setting.prevalence
    if setting.way.metric == "auc":
        return float(stats.norm.cdf(setting.shift / np.sqrt(2.0)))
    if setting.way.metric == "prevalence":
        return pi
    if setting.way.metric == "confusion":
        return float(stats.norm.cdf(half))
    if setting.way.metric == "brier":

        def squared(x: float) -> float:
            score = stats.norm.cdf(x)
            hit, miss = stats.norm.pdf(x - half), stats.norm.pdf(x + half)
            return float(pi * (1.0 - score) ** 2 * hit + (1.0 - pi) * score**2 * miss)

        return float(integrate.quad(squared, -8.0, 8.0)[0])

    def precision(recall: float) -> float:
        called = stats.norm.sf(stats.norm.isf(recall) + setting.shift)
        return float(pi * recall / (pi * recall + (1.0 - pi) * called))

    return float(integrate.quad(precision, 0.0, 1.0, limit=200)[0])


AUC = Way("auc", "rank-sum", "replace-one")
SETTINGS = (
    Setting(AUC, 300, 0.3, "1"),
    Setting(AUC, 100, 0.2, "0.5"),
    Setting(AUC, 300, 0.3, "1", level=0.8),
    Setting(AUC, 300, 0.3, "1", level=0.99),
    Setting(Way("auc", "rank-sum", "label-only"), 200, 0.5, "1"),
    Setting(Way("auc", "student-t", "add-remove-one"), 600, 0.3, "1"),
    Setting(Way("average_precision", "student-t", "replace-one"), 1000, 0.5, "1"),
    Setting(Way("average_precision", "private-counts", "replace-one"), 1000, 0.5, "1"),
    Setting(Way("brier", "laplace", "replace-one"), 200, 0.3, "1"),
    Setting(Way("brier", "laplace", "add-remove-one"), 300, 0.3, "1"),
    Setting(Way("prevalence", "laplace", "replace-one"), 200, 0.3, "0.5"),
    Setting(Way("confusion", "laplace", "replace-one"), 300, 0.3, "0.5"),
    Setting(Way("confusion", "gaussian", "add-remove-one"), 300, 0.3, "1"),
    Setting(Way("average_precision", "local", "replace-one"), 200, 0.1, "0.5"),
)
SLOW = (
    Setting(Way("average_precision", "local", "replace-one"), 1000, 0.5, "1"),
    Setting(Way("average_precision", "local", "add-remove-one"), 300, 0.3, "1"),
    Setting(Way("average_precision", "pareto", "replace-one"), 300, 0.5, "1"),
)


@pytest.mark.long
@pytest.mark.parametrize("setting", [*SETTINGS, *SLOW], ids=str)
def test_intervals_cover_the_sample_s_value_and_the_population_s(setting: Setting) -> None:
    value = truth(setting)
    every = [(run.exact, run.release.intervals) for run in runs(setting)]
    assert np.mean([exactly in found.sample for exactly, found in every]) >= enough(setting.level)
    assert np.mean([value in found.population for _, found in every]) >= enough(setting.level)


def widths(setting: Setting, times: int = TIMES) -> NDArray[np.float64]:
    return np.array([run.release.intervals.sample.width for run in runs(setting, times)])


@pytest.mark.long
def test_the_level_is_meant() -> None:
    """Intervals of level 0.8 are not those of level 0.95, and far narrower than those of 0.99."""
    (low,) = [one for one in SETTINGS if one.level == 0.8]
    (high,) = [one for one in SETTINGS if one.level == 0.99]
    covered = np.mean([run.exact in run.release.intervals.sample for run in runs(low)])
    assert covered < 0.93  # Binomial(200, 0.95) lies below with probability 0.09, Binomial(200, 0.85) with 0.999
    assert widths(low).mean() < 0.6 * widths(high).mean()


def test_an_interval_that_ignores_the_noise_is_refused() -> None:
    """The broken twin: the non-private standard error around the private value."""
    setting = Setting(AUC, 100, 0.2, "0.5")
    value = truth(setting)
    missed = 0
    for run in runs(setting):
        if 0 < run.counts.total_positives < setting.rows:
            reach = delong_interval(run.counts, transform="none").width / 2.0
            missed += abs(run.release.value - value) > reach
    assert 1.0 - missed / TIMES < enough(setting.level)


def test_an_interval_that_ignores_sampling_is_refused() -> None:
    """The broken twin: the sample's interval, taken for the population's."""
    setting = Setting(Way("brier", "laplace", "replace-one"), 200, 0.3, "1")
    value = truth(setting)
    assert np.mean([value in run.release.intervals.sample for run in runs(setting)]) < enough(setting.level)


def test_an_interval_of_half_the_width_is_refused() -> None:
    for setting in (SETTINGS[0], SETTINGS[8], SETTINGS[10]):
        covered = []
        for run in runs(setting):
            sample = run.release.intervals.sample
            middle, reach = (sample.lower + sample.upper) / 2.0, sample.width / 4.0
            covered.append(abs(run.exact - middle) <= reach)
        assert np.mean(covered) < enough(setting.level), str(setting)


def test_more_epsilon_makes_narrower_intervals() -> None:
    found = [widths(Setting(AUC, 300, 0.3, epsilon), 30).mean() for epsilon in ("0.2", "1", "5")]
    assert found[0] > 2.0 * found[1] > 4.0 * found[2]
