"""Notes below the key numbers of a validation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.federation.coordinator.calibration_line import NoLine
from confide.federation.coordinator.performance import leaves_open
from confide.federation.modes.registry import mode_of
from confide.report.shared.names import NAME_LETTERS, cut
from confide.report.shared.numbers import interval_text, p_equation, percent

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation

_NO_LINE = {
    NoLine.ENDS: "Scores of exactly 0 or 1 have infinite log-odds, so calibration intercept and slope do not exist.",
    NoLine.END_CELLS: "The calibration slope, or the intercept, depends on the positions of rows within the lowest and "
    "highest cell, which are not known, so it is not given.",
    NoLine.SEPARATED: "There is no calibration slope, because the scores are all equal or separate the classes.",
    NoLine.NOISE: "Calibration intercept and slope are not given: noise dominates.",
}


def number_notes(validation: Validation) -> Iterator[str]:
    """Yield the notes of the key numbers."""
    if validation.test is not None:
        yield hypothesis_words(validation)
    bounds = validation.pooled.bounds
    if bounds is not None and bounds.width > 0.0:
        yield (
            "Groups hide the order of the rows within them, so AUC is an estimate even for these rows. Whatever that "
            f"order is, their AUC lies between {interval_text(bounds, joined=' and ')}. The "
            f"{percent(validation.level)} interval of AUC accounts for that and for sampling; other intervals "
            "account for sampling alone."
        )
        yield from _hidden(validation)
    yield from _line_notes(validation)
    if mode_of(validation.question).private:
        yield "Intervals are for the population and account for noise and sampling."
        yield from _wide_intervals(validation)


def _line_notes(validation: Validation) -> Iterator[str]:
    """Yield why calibration intercept or slope is missing, or where rows are placed within their cells."""
    pooled, question = validation.pooled, validation.question
    if pooled.no_line is not None:
        yield no_line_words(pooled.no_line)
        if pooled.no_line is NoLine.END_CELLS:
            yield _narrower_cells(private=mode_of(question).private)
    elif pooled.calibration_slope is not None and mode_of(question).calibration_from_cells(question):
        yield (
            "For calibration intercept and slope, rows are placed in the middle of their cells. Scores of exactly 0 "
            "or 1, for which neither exists, cannot be told from others in the lowest and highest cell."
        )


def no_line_words(absence: NoLine) -> str:
    """Return why calibration intercept or slope is missing, in a sentence."""
    return _NO_LINE[absence]


def _narrower_cells(*, private: bool) -> str:
    """Return which cells would give the missing number, and that they are chosen before the first question."""
    now = "is paid for again" if private else "is refused by sites that answered this one"
    return (
        "Cells that are narrower at the ends (--grid logit:64) may give it, but must be chosen before the first "
        f"question about a model: with other cells it is another question, which {now}."
    )


def _hidden(validation: Validation) -> Iterator[str]:
    """Yield the sites that have too few rows of a class for an AUC from groups."""
    hidden = [site.name for site in validation.sites if site.result is not None and math.isnan(site.result.auc.value)]
    if hidden:
        yield (
            f"There is no AUC for {_listed(hidden)} alone: a class has too few rows for several groups of at least "
            f"{validation.question.minimum_cell}, and one group hides the order of all its rows."
        )


def _wide_intervals(validation: Validation) -> Iterator[str]:
    """Yield the results whose interval of AUC covers nearly all of [0, 1]."""
    sites = [site.name for site in validation.sites if site.result is not None and leaves_open(site.result.auc)]
    if leaves_open(validation.pooled.auc):
        yield "The interval of AUC covers nearly all possible values: there are too few rows for this epsilon."
    if sites:
        yield (
            f"The interval of AUC for {_listed(sites)} alone covers nearly all possible values: there are too few "
            "rows for this epsilon."
        )


def _listed(sites: list[str]) -> str:
    return ", ".join(cut(name, NAME_LETTERS) for name in sites) if len(sites) <= 3 else f"{len(sites)} sites"


def hypothesis_words(validation: Validation) -> str:
    """Return the test of the hypothesis that AUC is at most a given value, in words."""
    test = validation.test
    assert test is not None  # noqa: S101  # called only where there is a test
    alpha = 1.0 - validation.level
    text = f"Test of AUC ≤ {test.a0:g}, one-sided: {p_equation(test.p_value)}. "
    if not test.p_value < alpha:
        return text + f"An AUC of {test.a0:g} or less cannot be ruled out."
    text += f"An AUC of {test.a0:g} or less is ruled out at the {100 * alpha:g} % level"
    return text + ("." if test.interval_above else ", though the two-sided interval reaches below it.")
