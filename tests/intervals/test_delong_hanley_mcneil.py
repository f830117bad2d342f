"""Hanley and McNeil's variance, from the model it is exact for, and their own table of ratings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import confide
from confide import ScoreCounts
from confide.intervals.delong import hanley_mcneil_variance

# Radiology 143:29, Table I: ratings 1 to 5 of computed tomograms, 58 normal and 51 abnormal patients.
NORMAL, ABNORMAL = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
RATINGS = ScoreCounts(np.arange(1.0, 6.0), np.array(ABNORMAL), np.array(NORMAL))


def test_published_area() -> None:
    assert confide.auc_score(RATINGS) == pytest.approx(0.893, abs=0.0005)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize(("positives", "negatives"), [(51, 58), (5, 400)])
def test_variance_is_exact_for_exponential_scores(scale: float, positives: int, negatives: int) -> None:
    """Negatives Exp(1), positives with mean `scale`: the U-statistic's variance needs only two double wins."""
    area = quad(lambda x: np.exp(-x - x / scale), 0, np.inf)[0]
    two_positives = quad(lambda x: np.exp(-x - 2 * x / scale), 0, np.inf)[0]
    two_negatives = quad(lambda y: np.exp(-y / scale) / scale * (1 - np.exp(-y)) ** 2, 0, np.inf)[0]
    expected = (
        area * (1 - area) + (positives - 1) * (two_positives - area**2) + (negatives - 1) * (two_negatives - area**2)
    ) / (positives * negatives)
    assert hanley_mcneil_variance(area, positives, negatives) == pytest.approx(expected, rel=1e-6)


def test_interval_on_either_scale() -> None:
    auc = confide.auc_score(RATINGS)
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    error = np.sqrt((auc * (1 - auc) + 50 * (q1 - auc**2) + 57 * (q2 - auc**2)) / (51 * 58))
    z = norm.ppf(0.975)
    plain = confide.intervals.hanley_mcneil_interval(RATINGS, transform="none")
    assert (plain.lower, plain.upper) == pytest.approx((auc - z * error, auc + z * error), abs=1e-12)
    logit = confide.intervals.hanley_mcneil_interval(RATINGS)
    log_odds = [np.log(end / (1 - end)) for end in (logit.lower, logit.upper)]
    assert np.mean(log_odds) == pytest.approx(np.log(auc / (1 - auc)), abs=1e-12)
    assert np.ptp(log_odds) == pytest.approx(2 * z * error / (auc * (1 - auc)), abs=1e-12)
