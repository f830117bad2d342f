"""Tables of a validation: key numbers, and the sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from confide.federation.coordinator.calibration_line import NoLine
from confide.federation.site_state import SiteState
from confide.intervals.interval import Estimate, Interval
from confide.report.shared.names import NAME_LETTERS, cut
from confide.report.shared.numbers import DASH, amount, has_ends, interval_text, number, percent, whole
from confide.report.shared.tables import Table
from confide.report.validation.forest import rows_words
from confide.report.validation.notes import number_notes

if TYPE_CHECKING:
    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import SiteResult, Validation

_NUMBERS = (
    ("average precision", "average_precision"),
    ("Brier score", "brier"),
    ("observed : expected", "observed_expected"),
    ("calibration intercept", "calibration_intercept"),
    ("calibration slope", "calibration_slope"),
)
_LINE = ("calibration_intercept", "calibration_slope")

NOISE_DOMINATES = "not given: noise dominates"
"""Stands for a number that would be noise, and has no interval that would show it."""


def numbers_table(validation: Validation) -> Table:
    """Return the numbers over all rows, and the summaries over sites."""
    pooled = validation.pooled
    rows = [*_sizes(pooled), ("AUC", *_value(pooled.auc))]
    if pooled.roc_glm is not None:
        rows.append(("ROC-GLM: AUC", number(pooled.roc_glm.auc), DASH))
        rows.append(("ROC-GLM: intercept", number(pooled.roc_glm.intercept), DASH))
        rows.append(("ROC-GLM: slope", number(pooled.roc_glm.slope), DASH))
    rows += _numbers(pooled)
    rows += _summaries(validation)
    return Table(
        title="Key numbers",
        head=("measure", "value", f"{percent(validation.level)} interval"),
        body=tuple(rows),
        note=" ".join(number_notes(validation)),
    )


def _sizes(pooled: Performance) -> Iterator[tuple[str, str, str]]:
    if pooled.rows is not None:
        yield "rows", amount(pooled.rows), DASH
    elif pooled.size is not None:
        yield "rows, estimated", whole(pooled.size.value), _whole_interval(pooled.size.interval)
    if pooled.positives is not None:
        yield "positives", amount(pooled.positives), DASH
    if pooled.prevalence is not None:
        yield "prevalence", *_value(pooled.prevalence)


def _numbers(pooled: Performance) -> Iterator[tuple[str, str, str]]:
    for name, field in _NUMBERS:
        if getattr(pooled, field) is not None:
            yield name, *_value(getattr(pooled, field))
        elif field in _LINE and pooled.no_line is NoLine.NOISE:
            yield name, NOISE_DOMINATES, DASH


def _summaries(validation: Validation) -> Iterator[tuple[str, str, str]]:
    for measure, name in (("auc", "AUC"), ("observed_expected", "observed : expected")):
        summary = validation.heterogeneity.get(measure)
        if summary is not None:
            yield f"{name}, mean over sites", number(summary.value), interval_text(summary.interval)
            if summary.prediction is not None:
                yield f"{name}, another site", DASH, interval_text(summary.prediction)


def sites_table(validation: Validation, *, wide: bool = True) -> Table:
    """Return the state of each site and its own results where they are known; AUC alone if not `wide`."""
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
            columns[f"{name}, certain bounds"] = [
                interval_text(None if result is None else result.bounds) for result in results
            ]
    return table_of_sites("Sites", validation, columns, text_columns=("state",))


def table_of_sites(
    title: str,
    validation: Validation,
    columns: Mapping[str, list[str]],
    *,
    text_columns: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
) -> Table:
    """Return a table with one line for each site, without empty columns except those in `keep`."""
    used = {name: cells for name, cells in columns.items() if name in keep or any(cell != DASH for cell in cells)}
    names = [cut(site.name, NAME_LETTERS) for site in validation.sites]
    heads = tuple(name.split(", ")[-1] for name in used)
    body = tuple(zip(names, *used.values(), strict=True))
    return Table(title=title, head=("site", *heads), body=body, text_columns=text_columns)


def _value(estimate: Estimate | None) -> tuple[str, str]:
    return (DASH, DASH) if estimate is None else (number(estimate.value), interval_text(estimate.interval))


def _whole_interval(interval: Interval | None) -> str:
    return f"{whole(interval.lower)} to {whole(interval.upper)}" if has_ends(interval) else DASH


def _positives_of(result: Performance | None) -> str:
    if result is None:
        return DASH
    if result.positives is not None:
        return amount(result.positives)
    if result.size is None or result.prevalence is None:
        return DASH
    return f"≈ {whole(result.size.value * result.prevalence.value)}"


def took_part(site: SiteResult) -> bool:
    """Return whether a site's rows are in the results."""
    return site.report.state == SiteState.ANSWERED
