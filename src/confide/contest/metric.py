"""Metrics that a contest can be scored by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError
from confide.metrics.names import METRIC_NAMES, Better, Face, MetricName, names_of, offered_metric

KINDS: Mapping[str, MetricName] = MappingProxyType({name: METRIC_NAMES[name] for name in names_of(Face.CONTEST)})
"""Metrics of contests by name."""

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
        """Check a name or an alias, and fill in the usual threshold."""
        kind = offered_metric(name, Face.CONTEST, "no contest can be scored by")
        if not kind.threshold:
            if threshold is not None:
                raise ParameterError(f"{kind.name} has no threshold; leave `threshold` out")
            return cls(name=kind.name)
        chosen = 0.5 if threshold is None else float(threshold)
        if not math.isfinite(chosen):
            raise ParameterError(f"`threshold` must be a finite number; got {threshold!r}")
        return cls(name=kind.name, threshold=chosen)

    @property
    def kind(self) -> MetricName:
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
