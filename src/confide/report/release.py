"""Releases for people: tables, a picture, a page that may be published as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from confide.ledger.receipts import Quote, Receipt
from confide.privacy.accounting import total
from confide.privacy.guarantee import Guarantee, shown
from confide.releases.confusion import CELLS
from confide.releases.release import PreparedRelease, Release
from confide.report.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.tables import Table, number, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console

FOOTER = (
    "Everything on this page may be published: it was computed from numbers with noise and from public facts alone. "
    "Made with confide."
)

_CAPTION = (
    "Released values (dots) with two intervals: thick, for the value that an exact evaluation of these rows would "
    "give (noise alone); thin, for the population that the rows were drawn from (noise and sampling)."
)

_READING = (
    "Value: the exact value of these rows plus random noise. Asking again with the same request gives the same answer; "
    "averaging over other requests spends more budget.",
    "Sample interval: where the exact value of these rows lies, given what was released.",
    "Population interval: where the value lies in the population that the rows were drawn from, given the same.",
    "Neither interval was made with anything that was not released.",
)


def release_table(releases: Sequence[Release]) -> Table:
    """One line for each released number."""
    level = f"{100 * releases[0].intervals.sample.level:g} %"
    return Table(
        title="Private release",
        head=("metric", "value", f"sample, {level}", f"population, {level}", "mechanism"),
        body=tuple(
            (
                shown_name(release),
                number(release.value, _digits(release)),
                span(release.intervals.sample, _digits(release)),
                span(release.intervals.population, _digits(release)),
                release.mechanism,
            )
            for release in releases
        ),
        note=" ".join(notes(releases)),
    )


def shown_name(release: Release) -> str:
    """A metric in words, with its threshold."""
    words = release.metric.replace("_", " ")
    words = words.upper() if words == "auc" else "Brier score" if words == "brier" else words
    return f"{words} at {release.options['threshold']:g}" if "threshold" in release.options else words


def notes(releases: Sequence[Release]) -> list[str]:
    """What a reader of these numbers should know, from the numbers themselves."""
    said = []
    if any("threshold" in release.options for release in releases):
        said.append("At a threshold: a score of at least so much is called positive.")
    if any("scores_cut_to" in release.options for release in releases):
        said.append("For the Brier score, scores are cut to [0, 1] first; it means something for probabilities only.")
    if any(release.metric == "average_precision" for release in releases):
        said.append("Average precision counts tied negatives as above.")
    empty = [shown_name(release) for release in releases if says_little(release)]
    if empty:
        said.append(f"The interval of {', '.join(empty)} leaves nearly everything open: too few rows for this epsilon.")
    return said


def says_little(release: Release) -> bool:
    """Whether an interval for a number in [0, 1] covers nearly all of it."""
    return drawable(release) and release.intervals.sample.width >= 0.9


def _digits(release: Release) -> int:
    return 1 if release.metric in CELLS else 3


def split_table(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> Table:
    """How the budget is divided among noises; metrics on one line share one."""
    return Table(
        title="Budget",
        head=("metrics", "epsilon", "delta"),
        body=tuple(
            (", ".join(name.replace("_", " ") for name in names), shown(part.epsilon), shown(part.delta))
            for names, part in parts
        ),
    )


def ledger_table(receipt: Receipt) -> Table:
    """What was paid and what is left."""
    paid = "nothing: answered before" if receipt.reused else receipt.charged.in_words()
    return Table(
        title="Ledger",
        head=(
            "account",
            "charged",
            "spent in all",
            "left" if receipt.analyst is None else f"left to {receipt.analyst}",
        ),
        body=((receipt.account, paid, receipt.spent.in_words(), receipt.remaining.in_words()),),
    )


def about_table(about: Mapping[str, str]) -> Table:
    """What was measured."""
    return Table(title="What was measured", head=("", "meaning"), body=tuple(about.items()))


def split_of(receipt: Receipt) -> list[tuple[list[str], Guarantee]]:
    """The metrics of each answer, which share one noise, and what that noise cost."""
    return [([release.metric for release in answer], answer[0].guarantee) for answer in receipt.answers]


def whole_guarantee(receipt: Receipt) -> Guarantee:
    """The guarantee of all answers together."""
    return total(guarantee for _, guarantee in split_of(receipt))


def one_line(release: Release) -> str:
    """The value with both intervals and the price."""
    intervals = release.intervals
    return (
        f"{shown_name(release)} {number(release.value)} (sample {span(intervals.sample)}, "
        f"population {span(intervals.population)}; epsilon {shown(release.guarantee.epsilon)}, "
        f"{release.guarantee.neighbours.value})"
    )


def print_release(receipt: Receipt, console: Console) -> None:
    """Print a release: the numbers, the guarantee in words, the ledger."""
    from confide.report.text import print_table

    releases = receipt.releases
    print_table(release_table(releases), console)
    split = split_of(receipt)
    if len(split) > 1:
        print_table(split_table(split), console)
    console.print(whole_guarantee(receipt).in_words(), highlight=False, markup=False)
    console.print()
    print_table(ledger_table(receipt), console)


def print_quote(quote: Quote, prepared: Sequence[PreparedRelease], console: Console) -> None:
    """Print what a request would cost."""
    from confide.report.text import print_table

    asked = [(_names(part), part.guarantee) for part in prepared]
    print_table(split_table(asked), console)
    price = "nothing: answered before" if quote.answered else quote.price.in_words()
    print_table(
        Table(
            title="Price",
            head=("account", "price", "left now", "left after"),
            body=((quote.account, price, quote.remaining.in_words(), quote.remaining_after.in_words()),),
        ),
        console,
    )
    console.print(quote.refusal or "It fits. Nothing was charged.", highlight=False, markup=False)


def _names(prepared: PreparedRelease) -> list[str]:
    """The metrics that a prepared request answers."""
    return list(prepared.asked or [prepared.request["metric"]])


def fragment(releases: Sequence[Release]) -> str:
    """The table and the guarantee, as a notebook shows them."""
    words = " ".join(dict.fromkeys(release.guarantee.in_words() for release in releases))
    return f"<div>{html_table(release_table(releases))}<p>{escape(words)}</p></div>"


def release_page(receipt: Receipt, *, title: str, about: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the whole page; `about` says what was measured, in public words."""
    return whole_page(title, release_parts(receipt, about), footer=FOOTER)


