"""A validation across sites as tables and sentences, which the terminal and the page both show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from confide.federation.coordinator.calibration_line import NoLine
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from confide.intervals.interval import Estimate, Interval
from confide.report.shared.tables import Table, amount, number, p_value
from confide.report.validation.forest import forest_of, percent, rows_words
from confide.report.validation.forest_text import heterogeneity_words, left_out
from confide.report.validation.names import cut, plain

if TYPE_CHECKING:
    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import SiteResult, Validation

DASH = "–"
_NAME_LETTERS = 48
_NEARLY_ALL = 0.9
_FEWEST_PREDICTING, _WIDEST_PREDICTION = 4, 0.5  # other prediction intervals are too rough for the first paragraph

_NUMBERS = (
    ("average precision", "average_precision"),
    ("Brier score", "brier"),
    ("observed : expected", "observed_expected"),
    ("calibration intercept", "calibration_intercept"),
    ("calibration slope", "calibration_slope"),
)


def title_of(validation: Validation) -> str:
    """Model, study and mode in a line."""
    question = validation.question
    edition = f", edition {question.edition}" if (question.edition or 1) > 1 else ""
    return f"{question.model}: validation across sites ({question.study}, {mode_of(question).title}{edition})"


def lead_of(validation: Validation) -> str:
    """The result for somebody who reads one paragraph."""
    question, auc = validation.question, validation.pooled.auc
    sites = len(question.sites)
    where = "1 site" if sites == 1 else f"{sites} sites that share no rows"
    over = "Over its rows" if sites == 1 else "Over the rows of all of them"
    said = f"{question.model} was validated at {where}. {over} the model's AUC is {number(auc.value)}"
    if _has_ends(auc.interval):
        said += f" ({percent(validation.level)} interval {ends(auc.interval)})"
    if math.isfinite(auc.value):
        said += (
            ": of a person with the outcome and one without it, the model gives the higher score to the former in "
            f"about {_of_hundred(auc.value)} of 100 such pairs"
        )
    return said + "." + _between_sites(validation)


def _of_hundred(value: float) -> str:
    """A share as it is shown elsewhere, in whole hundredths, halves up: 0.805 is 81."""
    return str((100 * Decimal(number(value))).quantize(Decimal(1), ROUND_HALF_UP))


def _between_sites(validation: Validation) -> str:
    summary = validation.heterogeneity.get("auc")
    if summary is None or summary.prediction is None:
        return ""
    if summary.sites < _FEWEST_PREDICTING or summary.prediction.width > _WIDEST_PREDICTION:
        return ""
    return (
        f" At another such site, its AUC is expected between {ends(summary.prediction, ' and ')} "
        f"({percent(validation.level)} prediction interval)."
    )


def numbers_table(validation: Validation) -> Table:
    """The numbers of all rows together that exist, and of the summary over sites."""
    pooled = validation.pooled
    rows = [*_sizes(pooled), ("AUC", *_value(pooled.auc))]
    if pooled.roc_glm is not None:
        rows.append(("ROC-GLM: AUC", number(pooled.roc_glm.auc), DASH))
        rows.append(("ROC-GLM: intercept", number(pooled.roc_glm.intercept), DASH))
        rows.append(("ROC-GLM: slope", number(pooled.roc_glm.slope), DASH))
    rows += [(name, *_value(getattr(pooled, field))) for name, field in _NUMBERS if getattr(pooled, field) is not None]
    rows += _summaries(validation)
    return Table(
        title="Key numbers",
        head=("measure", "value", f"{percent(validation.level)} interval"),
        body=tuple(rows),
        note=" ".join(_number_notes(validation)),
    )


def _sizes(pooled: Performance) -> Iterator[tuple[str, str, str]]:
    if pooled.rows is not None:
        yield "rows", amount(pooled.rows), DASH
    elif pooled.size is not None:
        yield "rows, estimated", _whole(pooled.size.value), _whole_ends(pooled.size.interval)
    if pooled.positives is not None:
        yield "positives", amount(pooled.positives), DASH
    if pooled.prevalence is not None:
        yield "prevalence", *_value(pooled.prevalence)


def _summaries(validation: Validation) -> Iterator[tuple[str, str, str]]:
    for measure, name in (("auc", "AUC"), ("observed_expected", "observed : expected")):
        summary = validation.heterogeneity.get(measure)
        if summary is not None:
            yield f"{name}, mean over sites", number(summary.value), ends(summary.interval)
            if summary.prediction is not None:
                yield f"{name}, another site", DASH, ends(summary.prediction)


def _number_notes(validation: Validation) -> Iterator[str]:
    if validation.test is not None:
        yield hypothesis_words(validation)
    bounds = validation.pooled.bounds
    if bounds is not None and bounds.width > 0.0:
        yield (
            "Groups hide the order of the rows within them, so AUC is an estimate even of these rows: whatever that "
            f"order is, their AUC lies between {ends(bounds, ' and ')}. The {percent(validation.level)} interval of "
            "AUC allows for that as well as for sampling; other intervals allow for sampling alone."
        )
        yield from _hidden(validation)
    yield from _line_notes(validation)
    if mode_of(validation.question).private:
        yield "Intervals are for the population and allow for the noise as well as for sampling."
        yield from _little_said(validation)


_NO_LINE = {
    NoLine.ENDS: "Scores of exactly 0 or 1 have infinite log-odds, so calibration intercept and slope do not exist.",
    NoLine.END_CELLS: "The calibration slope, or the intercept, depends on where in the lowest and highest cell rows "
    "lie, which is not known, so it is not given. Cells that are narrower there tell more (--grid logit:64).",
    NoLine.SEPARATED: "There is no calibration slope, as the scores are all equal or separate the classes.",
}


def _line_notes(validation: Validation) -> Iterator[str]:
    """Why calibration intercept or slope is missing, or for what rows of end cells are taken."""
    pooled, question = validation.pooled, validation.question
    if pooled.no_line is not None:
        yield _NO_LINE[pooled.no_line]
    elif pooled.calibration_slope is not None and mode_of(question).calibration_from_cells(question):
        yield (
            "For calibration intercept and slope, rows stand in the middle of their cells: scores of exactly 0 or 1, "
            "with which neither exists, cannot be told from others in the lowest and highest cell."
        )


def _hidden(validation: Validation) -> Iterator[str]:
    """Which sites have too few rows of a class for groups to say anything about AUC."""
    hidden = [site.name for site in validation.sites if site.result is not None and math.isnan(site.result.auc.value)]
    if hidden:
        named = ", ".join(cut(name, _NAME_LETTERS) for name in hidden) if len(hidden) <= 3 else f"{len(hidden)} sites"
        yield (
            f"Alone, {named} cannot tell: a class has too few rows for several groups of at least "
            f"{validation.question.minimum_cell}, and one group hides the order of all its rows."
        )


def _little_said(validation: Validation) -> Iterator[str]:
    """Which results leave nearly everything open."""
    sites = [site.name for site in validation.sites if site.result is not None and _is_open(site.result.auc)]
    if _is_open(validation.pooled.auc):
        yield "The interval of AUC leaves nearly everything open: too few rows for this epsilon."
    if sites:
        named = ", ".join(cut(name, _NAME_LETTERS) for name in sites) if len(sites) <= 3 else f"{len(sites)} sites"
        yield (
            f"Alone, {named} cannot tell: the interval of AUC leaves nearly everything open there, with too few rows "
            "for this epsilon."
        )


def _is_open(estimate: Estimate) -> bool:
    """Whether an interval for a number in [0, 1] covers nearly all of it."""
    return estimate.interval is not None and estimate.interval.width >= _NEARLY_ALL


def hypothesis_words(validation: Validation) -> str:
    """The test of the hypothesis that AUC is at most a given value, for people."""
    test = validation.test
    assert test is not None  # noqa: S101  # said only where a test was asked for
    chance = p_value(test.p_value)
    found = f"p {chance}" if chance.startswith("<") else f"p = {chance}"
    alpha = 1.0 - validation.level
    said = f"Test of AUC ≤ {test.a0:g}, one-sided: {found}. "
    if not test.p_value < alpha:
        return said + f"An AUC of {test.a0:g} or less cannot be ruled out."
    said += f"An AUC of {test.a0:g} or less is ruled out at the {100 * alpha:g} % level"
    return said + ("." if test.interval_above else ", though the two-sided interval reaches below it.")


def sites_table(validation: Validation, *, wide: bool = True) -> Table:
    """How every site took part, and its own results where they are seen; in the narrow form AUC alone."""
    level = f"{percent(validation.level)} interval"
    columns: dict[str, list[str]] = {"state": [site.report.state for site in validation.sites]}
    results = [site.result for site in validation.sites]
    columns["rows"] = [rows_words(result) for result in results]
    columns["positives"] = [_positives_of(result) for result in results]
    for name, field in (("AUC", "auc"), ("obs:exp", "observed_expected"))[: 2 if wide else 1]:
        values = [_value(None if result is None else getattr(result, field)) for result in results]
        columns[name] = [value for value, _ in values]
        columns[f"{name}, {level}"] = [interval for _, interval in values]
        if field == "auc":
            columns[f"{name}, certain bounds"] = [ends(None if result is None else result.bounds) for result in results]
    return table_of_sites("Sites", validation, columns)


def table_of_sites(
    title: str, validation: Validation, columns: Mapping[str, list[str]], keep: tuple[str, ...] = ()
) -> Table:
    """A table of sites without the columns that say nothing."""
    used = {name: cells for name, cells in columns.items() if name in keep or any(cell != DASH for cell in cells)}
    names = [cut(site.name, _NAME_LETTERS) for site in validation.sites]
    shown_heads = tuple(name.split(", ")[-1] for name in used)
    return Table(title=title, head=("site", *shown_heads), body=tuple(zip(names, *used.values(), strict=True)))


def absent_words(validation: Validation) -> Iterator[str]:
    """How sites that did not take part said so."""
    for site in validation.sites:
        if not took_part(site):
            reason = plain(site.report.message) or "no reason was given"
            yield f"{cut(site.name, _NAME_LETTERS)}, {plain(site.report.state)}: {reason}"


def no_forest_words(question: Question) -> str:
    """Why no site's own results are seen beside those of others."""
    if len(question.sites) == 1:
        return "There is no forest plot: one site alone took part, and its results are those above."
    reason = mode_of(question).no_site_results(question)
    if reason is not None:
        return reason
    return "There is no forest plot: fewer than two sites have results of their own that can be compared."


