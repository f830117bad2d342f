"""Differences between groups: Newcombe's published intervals, DeLong's variances, and clusters in several groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep

from confide import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.clusters import cluster_estimate
from confide.intervals.delong import delong_variance
from confide.intervals.differences import against_rest, compare_estimates_unpaired
from confide.intervals.influence import linearise
from confide.intervals.interval import Estimate
from confide.intervals.proportions import wilson_interval_of
from confide.metrics.ranking import auc_score
from tests.intervals.clustered_rows import draw_stays


def share(successes: int, trials: int) -> Estimate:
    value = successes / trials
    return Estimate(
        value=value,
        standard_error=math.sqrt(value * (1.0 - value) / trials),
        interval=wilson_interval_of(value, trials),
    )


@pytest.mark.parametrize(
    ("first", "second", "lower", "upper"),
    [  # Newcombe (1998), Table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0000),
    ],
)
def test_shares_have_newcombes_interval(
    first: tuple[int, int], second: tuple[int, int], lower: float, upper: float
) -> None:
    found = compare_estimates_unpaired(share(*first), share(*second), metric="recall", threshold=0.5)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((lower, upper), abs=5e-5)
    expected = confint_proportions_2indep(*first, *second, method="newcomb")
    assert (found.interval.lower, found.interval.upper) == pytest.approx(expected, abs=1e-9)
    assert (found.metric, found.threshold) == ("recall", 0.5)


@pytest.mark.parametrize("successes", range(3, 20))
def test_p_value_agrees_with_the_interval(successes: int) -> None:
    found = compare_estimates_unpaired(share(successes, 20), share(12, 25), metric="precision")
    assert (found.p_value < 0.05) == (0.0 not in found.interval)
    assert found.z == pytest.approx(found.difference / found.standard_error)


def test_other_metrics_add_variances() -> None:
    first, second = Estimate(value=1.1, standard_error=0.12), Estimate(value=0.8, standard_error=0.09)
    found = compare_estimates_unpaired(first, second, metric="calibration_slope", names=("women", "men"))
    assert found.difference == pytest.approx(0.3)
    assert found.standard_error == pytest.approx(0.15)
    assert found.p_value == pytest.approx(2.0 * norm.sf(2.0))
    assert (found.first, found.second, found.interval.method) == ("women", "men", "unpaired normal")


def test_ratios_are_compared_by_their_logarithm() -> None:
    first, second = Estimate(value=1.2, standard_error=0.12), Estimate(value=0.8, standard_error=0.16)
    found = compare_estimates_unpaired(first, second, metric="observed_expected")
    assert found.contrast == "log ratio"
    assert found.difference == pytest.approx(math.log(1.5))
    assert found.standard_error == pytest.approx(math.hypot(0.1, 0.2))


def test_what_cannot_be_compared_is_refused() -> None:
    known, bare = Estimate(value=0.5, standard_error=0.1), Estimate(value=0.4)
    with pytest.raises(DataError, match="without standard error"):
        compare_estimates_unpaired(known, bare, metric="brier")
    with pytest.raises(DataError, match="there is no interval"):
        compare_estimates_unpaired(known, bare, metric="recall")
    with pytest.raises(ParameterError, match="same level"):
        compare_estimates_unpaired(share(3, 9), share(4, 9), metric="recall", level=0.9)
    with pytest.raises(DataError, match="ratio of 0"):
        compare_estimates_unpaired(Estimate(value=0.0, standard_error=0.1), known, metric="observed_expected")
    with pytest.raises(ParameterError, match="ends must be"):
        compare_estimates_unpaired(known, known, metric="brier", ends="exact")  # type: ignore[arg-type]


def test_each_group_against_the_rest() -> None:
    stays = draw_stays(np.random.default_rng(1), patients=150)
    groups = np.array(["north", "south", "west"])[np.arange(stays.labels.size) % 3]
    found = against_rest(stays.labels, stays.scores[0], groups, "auc")
    assert [(each.first, each.second) for each in found] == [("north", "rest"), ("south", "rest"), ("west", "rest")]
    inside = groups == "south"
    parts = [ScoreCounts.from_arrays(stays.labels[rows], stays.scores[0][rows]) for rows in (inside, ~inside)]
    assert found[1].difference == pytest.approx(auc_score(parts[0]) - auc_score(parts[1]))
    assert found[1].standard_error == pytest.approx(math.sqrt(sum(delong_variance(part) for part in parts)))
    assert found[1].simultaneous is not None
    assert found[1].simultaneous.width > found[1].interval.width


def test_each_group_against_a_reference() -> None:
    stays = draw_stays(np.random.default_rng(2), patients=150)
    groups = np.array(["north", "south", "west"])[np.arange(stays.labels.size) % 3]
    found = against_rest(stays.labels, stays.scores[0], groups, "brier", reference="south")
    assert [(each.first, each.second) for each in found] == [("north", "south"), ("west", "south")]
    missed = (stays.scores[0] - stays.labels) ** 2
    north, south = missed[groups == "north"], missed[groups == "south"]
    assert found[0].difference == pytest.approx(north.mean() - south.mean())
    assert found[0].standard_error == pytest.approx(
        math.sqrt(north.var(ddof=1) / north.size + south.var(ddof=1) / south.size)
    )
    with pytest.raises(ParameterError, match="Did you mean 'south'"):
        against_rest(stays.labels, stays.scores[0], groups, "brier", reference="souths")


def test_clusters_in_several_groups_covary() -> None:
    """The variance of a difference by one sum over patients, whose stays lie in both groups."""
    stays = draw_stays(np.random.default_rng(3), patients=80)
    groups = np.where(np.arange(stays.labels.size) % 2 == 0, "even", "odd")
    (found,) = against_rest(stays.labels, stays.scores[0], groups, "brier", reference="odd", codes=stays.patients)
    missed = (stays.scores[0] - stays.labels) ** 2
    total = 0.0
    for patient in range(80):
        part = 0.0
        for name, sign in (("even", 1.0), ("odd", -1.0)):
            rows = groups == name
            clusters = len(set(stays.patients[rows].tolist()))
            chosen = rows & (stays.patients == patient)
            own = float(np.sum(missed[chosen] - missed[rows].mean())) / rows.sum()
            part += sign * math.sqrt(clusters / (clusters - 1)) * own
        total += part**2
    assert found.standard_error == pytest.approx(math.sqrt(total), rel=1e-10)
    assert found.interval.method == "cluster-robust, t"


def test_patients_of_one_group_give_independent_estimates() -> None:
    stays = draw_stays(np.random.default_rng(4), patients=80)
    groups = np.where(stays.patients < 40, "first", "later")
    (found,) = against_rest(
        stays.labels, stays.scores[0], groups, "calibration_slope", reference="later", codes=stays.patients
    )
    errors = [
        cluster_estimate(stays.labels[r], stays.scores[0][r], stays.patients[r], "calibration_slope").standard_error
        for r in (groups == "first", groups == "later")
    ]
    assert found.standard_error == pytest.approx(math.hypot(*(error or math.nan for error in errors)))


def test_groups_without_both_classes_are_left_out() -> None:
    labels = np.array([True, True, False, True, False, False, True])
    scores = np.array([0.9, 0.8, 0.3, 0.6, 0.4, 0.2, 0.1])
    groups = np.array(["a", "a", "b", "b", "b", "c", "c"])
    found = against_rest(labels, scores, groups, "brier")
    assert [each.first for each in found] == ["b", "c"]
    assert found[0].difference == pytest.approx(
        linearise("brier", labels[2:5], scores[2:5]).value
        - linearise("brier", labels[groups != "b"], scores[groups != "b"]).value
    )
    with pytest.raises(ParameterError, match="no standard error in closed form"):
        against_rest(labels, scores, groups, "youden_threshold")
