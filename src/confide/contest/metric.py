"""Metrics that a contest can be scored by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError, did_you_mean


class Better(StrEnum):
    """Direction in which a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"
    ZERO = "zero"  # nearest to zero


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricKind:
    """Properties of a metric: title, direction, and what it needs.

    `linear` means that the metric is a function of linear forms in the labels, with public coefficients. The shaped
    final releases such forms alone.
    """

    title: str
    better: Better = Better.HIGHER
    threshold: bool = False
    probabilities: bool = False
    linear: bool = True


KINDS = MappingProxyType(
    {
        "auc": MetricKind(title="AUC"),
        "average_precision": MetricKind(title="average precision", linear=False),
        "accuracy": MetricKind(title="accuracy", threshold=True),
        "balanced_accuracy": MetricKind(title="balanced accuracy", threshold=True),
        "recall": MetricKind(title="recall", threshold=True),
        "specificity": MetricKind(title="specificity", threshold=True),
        "precision": MetricKind(title="precision", threshold=True),
        "f1": MetricKind(title="F1", threshold=True),
        "brier": MetricKind(title="Brier score", better=Better.LOWER, probabilities=True),
        "log_loss": MetricKind(title="log loss", better=Better.LOWER, probabilities=True),
        "calibration_in_the_large": MetricKind(
            title="observed less expected frequency", better=Better.ZERO, probabilities=True
        ),
    }
)

_OTHER_NAMES = MappingProxyType(
    {
        "acc": "accuracy",
        "ap": "average_precision",
        "aucpr": "average_precision",
        "auprc": "average_precision",
        "pr_auc": "average_precision",
        "prauc": "average_precision",
        "auroc": "auc",
        "roc": "auc",
        "roc_auc": "auc",
        "rocauc": "auc",
        "brier_score": "brier",
        "cross_entropy": "log_loss",
        "crossentropy": "log_loss",
        "logloss": "log_loss",
        "nll": "log_loss",
        "ppv": "precision",
        "sensitivity": "recall",
        "tpr": "recall",
        "tnr": "specificity",
    }
)

CLIP = 0.01
"""Probabilities enter the log loss cut to [CLIP, 1 - CLIP], so that one row cannot count without limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestMetric:
    """Metric of a contest, with the decision threshold where it needs one.

    A row is called positive if its score is at least the threshold.

    >>> ContestMetric.checked("accuracy").threshold
    0.5
    """

    name: str
    threshold: float | None = None

    @classmethod
    def checked(cls, name: str, threshold: float | None = None) -> ContestMetric:
        """Check a name, in which hyphens count as underscores, and fill in the usual threshold."""
        given, name = name, str(name).replace("-", "_")
        if name not in KINDS:
            other = _OTHER_NAMES.get(name.lower())
            meant = f"Did you mean {other!r}? " if other else did_you_mean(name, tuple(KINDS))
            raise ParameterError(f"no contest can be scored by {given!r}. {meant}Choose from {', '.join(KINDS)}")
        if not KINDS[name].threshold:
            if threshold is not None:
                raise ParameterError(f"{name} has no threshold; leave `threshold` out")
            return cls(name=name)
        chosen = 0.5 if threshold is None else float(threshold)
        if not math.isfinite(chosen):
            raise ParameterError(f"`threshold` must be a finite number; got {threshold!r}")
        return cls(name=name, threshold=chosen)

    @property
    def kind(self) -> MetricKind:
        """Return the properties of the metric."""
        return KINDS[self.name]

    @property
    def title(self) -> str:
        """Return the name for tables and plots."""
        return self.kind.title if self.threshold is None else f"{self.kind.title} at {self.threshold:g}"

    def goodness(self, value: float) -> float:
        """Return a number that is larger the better the value is."""
        better = self.kind.better
        if better == Better.HIGHER:
            return value
        return -value if better == Better.LOWER else -abs(value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "threshold": self.threshold}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ContestMetric:
        """Read plain data."""
        return cls.checked(str(plain["name"]), plain.get("threshold"))
