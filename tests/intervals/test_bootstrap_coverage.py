"""Bootstrap intervals of every metric cover what they say; resampling within classes does not where prevalence enters.

Datasets are drawn from a population with 15 distinct scores, whose value of each metric is known. Each test draws with
a fixed seed, so it either always passes or always fails.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from confide import ScoreCounts
from confide.intervals.replicates import _ARRAYS, draw_replicates, replicate_values
from confide.metrics.registry import METRICS, Metric, Resampling
from confide.metrics.threshold import MEASURES

pytestmark = pytest.mark.statistical

ROWS = 1_000
ODDS = np.linspace(-4.0, 1.6, 15)
MASS = np.exp(-0.5 * ((ODDS + 1.9) / 1.2) ** 2)
RISK = 1.0 / (1.0 + np.exp(-(0.6 + 0.75 * ODDS)))  # risks are underestimated and too extreme
WHOLE = 10_000_000 * MASS / MASS.sum()
POPULATION = ScoreCounts(
    1.0 / (1.0 + np.exp(-ODDS)),
    np.round(WHOLE * RISK).astype(np.int64),
    np.round(WHOLE * (1.0 - RISK)).astype(np.int64),
)
SHARES = np.concatenate((POPULATION.positives, POPULATION.negatives)) / int(sum(POPULATION.both_classes()))

LEFT_OUT = {
    name
    for name, metric in METRICS.items()
    # A smooth curve, and an integral for the binormal curve, take milliseconds a replicate.
    if name == "binormal" or {"span", "smoother"} & set(metric.options)
}
OPTIONS = {"net_benefit": {"threshold": 0.1}}
ONCE_WRONG = {"calibration_intercept", "observed_expected", "net_benefit", "brier"}
"""Metrics whose intervals cover far too little if the prevalence is held fixed."""
FAST = {*_ARRAYS, *MEASURES, "net_benefit", "partial_auc"}
OTHERS = set(METRICS) - FAST - LEFT_OUT


def requests(names: list[str]) -> dict[str, tuple[Metric, dict[str, float]]]:
    return {name: (METRICS[name], OPTIONS.get(name, {})) for name in names}


@cache
def coverage(resampling: Resampling | None, *, fast: bool) -> dict[str, float]:
    """Return the share of datasets whose 95 % percentile interval holds the population's value."""
    rng = np.random.default_rng(11)
    times, replicates = (400, 200) if fast else (60, 100)
    names = sorted(FAST if fast else OTHERS if resampling is None else ONCE_WRONG & OTHERS)
    truth = {name: METRICS[name](POPULATION, **OPTIONS.get(name, {})) for name in names}
    held = dict.fromkeys(names, 0)
    for _ in range(times):
        drawn = rng.multinomial(ROWS, SHARES)
        ours, theirs = drawn[: len(POPULATION)], drawn[len(POPULATION) :]
        seen = ours + theirs > 0
        counts = ScoreCounts(POPULATION.scores[seen], ours[seen], theirs[seen])
        for scheme in ("rows", "classes") if resampling is None else (resampling,):
            chosen = [name for name in names if resampling is not None or METRICS[name].resampling == scheme]
            sample = draw_replicates(counts, replicates, rng, scheme)
            for name, values in replicate_values(sample, requests(chosen)).items():
                lower, upper = np.nanquantile(values, (0.025, 0.975))
                held[name] += bool(lower <= truth[name] <= upper)
    return {name: count / times for name, count in held.items()}


# Of 400 datasets, 361 or more intervals hold with 200 replicates, whose percentiles cover 94.5 %, but once in 4,000
# seeds a metric. Of 60 datasets, 49 or more with 100 replicates (94 %), but once in 5,000 seeds a metric. Intervals
# that cover 85 % pass the first bound once in 2,000 seeds, and those that cover 65 % the second once in 700.
LEAST = {True: 360 / 400, False: 48 / 60}


def test_no_metric_is_forgotten() -> None:
    assert set(METRICS) == FAST | OTHERS | LEFT_OUT
    assert len(LEFT_OUT) <= 5


@pytest.mark.few(1)
@pytest.mark.parametrize("fast", [True, False])
def test_intervals_of_every_metric_cover(fast: bool) -> None:
    missed = {name: share for name, share in coverage(None, fast=fast).items() if share <= LEAST[fast]}
    assert not missed


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ONCE_WRONG))
def test_intervals_with_a_fixed_prevalence_are_refused(name: str) -> None:
    fast = name in FAST
    assert METRICS[name].resampling == "rows"
    assert coverage("classes", fast=fast)[name] <= LEAST[fast]
