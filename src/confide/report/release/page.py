"""Releases for people: on a terminal, as a picture, on a page that may be published as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from confide.ledger.receipts import Quote, Receipt
from confide.privacy.accounting import total
from confide.privacy.guarantee import Guarantee
from confide.releases.release import PreparedRelease, Release
from confide.report.release.curve_text import achieved_table, is_curve
from confide.report.release.tables import (
    about_table,
    drawable,
    ledger_table,
    one_line,
    release_table,
    shown_name,
    split_table,
)
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.tables import Table

__all__ = [
    "fragment",
    "ledger_table",
    "one_line",
    "picture",
    "print_quote",
    "print_release",
    "release_page",
    "release_parts",
    "split_of",
    "whole_guarantee",
]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console

    from confide.counts import ScoreCounts

FOOTER = (
    "Everything on this page may be published: it was computed from numbers with noise and from public facts alone. "
    "Made with confide."
)

REVEALED = (
    "NOT PRIVATE: this page shows exact curves beside the private ones. It is for those who may see the rows; "
    "publishing it can give labels away."
)
REVEALED_FOOTER = "Not to be published: curves marked exact come from the rows themselves. Made with confide."

_RED = "border-color: #b00020; background: #fdecee; color: #b00020; font-weight: 600"

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

_READING_CURVES = (
    "Curve: drawn from counts with noise in the cells of a grid; dots are the grid's thresholds. The band of these "
    "rows holds the exact curve, the population's band that of the population, each as a whole at its level.",
)


def split_of(receipt: Receipt[Release]) -> list[tuple[list[str], Guarantee]]:
    """The metrics of each answer, which share one noise, and what that noise cost."""
    return [([release.metric for release in answer], answer[0].guarantee) for answer in receipt.answers]


def whole_guarantee(receipt: Receipt[Release]) -> Guarantee:
    """The guarantee of all answers together."""
    return total(guarantee for _, guarantee in split_of(receipt))


def print_release(receipt: Receipt[Release], console: Console) -> None:
    """Print a release: the numbers, the guarantee in words, the ledger."""
    from confide.report.shared.text import print_table

    releases = receipt.releases
    print_table(release_table(releases), console)
    achieved = achieved_table(releases)
    if achieved is not None:
        print_table(achieved, console)
    split = split_of(receipt)
    if len(split) > 1:
        print_table(split_table(split), console)
    console.print(whole_guarantee(receipt).in_words(), highlight=False, markup=False)
    console.print()
    print_table(ledger_table(receipt), console)


def print_quote(quote: Quote, prepared: Sequence[PreparedRelease], console: Console) -> None:
    """Print what a request would cost."""
    from confide.report.shared.text import print_table

    asked = [(_names(part), part.guarantee) for part in prepared]
    print_table(split_table(asked), console)
    print_table(
        Table(
            title="Price",
            head=("account", "price", "left now", "left after"),
            body=((quote.account, quote.in_words(), quote.remaining.in_words(), quote.remaining_after.in_words()),),
        ),
        console,
    )
    console.print(quote.refusal or "It fits. Nothing was charged.", highlight=False, markup=False)


def _names(prepared: PreparedRelease) -> list[str]:
    """The metrics that a prepared request answers."""
    return list(prepared.requested or [prepared.request["metric"]])


def fragment(releases: Sequence[Release]) -> str:
    """The table and the guarantee, and the curves if there are any, as a notebook shows them."""
    if any(is_curve(release) for release in releases):
        from confide.report.release.curves import fragment as with_curves

        return with_curves(releases)
    words = " ".join(dict.fromkeys(release.guarantee.in_words() for release in releases))
    return f"<div>{html_table(release_table(releases))}<p>{escape(words)}</p></div>"


def release_page(
    receipt: Receipt[Release],
    *,
    title: str,
    about: Mapping[str, str] = MappingProxyType({}),
    revealed: ScoreCounts | None = None,
) -> str:
    """Return the whole page; `about` says what was measured, in public words.

    With `revealed`, the rows themselves, exact curves are drawn over the private ones: the page is then not
    to be published, and says so.
    """
    parts = release_parts(receipt, about, revealed=revealed)
    if revealed is None:
        return whole_page(title, parts, footer=FOOTER)
    return whole_page(title, [f'<p class="warning" style="{_RED}">{REVEALED}</p>', *parts], footer=REVEALED_FOOTER)


def release_parts(
    receipt: Receipt[Release], about: Mapping[str, str] = MappingProxyType({}), *, revealed: ScoreCounts | None = None
) -> list[str]:
    """Return what stands on the page: nothing of the ledger, which is for the data holder."""
    releases = receipt.releases
    guarantee = whole_guarantee(receipt)
    split = split_of(receipt)
    return [
        lead(guarantee.in_words() if revealed is None else f"The private numbers: {guarantee.in_words()}"),
        *_curves(releases, revealed),
        "<h2>Released numbers</h2>",
        html_table(release_table(releases), caption=False),
        *_achieved(releases),
        *_intervals(releases),
        *(
            ["<h2>How the budget was divided</h2>", html_table(split_table(split), caption=False)]
            if len(split) > 1
            else []
        ),
        *(["<h2>What was measured</h2>", html_table(about_table(about), caption=False)] if about else []),
        "<h2>How to read this</h2>",
        bullets((*(_READING_CURVES if any(map(is_curve, releases)) else ()), *_READING)),
        "<h2>What was assumed</h2>",
        bullets(assumptions(guarantee)),
    ]


def _curves(releases: Sequence[Release], revealed: ScoreCounts | None) -> list[str]:
    if not any(is_curve(release) for release in releases):
        return []
    from confide.report.release.curves import curve_figures

    return ["<h2>Released curves</h2>", curve_figures(releases, revealed)]


def _achieved(releases: Sequence[Release]) -> list[str]:
    achieved = achieved_table(releases)
    return [] if achieved is None else [html_table(achieved)]


def _intervals(releases: Sequence[Release]) -> list[str]:
    drawn = [release for release in releases if drawable(release)]
    return [figures([figure(_svg(drawn), "intervals", _CAPTION)])] if drawn else []


def assumptions(guarantee: Guarantee) -> list[str]:
    """What the guarantee and the intervals rest on."""
    public = ", ".join(guarantee.public) or "nothing but the parameters shown here"
    return [
        f"Public anyway: {public}.",
        "Nobody has more rows than is said here; one, if nothing is said."
        if guarantee.unit == "person"
        else "Rows are protected. Somebody with several rows is protected less: epsilon times their number.",
        "Where the model was made from these same rows, that needs a guarantee of its own, and the numbers flatter it.",
        "The population's interval takes rows to be an independent sample. For AUC it takes scores, after some "
        "increasing transformation, to be normal in both classes with spreads that differ by a quarter at most.",
    ]


def picture(releases: Sequence[Release]) -> Figure:
    """Draw the curves, if there are any, else all numbers that lie between -1 and 1, else whatever there is."""
    if any(is_curve(release) for release in releases):
        from confide.report.release.curves import picture as of_curves

        return of_curves(releases)
    import matplotlib.pyplot as plt

    from confide.report.shared.plots import house_style

    with house_style():
        fig, ax = plt.subplots(figsize=_size(releases), layout="constrained")
        draw_intervals(ax, [release for release in releases if drawable(release)] or releases)
    return fig


def draw_intervals(ax: Axes, releases: Sequence[Release]) -> None:
    """One line for each number: thin for the population, thick for the sample, a dot for the value."""
    from confide.report.shared.plots import COLOURS, GREY

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
    from confide.report.shared.plots import as_svg

    return as_svg(draw_intervals, releases, size=_size(releases))


def _size(releases: Sequence[Release]) -> tuple[float, float]:
    return (7.0, 1.3 + 0.42 * len(releases))