def release_parts(receipt: Receipt, about: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return what stands on the page: nothing of the ledger, which is for the data holder."""
    releases = receipt.releases
    guarantee = whole_guarantee(receipt)
    drawn = [release for release in releases if drawable(release)]
    split = split_of(receipt)
    return [
        lead(guarantee.in_words()),
        "<h2>Released numbers</h2>",
        html_table(release_table(releases), caption=False),
        *([figures([figure(_svg(drawn), "intervals", _CAPTION)])] if drawn else []),
        *(
            ["<h2>How the budget was divided</h2>", html_table(split_table(split), caption=False)]
            if len(split) > 1
            else []
        ),
        *(["<h2>What was measured</h2>", html_table(about_table(about), caption=False)] if about else []),
        "<h2>How to read this</h2>",
        bullets(_READING),
        "<h2>What was assumed</h2>",
        bullets(assumptions(guarantee)),
    ]


def assumptions(guarantee: Guarantee) -> list[str]:
    """What the guarantee and the intervals rest on."""
    public = ", ".join(guarantee.public) or "nothing but the parameters shown here"
    return [
        f"Public anyway: {public}.",
        "Nobody has more rows than is said here; one, if nothing is said."
        if guarantee.unit == "person"
        else "Rows are protected. Somebody with several rows is protected less: epsilon times their number.",
        "The model and its scores were not made from these rows; if they were, that needs a guarantee of its own.",
        "The population's interval takes rows to be an independent sample. For AUC it takes scores, after some "
        "increasing transformation, to be normal in both classes with spreads that differ by a quarter at most.",
    ]


def drawable(release: Release) -> bool:
    """Whether a number lies in [0, 1] (or [-1, 1]) and so fits one picture."""
    ends = (release.intervals.population.lower, release.intervals.population.upper)
    return not math.isnan(release.value) and release.intervals.sample.upper <= 1.0 and -1.0 <= ends[0] <= ends[1] <= 1.0


def picture(releases: Sequence[Release]) -> Figure:
    """Draw all numbers that lie between -1 and 1; if there are none, whatever there is."""
    import matplotlib.pyplot as plt

    from confide.report.plots import house_style

    with house_style():
        fig, ax = plt.subplots(figsize=_size(releases), layout="constrained")
        draw_intervals(ax, [release for release in releases if drawable(release)] or releases)
    return fig


def draw_intervals(ax: Axes, releases: Sequence[Release]) -> None:
    """One line for each number: thin for the population, thick for the sample, a dot for the value."""
    from confide.report.plots import COLOURS, GREY

    for position, release in enumerate(releases):
        sample, population = release.intervals.sample, release.intervals.population
        first = position == 0
        ax.plot(
            [population.lower, population.upper], [position] * 2, color=GREY, linewidth=1.6, marker="|", markersize=9,
            label=f"population, {100 * population.level:g} %" if first else None,
        )  # fmt: skip
        ax.plot(
            [sample.lower, sample.upper], [position] * 2, color=COLOURS[0], linewidth=5.0, solid_capstyle="butt",
            label=f"sample, {100 * sample.level:g} %" if first else None,
        )  # fmt: skip
        ax.plot(
            release.value, position, "o", color="white", markeredgecolor="black", markersize=6.5, zorder=3,
            label="released value" if first else None,
        )  # fmt: skip
    ax.set_yticks(range(len(releases)), [shown_name(release) for release in releases])
    ax.set_ylim(len(releases) - 0.4, -0.6)
    if all(drawable(release) for release in releases):
        lowest = min(0.0, *(release.intervals.population.lower for release in releases))
        ax.set_xlim(lowest - 0.02, 1.02)
    ax.set_xlabel("value")
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _svg(releases: Sequence[Release]) -> str:
    from confide.report.plots import as_svg

    return as_svg(draw_intervals, releases, size=_size(releases))


def _size(releases: Sequence[Release]) -> tuple[float, float]:
    return (7.0, 1.3 + 0.42 * len(releases))
