"""An evaluation as one HTML page, with what publishing its numbers would reveal."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.util import find_spec

import numpy as np

from confide.evaluation.cautions import band_caution
from confide.evaluation.evaluation import Evaluation
from confide.kernels import compiler_installed
from confide.report.evaluation.plots import DRAWINGS, available, figure_size
from confide.report.evaluation.tables import (
    calibration_table,
    comparison_matrix,
    comparison_tables,
    estimators_table,
    evaluation_tables,
    group_tables,
    partial_auc_table,
    ranking_table,
    threshold_tables,
)
from confide.report.evaluation.text import summary
from confide.report.evaluation.tripod import tripod_section
from confide.report.origin import CLASS_SIZES, exact_banner, provenance_section
from confide.report.style import as_svg
from confide.report.writers.html import (
    bullets,
    definitions,
    figure,
    figures,
    folded,
    html_table,
    lead,
    warnings,
    whole_page,
)
from confide.report.writers.terminal import Table

_PUBLICATIONS = ("auc:exact", "auc:digits=3", "roc:exact")
_MOST_ROWS = 1_000
_WORK = 10**8  # half a second
_DRAWN, _DRAWN_ROWS = 100, 500  # a second or two; more rows would take several

_TITLE = "<h2>What publishing these numbers would reveal</h2>"

_MORE = (
    "<p><code>confide attack FILE --label COL --score COL --report OUT.html</code> examines other numbers and private "
    "releases too; <code>confide release</code> makes numbers that may be published.</p>"
)


def attack_section(evaluation: Evaluation) -> list[str]:
    """Return the section. It is empty where rows are weighted or too few; for many rows it names the command.

    So it does without the extras `fast` and `private`, which attacks need.

    The page shows the class sizes too, so they count as published.
    """
    rows = evaluation.rows
    if evaluation.weighted or rows is None or min(evaluation.positives, evaluation.negatives) < 2:
        return []
    attacked = rows <= _MOST_ROWS and compiler_installed() and find_spec("flint") is not None
    if not attacked:
        text = f"{CLASS_SIZES} An exact ROC curve reveals the label of every row whose score no other row has."
        return [_TITLE, f"<p>{text}</p>", _MORE]
    from confide.attacks.adversaries import Effort  # loads numba and FLINT
    from confide.attacks.exposure import attack_counts
    from confide.report.attack import attack_table, sentences

    effort = Effort(work=_WORK, drawn=_DRAWN if rows <= _DRAWN_ROWS else 0)
    generator = np.random.default_rng(0)  # the same data must give the same page
    counts = evaluation.models[0].counts
    report = attack_counts(counts, _PUBLICATIONS, class_sizes=True, effort=effort, generator=generator)
    return [
        _TITLE,
        bullets(sentences(report)),
        html_table(attack_table(report), caption=False),
        "<p>Computed for the first score.</p>",
        _MORE,
    ]


_FEW_MODELS = 3  # whose differences are shown pair by pair
_SHORT_TABLE = 20  # lines, up to which a table of groups is not folded

FOOTER = (
    "Exact numbers, computed from the rows themselves: this page is not differentially private. "
    "Publishing exact numbers can reveal labels. Made with confide."
)

_CAPTIONS = {
    "roc": "True-positive rate against false-positive rate at each threshold. Higher and further left is better; the "
    "dotted diagonal is guessing. Shaded, unless weights are fractions: pointwise bootstrap band.",
    "pr": "Precision against recall at each threshold. No model can reach the hatched region at this prevalence; the "
    "dotted line is guessing. At low recall, precision depends on a few rows.",
    "calibration": "Observed frequency of the outcome at each predicted risk. On the diagonal the model is "
    "calibrated; below it, predicted risks are too high. Line: smooth curve with its pointwise interval. Marks: ten "
    "bins of equal size with Wilson intervals. Below: distribution of scores among positives (up) and negatives "
    "(down).",
    "decision": "Net benefit of acting on the score at each threshold probability: true positives per row minus "
    "weighted false positives. A model is useful where its line is above both treating all and treating none. Shaded: "
    "pointwise interval.",
    "forest": "AUC with its interval in all rows and in each group.",
    "calibration_groups": "Observed frequency of the outcome at each predicted risk, in each group.",
}

_READING = (
    (
        "AUC",
        "the probability that a random positive row has a higher score than a random negative row. 0.5 is guessing, "
        "1 is perfect.",
    ),
    (
        "Average precision",
        "the mean precision at the positives. It depends on prevalence: compare it with the prevalence and with the "
        "minimum, not with 0.5.",
    ),
    (
        "AUCNPR",
        "average precision, rescaled so that 0 is the worst possible curve at this prevalence and 1 the best. The "
        "range is the same everywhere, but a score of the same AUC has a higher AUCNPR where positives are common: "
        "compare groups by AUC.",
    ),
    (
        "Interval",
        "values of the population that are compatible with these rows. Overlapping intervals do not show that two "
        "models are equally good; the comparison table tests that on the same rows.",
    ),
    (
        "Calibration slope",
        "below 1, risks are too extreme: high risks too high and low risks too low. Intercept above 0: risks are too "
        "low on average.",
    ),
    (
        "Scaled Brier score",
        "the share of the uncertainty about the label that the score removes. 0 is no better than giving everybody "
        "the prevalence.",
    ),
    (
        "Net benefit",
        "true positives minus false positives per row, where a false positive counts threshold/(1 - threshold).",
    ),
)


def evaluation_page(evaluation: Evaluation, *, title: str) -> str:
    """Return the whole page."""
    return whole_page(title, evaluation_parts(evaluation), footer=FOOTER)


def evaluation_parts(evaluation: Evaluation) -> list[str]:
    """Return the parts of the page, for this page and for others that include them."""
    origin = evaluation.provenance
    return [
        exact_banner(),
        lead(summary(evaluation)),
        warnings(_all_cautions(evaluation)),
        *_sections(evaluation),
        *attack_section(evaluation),
        "<h2>How to read this</h2>",
        definitions(_READING),
        "<h2>What was assumed</h2>",
        bullets(evaluation.assumptions),
        *tripod_section(evaluation),
        *([] if origin is None else provenance_section(origin)),
    ]


def _all_cautions(evaluation: Evaluation) -> list[str]:
    of_bands = band_caution(evaluation)
    return [*evaluation.warnings, *([of_bands] if of_bands else [])]


def fragment(evaluation: Evaluation) -> str:
    """Return summary, tables and warnings, as a notebook shows them."""
    tables = (html_table(table) for table in evaluation_tables(evaluation))
    cautions = (f"<p><em>{escape(caution)}</em></p>" for caution in evaluation.warnings)
    return "".join(("<div>", f"<p>{escape(summary(evaluation))}</p>", *tables, *cautions, "</div>"))


def _sections(evaluation: Evaluation) -> Iterator[str]:
    yield "<h2>Ranking</h2>"
    yield html_table(ranking_table(evaluation), caption=False)
    yield _figures(evaluation, "roc", "pr")
    if any(model.partial_auc for model in evaluation.models):
        yield html_table(partial_auc_table(evaluation))
    yield _folded(estimators_table(evaluation))
    if evaluation.comparisons:
        yield "<h2>Comparison</h2>"
        yield from _comparisons(evaluation)
    if any(model.counts.probabilities for model in evaluation.models):
        yield "<h2>Calibration and use</h2>"
        yield html_table(calibration_table(evaluation), caption=False)
        yield _figures(evaluation, "calibration", "decision")
    yield "<h2>Thresholds</h2>"
    yield from (html_table(table) for table in threshold_tables(evaluation))
    if evaluation.groups:
        yield "<h2>Groups</h2>"
        yield from _groups(evaluation)


def _comparisons(evaluation: Evaluation) -> Iterator[str]:
    """Yield the tables of differences; of many models a matrix, and the tables folded."""
    tables = comparison_tables(evaluation)
    if len(evaluation.models) <= _FEW_MODELS:
        yield from (html_table(table) for table in tables)
        return
    yield html_table(comparison_matrix(evaluation))
    yield from (_folded(table) for table in tables)


def _groups(evaluation: Evaluation) -> Iterator[str]:
    first, *others = group_tables(evaluation)
    yield html_table(first, caption=False)
    for table in others:
        yield html_table(table) if len(table.body) <= _SHORT_TABLE else _folded(table)
    yield _figures(evaluation, "forest", "calibration_groups")


def _folded(table: Table) -> str:
    return folded(table.title, html_table(table, caption=False))


def _figures(evaluation: Evaluation, *names: str) -> str:
    """Return those of the named figures that the evaluation has."""
    chosen = [name for name in names if name in available(evaluation)]
    return figures(_figure(evaluation, name) for name in chosen) if chosen else ""


def _figure(evaluation: Evaluation, name: str) -> str:
    return figure(as_svg(DRAWINGS[name], evaluation, size=figure_size(evaluation, name)), name, _CAPTIONS[name])
