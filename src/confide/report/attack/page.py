"""What publications give away, for people: sentences, a table, two pictures, one HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from confide.attacks.bounds import success_bound
from confide.attacks.contest.rehearsal import Rehearsal
from confide.attacks.exposure import AttackReport, Exposure
from confide.attacks.insider import Insider
from confide.attacks.outsider import Outsider
from confide.report.attack import plots as attack_plots
from confide.report.shared import plots
from confide.report.shared.page import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.shared.tables import Table, amount
from confide.report.shared.text import print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

INTERNAL = "Internal: these findings come from the labels themselves. Do not publish them."

_FOOTER = "For the data holder alone: made from exact labels, and not to be published. Made with confide."

GENERAL = (
    "What an outsider comes to know with a probability is mostly that the model is good: knowledge about people in "
    "general, which every honest evaluation gives, a private one too. What is certain, and what somebody learns who "
    "knows all else, is about persons; that is what epsilon bounds."
)

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

CLASS_SIZES = (
    "The exact numbers of positives and negatives, which are published too, alone tell the last label to somebody who "
    "knows all others: no release beside them can be private to him."
)

_BOUNDS = (0.1, 0.5, 1.0, 2.0, 4.0)


def sentences(attacked: AttackReport) -> Iterator[str]:
    """Say in plain words what each publication gives away, and what would prevent it."""
    for exposure in attacked.exposures:
        parts = (_inside(exposure), _outside(attacked, exposure), _later(exposure))
        beside = " beside exact class sizes" if attacked.class_sizes else ""
        said = " ".join(part for part in parts if part)
        yield f"{_capital(str(exposure.published))}{beside} {verdict(exposure)}: {said}"
    if attacked.class_sizes:
        yield CLASS_SIZES
    yield advice(attacked)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def verdict(exposure: Exposure) -> str:
    """What to think of a publication, in a few words."""
    if exposure.insider.told or (exposure.outsider is not None and exposure.outsider.certain):
        return "gives labels away"
    if exposure.published.private:
        return "is bounded by its epsilon"
    return "gave no label away here, and promises nothing"


def _outside(attacked: AttackReport, exposure: Exposure) -> str:
    found = exposure.outsider
    if found is None:
        return f"What an outsider learns is {exposure.left_out}."
    who = "To an outsider, who knows the scores and how many are positive,"
    if found.certain == attacked.rows and found.drawn is None:
        return f"{who} every label is certain."
    certain = f"{amount(found.certain)} of {amount(attacked.rows)} labels are certain"
    if not found.certain:
        certain = "no label is certain"
    elif found.drawn is not None:
        certain = f"at most {certain}"
    more = f"{amount(found.known)}{' more' if found.certain else ''}"
    rightly = f" ({amount(found.known_right)} of them rightly)" if found.known else ""
    return f"{who} {certain} and {more} known with probability > {attacked.level:g}{rightly}."


def _inside(exposure: Exposure) -> str:
    insider = exposure.insider
    if insider.game is None:
        told = f"somebody who knows all else can tell {amount(insider.told or 0)} of {amount(insider.tried)} labels"
        if insider.average is None:
            return f"{told}."
        return (
            f"{told}; on average over where the number may lie between two rounded ones, {_percent(insider.average)} %."
        )
    game = insider.game
    low, high = 100 * game.interval.lower, 100 * game.interval.upper
    bound = "" if game.bound is None else f"; nobody can do better than {_at_most(game.bound)} %"
    return (
        f"somebody who knows all else guessed {100 * game.success:.0f} % of labels that a coin decided "
        f"(measured, {low:.0f} to {high:.0f} %){bound}."
    )


def _later(exposure: Exposure) -> str:
    if exposure.added is None:
        return ""
    told = f"{amount(exposure.added.certain)} of {amount(exposure.added.tried)}"
    return f"Published without and then with one more row, it tells that row's label in {told} cases."


def _percent(share: float) -> str:
    """A measured share."""
    return f"{100 * share:.0f}"


def _at_most(share: float) -> str:
    """A bound, rounded up, and never 100 for what is less."""
    for digits in range(1, 13):
        shown = math.ceil(round(share * 10 ** (digits + 2), 3)) / 10**digits
        if shown < 100.0:
            return f"{shown:.{digits}f}"
    return "100"


def advice(attacked: AttackReport) -> str:
    """Which epsilon would prevent it."""
    odds, rare = attacked.sure / (1.0 - attacked.sure), 0.1
    return (
        f"What would prevent it: releases that together have an epsilon of {_floored(attacked.epsilon)} or less for "
        f"replacing one person's row (replace-one or label-only; half of that under add-remove-one; delta 0). They "
        f"multiply anybody's odds about one label by at most {odds:.3g}, whatever else is known: from 50 % to at most "
        f"{100 * attacked.sure:g} %, from {100 * rare:g} % to at most {_at_most(_from(rare, attacked.epsilon))} %. "
        "Somebody with k rows, or whose label tells k labels, needs an epsilon k times smaller."
    )


def _floored(value: float) -> str:
    """Three digits that matter, rounded down."""
    places = max(2 - math.floor(math.log10(value)), 0)
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"


def attack_table(attacked: AttackReport) -> Table:
    """All publications beside each other."""
    known = f"also known > {attacked.level:g}"
    return Table(
        title="What would be given away",
        head=("published", "labelings left", "certain", known, "guessed right", "one label"),
        body=tuple(_line(exposure) for exposure in attacked.exposures),
        note=" ".join(_notes(attacked)),
    )


def _notes(attacked: AttackReport) -> Iterator[str]:
    yield (
        f"Of {amount(attacked.rows)} rows. Labelings left to guessed right: for an outsider, who knows the scores and "
        f"how many are positive; always guessing the larger class gets {amount(attacked.majority)} right. One label: "
        "for somebody who knows all others; told for certain, or guessed right, with the bound."
    )
    if attacked.majority > attacked.level * attacked.rows:
        yield "The prevalence alone makes every label of the larger class count as known."
    drawn = {found.outsider.drawn for found in attacked.exposures if found.outsider and found.outsider.drawn}
    if drawn:
        yield f"*: from {', '.join(map(str, sorted(drawn)))} labelings drawn at random; another run differs a little."


def _line(exposure: Exposure) -> tuple[str, ...]:
    found = exposure.outsider
    one = _one_label(exposure.insider)
    if found is None:
        return str(exposure.published), "–", "–", "–", "–", one
    certain = f"≤ {amount(found.certain)}" if found.drawn is not None and found.certain else amount(found.certain)
    star = "" if found.drawn is None else "*"
    cells = (certain, amount(found.known) + star, amount(found.right) + star)
    return str(exposure.published), labelings_left(exposure, found), *cells, one


def labelings_left(exposure: Exposure, found: Outsider) -> str:
    """How many labelings fit, as people write such numbers."""
    if found.labelings is not None:
        return f"{found.labelings:,}"
    if found.log10_labelings is not None:
        return f"10^{found.log10_labelings:.0f}"
    return "all" if exposure.published.private else "–"


def _one_label(insider: Insider) -> str:
    if insider.game is None:
        return f"{amount(insider.told or 0)} of {amount(insider.tried)} told"
    bound = "" if insider.game.bound is None else f", at most {_at_most(insider.game.bound)} %"
    return f"{100 * insider.success:.0f} %{bound}"


def bounds_table() -> Table:
    """How sure of one label anybody can become, by epsilon."""
    return Table(
        title="What epsilon promises",
        head=("epsilon", "most sure, from 50 %", "most sure, from 10 %"),
        body=tuple(
            (f"{epsilon:g}", f"{_at_most(success_bound(epsilon))} %", f"{_at_most(_from(0.1, epsilon))} %")
            for epsilon in _BOUNDS
        ),
        note="How sure of one label anybody can become who was 50 % (or 10 %) sure before, whatever else they know.",
    )


def _from(prior: float, epsilon: float) -> float:
    odds = np.exp(epsilon) * prior / (1.0 - prior)
    return float(odds / (1.0 + odds))


def print_attack(attacked: AttackReport, console: Console) -> None:
    """Print sentences and the table."""
    console.print(INTERNAL, highlight=False, markup=False, style="bold")
    console.print()
    for sentence in sentences(attacked):
        console.print(f"• {sentence}", highlight=False, markup=False)
    console.print()
    print_table(attack_table(attacked), console)
    console.print()
    console.print(GENERAL, highlight=False, markup=False)


def contest_lines(held: Rehearsal) -> Iterator[str]:
    """Say what a contest's submissions gave away."""
    ladder = "" if held.step is None else f", behind a Ladder with steps of {held.step}"
    yield f"{_capital(str(held.published))}{ladder}; {amount(held.rows)} rows, {amount(held.positives)} positive"
    agreement = held.agreement
    share = f" ({100 * agreement.share:.0f} %)" if agreement.said else ""
    yield (
        f"labels: {amount(agreement.right)} right of {amount(agreement.said)} said{share}, {amount(held.certain)} of "
        f"them certain, after {amount(held.used)} submissions"
    )
    yield f"  for comparison: {amount(held.majority)} of {amount(held.rows)} by always guessing the larger class"
    yield (
        f"  all labels take {amount(2 * held.rows)} submissions at two for each; with exact answers, at least "
        f"{amount(held.fewest)}"
    )
    if held.bound is not None:
        before = held.majority / held.rows
        after = before * held.bound / (before * held.bound + (1.0 - before) * (1.0 - held.bound))
        yield (
            f"  all answers together take somebody who was {_percent(before)} % sure of one label to at most "
            f"{_at_most(after)} %"
        )
    if held.boosted is not None:
        yield (
            f"score: {held.boosted:.3f} by putting random submissions together, "
            f"{held.honest:.3f} on rows that the oracle does not answer for"
        )


