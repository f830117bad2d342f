"""Rows that a study of AUC needs, for a power, for a width, or for both; and what a number of rows gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import ParameterError
from confide.intervals.power import AucDesign, ComparisonDesign, check_share, variance_model

SCHEMA = "confide.exact_plan/1"
MOST_ROWS = 10**9
"""Largest number of rows that a search tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """Rows of a study of one AUC or of two, with the power and the width that they give.

    `rows`, `positives` and `negatives` are those of each sample: two independent samples need twice as many. `power` is
    None without a null value. `wanted_power` and `wanted_width` are what the rows were chosen for, if they were.
    """

    design: AucDesign | ComparisonDesign
    rows: int
    wanted_power: float | None = None
    wanted_width: float | None = None

    @property
    def positives(self) -> int:
        """Expected positives, rounded."""
        return round(self.rows * self.design.prevalence)

    @property
    def negatives(self) -> int:
        """Rows less the positives."""
        return self.rows - self.positives

    @property
    def samples(self) -> int:
        """Number of samples with so many rows: 2 if a comparison is unpaired."""
        return 2 if isinstance(self.design, ComparisonDesign) and not self.design.paired else 1

    @property
    def power(self) -> float | None:
        """Power with these rows."""
        return self.design.power(self.rows)

    @property
    def width(self) -> float:
        """Expected width of the interval with these rows."""
        return self.design.width(self.rows)

    @property
    def standard_error(self) -> float:
        """Expected standard error with these rows."""
        return self.design.standard_error(self.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the plan."""
        sides = "one-sided" if self.design.one_sided else "two-sided"
        tested = f"The test is {sides} at significance level {1.0 - self.design.level:.3g}."
        independent = "Rows are independent, and the share of positives is the stated prevalence."
        model = variance_model(self.design.variance).assumption
        return (*((tested,) if self.power is not None else ()), model, independent)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "schema": SCHEMA,
            **_design_terms(self.design),
            "rows": self.rows,
            "positives": self.positives,
            "negatives": self.negatives,
            "samples": self.samples,
            "power": self.power,
            "width": self.width,
            "standard_error": self.standard_error,
            "wanted": {"power": self.wanted_power, "width": self.wanted_width},
            "assumptions": list(self.assumptions),
        }


def auc_sample_size(
    auc: float,
    *,
    prevalence: float,
    null: float | None = None,
    power: float | None = None,
    width: float | None = None,
    level: float = 0.95,
    one_sided: bool = False,
    variance: str = "normal",
) -> SamplePlan:
    """Find the least number of rows that tests AUC against `null` with a power, or gives its interval a width.

    With both wishes, the rows fulfil both. Without `null`, a power is that against 0.5.

    >>> auc_sample_size(0.8, null=0.7, prevalence=0.3, power=0.9).rows
    295
    >>> auc_sample_size(0.8, prevalence=0.3, width=0.1).rows
    347
    """
    tested = 0.5 if null is None and power is not None else null
    design = AucDesign(auc=auc, prevalence=prevalence, null=tested, level=level, one_sided=one_sided, variance=variance)
    return _least_plan(design, power, width)


def auc_power(
    auc: float,
    *,
    rows: int,
    prevalence: float,
    null: float | None = 0.5,
    level: float = 0.95,
    one_sided: bool = False,
    variance: str = "normal",
) -> SamplePlan:
    """Compute the power against `null` and the width of the interval that a number of rows gives.

    >>> round(auc_power(0.8, rows=295, null=0.7, prevalence=0.3).power, 2)
    0.9
    """
    design = AucDesign(auc=auc, prevalence=prevalence, null=null, level=level, one_sided=one_sided, variance=variance)
    return SamplePlan(design=design, rows=checked_rows(rows))


def comparison_sample_size(
    aucs: Sequence[float],
    *,
    prevalence: float,
    power: float | None = None,
    width: float | None = None,
    correlation: float | tuple[float, float] | None = None,
    auc_correlation: float | None = None,
    unpaired: bool = False,
    level: float = 0.95,
    one_sided: bool = False,
    variance: str = "normal",
) -> SamplePlan:
    """Find the least number of rows that tells two AUCs apart with a power, or gives their difference an interval.

    Both models score the same rows unless `unpaired`. See `ComparisonDesign` for the two correlations.

    >>> comparison_sample_size((0.8, 0.75), correlation=0.5, prevalence=0.3, power=0.9).rows
    1146
    """
    design = ComparisonDesign(
        aucs=_pair(aucs),
        prevalence=prevalence,
        paired=not unpaired,
        correlation=correlation,
        auc_correlation=auc_correlation,
        level=level,
        one_sided=one_sided,
        variance=variance,
    )
    return _least_plan(design, power, width)


def comparison_power(
    aucs: Sequence[float],
    *,
    rows: int,
    prevalence: float,
    correlation: float | tuple[float, float] | None = None,
    auc_correlation: float | None = None,
    unpaired: bool = False,
    level: float = 0.95,
    one_sided: bool = False,
    variance: str = "normal",
) -> SamplePlan:
    """Compute the power to tell two AUCs apart with a number of rows, of each sample if `unpaired`."""
    design = ComparisonDesign(
        aucs=_pair(aucs),
        prevalence=prevalence,
        paired=not unpaired,
        correlation=correlation,
        auc_correlation=auc_correlation,
        level=level,
        one_sided=one_sided,
        variance=variance,
    )
    return SamplePlan(design=design, rows=checked_rows(rows))


def least_rows(enough: Callable[[int], bool], *, prevalence: float) -> int:
    """Find the least number of rows that is enough, with two rows of each class or more, by bisection."""
    low = math.ceil(2.0 / min(prevalence, 1.0 - prevalence)) - 1
    high = low + 1
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_ROWS:
            raise ParameterError(
                f"more than {MOST_ROWS:,} rows would be needed; ask for less power or a wider interval, "
                "or check `prevalence` and the expected values"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def check_width(name: str, width: object) -> float:
    """Refuse a width that is not positive."""
    if isinstance(width, bool) or not (isinstance(width, int | float | np.number) and 0.0 < width < math.inf):
        raise ParameterError(f"`{name}` must be a positive number, for example 0.1; got {width!r}")
    return float(width)


def checked_rows(rows: object) -> int:
    """Refuse a number of rows that is not whole or too small for two classes."""
    if isinstance(rows, bool) or not (isinstance(rows, int | np.integer) and 4 <= rows <= MOST_ROWS):
        raise ParameterError(f"`rows` must be a whole number from 4 to {MOST_ROWS:,}, got {rows!r}")
    return int(rows)


def _least_plan(design: AucDesign | ComparisonDesign, power: float | None, width: float | None) -> SamplePlan:
    if power is None and width is None:
        raise ParameterError(
            "give `power`, or the `width` that an interval should have, or `rows` to see what they give"
        )
    if power is not None:
        check_share("power", power, 0.9)
    if width is not None:
        check_width("width", width)

    def enough(rows: int) -> bool:
        reached = design.power(rows)
        return (power is None or reached is None or reached >= power) and (width is None or design.width(rows) <= width)

    rows = least_rows(enough, prevalence=design.prevalence)
    return SamplePlan(design=design, rows=rows, wanted_power=power, wanted_width=width)


def _pair(aucs: Sequence[float]) -> tuple[float, float]:
    if isinstance(aucs, int | float) or len(aucs) != 2:
        raise ParameterError("a comparison needs two values of `auc`: the AUCs that are expected of the two models")
    return aucs[0], aucs[1]


def _design_terms(design: AucDesign | ComparisonDesign) -> dict[str, Any]:
    shared = {
        "prevalence": design.prevalence,
        "level": design.level,
        "one_sided": design.one_sided,
        "variance": design.variance,
    }
    if isinstance(design, AucDesign):
        return {"question": "auc", "auc": design.auc, "null": design.null, **shared}
    correlation = design.correlation
    return {
        "question": "compare",
        "aucs": list(design.aucs),
        "paired": design.paired,
        "correlation": list(correlation) if isinstance(correlation, tuple) else correlation,
        "auc_correlation": design.auc_correlation,
        **shared,
    }
