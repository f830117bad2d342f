"""A release as one HTML page that may be published as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from confide.ledger.receipts import Receipt
from confide.privacy.guarantee import Guarantee
from confide.provenance import PublicProvenance
from confide.releases.release import Release
from confide.report.release.captions import INTERVALS, curve_caption
from confide.report.release.curve_data import EXACT, CurveData, curves_to_draw
from confide.report.release.curve_plots import draw_curve
from confide.report.release.names import drawable, from_cells, is_curve, metric_name
from confide.report.release.origin import origin_section
from confide.report.release.plots import draw_intervals, intervals_size
from confide.report.release.tables import (
    about_table,
    achieved_table,
    release_table,
    split_of,
    split_table,
)
from confide.report.shared.guarantees import guarantee_words
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.style import as_svg

if TYPE_CHECKING:
    from confide.counts import ScoreCounts

FOOTER = (
    "Everything on this page may be published: it was computed from noisy numbers and public facts alone. "
    "Made with confide."
)

REVEALED = (
    "NOT PRIVATE: this page shows exact curves beside the private ones. It is for people who may see the rows; "
    "publishing it can reveal labels."
)

REVEALED_FOOTER = "Do not publish this page: curves marked exact come from the rows themselves. Made with confide."

_RED = "border-color: #b00020; background: #fdecee; color: #b00020; font-weight: 600"

_READING = (
    "Value: the exact value of these rows plus random noise. The same request always gets the same answer; other "
    "requests, which could be averaged, cost more budget.",
    "Sample interval: covers the exact value of these rows. It accounts for the noise.",
    "Population interval: covers the value in the population that the rows were drawn from. It accounts for the noise "
    "and for sampling.",
    "Both intervals were computed from released numbers alone.",
)

_READING_CURVES = (
    "Curve: computed from noisy counts in the cells of a grid; dots are the grid's thresholds. One band covers the "
    "whole exact curve of these rows, the other the whole curve of the population, each at its level.",
)


_AUC_SPREAD = (
    " For AUC it is wide enough if some increasing transformation makes the scores of both classes normal, with "
    "spreads that differ by at most one half, or exponential."
)


def release_page(
    receipt: Receipt[Release],
    *,
    title: str,
    about: Mapping[str, str] = MappingProxyType({}),
    revealed: ScoreCounts | None = None,
    origin: PublicProvenance | None = None,
) -> str:
    """Return the whole page. `about` describes what was measured, in public words; `origin` who computed it, and when.

    With `revealed`, the exact rows, exact curves are drawn over the private ones. Such a page must not be published,
    and states so.
    """
    parts = release_parts(receipt, about, revealed=revealed, origin=origin)
    if revealed is None:
        return whole_page(title, parts, footer=FOOTER)
    return whole_page(title, [f'<p class="warning" style="{_RED}">{REVEALED}</p>', *parts], footer=REVEALED_FOOTER)


def release_parts(
    receipt: Receipt[Release],
    about: Mapping[str, str] = MappingProxyType({}),
    *,
    revealed: ScoreCounts | None = None,
    origin: PublicProvenance | None = None,
) -> list[str]:
    """Return the parts of the page. Account, analyst and what is left are not among them: they are the data holder's.

    The total that was spent is: a guarantee is worth what all releases of the same rows promise together.
    """
    releases = receipt.releases
    guarantee = receipt.guarantee
    words = guarantee_words(guarantee)
    return [
        lead(words if revealed is None else f"The private numbers: {words}"),
        *_curves(releases, revealed),
        "<h2>Released numbers</h2>",
        html_table(release_table(releases), caption=False),
        *_achieved(releases),
        *_intervals(releases),
        *_split(receipt),
        *(["<h2>What was measured</h2>", html_table(about_table(about), caption=False)] if about else []),
        *origin_section(receipt, origin),
        "<h2>How to read this</h2>",
        bullets((*(_READING_CURVES if any(map(is_curve, releases)) else ()), *_READING)),
        "<h2>What was assumed</h2>",
        bullets(assumptions(guarantee, releases)),
    ]


def fragment(releases: Sequence[Release]) -> str:
    """Return tables, guarantee and curves, as a notebook shows them."""
    words = " ".join(dict.fromkeys(guarantee_words(release.guarantee) for release in releases))
    tables = "".join((html_table(release_table(releases)), *_achieved(releases)))
    return f"<div>{tables}<p>{escape(words)}</p>{_curve_figures(releases)}</div>"


def _curves(releases: Sequence[Release], revealed: ScoreCounts | None) -> list[str]:
    drawn = _curve_figures(releases, revealed)
    return ["<h2>Released curves</h2>", drawn] if drawn else []


def _curve_figures(releases: Sequence[Release], exact: ScoreCounts | None = None) -> str:
    """Return the curves as figures with captions; an empty text if there are none."""
    curves = curves_to_draw(releases, exact)
    return figures(_figure(data) for data in curves) if curves else ""


def _figure(data: CurveData) -> str:
    metric = data.release.metric
    svg = as_svg(draw_curve, data, size=(5.4, (4.0 if metric == "counts" else 6.55) + 0.2 * data.extra))
    exact = f" Orange is {EXACT}." if data.exact is not None else ""
    return figure(svg, f"private-{metric}", curve_caption(data.release) + exact)


def _achieved(releases: Sequence[Release]) -> list[str]:
    achieved = achieved_table(releases)
    return [] if achieved is None else [html_table(achieved)]


def _intervals(releases: Sequence[Release]) -> list[str]:
    drawn = [release for release in releases if drawable(release)]
    if not drawn:
        return []
    svg = as_svg(draw_intervals, drawn, size=intervals_size(drawn))
    return [figures([figure(svg, "intervals", INTERVALS + _not_drawn(releases))])]


def _not_drawn(releases: Sequence[Release]) -> str:
    """Name the numbers that are in the table but not in the plot."""
    left = [metric_name(release) for release in releases if not drawable(release) and not is_curve(release)]
    return f" Not drawn, as they are no shares: {', '.join(left)}." if left else ""


def _split(receipt: Receipt[Release]) -> list[str]:
    split = split_of(receipt)
    if len(split) == 1:
        return []
    return ["<h2>How the budget was divided</h2>", html_table(split_table(split), caption=False)]


def assumptions(guarantee: Guarantee, releases: Sequence[Release]) -> list[str]:
    """Return the assumptions of the guarantee and of the intervals of these releases."""
    public = ", ".join(guarantee.public) or "nothing but the parameters shown here"
    return [
        f"Taken to be public: {public}.",
        "Nobody has more rows than stated here; one row, if nothing is stated."
        if guarantee.unit == "person"
        else "Single rows are protected. A person with several rows is protected less: multiply epsilon by their "
        "number.",
        "Each score depends on its own row and on public facts alone. Scores of models that were fitted to other rows "
        "of these data, as in a cross-validation, are outside this promise.",
        "If the model was trained on these same rows, its training needs a guarantee of its own, and these numbers are "
        "optimistic.",
        "The population interval assumes that rows are an independent sample."
        + (_AUC_SPREAD if any(release.metric == "auc" and not from_cells(release) for release in releases) else ""),
    ]
