"""Evaluation as a value: everything that text, JSON, HTML and plots show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from confide.counts import ScoreCounts
from confide.evaluation.settings import Design, PartialRegion, Settings
from confide.intervals.comparison import Comparison, JointComparison
from confide.intervals.interval import Estimate
from confide.metrics.threshold import ConfusionMatrix
from confide.provenance import Provenance, shown_command
from confide.sources.rows import MissingScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCHEMA = "confide.evaluation/2"
NET_BENEFIT = "net_benefit"

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Named(Mapping[str, Value]):
    """Values by name, immutable."""

    pairs: tuple[tuple[str, Value], ...]

    def __getitem__(self, name: str) -> Value:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration measures of scores in [0, 1]; None where a number does not exist.

    `intercept` is calibration in the large, with the slope fixed at 1. `joint_intercept` is fitted together with the
    slope. `e50`, `e90` and `emax` are the median, the 90th percentile and the maximum of the distance between score
    and smooth calibration curve; `integrated_calibration_index` is its mean.
    """

    intercept: Estimate | None
    slope: Estimate | None
    joint_intercept: Estimate | None
    expected_calibration_error: Estimate
    integrated_calibration_index: Estimate
    e50: Estimate
    e90: Estimate
    emax: Estimate

    def items(self) -> Iterator[tuple[str, Estimate | None]]:
        """Yield each measure with its name."""
        return ((each.name, getattr(self, each.name)) for each in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: _estimate_dict(value) for name, value in self.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdEvaluation:
    """Confusion matrix and measures at one threshold; net benefit for probabilities only."""

    threshold: float
    matrix: ConfusionMatrix
    measures: Named[Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        matrix = self.matrix
        return {
            "threshold": self.threshold,
            "true_positives": matrix.true_positives,
            "false_positives": matrix.false_positives,
            "false_negatives": matrix.false_negatives,
            "true_negatives": matrix.true_negatives,
            **{name: estimate.to_dict() for name, estimate in self.measures.items()},
            **({} if NET_BENEFIT in self.measures else {NET_BENEFIT: None}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenThreshold:
    """A threshold chosen on these rows, with its interval, and the measures there, which are optimistic."""

    rule: str
    threshold: Estimate
    at: ThresholdEvaluation

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rule": self.rule, "chosen": self.threshold.to_dict(), **self.at.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialArea:
    """Area under a part of the ROC curve, between two specificities or two sensitivities."""

    region: PartialRegion
    area: Estimate
    corrected: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "axis": self.region.axis,
            "from": self.region.lower,
            "to": self.region.upper,
            "area": self.area.to_dict(),
            "corrected": self.corrected.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """Numbers of one model. Those that need probabilities are None where scores lie outside [0, 1].

    Curves are drawn from `counts`, in which sampling weights have mean 1.
    """

    score: str
    auc: Estimate
    average_precision: Estimate
    partial_auc: tuple[PartialArea, ...]
    aucpr: Named[float]
    aucpr_minimum: float
    aucnpr: float
    brier: Estimate | None
    scaled_brier: Estimate | None
    log_loss: Estimate | None
    observed_expected: Estimate | None
    calibration: Calibration | None
    thresholds: tuple[ThresholdEvaluation, ...]
    youden: ChosenThreshold
    least_cost: ChosenThreshold | None
    counts: ScoreCounts = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "score": self.score,
            "auc": self.auc.to_dict(),
            "average_precision": self.average_precision.to_dict(),
            "partial_auc": [area.to_dict() for area in self.partial_auc],
            "aucpr": dict(self.aucpr),
            "aucpr_minimum": self.aucpr_minimum,
            "aucnpr": self.aucnpr,
            "brier": _estimate_dict(self.brier),
            "scaled_brier": _estimate_dict(self.scaled_brier),
            "log_loss": _estimate_dict(self.log_loss),
            "observed_expected": _estimate_dict(self.observed_expected),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "thresholds": [threshold.to_dict() for threshold in self.thresholds],
            "youden": self.youden.to_dict(),
            "least_cost": None if self.least_cost is None else self.least_cost.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEvaluation:
    """One group of rows. It has no models if its rows have one class only.

    `column` names the column that divides the rows, or the columns whose values are crossed. `differences` compare the
    group with all other rows, for each model. `class_rows` is as in `Evaluation`.
    """

    column: str
    group: str
    rows: int
    positives: float
    negatives: float
    models: tuple[ModelEvaluation, ...]
    differences: tuple[Comparison, ...] = ()
    class_rows: tuple[float, float] | None = None

    @property
    def smaller_class(self) -> float:
        """Number of rows of the class that has fewer."""
        return min(self.class_rows or (self.positives, self.negatives))

    @property
    def prevalence(self) -> float:
        """Share of positives."""
        return self.positives / (self.positives + self.negatives)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "column": self.column,
            "group": self.group,
            "rows": self.rows,
            "positives": self.positives,
            "negatives": self.negatives,
            "prevalence": self.prevalence,
            "models": [model.to_dict() for model in self.models],
            "differences": [difference.to_dict() for difference in self.differences],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation:
    """Evaluation of one or several models on the same rows.

    If `weighted`, `positives` and `negatives` are sums of weights. `rows` is None where only weights are known.
    `class_rows` are the numbers of positive and of negative rows where sampling weights do not count rows; else None.
    `missing` counts the rows that were left out. `provenance` says where the numbers come from.
    """

    rows: int | None
    positives: float
    negatives: float
    settings: Settings
    design: Design
    models: tuple[ModelEvaluation, ...]
    comparisons: tuple[Comparison, ...] = ()
    joint: JointComparison | None = None
    groups: tuple[GroupEvaluation, ...] = ()
    missing: MissingScores | None = None
    provenance: Provenance | None = None
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    class_rows: tuple[float, float] | None = None

    @property
    def smaller_class(self) -> float:
        """Number of rows of the class that has fewer."""
        return min(self.class_rows or (self.positives, self.negatives))

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return self.settings.level

    @property
    def weighted(self) -> bool:
        """Tell whether rows have weights."""
        return self.design.weighted

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
            "design": self.design.to_dict(),
            "missing": None if self.missing is None else self.missing.to_dict(),
            "models": [model.to_dict() for model in self.models],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "joint_comparison": None if self.joint is None else self.joint.to_dict(),
            "groups": [group.to_dict() for group in self.groups],
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
            "provenance": None if self.provenance is None else self.provenance.to_dict(),
        }
        cleaned: dict[str, Any] = _finite(plain)
        return cleaned

    def with_command(self, arguments: Sequence[str]) -> Evaluation:
        """Return the evaluation with the command line that made it, without users and passwords."""
        if self.provenance is None:
            return self
        return replace(self, provenance=replace(self.provenance, command=shown_command(arguments)))

    def plot(self) -> Figure:
        """Draw ROC, PR, calibration and decision curves in one figure."""
        from confide.report.evaluation.plots import plot_evaluation

        return plot_evaluation(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each number.

        Columns: model, group_column and group (missing for all rows), metric, threshold (for measures at one), value,
        standard_error, lower, upper, level, method, and p_value (for differences).
        """
        from confide.report.evaluation.text import evaluation_frame

        return evaluation_frame(self)

    def to_html(self, *, title: str = "Evaluation") -> str:
        """Return the whole report as one HTML page that needs nothing else."""
        from confide.report.evaluation.pages import evaluation_page

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
        from confide.report.evaluation.pages import fragment

        return fragment(self)


def _estimate_dict(estimate: Estimate | None) -> dict[str, object] | None:
    return None if estimate is None else estimate.to_dict()


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
