"""Populations that test sets are drawn from: Adult, normal scores, and a stand-in for the paper's diabetes data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from confide import ScoreCounts, auc_score, average_precision_score
from confide.counts import FloatArray
from confide.errors import UsageError
from confide.privacy.mechanisms.average_precision_sensitivity import pessimistic_average_precision
from studies.boyd_private.published import DIABETES_AVERAGE_PRECISION
from studies.data_files import DataFile
from studies.repeatable_noise import generator_for

ADULT = DataFile(
    name="adult.csv.gz",
    what="UCI Adult (Becker & Kohavi 1996), train and test rows in one table, 48,842 rows, label income",
    sha256="ae0655a69eefdf7e0186431236d13982bc29cb8c1ab2dcc1bd68dae2ecec0d92",
)
LABEL, POSITIVE, LEFT_OUT = "income", ">50K", ("split",)

METRICS = ("auc", "average_precision")

_STEPS = 200_000  # equal steps of recall over which precision is averaged


class Population(Protocol):
    """Scores of positives and negatives that test sets are drawn from."""

    @property
    def key(self) -> str:
        """Return a short name."""

    @property
    def name(self) -> str:
        """Return the name that readers see."""

    @property
    def truth(self) -> dict[str, float]:
        """Return AUC, and average precision with as many positives as negatives, of the whole population."""

    def draw(self, positives: int, negatives: int, generator: np.random.Generator) -> ScoreCounts:
        """Draw a test set with so many rows of each class."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowPopulation:
    """Rows of a file that a model has scored. Test sets are subsets of them."""

    key: str
    name: str
    positives: FloatArray = field(repr=False)
    negatives: FloatArray = field(repr=False)

    @cached_property
    def truth(self) -> dict[str, float]:
        """Return the metrics of all rows, with weights that make the classes equally large."""
        scores = np.concatenate((self.positives, self.negatives))
        ours = np.arange(scores.size) < self.positives.size
        weights = np.where(ours, self.negatives.size / self.positives.size, 1.0)
        counts = ScoreCounts.from_arrays(ours, scores, weights)
        return {"auc": auc_score(counts), "average_precision": average_precision_score(counts)}

    def draw(self, positives: int, negatives: int, generator: np.random.Generator) -> ScoreCounts:
        """Draw a subset."""
        ours = generator.choice(self.positives, positives, replace=False)
        return test_set(ours, generator.choice(self.negatives, negatives, replace=False))


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalPopulation:
    """Normal scores: negatives with mean 0 and deviation 1, positives with another mean and deviation."""

    key: str
    name: str
    mean: float
    deviation: float = 1.0

    @cached_property
    def truth(self) -> dict[str, float]:
        """Return AUC in closed form, and precision averaged over equal steps of recall."""
        auc = float(ndtr(self.mean / np.hypot(1.0, self.deviation)))
        return {"auc": auc, "average_precision": _average_precision(self.mean, self.deviation)}

    def draw(self, positives: int, negatives: int, generator: np.random.Generator) -> ScoreCounts:
        """Draw scores."""
        ours = self.mean + self.deviation * generator.standard_normal(positives)
        return test_set(ours, generator.standard_normal(negatives))

    def typical(self, positives: int, negatives: int) -> ScoreCounts:
        """Return scores at the middles of equal steps of probability: a test set that is nearly the population."""
        ours, theirs = (ndtri((np.arange(size) + 0.5) / size) for size in (positives, negatives))
        return test_set(self.mean + self.deviation * ours, theirs)


def test_set(positives: FloatArray, negatives: FloatArray) -> ScoreCounts:
    """Return the counts of the scores of both classes."""
    scores = np.concatenate((positives, negatives))
    return ScoreCounts.from_arrays(np.arange(scores.size) < positives.size, scores)


def exact_values(counts: ScoreCounts) -> dict[str, float]:
    """Return AUC, and average precision with tied negatives above."""
    return {"auc": auc_score(counts), "average_precision": pessimistic_average_precision(counts)}


def diabetes_stand_in() -> NormalPopulation:
    """Return normal scores of equal spread with the one number that the paper prints about its diabetes data."""
    mean = float(brentq(lambda mean: _average_precision(mean, 1.0) - DIABETES_AVERAGE_PRECISION, 0.0, 5.0))
    return NormalPopulation(key="stand-in", name="Diabetes stand-in", mean=mean)


def adult(path: Path, seed: int) -> RowPopulation:
    """Train logistic regression on a random half of Adult's rows, and return the scores of the other half."""
    try:
        import pandas as pd
        from sklearn.compose import ColumnTransformer, make_column_selector
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
    except ModuleNotFoundError as missing:
        raise UsageError(f"this study needs {missing.name}: pip install 'confide[learn]' pandas") from None
    rows = pd.read_csv(path, keep_default_na=False)
    if LABEL not in rows:
        raise UsageError(f"{path.name} has no column {LABEL}; check that it is the file that is meant")
    label = (rows.pop(LABEL) == POSITIVE).to_numpy()
    features = rows.drop(columns=list(LEFT_OUT), errors="ignore")
    train = generator_for(seed, "boyd-private", "adult").random(len(rows)) < 0.5
    columns = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
        ]
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(features[train], label[train])
    scores = model.predict_proba(features[~train])[:, 1]
    held_out = label[~train]
    return RowPopulation(key="adult", name="Adult", positives=scores[held_out], negatives=scores[~held_out])


def _average_precision(mean: float, deviation: float) -> float:
    """Return average precision of normal scores with equally many rows of both classes."""
    recall = (np.arange(_STEPS) + 0.5) / _STEPS
    false_alarms = ndtr(-(mean - deviation * ndtri(recall)))
    return float((recall / (recall + false_alarms)).mean())
