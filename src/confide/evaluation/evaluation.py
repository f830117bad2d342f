"""Evaluation as a value: everything that text, JSON, HTML and plots show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confide.counts import ScoreCounts
from confide.intervals.comparison import Comparison, JointComparison
from confide.intervals.interval import Estimate
from confide.metrics.threshold import MEASURES, ConfusionMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCHEMA = "confide.evaluation/1"


@dataclass(frozen=True, slots=True)
class Areas(Mapping[str, float]):
    """Areas under the PR curve by estimator, immutable."""

    pairs: tuple[tuple[str, float], ...]

    def __getitem__(self, estimator: str) -> float:
        return dict(self.pairs)[estimator]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration measures of scores in [0, 1]; None where a number does not exist."""

    intercept: float | None
    slope: float | None
    expected_calibration_error: float
    integrated_calibration_index: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdEvaluation:
    """Confusion matrix and measures at one threshold; net benefit for probabilities only."""

    threshold: float
    matrix: ConfusionMatrix
    net_benefit: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        matrix = self.matrix
        return {
            "threshold": self.threshold,
            "true_positives": matrix.true_positives,
            "false_positives": matrix.false_positives,
            "false_negatives": matrix.false_negatives,
            "true_negatives": matrix.true_negatives,
            **{name: getattr(matrix, name) for name in MEASURES},
            "skew_aware_f": matrix.skew_aware_f(),
            "net_benefit": self.net_benefit,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """Numbers of one model. Those that need probabilities are None where scores lie outside [0, 1]."""

    score: str
    auc: Estimate
    average_precision: Estimate
    aucpr: Areas
    aucpr_minimum: float
    aucnpr: float
    brier: float | None
    scaled_brier: float | None
    log_loss: float | None
    observed_expected: float | None
    calibration: Calibration | None
    thresholds: tuple[ThresholdEvaluation, ...]
    youden: ThresholdEvaluation
    counts: ScoreCounts = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "score": self.score,
            "auc": {
                "value": self.auc.value,
                "standard_error": self.auc.standard_error,
                "interval": self.auc.to_dict()["interval"],
            },
            "average_precision": self.average_precision.to_dict(),
            "aucpr": dict(self.aucpr),
            "aucpr_minimum": self.aucpr_minimum,
            "aucnpr": self.aucnpr,
            "brier": self.brier,
            "scaled_brier": self.scaled_brier,
            "log_loss": self.log_loss,
            "observed_expected": self.observed_expected,
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "thresholds": [threshold.to_dict() for threshold in self.thresholds],
            "youden": self.youden.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEvaluation:
    """One group of rows. It has no models if its rows have one class only."""

    group: str
    rows: int
    positives: float
    negatives: float
    models: tuple[ModelEvaluation, ...]

    @property
    def prevalence(self) -> float:
        """Share of positives."""
        return self.positives / (self.positives + self.negatives)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "group": self.group,
            "rows": self.rows,
            "positives": self.positives,
            "negatives": self.negatives,
            "prevalence": self.prevalence,
            "models": [model.to_dict() for model in self.models],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation:
    """Evaluation of one or several models on the same rows.

    If `weighted`, `positives` and `negatives` are sums of weights. `rows` is None where only weights are known.
    """

    rows: int | None
    positives: float
    negatives: float
    level: float
    weighted: bool
    models: tuple[ModelEvaluation, ...]
    comparisons: tuple[Comparison, ...] = ()
    joint: JointComparison | None = None
    groups: tuple[GroupEvaluation, ...] = ()
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def prevalence(self) -> float:
        """Share of positives."""
        return self.positives / (self.positives + self.negatives)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema; numbers that do not exist are None."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "rows": self.rows,
            "positives": self.positives,
            "negatives": self.negatives,
            "prevalence": self.prevalence,
            "weighted": self.weighted,
            "models": [model.to_dict() for model in self.models],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "joint_comparison": None if self.joint is None else self.joint.to_dict(),
            "groups": [group.to_dict() for group in self.groups],
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
        }
        cleaned: dict[str, Any] = _finite(plain)
        return cleaned

    def plot(self) -> Figure:
        """Draw ROC, PR, calibration and decision curves in one figure."""
        from confide.report.evaluation.plots import plot_evaluation

        return plot_evaluation(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each number.

        Columns: model, group (missing for all rows), metric, threshold (for measures at one), value, lower, upper and
        level.
        """
        from confide.report.evaluation.frames import evaluation_frame

        return evaluation_frame(self)

    def to_html(self, *, title: str = "Evaluation") -> str:
        """Return the whole report as one HTML page that needs nothing else."""
        from confide.report.evaluation.page import evaluation_page

        return evaluation_page(self, title=title)

    def to_text(self) -> str:
        """Return the tables as plain text."""
        from confide.report.evaluation.text import plain_text

        return plain_text(self)

    def __repr__(self) -> str:
        models = ", ".join(f"{model.score} AUC {model.auc.value:.3f}" for model in self.models)
        rows = "weighted rows" if self.rows is None else f"{self.rows:,} rows"
        return f"<Evaluation on {rows}: {models}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from confide.report.evaluation.page import fragment

        return fragment(self)


def _finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else None
    return value
