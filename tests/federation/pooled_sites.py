"""Sites to pool: simulated ones, the five servers of the GBSG2 demo, and four hospitals' heart disease."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from confide.counts import FloatArray, ScoreCounts
from confide.intervals.interval import Interval


def simulated(seed: int, sites: int = 4, least: int = 60, most: int = 300) -> list[ScoreCounts]:
    """Sites with different patients and a model that fits them differently well."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(sites):
        size = int(rng.integers(least, most))
        risk = rng.normal(rng.normal(0.0, 0.5) - 0.5, rng.uniform(0.6, 1.4), size)
        labels = (rng.random(size) < 1.0 / (1.0 + np.exp(-risk))).astype(np.int64)
        labels[:12] = [0, 1] * 6
        found.append(ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-rng.uniform(0.6, 1.4) * risk))))
    return found


def gbsg2_sites(shared_data: Path) -> list[ScoreCounts]:
    frame = pl.read_csv(shared_data / "gbsg2_federated_scores.csv.gz")
    return [ScoreCounts.from_frame(part, label="label", score="score") for part in frame.partition_by("server")]


def heart_sites(shared_data: Path) -> dict[str, ScoreCounts]:
    """Four hospitals' patients with the risks of a model that was fitted to Cleveland's."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pl.read_csv(shared_data / "heart_disease_4sites.csv.gz")
    columns = ["age", "sex", "cp", "trestbps", "thalach", "exang", "oldpeak"]
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())

    def features(rows: pl.DataFrame) -> FloatArray:
        return rows.select(pl.col(columns).cast(pl.Float64)).fill_null(float("nan")).to_numpy()

    own = frame.filter(pl.col("site") == "cleveland")
    model.fit(features(own), own["label"].to_numpy())
    return {
        str(part["site"][0]): ScoreCounts.from_arrays(
            part["label"].to_numpy(), model.predict_proba(features(part))[:, 1]
        )
        for part in frame.partition_by("site")
    }


def known(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval
