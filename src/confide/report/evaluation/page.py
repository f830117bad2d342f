"""The evaluation as one HTML page: no scripts, no network, ready to print."""

from __future__ import annotations

from html import escape

from confide.evaluation.cautions import band_caution
from confide.evaluation.evaluation import Evaluation
from confide.report.evaluation.attack_section import gives_away
from confide.report.shared import plots
from confide.report.shared.page import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.shared.tables import tables
from confide.report.shared.text import summary

FOOTER = (
    "Exact numbers from the rows themselves: this page is not differentially private. "
    "Publishing exact numbers can give labels away. Made with confide."
)

_CAPTIONS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate. The further up and left, the better; "
    "the dotted diagonal is guessing. Shaded, where whole rows allow it: pointwise bootstrap band.",
    "pr": "Each threshold's precision against its recall. The hatched region cannot be reached by any model at this "
    "prevalence; the dotted line is guessing. At low recall precision rests on a few rows.",
    "calibration": "How often what was given a risk happened. On the diagonal risks can be taken at their word; below "
    "it they are too high. Line: smooth curve with its pointwise interval. Marks: ten bins of equal "
    "size with Wilson intervals. Below: the distribution of scores among positives (up) and "
    "negatives (down).",
    "decision": "What acting on the score is worth at each threshold probability, in true positives per row after "
    "paying for false ones. A model is useful where its line is above treating all and treating none.",
    "forest": "AUC in each group beside all rows together.",
}

_READING = (
    (
        "AUC",
        "the probability that a positive row has a higher score than a negative one. 0.5 is guessing, 1 is perfect.",
    ),
    (
        "Average precision",
        "the mean precision at the positives, which depends on prevalence: compare it with the prevalence and "
        "with the minimum, not with 0.5.",
    ),
    (
        "AUCNPR",
        "where average precision lies between the worst possible curve (0) and the best (1) at this prevalence. "
        "It has the same range everywhere, but a score of the same AUC still has a higher AUCNPR where positives are "
        "common: between groups, compare AUC.",
    ),
    (
        "Interval",
        "values of the population that these rows do not contradict. Two overlapping intervals do not show that "
        "models are equally good; the comparison table tests that on the same rows.",
    ),
    (
        "Calibration slope",
        "below 1, risks are too extreme: high ones too high and low ones too low. Intercept above 0: risks are too "
        "low on average.",
    ),
    (
        "Scaled Brier score",
        "the share of the uncertainty about the label that the score removes; 0 is no better than giving everybody "
        "the prevalence.",
    ),
    (
        "Net benefit",
        "true positives less false positives, a false one counting threshold/(1 - threshold), per row.",
    ),
)


def page(evaluation: Evaluation, *, title: str) -> str:
    """Return the whole page."""
    return whole_page(title, parts(evaluation), footer=FOOTER)


def parts(evaluation: Evaluation) -> list[str]:
    """Return what stands on the page."""
    return [
        lead(summary(evaluation)),
        *(warning(caution) for caution in _all_cautions(evaluation)),
        *_sections(evaluation),
        *gives_away(evaluation),
        "<h2>How to read this</h2><ul>",
        *(f"<li><strong>{escape(name)}</strong>: {escape(text)}</li>" for name, text in _READING),
        "</ul><h2>What was assumed</h2>",
        bullets(evaluation.assumptions),
    ]


def _all_cautions(evaluation: Evaluation) -> list[str]:
    of_bands = band_caution(evaluation)
    return [*evaluation.warnings, *([of_bands] if of_bands else [])]


def fragment(evaluation: Evaluation) -> str:
    """Return the tables alone, as a notebook shows them."""
    shown = [f"<p>{escape(summary(evaluation))}</p>", *(html_table(table) for table in tables(evaluation))]
    shown += [f"<p><em>{escape(caution)}</em></p>" for caution in evaluation.warnings]
    return "<div>" + "".join(shown) + "</div>"


def _sections(evaluation: Evaluation) -> list[str]:
    found = {table.title: table for table in tables(evaluation)}
    probabilities = any(model.counts.probabilities for model in evaluation.models)
    shown = ["<h2>Ranking</h2>", html_table(found["Ranking"], caption=False)]
    shown.append(_figures(evaluation, ["roc", "pr"]))
    shown.append(html_table(found["AUCPR by estimator"]))
    if "Comparison of AUC" in found:
        shown += ["<h2>Comparison</h2>", html_table(found["Comparison of AUC"], caption=False)]
    if probabilities:
        shown += ["<h2>Calibration and use</h2>", html_table(found["Calibration"], caption=False)]
        shown.append(_figures(evaluation, ["calibration", "decision"]))
    shown += ["<h2>Thresholds</h2>", html_table(found["At a threshold"], caption=False)]
    if "By group" in found:
        shown += ["<h2>Groups</h2>", html_table(found["By group"], caption=False)]
        if any(group.models for group in evaluation.groups):
            shown.append(_figures(evaluation, ["forest"]))
    return shown


_DRAWINGS = {
    "roc": plots.draw_roc,
    "pr": plots.draw_pr,
    "calibration": plots.draw_calibration,
    "decision": plots.draw_decision,
    "forest": plots.draw_forest,
}


def _figures(evaluation: Evaluation, names: list[str]) -> str:
    return figures(_figure(evaluation, name) for name in names)


def _figure(evaluation: Evaluation, name: str) -> str:
    size = (5.4, 5.0)
    if name == "forest":
        size = (7.0, 1.2 + 0.35 * (1 + len(evaluation.groups)) * max(1.0, len(evaluation.models) * 0.6))
    elif name in ("calibration", "decision"):
        size = (5.4, 5.8)
    return figure(plots.as_svg(_DRAWINGS[name], evaluation, size=size), name, _CAPTIONS[name])
