"""Plan the final of a contest: the noise of the difference of two finalists, beside that of sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.estimators import score_entry
from confide.contest.masked import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.ranks import difference_variances
from confide.contest.ratios import ratio_form
from confide.contest.shaped_final import ShapedFinal
from confide.contest.simulation import LEAST_ERROR, MOST_ERROR, Scenario, draw_labels, draw_signal, entry_scores
from confide.contest.terms import FinalMechanism
from confide.counts import FloatArray
from confide.privacy.accounting import rho_for
from confide.privacy.adversary import success_bound
from confide.privacy.mechanisms.masked_labels import flip_probability
from confide.privacy.mechanisms.shaped_gaussian import shaped_scale

MOST_SIMULATED_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPlan:
    """Worth of a final: standard deviations of the difference of two finalists, by noise and by sampling."""

    mechanism: FinalMechanism
    epsilon: Fraction
    delta: Fraction
    rows: int
    finalists: int
    certainty: float
    noise: float
    sampling: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "mechanism": self.mechanism.value,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "rows": self.rows,
            "finalists": self.finalists,
            "certainty": self.certainty,
            "noise": self.noise,
            "sampling": self.sampling,
        }


def plan_final(
    scenario: Scenario, rows: int, *, epsilon: Fraction, delta: Fraction, finalists: int, rng: np.random.Generator
) -> FinalPlan:
    """Return the noise of a final of the best teams, simulated: shaped if delta is above 0 and the metric is linear.

    More than 20,000 rows are simulated with 20,000; a standard deviation falls with the root of rows, and that of
    shaped noise with the number of rows.
    """
    shaped = delta > 0 and scenario.metric.kind.linear
    simulated = replace(scenario, rows=min(rows, MOST_SIMULATED_ROWS))
    labels = draw_labels(simulated, rng)
    seen = draw_signal(simulated, labels, rng)
    worst = LEAST_ERROR + (MOST_ERROR - LEAST_ERROR) * min(finalists / scenario.teams, 1.0)
    scores = []
    for _ in range(finalists):
        own = rng.standard_normal(simulated.rows, dtype=np.float32)
        scores.append(entry_scores(simulated, seen, own, rng.uniform(LEAST_ERROR, worst), rng))
    noise = _shaped_noise if shaped else _masked_noise
    smaller = simulated.rows / rows
    return FinalPlan(
        mechanism=FinalMechanism.SHAPED if shaped else FinalMechanism.MASKED,
        epsilon=epsilon,
        delta=delta if shaped else Fraction(0),
        rows=rows,
        finalists=finalists,
        certainty=success_bound(float(epsilon), float(delta) if shaped else 0.0),
        noise=noise(scenario.metric, scores, labels, epsilon, delta) * (smaller if shaped else math.sqrt(smaller)),
        sampling=_sampling(scenario.metric, scores, labels) * math.sqrt(smaller),
    )


def _sampling(metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_]) -> float:
    exact = MaskedLabels(labels, Fraction(0))
    influence = np.array([score_entry(metric, one, exact).influence for one in scores])
    return _typical_difference(influence @ influence.T / labels.size**2)


def _masked_noise(
    metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_], epsilon: Fraction, delta: Fraction
) -> float:
    exact = MaskedLabels(labels, Fraction(0))
    gradients = []
    for one in scores:
        form = ratio_form(metric, one, exact)
        gradients.append(form.in_rows(form.gradient[0] - form.value * form.gradient[1]) / form.safe_denominator)
    flip = float(flip_probability(epsilon))
    matrix = np.array(gradients)
    return _typical_difference(flip * (1.0 - flip) / (1.0 - 2.0 * flip) ** 2 * (matrix @ matrix.T))


def _shaped_noise(
    metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_], epsilon: Fraction, delta: Fraction
) -> float:
    final = ShapedFinal.of(metric, scores)
    scale = float(shaped_scale(final.strategy.lines, rho_for(epsilon, delta)))
    jacobian = np.zeros((len(scores), len(final.strategy.back)))
    for number, form in enumerate(final.forms):
        total, positives = float(form.coefficients[labels].sum()), float(labels.sum())
        by_total, by_positives = form.derivatives(total, positives, labels.size)
        jacobian[number, number] = by_total
        jacobian[number, -1] = by_positives
    spread = scale * jacobian @ final.strategy.back
    return _typical_difference(spread @ spread.T)


def _typical_difference(covariance: FloatArray) -> float:
    """Return the root of the mean variance of the difference of two entries."""
    differences = difference_variances(covariance)
    return math.sqrt(float(differences.sum()) / (len(differences) * (len(differences) - 1)))
