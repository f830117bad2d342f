"""TRIPOD+AI checklist of an evaluation: what the report fills, and what its author must add.

Items are numbered as in TRIPOD+AI (Collins et al., BMJ 2024;385:e078378), which has 27, some with letters. Listed are
those that concern the performance of a model; their descriptions are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from confide.evaluation.evaluation import Evaluation
from confide.report.evaluation.tables import comparison_tables, threshold_tables
from confide.report.numbers import amount, percent
from confide.report.writers.html import html_table
from confide.report.writers.terminal import Table

TITLE = "TRIPOD+AI items about performance"


class Filled(StrEnum):
    """Who fills an item."""

    REPORT = "report"
    BOTH = "report and author"
    AUTHOR = "author"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripodItem:
    """An item of the checklist.

    `shown` is what the report has for it, with the place; `missing` is what the author must add. One of them may be
    empty.
    """

    number: str
    topic: str
    shown: str = ""
    missing: str = ""

    @property
    def filled(self) -> Filled:
        """Return who fills the item."""
        if self.shown:
            return Filled.BOTH if self.missing else Filled.REPORT
        return Filled.AUTHOR


def tripod_items(evaluation: Evaluation) -> tuple[TripodItem, ...]:
    """Return the items that concern performance, in the order of the checklist."""
    return tuple(item if isinstance(item, TripodItem) else item(evaluation) for item in _ITEMS)


def tripod_table(evaluation: Evaluation) -> Table:
    """Return one line for each item."""
    return Table(
        title=TITLE,
        head=("item", "about", "filled by", "in this report", "for the author"),
        body=tuple(
            (item.number, item.topic, str(item.filled), item.shown, item.missing) for item in tripod_items(evaluation)
        ),
        note="Numbers are those of TRIPOD+AI (Collins et al., BMJ 2024;385:e078378). Items about the title, the "
        "abstract, the development of the model and open science are not listed; the author fills them.",
        text_columns=("about", "filled by", "in this report", "for the author"),
    )


def tripod_section(evaluation: Evaluation) -> list[str]:
    """Return the section of a page."""
    return [f"<h2>{TITLE}</h2>", html_table(tripod_table(evaluation), caption=False, prose=True)]


def _measures(evaluation: Evaluation) -> TripodItem:
    kinds = ["discrimination (Ranking)"]
    if _has_calibration(evaluation):
        kinds += ["calibration (Calibration)", "clinical utility (net benefit, decision curve)"]
    kinds.append(f"classification ({threshold_tables(evaluation)[0].title})")
    if evaluation.comparisons:
        kinds.append(f"comparison of models ({comparison_tables(evaluation)[0].title})")
    return TripodItem(
        number="12e",
        topic="Measures and plots of performance",
        shown=f"Tables and plots of {_joined(kinds)}",
        missing="Why these measures suit the purpose of the model",
    )


def _missing_data(evaluation: Evaluation) -> TripodItem:
    left_out = evaluation.missing
    return TripodItem(
        number="11",
        topic="Missing data",
        shown="" if left_out is None else f"{amount(left_out.rows)} rows without a score left out",
        missing="How rows with missing values were handled before scoring",
    )


def _heterogeneity_methods(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="12d",
        topic="Methods for differences in performance between clusters, such as hospitals",
        shown="Each group evaluated apart (By group) and compared with all other rows" if evaluation.groups else "",
        missing="Which clusters the groups are, and how differences were judged"
        if evaluation.groups
        else "Clusters and methods, or that there is one cluster only",
    )


def _fairness(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="14",
        topic="Fairness",
        shown="Ranking and calibration in each group (By group)" if evaluation.groups else "",
        missing="Which groups matter and why" + ("" if evaluation.groups else "; evaluate them with --group"),
    )


def _output(evaluation: Evaluation) -> TripodItem:
    cuts = sorted({entry.threshold for model in evaluation.models for entry in model.thresholds})
    listed = [f"{cut:g}" for cut in cuts[:5]] + (["others"] if len(cuts) > 5 else [])
    kind = "probabilities" if _has_calibration(evaluation) else "scores that are not probabilities"
    return TripodItem(
        number="15",
        topic="Output of the model and thresholds",
        shown=f"Models give {kind}"
        + (
            f"; threshold{'s' if len(cuts) > 1 else ''} {_joined(listed)} ({threshold_tables(evaluation)[0].title})"
            if cuts
            else ""
        ),
        missing="How the thresholds were chosen" if cuts else "Whether a threshold is used, and how it was chosen",
    )


def _participants(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="20a",
        topic="Flow of participants",
        shown=_sizes(evaluation),
        missing="How participants reached these data, exclusions, follow-up",
    )


def _numbers_analysed(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="21",
        topic="Participants and outcome events in each analysis",
        shown=f"Of this evaluation: {_sizes(evaluation)}"
        + (", and of each group (By group)" if evaluation.groups else ""),
        missing="Those of the development of the model" + ("; rows are weighted here" if evaluation.weighted else ""),
    )


def _performance(evaluation: Evaluation) -> TripodItem:
    rows = "over all rows (Ranking)" + (" and in groups (By group)" if evaluation.groups else "")
    return TripodItem(
        number="23a",
        topic="Estimates of performance with confidence intervals, also in key subgroups",
        shown=f"{percent(evaluation.level)} intervals of every measure {rows}; plots",
        missing="" if evaluation.groups else "Key subgroups; evaluate them with --group",
    )


def _heterogeneity(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="23b",
        topic="Differences in performance between clusters",
        shown="Performance in each group (By group) and differences, if the groups are clusters"
        if evaluation.groups
        else "",
        missing="" if evaluation.groups else "Results by cluster, if they were examined",
    )


def _limitations(evaluation: Evaluation) -> TripodItem:
    return TripodItem(
        number="26",
        topic="Limitations",
        shown="Warnings at the top and assumptions at the end" if evaluation.warnings else "Assumptions at the end",
        missing="Who is not represented, sample size, overfitting, missing data, and what that means for use",
    )


_ITEMS: tuple[TripodItem | Callable[[Evaluation], TripodItem], ...] = (
    TripodItem(number="10", topic="Sample size", missing="Why this number of participants suffices for the evaluation"),
    _missing_data,
    TripodItem(
        number="12a",
        topic="Use of the data",
        missing="That these rows took no part in development, and how they were split",
    ),
    _heterogeneity_methods,
    _measures,
    TripodItem(number="12f", topic="Methods of updating the model", missing="Recalibration or other updates, or none"),
    TripodItem(
        number="12g", topic="How predictions were computed", missing="Formula, code or service that gave the scores"
    ),
    TripodItem(
        number="13",
        topic="Class imbalance",
        missing="Whether classes were resampled or weighted, and recalibrated after it",
    ),
    _fairness,
    _output,
    TripodItem(
        number="16",
        topic="Differences between development and evaluation data",
        missing="Setting, eligibility, outcome and predictors",
    ),
    _participants,
    TripodItem(
        number="20b",
        topic="Characteristics of participants",
        missing="Overall and by setting, with missing values and dates",
    ),
    TripodItem(
        number="20c", topic="Comparison with the development data", missing="Distributions of predictors and outcome"
    ),
    _numbers_analysed,
    _performance,
    _heterogeneity,
    TripodItem(
        number="24", topic="Results of updating the model", missing="Updated model and its performance, or none"
    ),
    TripodItem(
        number="25", topic="Interpretation", missing="Meaning of the results, with fairness and earlier studies"
    ),
    _limitations,
)


def _has_calibration(evaluation: Evaluation) -> bool:
    return any(model.calibration is not None for model in evaluation.models)


def _sizes(evaluation: Evaluation) -> str:
    rows = "" if evaluation.rows is None else f"{amount(evaluation.rows)} rows, "
    return f"{rows}{amount(evaluation.positives)} with and {amount(evaluation.negatives)} without the outcome"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
