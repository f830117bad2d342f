"""An attack on published numbers: tables, sentences, plots, page and data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.attacks.adversaries import Insider, Outsider
from confide.attacks.contest.rehearsal import Rehearsal
from confide.attacks.exposure import AttackReport, Exposure
from confide.attacks.from_auc.labeling_count import LabelingCount
from confide.attacks.from_curve.curve_report import AddedOnRoc, CurveReport, RocPlace
from confide.attacks.from_curve.points import RocAlignment
from confide.privacy.adversary import success_bound
from confide.report.numbers import DASH, amount
from confide.report.origin import CLASS_SIZES
from confide.report.promises import at_most
from confide.report.style import COLOURS, GREY, as_svg, drawn_figure, style
from confide.report.writers.frames import data_frame, interval_cells
from confide.report.writers.html import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.writers.terminal import Table, print_bullets, print_line, print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from rich.console import Console


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest posterior probability that epsilon allows."""
    odds = np.exp(epsilon) * prior / (1.0 - prior)
    return float(odds / (1.0 + odds))


def whole_percent(share: float) -> str:
    """Write a measured share in whole per cent."""
    return f"{100 * share:.0f}"


_BOUNDS = (0.1, 0.5, 1.0, 2.0, 4.0)


def attack_table(attacked: AttackReport) -> Table:
    """Return one line for each publication."""
    known = f"also known > {attacked.level:g}"
    return Table(
        title="What would be revealed",
        head=("published", "labelings left", "certain", known, "guessed correctly", "one label"),
        body=tuple(_line(exposure) for exposure in attacked.exposures),
        note=" ".join(_notes(attacked)),
        text_columns=("one label",),
    )


def _notes(attacked: AttackReport) -> Iterator[str]:
    yield (
        f"Of {amount(attacked.rows)} rows. The middle columns are for an outsider, who knows the scores and how many "
        "are positive. Guessed correctly: mostly because the model is good; always guessing the larger class gets "
        f"{amount(attacked.majority)} right. One label: for an insider, who knows all others; labels revealed for "
        "certain, or the share guessed correctly, with the bound. Judge privacy by the columns certain and one label."
    )
    if attacked.majority > attacked.level * attacked.rows:
        yield "The prevalence alone makes every label of the larger class count as known."
    drawn = {found.outsider.drawn for found in attacked.exposures if found.outsider and found.outsider.drawn}
    if drawn:
        yield f"*: from {', '.join(map(str, sorted(drawn)))} labelings drawn at random; another run differs slightly."


def _line(exposure: Exposure) -> tuple[str, ...]:
    found = exposure.outsider
    one = _one_label(exposure.insider)
    if found is None:
        return str(exposure.published), *(DASH,) * 4, one
    certain = f"≤ {amount(found.certain)}" if found.drawn is not None and found.certain else amount(found.certain)
    star = "" if found.drawn is None else "*"
    cells = (certain, amount(found.known) + star, amount(found.right) + star)
    return str(exposure.published), labelings_left(exposure, found), *cells, one


def labelings_left(exposure: Exposure, found: Outsider) -> str:
    """Write the number of labelings that fit."""
    if found.labelings is not None:
        return f"{found.labelings:,}"
    if found.log10_labelings is not None:
        return f"10^{found.log10_labelings:.0f}"
    return "all" if exposure.published.private else DASH


def _one_label(insider: Insider) -> str:
    if insider.game is None:
        return f"{amount(insider.told or 0)} of {amount(insider.tried)} revealed"
    bound = "" if insider.game.bound is None else f", at most {at_most(insider.game.bound)} %"
    return f"{100 * insider.success:.0f} %{bound}"


def bounds_table() -> Table:
    """Return the largest posterior probability of one label, by epsilon."""
    return Table(
        title="What epsilon guarantees",
        head=("epsilon", "at most, from 50 %", "at most, from 10 %"),
        body=tuple(
            (f"{epsilon:g}", f"{at_most(success_bound(epsilon))} %", f"{at_most(posterior(0.1, epsilon))} %")
            for epsilon in _BOUNDS
        ),
        note="Largest probability of one label after the release, for an attacker who was 50 % (or 10 %) sure before, "
        "whatever else the attacker knows.",
    )


