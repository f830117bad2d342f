"""AUC with DeLong variance and average precision together, against scikit-learn and confidenceinterval."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

import confide
from benchmarks.timing import best_of, seconds, table


def run(*, quick: bool = False) -> None:
    rng = np.random.default_rng(1)
    rows = 10**6 if quick else 10**7
    labels = (rng.random(rows) < 0.3).astype(np.uint8)
    shifted = rng.standard_normal(rows) + labels
    inputs = {
        "probabilities, all distinct": 1.0 / (1.0 + np.exp(-shifted)),
        "decision values, both signs": shifted,
        "uniform": np.clip(rng.random(rows) * 0.9 + 0.1 * labels * rng.random(rows), 0.0, 1.0),
        "3 digits": np.round(1.0 / (1.0 + np.exp(-shifted)), 3),
    }
    confide.intervals.rank_summary(labels, inputs["uniform"])  # compile, or load what was compiled
    confide.intervals.rank_summary(labels, inputs["3 digits"])
    lines = []
    for name, scores in inputs.items():
        ours, auc, both = best_of(
            2 if not quick else 3,
            lambda s=scores: confide.intervals.rank_summary(labels, s),  # type: ignore[misc]
            lambda s=scores: roc_auc_score(labels, s),  # type: ignore[misc]
            lambda s=scores: (roc_auc_score(labels, s), average_precision_score(labels, s)),  # type: ignore[misc]
        )
        summary = confide.intervals.rank_summary(labels, scores)
        assert abs(summary.auc - roc_auc_score(labels, scores)) < 1e-10
        lines.append(
            (name, seconds(ours), f"{ours / rows * 1e9:.1f}", seconds(auc), f"{auc / ours:.0f}x", f"{both / ours:.0f}x")
        )
    print(f"AUC + DeLong variance + AP, {rows:,} rows; goal 25x AUC alone, 50x AUC and AP")
    table(("scores", "confide", "ns/row", "sklearn AUC", "ratio to AUC", "ratio to AUC+AP"), lines)
    _delong()


def _delong() -> None:
    from confidenceinterval import roc_auc_score as theirs_with_interval

    rng = np.random.default_rng(2)
    rows = 10**6
    labels = (rng.random(rows) < 0.3).astype(np.uint8)
    scores = rng.standard_normal(rows) + labels
    confide.intervals.rank_summary(labels, scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, interval = theirs_with_interval(labels, scores)
        ours, theirs = best_of(
            3,
            lambda: confide.intervals.rank_summary(labels, scores).auc_interval(),
            lambda: theirs_with_interval(labels, scores),
        )
    plain = confide.intervals.rank_summary(labels, scores).auc_interval(transform="none")
    assert abs(plain.lower - interval[0]) < 1e-4, (plain, interval, value)
    print(f"DeLong interval, {rows:,} rows; goal 100x")
    table(
        ("", "confide", "confidenceinterval", "ratio"),
        [("DeLong", seconds(ours), seconds(theirs), f"{theirs / ours:.0f}x")],
    )
