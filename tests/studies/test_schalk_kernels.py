"""The simulation's compiled parts against the package's own functions, and against the distributed mode itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from studies.schalk.compiled_fits import Rows, exact_studies, noisy_studies, probit_lines
from studies.schalk.data import simulated, standard_noise
from studies.schalk.running import FINE, rates

from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc_glm import equidistant_thresholds, fit_roc_glm, roc_glm
from confide.errors import DataError
from confide.federation.modes.noisy_scores import NoisyScores, Normals, PlacementSums, validated
from confide.intervals.delong import delong_variance
from confide.kernels.threads import Counts
from confide.metrics.ranking import auc_score

AT = equidistant_thresholds()
FITTED, EVERYWHERE = rates(AT), rates((np.arange(FINE) + 0.5) / FINE)


@pytest.fixture(scope="module")
def rows() -> Rows:
    return simulated(40, np.random.default_rng(3))


def classes(rows: Rows, number: int) -> tuple[FloatArray, FloatArray]:
    def part(scores: FloatArray, starts: Counts) -> FloatArray:
        return scores[starts[number] : starts[number + 1]]

    return part(rows.positives, rows.positive_starts), part(rows.negatives, rows.negative_starts)


def counts_of(positives: FloatArray, negatives: FloatArray) -> ScoreCounts:
    labels = np.repeat([1, 0], [len(positives), len(negatives)])
    return ScoreCounts.from_arrays(labels, np.concatenate((positives, negatives)))


def in_turn(*drawn: FloatArray) -> Normals:
    """Noise that was drawn before: that of the positives, then that of the negatives."""
    waiting = iter(drawn)
    return lambda count: next(waiting)


def test_lines_against_the_other_fit() -> None:
    """Both maximise the same likelihood: to 1e-8, and where one has no maximum the other has none."""
    rng = np.random.default_rng(0)
    positives = rng.integers(1, 500, 300)
    shares = np.sort(rng.beta(0.3, 0.3, (300, AT.size)), axis=1)
    below = np.sort(rng.binomial(positives[:, None], shares), axis=1)
    below[:20] = np.where(np.arange(AT.size) < 14, 0, positives[:20, None])
    intercept, slope = probit_lines(ndtri(AT), below, positives)
    refused = 0
    for a, b, reached, n in zip(intercept, slope, below, positives, strict=True):
        try:
            other = fit_roc_glm(AT, reached, n)
        except DataError:
            refused += 1
            assert np.isnan(a)
            assert np.isnan(b)
        else:
            assert (a, b) == pytest.approx((other.intercept, other.slope), abs=1e-8, rel=1e-8)
    assert 20 <= refused < 100


def test_exact_studies_against_the_package(rows: Rows) -> None:
    found = exact_studies(rows, FITTED, EVERYWHERE)
    for number in range(rows.datasets):
        positives, negatives = classes(rows, number)
        counts = counts_of(positives, negatives)
        assert found.auc[number] == pytest.approx(auc_score(counts), abs=1e-12)
        assert found.variance[number] == pytest.approx(delong_variance(counts), rel=1e-9)
        assert found.reversed[number] == (np.median(negatives) > np.median(positives))
        fitted = roc_glm(counts)
        assert (found.intercept[number], found.slope[number]) == pytest.approx(
            (fitted.intercept, fitted.slope), abs=1e-8
        )


def test_area_between_curves_by_quadrature(rows: Rows) -> None:
    found = exact_studies(rows, FITTED, EVERYWHERE)
    for number in (0, 7):
        positives, negatives = classes(rows, number)
        line = found.intercept[number], found.slope[number]
        total, steps = 0.0, len(negatives)
        for step in range(steps):
            share = float(np.mean(positives >= np.sort(negatives)[steps - 1 - step]))

            def apart(t: float, share: float = share, line: tuple[float, float] = line) -> float:
                return abs(float(ndtr(line[0] + line[1] * ndtri(t))) - share)

            total += quad(apart, step / steps, (step + 1) / steps, limit=20, epsabs=1e-7)[0]
        assert found.area[number] == pytest.approx(total, abs=4e-4)


@pytest.mark.parametrize("scale", [0.02, 0.15])
def test_noisy_studies_are_what_five_sites_send(rows: Rows, scale: float) -> None:
    """The kernel on pooled rows equals the mode's own functions at five sites with the same noise for each row."""
    noise = standard_noise(rows, np.random.default_rng(4))
    described, _ = noisy_studies(rows, noise, scale, FITTED)
    for number in (0, 5, 11):
        (positives, negatives), (above, below) = classes(rows, number), classes(noise, number)
        parts = [counts_of(positives[site::5], negatives[site::5]) for site in range(5)]
        sent = [
            NoisyScores.of(part, scale, normals=in_turn(above[site::5], below[site::5]))
            for site, part in enumerate(parts)
        ]
        pooled = NoisyScores.pooled(sent)
        tables = [PlacementSums.of(part, pooled, AT) for part in parts]
        result = validated(sum(tables[1:], start=tables[0]))
        assert described.auc[number] == pytest.approx(result.curve.auc, abs=1e-8)
        assert np.sqrt(described.variance[number]) == pytest.approx(result.auc.standard_error, rel=1e-9)


def test_simulated_as_in_the_published_code_by_brute_force(rows: Rows) -> None:
    noise = standard_noise(rows, np.random.default_rng(5))
    _, found = noisy_studies(rows, noise, 0.4, FITTED)
    for number in (1, 2, 3):
        (positives, negatives), (above, below) = classes(rows, number), classes(noise, number)
        ours, theirs = np.clip(positives + 0.4 * above, 0.0, 1.0), np.clip(negatives + 0.4 * below, 0.0, 1.0)
        higher = np.array([(theirs > score).mean() for score in ours])
        lower = np.array([(ours > score).mean() for score in theirs])
        reached = [(higher <= t).sum() for t in AT]
        assert found.auc[number] == pytest.approx(fit_roc_glm(AT, reached, ours.size).auc, abs=1e-8)
        variance = higher.var(ddof=1) / ours.size + lower.var(ddof=1) / theirs.size
        assert found.variance[number] == pytest.approx(variance, rel=1e-9)


def test_noise_alone_has_an_auc_of_three_quarters_once_scores_are_cut(rows: Rows) -> None:
    """Half of all scores are 1, where a tied positive counts as above; the method as described finds no fit."""
    noise = standard_noise(rows, np.random.default_rng(6))
    described, cut = noisy_studies(rows, noise, 50.0, FITTED)
    assert np.mean(cut.auc) == pytest.approx(0.745, abs=0.02)
    assert np.isnan(described.auc).mean() > 0.9