def heterogeneity_lines(validation: Validation) -> Iterator[str]:
    """How much sites differ, for the terminal."""
    for measure, name in (("auc", "AUC"), ("observed_expected", "Observed : expected")):
        summary = validation.heterogeneity.get(measure)
        if summary is not None:
            forest = forest_of(validation, measure)
            outside = [] if forest is None else left_out(forest)
            yield " ".join((f"{name}. {heterogeneity_words(summary, bar=False)}", *outside))


def ends(interval: Interval | None, joined: str = " to ") -> str:
    """Write an interval, which may have no end or not exist."""
    if interval is None or not _has_ends(interval):
        return DASH
    return f"{number(interval.lower)}{joined}{number(interval.upper)}"


def _has_ends(interval: Interval | None) -> bool:
    return interval is not None and not (math.isnan(interval.lower) or math.isnan(interval.upper))


def _whole_ends(interval: Interval | None) -> str:
    if interval is None or not _has_ends(interval):
        return DASH
    return f"{_whole(interval.lower)} to {_whole(interval.upper)}"


def _value(estimate: Estimate | None) -> tuple[str, str]:
    return (DASH, DASH) if estimate is None else (number(estimate.value), ends(estimate.interval))


def _positives_of(result: Performance | None) -> str:
    if result is None:
        return DASH
    if result.positives is not None:
        return amount(result.positives)
    if result.size is None or result.prevalence is None:
        return DASH
    return f"≈ {_whole(result.size.value * result.prevalence.value)}"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else DASH


def took_part(site: SiteResult) -> bool:
    """Whether a site's rows are in the results."""
    return site.report.state == SiteState.ANSWERED
