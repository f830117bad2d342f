"""Unachievable region of precision-recall space: the numbers of chapters 2 and 3, computed anew."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from confide import ScoreCounts
from confide.counts import FloatArray
from confide.curves.pr import minimum_area, pr_curve
from confide.errors import SkewWarning
from confide.metrics.precision_recall import attained_share, aucnpr_score, aucpr_score
from confide.metrics.registry import mean_over_parts
from studies.boyd_pr.scenarios import Scenario
from studies.claims import Mean
from studies.repeatable_noise import generator_for

SAMPLE_PREVALENCE = 0.33
CURVE_PREVALENCES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9)
RANGES = ((0.0, 1.0), (0.5, 1.0), (0.8, 1.0))

IMDB = {
    "actor": (1.000, 1.000),
    "director": (1.000, 1.000),
    "gender": (0.509, 0.325),
    "genre": (0.624, 0.611),
    "movie": (0.267, 0.141),
    "workedUnder": (1.000, 1.000),
}
IMDB_MEANS = (0.733, 0.680)

UW_CSE = {
    1: (0.851, 0.785, 0.330, 0.316),
    2: (0.740, 0.680, 0.329, 0.315),
    3: (0.678, 0.627, 0.343, 0.329),
    4: (0.701, 0.665, 0.314, 0.299),
    5: (0.599, 0.560, 0.334, 0.320),
    10: (0.383, 0.352, 0.258, 0.242),
    24: (0.363, 0.349, 0.363, 0.349),
}
"""Table 3.3 by negatives for each positive: AUCPR and AUCNPR on the downsampled test set and on the original one."""

TABLE_4_1 = (
    *((1, 0.20, 1.00), (0, 0.20, 0.50), (0, 0.20, 0.33), (1, 0.40, 0.50), (1, 0.60, 0.60)),
    *((0, 0.60, 0.50), (0, 0.60, 0.43), (0, 0.60, 0.38), (0, 0.60, 0.33), (1, 0.80, 0.40)),
    *((0, 0.80, 0.36), (0, 0.80, 0.33), (0, 0.80, 0.31), (0, 0.80, 0.29), (0, 0.80, 0.27)),
    *((0, 0.80, 0.25), (1, 1.00, 0.29), (0, 1.00, 0.28), (0, 1.00, 0.26), (0, 1.00, 0.25)),
)
"""Label, recall and precision of each row, from the highest output down."""

BETAS = (0.5, 1.0, 2.0)
F_PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.33, 0.5)
F_POINTS = 0.4

TASK_PREVALENCES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
FOLDS, FOLD_ROWS = 10, 1_000
FOLD_PREVALENCES: FloatArray = np.linspace(0.02, 0.5, FOLDS)
"""Skews of folds that cannot be stratified, as in relational data; the dissertation has no numbers for them."""


def example_counts() -> ScoreCounts:
    """Return the data of Table 4.1."""
    labels = [label for label, _, _ in TABLE_4_1]
    return ScoreCounts.from_arrays(labels, 0.95 - 0.05 * np.arange(len(labels)))


def example_errors() -> tuple[float, float]:
    """Return the largest distances from the printed recalls and precisions of Table 4.1."""
    curve = pr_curve(example_counts())
    printed = np.array([(recall, precision) for _, recall, precision in TABLE_4_1])
    return (
        float(np.abs(curve.recall - printed[:, 0]).max()),
        float(np.abs(curve.precision - printed[:, 1]).max()),
    )


def normalised(aucpr: float, prevalence: float) -> float:
    """Return AUCNPR (Definition 3.7).

    >>> round(normalised(0.851, 0.5), 3)  # Table 3.3
    0.785
    """
    return attained_share(aucpr, minimum_area(prevalence))


def implied_prevalence(aucpr: float, aucnpr: float) -> float:
    """Return the skew at which an AUCPR has an AUCNPR.

    >>> round(implied_prevalence(0.851, 0.785), 2)
    0.5
    """
    least = (aucpr - aucnpr) / (1.0 - aucnpr)
    return float(brentq(lambda prevalence: minimum_area(prevalence) - least, 1e-9, 1.0 - 1e-9))


def always_positive_f(prevalence: float, beta: float) -> float:
    """Return F of a model that calls every row positive: recall 1, precision the prevalence."""
    return (1.0 + beta**2) * prevalence / (beta**2 * prevalence + 1.0)


def worst_recall(prevalence: float, f: float) -> float:
    """Return the recall at which the minimum PR curve reaches an F1 score, `F / (pi (2 - F))`.

    >>> round(worst_recall(1 / 3, 0.4), 10)
    0.75
    """
    return f / (prevalence * (2.0 - f))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAreas:
    """Areas of one scorer at several skews: the same ROC curve, so the same ranking of rows."""

    prevalences: tuple[float, ...]
    aucpr: tuple[float, ...]
    aucnpr: tuple[float, ...]

    @classmethod
    def of(cls, name: str) -> TaskAreas:
        """Integrate the true curves of a scenario."""
        areas = [Scenario(name=name, prevalence=prevalence).true_area() for prevalence in TASK_PREVALENCES]
        shares = [normalised(area, prevalence) for area, prevalence in zip(areas, TASK_PREVALENCES, strict=True)]
        return cls(prevalences=TASK_PREVALENCES, aucpr=tuple(areas), aucnpr=tuple(shares))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldAverages:
    """Mean over folds of different skews less the value of all rows together."""

    aucpr: Mean
    aucnpr: Mean


def fold_averages(name: str, repetitions: int, seed: int) -> FoldAverages:
    """Draw folds with different skews many times, average their areas, and compare with the merged rows."""
    rng = generator_for(seed, "boyd-pr", "folds", name)
    off: list[tuple[float, float]] = []
    for _ in range(repetitions):
        folds = [Scenario(name=name, prevalence=float(p)).draw(FOLD_ROWS, rng) for p in FOLD_PREVALENCES]
        merged = sum(folds[1:], folds[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkewWarning)  # it warns of what is shown here
            means = [mean_over_parts(folds, metric).mean for metric in ("average_precision", "aucnpr")]
        off.append((means[0] - aucpr_score(merged), means[1] - aucnpr_score(merged)))
    aucpr, aucnpr = (Mean.of(values) for values in zip(*off, strict=True))
    return FoldAverages(aucpr=aucpr, aucnpr=aucnpr)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of several values."""
    return float(np.std(values, ddof=1))
