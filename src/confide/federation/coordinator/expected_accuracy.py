"""Expected accuracy of the answer to a private question, simulated before anybody pays.

The simulation uses the question and a stated number of rows. Rows with calibrated scores, a usual AUC and a usual
prevalence stand in for those of the sites. They are counted on the question's grid, and noise with the distribution
that the answer will have is added many times. No site is asked.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.distance import area_between
from confide.curves.roc import RocCurve, roc_curve
from confide.federation.coordinator.decode import noise_parts, strategy_of
from confide.federation.modes.private import SUPPOSED_ROWS
from confide.federation.question import Question
from confide.intervals.private_counts import NoisePart, NoisyCells
from confide.metrics.ranking import auc_score
from confide.privacy.mechanisms.private_counts import cells_on
from confide.releases.counting import rebuilt_cells
from confide.releases.curve_numbers import auc_intervals, table_auc
from confide.releases.curves_from_counts import drawn_counts
from confide.releases.plan import USUAL_PREVALENCE
from confide.releases.shapes import fitting_shape, shaped
from confide.releases.stand_in import USUAL_AUC

REPETITIONS = 20
MOST_ROWS = 500_000
"""Most rows of a stand-in; with more rows, noise matters even less."""

_SEED = 0  # the same question must give the same numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Mean accuracy over simulated answers to a question about `rows` rows.

    `roc_area_error` is the area between the exact ROC curve of all rows and the private one, `auc_error` the absolute
    error of the AUC, and the widths those of its intervals: for these rows, and for the population.
    """

    rows: int
    prevalence: float
    auc: float
    roc_area_error: float
    auc_error: float
    auc_sample_width: float
    auc_population_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Accuracy of the pooled answer and, if sites' own results are asked for, of one site of average size."""

    pooled: Accuracy
    site: Accuracy | None
    stated: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "rows_stated": self.stated,
            "pooled": self.pooled.to_dict(),
            "site": None if self.site is None else self.site.to_dict(),
        }


def expected_accuracy(
    question: Question, *, rows: int | None = None, level: float = 0.95, repetitions: int = REPETITIONS
) -> Expected:
    """Simulate answers to a private question; without `rows`, each site is assumed to have 1,000."""
    sites = len(question.sites)
    stated = SUPPOSED_ROWS * sites if rows is None else rows
    pooled, own = noise_parts(question)
    each = max(stated // sites, 2)
    return Expected(
        pooled=simulated(question, stand_in(stated), pooled, level=level, repetitions=repetitions),
        site=simulated(question, stand_in(each), own, level=level, repetitions=repetitions) if own else None,
        stated=rows is not None,
    )


def stand_in(rows: int, prevalence: float = USUAL_PREVALENCE, auc: float = USUAL_AUC) -> ScoreCounts:
    """Return rows with normal scores in both classes, as calibrated probabilities; at least one row of each class."""
    from scipy.special import expit, ndtri

    size = min(max(rows, 2), MOST_ROWS)
    generator = np.random.default_rng(_SEED)
    positives = min(max(round(size * prevalence), 1), size - 1)
    labels = np.arange(size) < positives
    apart = float(np.sqrt(2.0) * ndtri(auc))
    latent = generator.standard_normal(size) + apart * labels
    odds = np.log(positives / (size - positives))
    return ScoreCounts.from_arrays(labels, expit(odds + apart * (latent - apart / 2.0)))


def simulated(
    question: Question, counts: ScoreCounts, parts: tuple[NoisePart, ...], *, level: float, repetitions: int
) -> Accuracy:
    """Release the counts `repetitions` times with noise from a fixed seed, and average the errors."""
    generator = np.random.default_rng(_SEED)
    exact, truth = _points(roc_curve(counts)), auc_score(counts)
    grid, strategy = question.public_grid, strategy_of(question)
    integers = strategy.measure(cells_on(counts, grid)).astype(np.float64)
    noise = noisy_table(question, integers, parts).noise(generator)
    found = []
    for _ in range(repetitions):
        added = sum(part.weight * part.draw(generator, integers.shape) for part in parts)
        noisy = noisy_table(question, integers + added, parts)
        table = shaped(noisy, fitting_shape(noisy, noise))
        curve = _points(roc_curve(drawn_counts(table, grid)))
        both = auc_intervals(
            agreed=noisy.agreed(), noise=noise, table=table, grid=grid, level=level, generator=generator
        )
        error = abs(table_auc(table) - truth)
        found.append((area_between(exact, curve), error, both.sample.width, both.population.width))
    area, error, sample, population = (float(mean) for mean in np.mean(found, axis=0))
    return Accuracy(
        rows=int(counts.total_positives + counts.total_negatives),
        prevalence=counts.prevalence,
        auc=truth,
        roc_area_error=area,
        auc_error=error,
        auc_sample_width=sample,
        auc_population_width=population,
    )


def noisy_table(question: Question, integers: FloatArray, parts: tuple[NoisePart, ...]) -> NoisyCells:
    """Return noisy counts as the coordinator rebuilds them from the integers of both classes."""
    return rebuilt_cells(
        integers.ravel(),
        cells=len(question.public_grid),
        strategy=strategy_of(question),
        scale=parts[0].scale,
        gaussian=parts[0].gaussian,
        rows=None,
        cell_rows=None,
        parts=parts,
    )


def _points(curve: RocCurve) -> tuple[FloatArray, FloatArray]:
    return curve.false_positive_rate, curve.true_positive_rate
