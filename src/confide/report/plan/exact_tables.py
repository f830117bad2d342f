"""Tables of exact plans."""

from __future__ import annotations

from confide.intervals.sample_size import SamplePlan
from confide.intervals.validation_size import ValidationPlan
from confide.report.shared.numbers import number, percent
from confide.report.shared.tables import Table

_MEASURES = {
    "observed_expected": "observed : expected",
    "calibration_slope": "calibration slope",
    "auc": "AUC (c-statistic)",
    "standardised_net_benefit": "standardised net benefit",
}


def sample_table(plan: SamplePlan) -> Table:
    """Return what the rows of a study of AUC give."""
    each = " of each sample" if plan.samples > 1 else ""
    cells = [
        ("rows" + each, f"{plan.rows:,}"),
        ("positives" + each, f"{plan.positives:,}"),
        ("negatives" + each, f"{plan.negatives:,}"),
        *([] if plan.power is None else [("power", number(plan.power))]),
        ("standard error", number(plan.standard_error, 4)),
        (f"width of the {percent(plan.design.level)} interval", number(plan.width)),
    ]
    return Table(title="What to expect", head=("", "value"), body=tuple(cells))


def validation_table(plan: ValidationPlan) -> Table:
    """Return the criteria of a validation, with the rows that each needs and the widths with all rows."""
    decisive = plan.decisive
    return Table(
        title="Rows for each criterion",
        head=("measure", "expected", "wanted width", "rows needed", f"width with {plan.rows:,} rows"),
        body=tuple(
            (
                f"{_MEASURES[one.measure]}{' *' if one == decisive else ''}",
                number(one.value),
                number(one.wanted_width),
                f"{one.rows:,}",
                number(one.width),
            )
            for one in plan.criteria
        ),
        note=f"* needs most rows. Widths: of {percent(plan.level)} intervals.",
    )


def measure_words(measure: str) -> str:
    """Return the name of a measure of a validation in words."""
    return _MEASURES[measure]
