"""Pooled private curves of five sites come nearer than a published method's, and intervals of the pooled AUC hold.

Seeds are fixed, so there is no false alarm. With fresh ones each of the ten checks below would fail with a
probability below 1 %: 80 intervals that cover with 95 % fall below 88 % with 0.6 %, and the mean errors of 20 answers,
whose ratio to the peer's has a standard error of about a tenth of it, lie four of these or more from their limit. The
twins, with the 16 cells and the straight lines that were the default once, or with a quarter of the noise, must fail.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.fedcurve import roc_points
from benchmarks.federated_laws import drawn, population_auc
from benchmarks.federated_peer import Answer, Asked, Setting

from confide.counts import ScoreCounts
from confide.curves.roc import area_between, roc_curve
from confide.federation.question import Question
from confide.privacy import noisy_counts
from confide.releases import curve_numbers

pytestmark = pytest.mark.statistical

ENOUGH = 0.88
WIDEST = {"sample": 2.0, "population": 1.7}
"""The aim for the population's interval, which reports show, is 1.5; that of an error of 80 answers is known to 8 %."""

ANSWERS, CURVES = 80, 20


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the plausible tables."""
    monkeypatch.setattr(noisy_counts, "DRAWS", 1000)


def answers(setting: Setting, asked: Asked, rng: np.random.Generator, times: int) -> list[Answer]:
    found = []
    for _ in range(times):
        counts = ScoreCounts.from_arrays(*drawn(setting.law, setting.rows, rng))
        curve = roc_curve(counts)
        found.append(asked.answer(counts, (curve.false_positive_rate, curve.true_positive_rate), rng))
    return found


def covered(found: list[Answer], truths: list[float], which: str) -> tuple[float, float]:
    """How often intervals hold the truth, and their mean width in 3.92 root mean squared errors."""
    ends, target = np.array([getattr(answer, which) for answer in found]), np.array(truths)
    error = np.sqrt(np.mean((np.array([answer.auc for answer in found]) - target) ** 2))
    hits = (ends[:, 0] <= target) & (target <= ends[:, 1])
    return float(hits.mean()), float((ends[:, 1] - ends[:, 0]).mean() / (3.92 * error))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("law", "rows", "epsilon", "way"),
    [
        ("calibrated", 2_000, "1", "sum"),
        ("beta", 20_000, "1", "defaults"),
        ("rare, 5 %", 20_000, "1", "defaults"),
        ("calibrated", 20_000, "3", "sum"),
    ],
)
def test_intervals_cover_and_are_no_wider_than_need_be(law: str, rows: int, epsilon: str, way: str) -> None:
    rng = np.random.default_rng(41)
    setting = Setting(law=law, rows=rows, epsilon=epsilon, repetitions=ANSWERS)
    asked = Asked(setting.question(way), rng)
    found = answers(setting, asked, rng, ANSWERS)
    truth = population_auc(law)
    assert truth is not None
    for which, truths in (("sample", [answer.exact for answer in found]), ("population", [truth] * ANSWERS)):
        share, width = covered(found, truths, which)
        assert share >= ENOUGH, which
        assert width <= WIDEST[which], which
    asked.noise = asked.noise / 4.0
    blind = answers(setting, asked, rng, ANSWERS)
    assert covered(blind, [answer.exact for answer in blind], "sample")[0] < ENOUGH


def test_curves_are_nearer_than_a_published_method_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20,000 rows and epsilon 1 the best of the peer's numbers of quantiles is 128 or 256."""
    rng = np.random.default_rng(42)
    setting = Setting(law="calibrated", rows=20_000, epsilon="1", repetitions=CURVES)
    theirs: dict[int, list[float]] = {128: [], 256: []}
    for _ in range(CURVES):
        labels, scores = drawn(setting.law, setting.rows, rng)
        curve = roc_curve(ScoreCounts.from_arrays(labels, scores))
        exact = curve.false_positive_rate, curve.true_positive_rate
        for quantiles, areas in theirs.items():
            areas.append(area_between(exact, roc_points(scores[labels], scores[~labels], 1.0, quantiles, rng)))
    best = min(float(np.mean(areas)) for areas in theirs.values())

    def ratio(question: Question) -> float:
        found = answers(setting, Asked(question, rng), rng, CURVES)
        return float(np.mean([answer.area for answer in found])) / best

    assert ratio(setting.question("sum")) <= 0.8
    assert ratio(setting.question("defaults")) <= 1.3
    monkeypatch.setattr(curve_numbers, "MOST_PARTS", 1)
    once = Question.checked(
        study="s",
        model="m",
        mode="private",
        sites=list("abcde"),
        epsilon=1,
        site_share=0,
        colluders=0,
        grid="arcsine:16",
    )
    assert ratio(once) > 1.3
