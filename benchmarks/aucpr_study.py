"""The dissertation's findings on AUCPR, simulated anew: which estimators are biased, which intervals cover.

Scores are drawn from three pairs of distributions (dissertation, section 4.4), prevalence 0.1, and
compared with the true area by quadrature.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from benchmarks.timing import table
from confide import ScoreCounts, aucpr_score
from confide.errors import SmallSampleWarning
from confide.intervals import binomial_interval, cross_validation_interval, logit_interval, split_folds
from confide.kernels.bootstrap import replicate_auc_ap
from confide.metrics import ESTIMATORS

PREVALENCE = 0.1
LEVEL = 0.95


@dataclass(frozen=True)
class Scenario:
    name: str
    negatives: Any  # frozen distributions
    positives: Any
    prevalence: float = PREVALENCE

    def draw(self, rows: int, rng: np.random.Generator) -> ScoreCounts:
        n = int(self.prevalence * rows)
        scores = np.concatenate(
            (self.negatives.rvs(rows - n, random_state=rng), self.positives.rvs(n, random_state=rng))
        )
        return ScoreCounts.from_arrays(np.arange(rows) >= rows - n, scores)

    def true_area(self) -> float:
        def precision(recall: float) -> float:
            threshold = self.positives.isf(recall)
            caught = self.prevalence * recall
            return float(caught / (caught + (1.0 - self.prevalence) * self.negatives.sf(threshold)))

        return float(integrate.quad(precision, 0.0, 1.0, limit=200, points=[0.01, 0.5])[0])


SCENARIOS = (
    Scenario("binormal", stats.norm(0, 1), stats.norm(1, 1)),
    Scenario("bibeta", stats.beta(2, 5), stats.beta(5, 2)),
    Scenario("offset uniform", stats.uniform(0, 1), stats.uniform(0.5, 1)),
)


class FewHighNegatives:
    """Negatives of which one in fifty outscores every positive: their number is what decides the area."""

    high, share = stats.norm(3, 0.1), 0.02
    low = stats.norm(-3, 0.1)

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        chosen = random_state.random(size) < self.share
        return np.where(chosen, self.high.rvs(size, random_state), self.low.rvs(size, random_state))

    def sf(self, threshold: float) -> float:
        return float(self.share * self.high.sf(threshold) + (1.0 - self.share) * self.low.sf(threshold))


HARD = Scenario("few high negatives", FewHighNegatives(), stats.norm(0, 0.1), prevalence=0.9)


def run(*, quick: bool = False) -> None:
    repetitions = 200 if quick else 2_000
    _bias((200, 1_000) if quick else (200, 1_000, 10_000), repetitions)
    _coverage((200,) if quick else (200, 1_000, 2_000, 5_000, 10_000), repetitions)


def _bias(sizes: tuple[int, ...], repetitions: int) -> None:
    print(f"mean estimate / true area, prevalence {PREVALENCE}")
    head = ("estimator", *(f"{s.name} {size:,}" for s in SCENARIOS for size in sizes))
    columns = []
    for scenario in SCENARIOS:
        for size in sizes:
            rng = np.random.default_rng(size)
            drawn = [scenario.draw(size, rng) for _ in range(max(repetitions * 200 // size, 100))]
            truth = scenario.true_area()
            columns.append({e: np.mean([aucpr_score(c, estimator=e) for c in drawn]) / truth for e in ESTIMATORS})
            columns[-1]["upper trapezoid as eq. 4.4"] = np.mean([_equation_4_4(c) for c in drawn]) / truth
    table(head, [(name, *(f"{column[name]:.3f}" for column in columns)) for name in columns[0]])


def _equation_4_4(counts: ScoreCounts) -> float:
    """The upper trapezoid as the dissertation prints it: from a highest to the next lowest precision."""
    from confide.curves.pr import recall_levels

    levels = recall_levels(counts)
    left = np.concatenate(([1.0], levels.highest[:-1]))
    return float(np.sum(np.diff(levels.recall, prepend=0.0) * (left + levels.lowest) / 2.0))


def _coverage(sizes: tuple[int, ...], repetitions: int) -> None:
    print(f"coverage of {LEVEL:.0%} intervals for AUCPR by average precision")
    lines = []
    for size in sizes:
        for scenario in (*SCENARIOS, HARD):
            rng = np.random.default_rng(size)
            truth = scenario.true_area()
            times = max(repetitions * 200 // size, repetitions // 2)
            hits = np.array([_hits(scenario.draw(size, rng), truth, rng) for _ in range(times)])
            shares = hits.mean(axis=0)
            error = 1.96 * np.sqrt(0.05 * 0.95 / times)
            lines.append(
                (
                    f"{scenario.name}",
                    f"{size:,}",
                    f"{int(size * scenario.prevalence):,}",
                    *(f"{s:.3f}" for s in shares),
                    f"{error:.3f}",
                )
            )
    table(("scenario", "rows", "positives", "binomial", "logit", "bootstrap", "10-fold", "+/-"), lines)


def _hits(counts: ScoreCounts, truth: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        folds = split_folds(counts, 10, rng)
        cross = cross_validation_interval(folds, level=LEVEL)
    _, replicates = replicate_auc_ap(counts.positives, counts.negatives, 1_000, int(rng.integers(2**63)))
    ends = [(interval.lower, interval.upper) for interval in (binomial_interval(counts), logit_interval(counts))]
    ends += [tuple(np.quantile(replicates, (0.025, 0.975))), (cross.lower, cross.upper)]
    return np.array([lower <= truth <= upper for lower, upper in ends])
