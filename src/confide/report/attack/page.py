"""An attack on the data holder's own numbers as one HTML page."""

from __future__ import annotations

from confide.attacks.exposure import AttackReport
from confide.report.attack.plots import draw_insiders, draw_posteriors
from confide.report.attack.tables import attack_table, bounds_table
from confide.report.attack.text import GENERAL, INTERNAL, advice, sentences
from confide.report.shared.numbers import amount
from confide.report.shared.page import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.shared.style import as_svg

_FOOTER = "For the data holder alone: computed from exact labels. Do not publish this page. Made with confide."

_READING = (
    "The outsider knows the score of every row and the number of positives. All labelings that fit count as equally "
    "likely.",
    GENERAL,
    "The insider knows every row and every label but one, so everything the insider learns is about one person. "
    "Differential privacy bounds the insider, and therefore every attacker.",
    "Certain: no other labeling fits. Known: the likelier label has more than the stated probability.",
    "Against a release with noise the insider's success is measured: a coin sets a row's label, the number is "
    "released, and the insider guesses the label whose exact number is nearer. The bound holds for every attack, not "
    "only for this one; the interval of the measurement may exceed it.",
    "How many labels a rounded number reveals depends on the exact number behind it: the next publication may reveal "
    "others. Halves may have been rounded either way.",
    "One more row: the attacker sees the number before and after the row was added, and knows the number of rows and, "
    "for an AUC, which class is rarer, for other numbers the row's score. Each publication is judged alone; several "
    "together reveal more.",
)

_CAPTIONS = {
    "outsider": "Probability that each row is positive, for an outsider who knows all scores and how many are "
    "positive, after each publication. At 0 and 1 a label is certain; beyond the dotted lines it counts as known. "
    "Uneven lines come from labelings drawn at random.",
    "insider": "Share of labels that an insider, who knows every other row and label, guesses correctly. Squares: "
    "exact or rounded numbers; a label that they do not reveal counts half, as a coin toss would guess it. "
    "Dots: releases with noise, with 95 % intervals of the measurement. Vertical bars: "
    "bounds that epsilon guarantees against every attack. An interval may exceed the bound; the true success cannot.",
}


def fragment(attacked: AttackReport) -> str:
    """Return table and sentences, as a notebook shows them."""
    return f"<div>{html_table(attack_table(attacked))}{bullets(sentences(attacked))}</div>"


def attack_page(attacked: AttackReport, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(title, _parts(attacked), footer=_FOOTER)


def _parts(attacked: AttackReport) -> list[str]:
    plots = []
    if any(exposure.outsider is not None for exposure in attacked.exposures):
        svg = as_svg(draw_posteriors, attacked, size=(6.2, 5.4))
        plots.append(figure(svg, "outsider", _CAPTIONS["outsider"]))
    size = (7.0, 1.6 + 0.55 * len(attacked.exposures))
    plots.append(figure(as_svg(draw_insiders, attacked, size=size), "insider", _CAPTIONS["insider"]))
    return [
        lead(f"{amount(attacked.rows)} rows, attacked by somebody who reads what is published."),
        warning(INTERNAL),
        bullets(list(sentences(attacked))[:-1]),  # the advice has a section of its own
        html_table(attack_table(attacked)),
        figures(plots),
        "<h2>How to prevent it</h2>",
        f"<p>{advice(attacked)}</p>",
        html_table(bounds_table(), caption=False),
        "<h2>How to read this</h2>",
        bullets(_READING),
    ]
