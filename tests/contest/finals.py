"""Small finals: terms, and finalists whose scores tell more or less about the labels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.metric import ContestMetric
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.privacy.prepared import Part

DELTA = Fraction(1, 10**6)
SPLIT = "keyed hash of the id, half of the rows"
PUBLIC, FINAL = Part(SPLIT, "public"), Part(SPLIT, "final")

Labels = NDArray[np.bool_]
Finalists = dict[str, FloatArray]


def final_terms(
    rows: int, metric: str = "auc", *, epsilon: object = 1, delta: Fraction = DELTA, threshold: float | None = None
) -> ContestTerms:
    """Terms of a contest whose final has so many rows."""
    return ContestTerms(
        name="heart",
        title="Heart attacks",
        metric=ContestMetric.checked(metric, threshold),
        rows=2 * rows,
        public_rows=rows,
        epsilon=Fraction(2),
        flip=Fraction(1, 8),
        final_epsilon=Fraction(str(epsilon)),
        final_delta=delta,
    )


def entries(
    rng: np.random.Generator, rows: int, *, prevalence: float = 0.3, count: int = 4, worst: float = 0.8
) -> tuple[Labels, Finalists]:
    """Draw labels and entries: probabilities of a positive label from one signal with more and more noise."""
    labels: Labels = rng.random(rows) < prevalence
    signal = 1.5 * labels + rng.standard_normal(rows)
    finalists: Finalists = {}
    for number, extra in enumerate(np.linspace(0.2, worst, count)):
        spread = 1.0 + extra**2
        noisy = (signal + extra * rng.standard_normal(rows)) / spread
        logit = 1.5 * noisy - 1.125 / spread + np.log(prevalence / (1.0 - prevalence))
        finalists[f"entry {number}"] = 1.0 / (1.0 + np.exp(-logit))
    return labels, finalists


def drawn(prepared: Any, noise: Any) -> Any:
    """Draw the one answer of a request."""
    (answer,) = prepared.draw(noise)
    return answer