INTERNAL = "Internal: these findings come from the labels themselves. Do not publish them."

GENERAL = (
    "An outsider's guesses show mostly that the model is good: every honest evaluation gives this knowledge about "
    "people in general, a private one too. So a private release may have as many correct guesses as an exact number. "
    "Labels that are certain, and what an insider learns, concern single persons. Epsilon bounds these."
)


def print_attack(attacked: AttackReport, console: Console) -> None:
    """Print sentences and the table."""
    console.print(INTERNAL, highlight=False, markup=False, style="bold")
    console.print()
    print_bullets(sentences(attacked), console)
    console.print()
    print_table(attack_table(attacked), console)
    console.print()
    print_line(GENERAL, console)


def sentences(attacked: AttackReport) -> Iterator[str]:
    """Yield what each publication reveals, and what would prevent it."""
    for exposure in attacked.exposures:
        parts = (_inside(exposure), _outside(attacked, exposure), _later(exposure))
        beside = " beside exact class sizes" if attacked.class_sizes else ""
        text = " ".join(part for part in parts if part)
        yield f"{capitalised(str(exposure.published))}{beside} {verdict(exposure)}: {text}"
    if attacked.class_sizes:
        yield CLASS_SIZES
    yield advice(attacked)


def capitalised(text: str) -> str:
    """Return text with a capital first letter."""
    return text[:1].upper() + text[1:]


def verdict(exposure: Exposure) -> str:
    """Return the verdict on a publication in a few words."""
    if exposure.insider.told or (exposure.outsider is not None and exposure.outsider.certain):
        return "reveals labels"
    if exposure.published.private:
        return "is bounded by its epsilon"
    return "revealed no label here, but guarantees nothing"


def _inside(exposure: Exposure) -> str:
    insider = exposure.insider
    if insider.game is None:
        told = f"an insider, who knows all else, can tell {amount(insider.told or 0)} of {amount(insider.tried)} labels"
        if insider.average is None:
            return f"{told}."
        average = whole_percent(insider.average)
        return f"{told}; averaged over the exact values that round to the same number, {average} %."
    game = insider.game
    low, high = 100 * game.interval.lower, 100 * game.interval.upper
    bound = "" if game.bound is None else f"; nobody can do better than {at_most(game.bound)} %"
    return (
        f"an insider, who knows all else, guessed {100 * game.success:.0f} % of labels correctly, where a coin toss "
        f"gets 50 % (measured, {low:.0f} to {high:.0f} %){bound}."
    )


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
    rightly = f" ({amount(found.known_right)} of them correctly)" if found.known else ""
    return f"{who} {certain} and {more} are known with probability > {attacked.level:g}{rightly}."


def _later(exposure: Exposure) -> str:
    if exposure.added is None:
        return ""
    told = f"{amount(exposure.added.certain)} of {amount(exposure.added.tried)}"
    return f"If it is published again after one row was added, both together reveal that row's label in {told} trials."


def advice(attacked: AttackReport) -> str:
    """Return the epsilon that would prevent it."""
    odds, rare = attacked.sure / (1.0 - attacked.sure), 0.1
    return (
        f"To prevent this, publish releases whose epsilons sum to at most {_floored(attacked.epsilon)} (replace-one or "
        "label-only; half of that under add-remove-one; delta 0). They multiply any attacker's odds about one label "
        f"by at most {odds:.3g}, whatever else the attacker knows: from 50 % to at most {at_most(attacked.sure)} %, "
        f"from {100 * rare:g} % to at most {at_most(posterior(rare, attacked.epsilon))} %. A person with k rows, or "
        "whose label reveals k labels, needs an epsilon k times smaller."
    )


def _floored(value: float) -> str:
    """Write three significant digits, rounded down."""
    places = max(2 - math.floor(math.log10(value)), 0)
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"


