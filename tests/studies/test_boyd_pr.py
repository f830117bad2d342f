"""Precision-recall study: kernels against confide's functions, numbers against the dissertation, and a small run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score as sklearn_average_precision
from studies.boyd_pr.claims import comparisons
from studies.boyd_pr.kernels import ESTIMATORS, bootstrap_estimates, fold_estimates, resample_estimates
from studies.boyd_pr.plan import Setting, Settings
from studies.boyd_pr.region import UW_CSE, TaskAreas, implied_prevalence, normalised, worst_recall
from studies.boyd_pr.running import ALL_ESTIMATORS, equation_4_4, piece_name, simulate
from studies.boyd_pr.scenarios import HARD, PAPERS, Scenario
from studies.boyd_pr.study import METHODS, Found

from confide import ScoreCounts, aucpr_score
from confide.errors import ParameterError
from confide.intervals.proportions import binomial_interval_of, logit_interval_of
from confide.kernels.bootstrap import replicate_auc_ap
from tests.studies.commands import studies


def test_resamples_have_the_areas_of_their_rows() -> None:
    rng = np.random.default_rng(5)
    tried = 0
    for _ in range(300):
        labels = rng.random(rng.integers(2, 40)) < rng.uniform(0.1, 0.9)
        times = rng.multinomial(labels.size, np.full(labels.size, 1 / labels.size))
        if not times[labels].any() or not times[~labels].any():
            continue
        rows = np.repeat(labels, times), np.repeat(-np.arange(labels.size, dtype=float), times)
        counts = ScoreCounts.from_arrays(*rows)
        expected = [aucpr_score(counts, estimator=name) for name in ESTIMATORS]
        found = resample_estimates(labels, times)
        assert found == pytest.approx(expected, abs=1e-12)
        assert found[0] == pytest.approx(sklearn_average_precision(*rows), abs=1e-12)
        tried += 1
    assert tried > 200


def test_folds_divide_the_rows() -> None:
    """Folds of all rows but one: their average precisions are those of two halves."""
    labels = np.array([True, False, True, False])
    found = fold_estimates(labels, 2, np.random.default_rng(0))
    assert {0.5, 1.0} >= set(found[:, 0])
    assert found.shape == (2, 3)


def test_bootstrap_draws_within_classes() -> None:
    """Mean and deviation of 20,000 replicates are those of another kernel, to within five standard errors."""
    counts = Scenario(name="binormal").draw(200, np.random.default_rng(2))
    ours = bootstrap_estimates(counts.positives[::-1] > 0, 20_000, np.random.default_rng(3))[:, 0]
    _, theirs = replicate_auc_ap(counts.positives, counts.negatives, 20_000, 4)
    assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * theirs.std() * (2 / 20_000) ** 0.5)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.04)


@pytest.mark.parametrize("name", [*PAPERS, HARD.name])
def test_true_areas_are_those_of_large_samples(name: str) -> None:
    scenario = HARD if name == HARD.name else Scenario(name=name)
    counts = scenario.draw(400_000, np.random.default_rng(1))
    assert aucpr_score(counts) == pytest.approx(scenario.true_area(), abs=0.006)


def test_equation_4_4_by_hand() -> None:
    """Positive, negative, positive: from 1 at recall 0 to 1/2 at recall 1/2, then from 1 to 2/3."""
    counts = ScoreCounts.from_arrays([1, 0, 1], [3.0, 2.0, 1.0])
    assert equation_4_4(counts) == pytest.approx(0.5 * (1 + 0.5) / 2 + 0.5 * (1 + 2 / 3) / 2)


def test_printed_tables_follow_from_the_formulas() -> None:
    differing = {beside.name for beside in comparisons() if not beside.agrees}
    assert differing == {"lowest AUCPR of genre, skew 0.05"}
    for ratio, (area, share, _, _) in UW_CSE.items():
        assert normalised(area, 1 / (1 + ratio)) == pytest.approx(share, abs=0.0013)
        assert implied_prevalence(area, share) == pytest.approx(1 / (1 + ratio), abs=0.004)
    recall = worst_recall(0.33, 0.4)
    precision = 0.33 * recall / (0.67 + 0.33 * recall)
    assert 2 * precision * recall / (precision + recall) == pytest.approx(0.4)


def test_areas_at_several_skews_are_concave() -> None:
    areas = TaskAreas.of("binormal")
    steps = np.diff(areas.aucpr) / np.diff(areas.prevalences)
    assert (np.diff(steps) < 0).all()


@pytest.fixture(scope="module")
def found() -> Found:
    settings = Settings.checked(repetitions=60)
    setting = Setting(scenario=Scenario(name="bibeta"), rows=100, intervals=True)
    assert piece_name(setting, 0) == "bibeta, 100 rows, prevalence 0.1, samples from 1"
    return Found(setting=setting, arrays=simulate(settings, setting, 0))


def test_formula_intervals_are_confides(found: Found) -> None:
    values = found.ratios("average_precision") * found.truth
    for method, interval in (("binomial", binomial_interval_of), ("logit", logit_interval_of)):
        ends = found.ends(method, "average_precision")  # type: ignore[arg-type]
        for value, (lower, upper) in zip(values, ends, strict=True):
            if value < 1.0:
                expected = interval(float(value), 10)
                assert (lower, upper) == pytest.approx((expected.lower, expected.upper), abs=1e-9)


def test_coverage_width_and_location_by_hand(found: Found) -> None:
    for method in METHODS:
        ends = found.ends(method, "lower_trapezoid")
        held = [lower <= found.truth <= upper for lower, upper in ends]
        assert found.coverage(method, "lower_trapezoid").value == np.mean(held)
    estimates = found.arrays["estimates"]
    assert estimates.shape == (60, len(ALL_ESTIMATORS))
    assert found.bias("binormal").value == pytest.approx(estimates[:, 7].mean() / found.truth - 1)
    assert found.squared_error("binormal").value == pytest.approx(np.mean((estimates[:, 7] - found.truth) ** 2))
    ideal = np.diff(np.quantile(estimates[:, 0], (0.025, 0.975)))[0]
    quantiles = found.arrays["bootstrap"][:, :, 0]
    assert found.width("bootstrap", "average_precision").value == pytest.approx(
        (quantiles[:, 2] - quantiles[:, 0]).mean() / ideal
    )
    assert found.location("bootstrap", "average_precision").value == pytest.approx(
        quantiles[:, 1].mean() / found.truth - 1
    )


def test_settings_are_checked() -> None:
    assert Settings.checked().to_dict()["bootstrapped"] == [10_000, 4_000, 2_000, 1_000, 1_000]
    assert Settings.checked(quick=True).repetitions == 300
    for wrong in (19, 2_000_000, True, "many"):
        with pytest.raises(ParameterError, match="repetitions must be"):
            Settings.checked(repetitions=wrong)  # type: ignore[arg-type]


@pytest.mark.long
def test_the_command_makes_every_figure(tmp_path: Path) -> None:
    report = tmp_path / "study.html"
    answer = studies("boyd-pr", "--quick", "--repetitions", "20", "--jobs", "1", "--json", "--report", report)
    assert answer.code == 0, answer.err
    plain = json.loads(answer.out)
    assert {exhibit["where"] for exhibit in plain["exhibits"]} == {
        *("Table 2.4", "Table 3.1", "Table 3.2", "Table 3.3", "Section 3.4", "Table 4.1"),
        *(f"Figure 3.{number}" for number in range(1, 5)),
        *(f"Figure 4.{number}" for number in range(1, 10)),
    }
    assert {claim["verdict"]["answer"] for claim in plain["claims"] if claim["where"] == "Figure 3.3"} == {"holds"}
    page = report.read_text(encoding="utf-8")
    assert page.count("<svg ") == 20
    assert "<script" not in page
