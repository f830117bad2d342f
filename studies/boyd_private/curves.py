"""Private ROC curves: symmetric binormal ones from a private AUC (Figure 6), and curves from private counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from confide import ScoreCounts
from confide.counts import FloatArray
from confide.curves.roc import area_between, roc_curve
from confide.releases.curves import draw_curves
from confide.releases.symmetric import symmetric_recall
from studies.boyd_private.data import Population
from studies.boyd_private.mechanisms import LENIENT, OURS
from studies.boyd_private.published import CURVE_EPSILON, CURVE_QUANTILES, CURVE_SIZE
from studies.claims import Mean
from studies.repeatable_noise import generator_for, repeatable_noise
from studies.store import Arrays

PLACES: FloatArray = np.linspace(0.0, 1.0, 101)
"""False-positive rates at which curves are compared."""

_LEVEL = 1e-9  # steps that differ by less are equal

SYMMETRIC = {"published": LENIENT, "symmetric": OURS}
COUNTED: dict[str, dict[str, str | None]] = {
    "counts": {"mechanism": "auto", "shape": None},
    "stoddard": {"mechanism": "fixed-space", "shape": "isotonic"},
}
METHODS = {
    "published": "paper: symmetric binormal, δ = 0.01",
    "symmetric": "confide: symmetric binormal, δ = 0",
    "counts": "confide: private counts, δ = 0",
    "stoddard": "FixedSpace (Stoddard and others), δ = 0",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveErrors:
    """Curves of one method: quantiles at `PLACES`, the areas between private and true curves, and roughness.

    Roughness sums how much the true-positive rate's steps between neighbouring `PLACES` differ from one to the next;
    `turns` is the share of places at which a step is larger than the one before.

    `bias` is the area between the true curve and the one that the method would draw without noise; NaN for counts.
    """

    quantiles: FloatArray
    area: Mean
    roughness: Mean
    turns: Mean
    bias: float


def measure_curves(population: Population, draws: int, tables: int, seed: int) -> Arrays:
    """Draw one test set with the paper's sizes, and release its ROC curve again and again by each method."""
    generator = generator_for(seed, "boyd-private", "curves", population.key)
    counts = population.draw(CURVE_SIZE, CURVE_SIZE, generator)
    roc = roc_curve(counts)
    true = (roc.false_positive_rate, roc.true_positive_rate)
    found: Arrays = {"true": np.stack(true)}
    for name, mechanism in SYMMETRIC.items():
        areas = mechanism.prepare("auc", counts, CURVE_EPSILON)(draws, generator)
        heights = np.stack([_from_zero(symmetric_recall(area, PLACES)) for area in areas.tolist()])
        found |= _summary(name, [(PLACES, each) for each in heights], true)
        noiseless = (PLACES, _from_zero(symmetric_recall(roc.area, PLACES)))
        found[f"{name}-bias"] = np.array(area_between(noiseless, true))
    shown = counts if population.key == "adult" else _as_probabilities(counts)
    for name, options in COUNTED.items():
        curves = [_counted(shown, CURVE_EPSILON, options, generator) for _ in range(tables)]
        found |= _summary(name, curves, true)
        found[f"{name}-bias"] = np.array(np.nan)
    return found


def curve_errors(arrays: Arrays, method: str) -> CurveErrors:
    """Read what `measure_curves` returns."""
    return CurveErrors(
        quantiles=arrays[f"{method}-quantiles"],
        area=Mean.of(arrays[f"{method}-areas"]),
        roughness=Mean.of(arrays[f"{method}-roughness"]),
        turns=Mean.of(arrays[f"{method}-turns"]),
        bias=float(arrays[f"{method}-bias"]),
    )


def _summary(name: str, curves: list[tuple[FloatArray, FloatArray]], true: tuple[FloatArray, FloatArray]) -> Arrays:
    heights = np.stack([np.interp(PLACES, *curve) for curve in curves])
    slopes = np.diff(heights, axis=1)
    return {
        f"{name}-quantiles": np.quantile(heights, CURVE_QUANTILES, axis=0),
        f"{name}-areas": np.array([area_between(curve, true) for curve in curves]),
        f"{name}-roughness": np.abs(np.diff(slopes, axis=1)).sum(axis=1),
        f"{name}-turns": (np.diff(slopes, axis=1) > _LEVEL).mean(axis=1),
    }


def _counted(
    counts: ScoreCounts, epsilon: Fraction, options: dict[str, str | None], generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    roc = draw_curves(
        counts,
        epsilon=epsilon,
        mechanism=options["mechanism"] or "auto",
        shape=options["shape"],
        noise=repeatable_noise(generator),
    ).roc
    return roc.false_positive_rate, roc.true_positive_rate


def _from_zero(heights: FloatArray) -> FloatArray:
    """Let a curve start at 0 and end at 1."""
    return np.concatenate(([0.0], heights[1:-1], [1.0]))


def _as_probabilities(counts: ScoreCounts) -> ScoreCounts:
    """Map normal scores to [0, 1] by a public rule, the normal distribution, as the default grid needs."""
    return ScoreCounts(ndtr(counts.scores), counts.positives, counts.negatives)
