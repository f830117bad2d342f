"""An attack on the data holder's own numbers as one HTML page."""

from __future__ import annotations

from confide.attacks.exposure import AttackReport
from confide.report.attack.plots import draw_insiders, draw_posteriors
from confide.report.attack.tables import attack_table, bounds_table
from confide.report.attack.text import GENERAL, INTERNAL, advice, sentences
from confide.report.shared.numbers import amount
from confide.report.shared.page import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.shared.style import as_svg

_FOOTER = "For the data holder alone: made from exact labels, and not to be published. Made with confide."

_READING = (
    "The outsider knows every row's score and the number of positives, and takes all labelings that fit for equally "
    "likely.",
    GENERAL,
    "The insider knows every row and every label but one. What he learns from a number, he learns about a person. "
    "Differential privacy bounds the insider, and with that everybody, whatever they know.",
    "Certain: there is no other labeling that fits. Known: the likelier label has more than the stated probability.",
    "Against a release with noise the insider's success is measured: a row's label is set by a coin, the number is "
    "released, and the nearer of the two possible numbers decides. The bound holds for every attack, not only for this "
    "one; the interval of a measurement may pass it.",
    "How many labels a rounded number tells depends on where the exact one happens to lie between two rounded ones: "
    "the next publication may tell others. Halves are taken to have been rounded either way.",
    "One more row: somebody sees the number before and after it was added, and knows the number of rows and, of an "
    "AUC, which class is rarer, of other numbers the row's score. Each publication is judged alone; several together "
    "tell more.",
)

_CAPTIONS = {
    "outsider": "Each row's probability of being positive, for somebody who knows all scores and how many are "
    "positive, after each publication. At 0 and 1 a label is certain; beyond the dotted lines it counts as known. "
    "Lines that waver come from labelings drawn at random.",
    "insider": "How often somebody who knows every other row and label is right about one label. Squares: exact or "
    "rounded numbers. Dots: releases with noise, with 95 % intervals of the measurement, which may pass the upright "
    "bars, the bounds that epsilon promises against every attack; the truth cannot.",
}


def fragment(attacked: AttackReport) -> str:
    """Return table and sentences, as a notebook shows them."""
    return f"<div>{html_table(attack_table(attacked))}{bullets(sentences(attacked))}</div>"


def attack_page(attacked: AttackReport, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(title, _parts(attacked), footer=_FOOTER)


def _parts(attacked: AttackReport) -> list[str]:
    pictures = []
    if any(exposure.outsider is not None for exposure in attacked.exposures):
        svg = as_svg(draw_posteriors, attacked, size=(6.2, 5.4))
        pictures.append(figure(svg, "outsider", _CAPTIONS["outsider"]))
    size = (7.0, 1.6 + 0.55 * len(attacked.exposures))
    pictures.append(figure(as_svg(draw_insiders, attacked, size=size), "insider", _CAPTIONS["insider"]))
    return [
        lead(f"{amount(attacked.rows)} rows, attacked as somebody would who reads what is published."),
        warning(INTERNAL),
        bullets(list(sentences(attacked))[:-1]),  # the advice has a section of its own
        html_table(attack_table(attacked)),
        figures(pictures),
        "<h2>What would prevent it</h2>",
        f"<p>{advice(attacked)}</p>",
        html_table(bounds_table(), caption=False),
        "<h2>How to read this</h2>",
        bullets(_READING),
    ]