_LISTED_POINTS = 5


def curve_lines(report: CurveReport) -> Iterator[str]:
    """Yield a sentence for each finding."""
    pairs, first = len(report.sizes), next(iter(report.sizes))
    if pairs == 1:
        yield f"{report.points} points: {first[0]:,} positives and {first[1]:,} negatives"
    else:
        yield (
            f"{report.points} points: {pairs:,} pairs of class sizes fit, for example {first[0]:,} positives and "
            f"{first[1]:,} negatives; --rows or --positives narrows them down"
        )
    if report.certain_ranks is not None:
        yield f"labels that follow from the rank of a row alone: {report.certain_ranks:,} of {sum(first):,}"
    if report.labels is not None:
        share = 100 * report.labels.certain / report.labels.rows
        yield f"labels that follow from the scores: {report.labels.certain:,} of {report.labels.rows:,} ({share:.0f} %)"
    if report.added is not None:
        yield from _added(report.added)
    if report.known is not None:
        yield from _known(report.known)


def _added(added: AddedOnRoc) -> Iterator[str]:
    label = {True: "positive", False: "negative", None: "of either class"}[added.positive]
    yield f"added row: {label}; {len(added.places)} possible place{'' if len(added.places) == 1 else 's'}"
    for place in added.places[:_LISTED_POINTS]:
        kind = "positive" if place.positive else "negative"
        tied = f", tied with {place.tied:,}" if place.tied else ""
        yield f"  {kind}, below {place.above:,} row{'' if place.above == 1 else 's'}{tied}{_score(place)}"
    if len(added.places) > _LISTED_POINTS:
        yield f"  and {len(added.places) - _LISTED_POINTS:,} more (--json lists all)"


def _score(place: RocPlace) -> str:
    if place.lowest is None or place.below is None:
        return ""
    below = "" if math.isinf(place.below) else f" and below {place.below:g}"
    return f", score of at least {place.lowest:g}{below}"


def _known(known: RocAlignment) -> Iterator[str]:
    yield (
        f"known scores whose place on the curve is certain: {known.located:,} of {known.scores.size:,} "
        f"({known.alignments:,} possible alignments)"
    )
    yield f"rows that are left: {known.unknown[0]:,} positives and {known.unknown[1]:,} negatives"
    certain = sum(belief in (0.0, 1.0) for belief in known.belief_between.tolist())
    yield f"gaps between known scores in which all other rows have one class: {certain:,}"


_LISTED_NUMBERS = 12


def labelings_lines(done: LabelingCount) -> Iterator[str]:
    """Yield the number of labelings, the possible numbers of positives, and the number of submissions."""
    known = done.labelings.positives
    every = f"2^{done.rows}" if known is None else _large(comb(done.rows, known))
    yield f"{_large(done.count)} of {every} labelings have an AUC of {done.auc}"
    if not done.positives:
        yield "so this is not the AUC of so many rows: check both, and whether scores tie (--ties)"
    else:
        listed = ", ".join(map(str, done.positives[:_LISTED_NUMBERS]))
        more = f", ... ({len(done.positives)} numbers)" if len(done.positives) > _LISTED_NUMBERS else ""
        yield f"positives: {listed}{more}"
        triples = sum(high - low + 1 for low, high in done.labelings.spans().values())
        yield f"possible (negatives, positives, misplaced pairs): {triples:,}"
    if done.queries is not None:
        yield f"submissions that find the true one: at most {done.queries}"


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"


def contest_lines(held: Rehearsal) -> Iterator[str]:
    """Yield what a contest's submissions revealed."""
    ladder = "" if held.step is None else f", behind a Ladder with steps of {held.step}"
    yield f"{capitalised(str(held.published))}{ladder}; {amount(held.rows)} rows, {amount(held.positives)} positive"
    agreement = held.agreement
    share = f" ({100 * agreement.share:.0f} %)" if agreement.said else ""
    yield (
        f"labels: {amount(agreement.right)} right of {amount(agreement.said)} guessed{share}, {amount(held.certain)} "
        f"of them certain, after {amount(held.used)} submissions"
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
            f"  after all answers, an attacker who was {whole_percent(before)} % sure of one label is at most "
            f"{at_most(after)} % sure"
        )
    if held.boosted is not None:
        yield (
            f"score of random submissions, combined by their answers: {held.boosted:.3f} on the contest's rows, "
            f"{held.honest:.3f} on other rows (a higher score on the contest's rows is overfitting)"
        )


