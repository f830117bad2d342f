"""An exact plan in sentences and on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.intervals.power import AucDesign
from confide.intervals.sample_size import SamplePlan
from confide.intervals.validation_size import ValidationPlan
from confide.report.plan.exact_tables import measure_words, sample_table, validation_table
from confide.report.shared.numbers import number
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console


def print_exact_plan(plan: SamplePlan | ValidationPlan, console: Console) -> None:
    """Print the answer, its table and the assumptions."""
    print_line(exact_summary(plan), console)
    console.print()
    print_table(validation_table(plan) if isinstance(plan, ValidationPlan) else sample_table(plan), console)
    console.print()
    notes = plan.notes if isinstance(plan, ValidationPlan) else ()
    for line in (*notes, *plan.assumptions):
        print_line(line, console)


def exact_summary(plan: SamplePlan | ValidationPlan) -> str:
    """Return the answer in one sentence."""
    return _validation_summary(plan) if isinstance(plan, ValidationPlan) else _sample_summary(plan)


def _sample_summary(plan: SamplePlan) -> str:
    design = plan.design
    if isinstance(design, AucDesign):
        what = f"AUC {design.auc:g}" + ("" if design.null is None else f" against {design.null:g}")
    else:
        what = "AUC {:g} against {:g}".format(*design.aucs) + (" on the same rows" if design.paired else "")
    rows = f"{plan.rows:,} rows" if plan.samples == 1 else f"2 samples of {plan.rows:,} rows"
    share = f", {design.prevalence:g} of them positive,"
    power = "" if plan.power is None else f" with power {number(plan.power)}"
    verb = "estimate" if plan.power is None else "test"
    return f"{rows}{share} {verb} {what}{power}; the interval is {number(plan.width)} wide."


def _validation_summary(plan: ValidationPlan) -> str:
    decisive = f"{measure_words(plan.decisive.measure)} needs most"
    if not plan.given:
        return f"The validation needs {plan.rows:,} rows with about {plan.positives:,} positives: {decisive}."
    if plan.enough:
        return f"{plan.rows:,} rows are enough: the validation needs {plan.needed:,}, as {decisive}."
    return f"{plan.rows:,} rows are too few: the validation needs {plan.needed:,}, as {decisive}."
