"""Random rows: a whole evaluation against statsmodels, scikit-learn and SciPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide.evaluation.evaluation import ModelEvaluation
from confide.intervals.interval import Estimate

SEEDS = range(6)
LEVEL, THRESHOLD = 0.9, 0.4


@dataclass(frozen=True)
class Case:
    """Random rows and clusters; even seeds have ties."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    clusters: NDArray[np.int64]

    @property
    def log_odds(self) -> NDArray[np.float64]:
        odds: NDArray[np.float64] = np.log(self.scores / (1.0 - self.scores))
        return odds

    def evaluated(self, **settings: Any) -> ModelEvaluation:
        found = confide.evaluate(
            self.labels, self.scores, level=LEVEL, thresholds=THRESHOLD, replicates=0, **settings
        )  # fmt: skip
        return found.models[0]


def case(seed: int) -> Case:
    rng = np.random.default_rng([31, seed])
    size = int(rng.integers(60, 900))
    clusters = rng.integers(0, size // 4, size)
    effects = rng.normal(0.0, 0.6, size)[clusters]
    odds = rng.normal(-0.5 + effects, 1.3)
    labels = (rng.random(size) < 1.0 / (1.0 + np.exp(-rng.uniform(0.4, 1.5) * odds - 0.2))).astype(np.int64)
    scores = 1.0 / (1.0 + np.exp(-odds))
    return Case(labels, np.round(scores, 2).clip(0.01, 0.99) if seed % 2 == 0 else scores, clusters)


def numbers(estimate: Estimate | None) -> tuple[float, float, float, float]:
    assert estimate is not None
    assert estimate.standard_error is not None
    interval = estimate.known_interval
    return estimate.value, estimate.standard_error, interval.lower, interval.upper


@pytest.mark.parametrize("seed", SEEDS)
def test_values_against_scikit_learn(seed: int) -> None:
    from sklearn import metrics

    rows = case(seed)
    labels, scores, model = rows.labels, rows.scores, rows.evaluated(specificity=(0.8, 1.0))
    called = scores >= THRESHOLD
    measures = model.thresholds[0].measures
    assert model.brier is not None
    assert model.log_loss is not None
    expected = {
        "auc": (model.auc, metrics.roc_auc_score(labels, scores)),
        "average precision": (model.average_precision, metrics.average_precision_score(labels, scores)),
        "partial": (model.partial_auc[0].corrected, metrics.roc_auc_score(labels, scores, max_fpr=0.2)),
        "brier": (model.brier, metrics.brier_score_loss(labels, scores)),
        "log loss": (model.log_loss, metrics.log_loss(labels, scores)),
        "recall": (measures["recall"], metrics.recall_score(labels, called)),
        "precision": (measures["precision"], metrics.precision_score(labels, called)),
        "accuracy": (measures["accuracy"], metrics.accuracy_score(labels, called)),
        "balanced": (measures["balanced_accuracy"], metrics.balanced_accuracy_score(labels, called)),
        "f1": (measures["f1"], metrics.f1_score(labels, called)),
        "correlation": (measures["matthews_correlation"], metrics.matthews_corrcoef(labels, called)),
    }
    assert {name: found.value for name, (found, _) in expected.items()} == pytest.approx(
        {name: value for name, (_, value) in expected.items()}, abs=1e-10
    )
    matrix = metrics.confusion_matrix(labels, called).ravel().tolist()
    cells = model.thresholds[0].matrix
    assert [cells.true_negatives, cells.false_positives, cells.false_negatives, cells.true_positives] == matrix


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_against_statsmodels(seed: int) -> None:
    """Wilson's intervals, which are the default, and those of plain and of logit."""
    from statsmodels.stats.proportion import proportion_confint

    rows = case(seed)
    called, positive = rows.scores >= THRESHOLD, rows.labels == 1
    trials = {
        "recall": (called & positive, positive),
        "specificity": (~called & ~positive, ~positive),
        "precision": (called & positive, called),
        "negative_predictive_value": (~called & ~positive, ~called),
        "accuracy": (called == positive, np.ones(positive.size, dtype=np.bool_)),
    }
    by_default, plain = rows.evaluated(), rows.evaluated(interval="plain")
    for name, (hits, among) in trials.items():
        count, size = int(hits.sum()), int(among.sum())
        wilson = proportion_confint(count, size, alpha=1.0 - LEVEL, method="wilson")
        assert numbers(by_default.thresholds[0].measures[name])[2:] == pytest.approx(wilson, abs=1e-12), name
        wald = proportion_confint(count, size, alpha=1.0 - LEVEL, method="normal")
        assert numbers(plain.thresholds[0].measures[name])[2:] == pytest.approx(wald, abs=1e-12), name


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("seed", SEEDS)
def test_calibration_lines_against_statsmodels(seed: int, clustered: bool) -> None:
    """The sandwich: HC0 with n/(n-k) for rows, and with G/(G-1) and Student's t for clusters."""
    import statsmodels.api as sm
    from scipy.stats import norm, t

    rows = case(seed)
    model = rows.evaluated(**({"clusters": rows.clusters} if clustered else {})).calibration
    assert model is not None
    groups = np.unique(rows.clusters).size
    covariance: dict[str, Any] = {"cov_type": "HC0"}
    if clustered:
        # without the correction, which is G/(G-1) * (N-1)/(N-K) there
        options = {"groups": rows.clusters, "use_correction": False}
        covariance = {"cov_type": "cluster", "cov_kwds": options}
    size = groups if clustered else rows.labels.size
    reach = t.ppf(0.5 + LEVEL / 2.0, groups - 1) if clustered else norm.ppf(0.5 + LEVEL / 2.0)
    design = sm.add_constant(rows.log_odds)
    line = sm.GLM(rows.labels, design, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200, **covariance)
    shift = sm.GLM(
        rows.labels, np.ones(rows.labels.size), family=sm.families.Binomial(), offset=rows.log_odds
    ).fit(tol=1e-14, maxiter=200, **covariance)  # fmt: skip
    for found, value, error, coefficients in (
        (model.joint_intercept, line.params[0], line.bse[0], 2),
        (model.slope, line.params[1], line.bse[1], 2),
        (model.intercept, shift.params[0], shift.bse[0], 1),
    ):
        factor = math.sqrt(size / (size - (1.0 if clustered else coefficients)))
        half = reach * error * factor
        expected = (value, error * factor, value - half, value + half)
        assert numbers(found) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_means_of_clustered_rows_against_statsmodels(seed: int) -> None:
    """Brier score and net benefit as regressions on a constant, with clustered covariance."""
    import statsmodels.api as sm

    rows = case(seed)
    model = rows.evaluated(clusters=rows.clusters)
    called, groups = rows.scores >= THRESHOLD, np.unique(rows.clusters).size
    odds = THRESHOLD / (1.0 - THRESHOLD)
    for found, values in (
        (model.brier, (rows.scores - rows.labels) ** 2),
        (model.thresholds[0].measures["net_benefit"], called * (rows.labels - odds * (1 - rows.labels))),
        (model.thresholds[0].measures["accuracy"], (called == (rows.labels == 1)).astype(float)),
    ):
        fit = sm.OLS(values, np.ones(values.size)).fit(
            cov_type="cluster", cov_kwds={"groups": rows.clusters, "use_correction": False}
        )
        error = fit.bse[0] * math.sqrt(groups / (groups - 1.0))
        assert numbers(found)[:2] == pytest.approx((fit.params[0], error), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranking_against_scipy(seed: int) -> None:
    """AUC as Mann and Whitney's U; DeLong's variance from the ranks of rows in their own class and in all."""
    from scipy.stats import mannwhitneyu, norm, rankdata

    rows = case(seed)
    ours, theirs = rows.scores[rows.labels == 1], rows.scores[rows.labels == 0]
    area = mannwhitneyu(ours, theirs).statistic / (ours.size * theirs.size)
    ranks = rankdata(np.concatenate((ours, theirs)))
    of_ours = (ranks[: ours.size] - rankdata(ours)) / theirs.size
    of_theirs = 1.0 - (ranks[ours.size :] - rankdata(theirs)) / ours.size
    error = math.sqrt(np.var(of_ours, ddof=1) / ours.size + np.var(of_theirs, ddof=1) / theirs.size)
    reach = norm.ppf(0.5 + LEVEL / 2.0) * error
    plain = numbers(rows.evaluated(interval="plain").auc)
    assert plain == pytest.approx((area, error, area - reach, area + reach), abs=1e-11)
    centre, half = math.log(area / (1.0 - area)), reach / (area * (1.0 - area))
    logit = [1.0 / (1.0 + math.exp(-(centre + sign * half))) for sign in (-1.0, 1.0)]
    assert numbers(rows.evaluated().auc)[2:] == pytest.approx(logit, abs=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_paired_differences_against_scipy(seed: int) -> None:
    """The difference of two Brier scores is a mean: SciPy's standard error of the mean."""
    from scipy.stats import norm, sem

    rows = case(seed)
    other = np.random.default_rng(seed).permutation(rows.scores)
    scores = {"first": rows.scores, "second": other}
    evaluation = confide.evaluate(rows.labels, scores, thresholds=THRESHOLD, level=LEVEL, replicates=0)
    values = (rows.scores - rows.labels) ** 2 - (other - rows.labels) ** 2
    (found,) = (each for each in evaluation.comparisons if each.metric == "brier")
    mean, error = float(values.mean()), float(sem(values))
    assert (found.difference, found.standard_error) == pytest.approx((mean, error), rel=1e-9)
    assert found.p_value == pytest.approx(2.0 * norm.sf(abs(mean / error)), rel=1e-8)
    reach = norm.ppf(0.5 + LEVEL / 2.0) * error
    assert (found.interval.lower, found.interval.upper) == pytest.approx((mean - reach, mean + reach), rel=1e-9)