_CAPTIONS = {
    "outsider": "Each row's probability of being positive, for somebody who knows all scores and how many are "
    "positive, after each publication. At 0 and 1 a label is certain; beyond the dotted lines it counts as known. "
    "Lines that waver come from labelings drawn at random.",
    "insider": "How often somebody who knows every other row and label is right about one label. Squares: exact or "
    "rounded numbers. Dots: releases with noise, with 95 % intervals of the measurement, which may pass the upright "
    "bars, the bounds that epsilon promises against every attack; the truth cannot.",
}


def picture(attacked: AttackReport) -> Figure:
    """Both pictures side by side."""
    return attack_plots.both(attacked)


def fragment(attacked: AttackReport) -> str:
    """The table and the sentences, as a notebook shows them."""
    return f"<div>{html_table(attack_table(attacked))}{bullets(sentences(attacked))}</div>"


def attack_page(attacked: AttackReport, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(title, _parts(attacked), footer=_FOOTER)


def _parts(attacked: AttackReport) -> list[str]:
    pictures = []
    if any(exposure.outsider is not None for exposure in attacked.exposures):
        svg = plots.as_svg(attack_plots.draw_posteriors, attacked, size=(6.2, 5.4))
        pictures.append(figure(svg, "outsider", _CAPTIONS["outsider"]))
    size = (7.0, 1.6 + 0.55 * len(attacked.exposures))
    pictures.append(
        figure(plots.as_svg(attack_plots.draw_insiders, attacked, size=size), "insider", _CAPTIONS["insider"])
    )
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
