"""Rows of a site, and its configuration, for tests of what a site validates with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from confide import ScoreCounts
from confide.federation.site.config import SiteConfig, SiteModel

SECRET = 31771.25
"""A value in the data that must be in no message."""


def frame(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age, marker = rng.normal(60, 10, rows), rng.normal(size=rows)
    risk = 1 / (1 + np.exp(-(age - 60) / 10 - marker))
    died = np.where(rng.random(rows) < risk, "yes", "no")
    sex = np.where(rng.random(rows) < 0.5, "f", "m")
    return pd.DataFrame(
        {"age": age, "marker": marker, "sex": sex, "risk": risk, "died": died, "event": (died == "yes").astype(int)}
    )


DATA = frame()
BOTH = ["age", "marker"]


def config(folder: Path, **model: Any) -> SiteConfig:
    return SiteConfig(
        name="hospital-a", models={"m": SiteModel(**{"data": "rows.csv", "label": "event", **model})}, folder=folder
    )


def counted(scores: Any, labels: Any = DATA["event"]) -> ScoreCounts:
    return ScoreCounts.from_arrays(np.asarray(labels), np.asarray(scores, dtype=np.float64))


def same_rows(found: ScoreCounts, scores: Any, labels: Any = DATA["event"], *, atol: float = 1e-12) -> None:
    """Compare row by row, as scores that are equal in one library may differ in the last digit in another."""
    for counts, label in ((found.positives, 1), (found.negatives, 0)):
        wanted = np.sort(np.asarray(scores)[np.asarray(labels) == label])
        np.testing.assert_allclose(np.repeat(found.scores, counts), wanted, rtol=0, atol=atol)


def save(model: Any, path: Path) -> str:
    joblib.dump(model, path)
    return path.name
