"""Rows of patients with several stays: what tests of clustered intervals share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Stays:
    """Label, scores of each model and patient of each stay."""

    labels: NDArray[np.bool_]
    scores: tuple[NDArray[np.float64], ...]
    patients: NDArray[np.int64]


def draw_stays(
    rng: np.random.Generator,
    *,
    patients: int = 60,
    most: int = 4,
    models: int = 1,
    likeness: float = 0.7,
    decimals: int | None = None,
) -> Stays:
    """Draw patients with one to `most` stays; a patient's stays share a part of both risk and score.

    Scores are probabilities. `likeness` is the share of the variance that the stays of a patient have in common.
    """
    patient = np.repeat(np.arange(patients), rng.integers(1, most + 1, patients))
    size = patient.size

    def shared() -> NDArray[np.float64]:
        common, own = rng.standard_normal(patients)[patient], rng.standard_normal(size)
        mixed: NDArray[np.float64] = np.sqrt(likeness) * common + np.sqrt(1.0 - likeness) * own
        return mixed

    risk = shared()
    labels = risk + rng.standard_normal(size) > 0.6
    scores = tuple(1.0 / (1.0 + np.exp(0.8 - risk - 0.8 * shared())) for _ in range(models))
    if decimals is not None:
        scores = tuple(np.round(score, decimals).clip(0.01, 0.99) for score in scores)
    return Stays(labels=labels, scores=scores, patients=patient)