def draw_posteriors(ax: Axes, attacked: AttackReport) -> None:
    """Draw each label's probability to an outsider against the rank of its score, for every publication."""
    exposures = [(exposure, exposure.outsider) for exposure in attacked.exposures if exposure.outsider is not None]
    for position, (exposure, outsider) in enumerate(exposures):
        probability = outsider.probability
        look: dict[str, Any] = {"drawstyle": "steps-mid", "linewidth": 1.5, **style(position)}
        if exposure.published.metric == "roc" and not exposure.published.private:
            look = {"color": style(position)["color"], "linestyle": "none", "marker": ".", "markersize": 5}
        ax.plot(np.arange(1, probability.size + 1), probability, label=str(exposure.published), **look)
    for edge in (attacked.level, 1.0 - attacked.level):
        ax.axhline(edge, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlim(0.5, attacked.rows + 0.5)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("Row, from the lowest score to the highest")
    ax.set_ylabel("Probability of being positive")
    ax.set_title("What an outsider believes")
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def draw_insiders(ax: Axes, attacked: AttackReport) -> None:
    """Draw how often an insider is right about a label, with intervals and bounds."""
    every = attacked.exposures[::-1]
    for position, exposure in enumerate(every):
        game = exposure.insider.game
        noisy = game is not None
        if game is not None:
            ax.plot([game.interval.lower, game.interval.upper], [position] * 2, color=COLOURS[0], linewidth=2.0)
            if game.bound is not None:
                ax.plot([game.bound], [position], "|", color=COLOURS[1], markersize=18, markeredgewidth=2.2)
        ax.plot([exposure.insider.success], [position], "o" if noisy else "s", color=COLOURS[0], markersize=7)
    ax.axvline(0.5, color=GREY, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(every)), [str(exposure.published) for exposure in every])
    ax.set_ylim(-0.6, len(every) - 0.4)
    ax.set_xlim(0.4, 1.02)
    ax.set_xlabel("Share of labels guessed correctly (0.5 is guessing)")
    ax.set_title("What an insider learns")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


def plot_attack(attacked: AttackReport) -> Figure:
    """Draw both plots side by side."""
    return drawn_figure([(draw_posteriors, attacked), (draw_insiders, attacked)], size=(6.25, 5.2))


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


COLUMNS = ("published", "attacker", "metric", "value", "lower", "upper", "level", "bound")

_OUTSIDER = ("certain", "known", "known_right", "right", "log10_labelings")


def attack_frame(attacked: AttackReport) -> DataFrame:
    """Return one row for each number about each publication.

    `bound` is the upper bound of the guarantee on an insider's success; it is missing without one.
    """
    return data_frame((row for exposure in attacked.exposures for row in _rows(exposure)), COLUMNS)


def _rows(exposure: Exposure) -> Iterator[dict[str, Any]]:
    published = exposure.published.spec
    if exposure.outsider is not None:
        found = exposure.outsider.to_dict()
        for name in _OUTSIDER:
            if found[name] is not None:
                yield {"published": published, "attacker": "outsider", "metric": name, "value": float(found[name])}
    inside = {"published": published, "attacker": "insider"}
    for name in ("tried", "told"):
        number = getattr(exposure.insider, name)
        if number is not None:
            yield {**inside, "metric": name, "value": float(number)}
    game = exposure.insider.game
    measured = {} if game is None else {**interval_cells(game.interval), "bound": game.bound}
    yield {**inside, "metric": "success", "value": exposure.insider.success, **measured}
