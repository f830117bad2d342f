"""A thousand stratified bootstrap replicates of AUC and AP, against a scikit-learn loop."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.timing import best_of, seconds, table
from confide import ScoreCounts
from confide.intervals.resample import replicate_ranks


def run(*, quick: bool = False) -> None:
    rng = np.random.default_rng(3)
    rows, replicates = 10**5, 1_000
    loop = 10 if quick else 40
    lines = []
    for share in (0.1, 0.5):
        labels = (rng.random(rows) < share).astype(np.uint8)
        scores = rng.standard_normal(rows) + labels
        counts = ScoreCounts.from_arrays(labels, scores)
        replicate_ranks(counts, replicates, rng, resampling="classes")
        ours, theirs = best_of(
            3,
            lambda c=counts: replicate_ranks(c, replicates, rng, resampling="classes"),  # type: ignore[misc]
            lambda y=labels, s=scores: _loop(y, s, loop, rng),  # type: ignore[misc]
        )
        theirs *= replicates / loop
        lines.append((f"prevalence {share}", seconds(ours), seconds(theirs), f"{theirs / ours:.0f}x"))
    print(f"{replicates:,} replicates of AUC and AP, {rows:,} distinct rows (loop timed on {loop}); goal 100x")
    table(("", "confide", "scikit-learn loop", "ratio"), lines)


def _loop(labels: np.ndarray, scores: np.ndarray, replicates: int, rng: np.random.Generator) -> None:
    ours, theirs = np.flatnonzero(labels), np.flatnonzero(labels == 0)
    for _ in range(replicates):
        drawn = np.concatenate((rng.choice(ours, ours.size), rng.choice(theirs, theirs.size)))
        roc_auc_score(labels[drawn], scores[drawn])
        average_precision_score(labels[drawn], scores[drawn])
