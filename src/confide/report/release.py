"""A release: its tables, sentences, page and data frame, and the receipt that a notebook shows.

Everything here is public: the ledger charges by public facts, so its total says nothing about the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confide.errors import UsageError
from confide.intervals.interval import Interval
from confide.ledger.receipts import Quote, Receipt
from confide.metrics.names import metric_title
from confide.privacy.guarantee import Guarantee, shown
from confide.provenance import PublicProvenance
from confide.releases.confusion import CELLS
from confide.releases.release import PreparedRelease, Release, ReleasedCurve
from confide.report.numbers import interval_text, number, percent
from confide.report.origin import TITLE, provenance_table
from confide.report.promises import attacker_words, guarantee_words
from confide.report.release_plots import (
    EXACT,
    SHAPE_NAMES,
    CurveData,
    at_a_threshold,
    curves_to_draw,
    draw_curve,
    draw_intervals,
    drawable,
    from_cells,
    intervals_size,
    is_curve,
    metric_name,
    plot_releases,
)
from confide.report.style import as_svg
from confide.report.writers.frames import data_frame
from confide.report.writers.html import bullets, figure, figures, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_line, print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from rich.console import Console

    from confide.counts import ScoreCounts


_WITHOUT_ORDER = {"roc", "auc", "counts", "prevalence"}
"""Metrics that need no assumption that classes are mixed evenly within a cell."""


def notes(releases: Sequence[Release]) -> list[str]:
    """Return what a reader of these numbers should know."""
    lines = []
    if any(at_a_threshold(release) for release in releases):
        lines.append("At a threshold: rows with a score at or above it are called positive.")
    if any("scores_cut_to" in release.options for release in releases):
        lines.append(
            "For the Brier score, scores are clipped to [0, 1] first; it has a meaning for probabilities only."
        )
    if any(release.metric == "average_precision" and not from_cells(release) for release in releases):
        lines.append("Average precision ranks tied negatives above positives.")
    lines += curve_notes(releases)
    empty = [metric_name(release) for release in releases if says_little(release)]
    if empty:
        lines.append(
            f"The interval of {', '.join(empty)} covers nearly all possible values: there are too few rows for this "
            "epsilon, or the grid does not fit the scores."
        )
    return lines


def says_little(release: Release) -> bool:
    """Return whether the interval of a proportion covers nearly all of [0, 1]."""
    return drawable(release) and release.intervals.sample.width >= 0.9


def curve_notes(releases: Sequence[Release]) -> Iterator[str]:
    """Yield what a reader of private curves should know."""
    counted = next((release for release in releases if from_cells(release)), None)
    if counted is not None:
        own_auc = any(has_own_auc(release) for release in releases)
        yield f"{_table_note(counted, own_auc=own_auc)} {_order_note(releases, own_auc=own_auc)}{_range_note(counted)}"
        yield from _crowded(releases)
        if any(release.curve is not None for release in releases):
            yield _shape_note(counted.options["shape"])
    if any(release.curve is not None and release.curve.bands for release in releases):
        yield "Bands are simultaneous: they cover the whole curve."
    if any("assumed" in release.options for release in releases):
        yield "The shape of the ROC curve is an assumption, and its bands depend on it: only the area was measured."


def has_own_auc(release: Release) -> bool:
    """Return whether the AUC of a ROC curve was released with noise of its own."""
    return release.metric == "roc" and "area" in release.options and from_cells(release)


def _table_note(counted: Release, *, own_auc: bool) -> str:
    """Return which numbers come from the table of noisy counts."""
    table = f"one table of noisy counts in {cells_of(counted)} cells of scores."
    if not own_auc:
        return f"All numbers come from {table}"
    return (
        "The AUC, also that of the ROC curve, has noise of its own, for a quarter of epsilon; the area under the drawn "
        f"curve may differ from it. All other numbers come from {table}"
    )


def _order_note(releases: Sequence[Release], *, own_auc: bool) -> str:
    """Return what is assumed about the order of rows within a cell, for the numbers that were released."""
    metrics = {release.metric for release in releases}
    curves, area = bool(metrics & {"roc", "pr"}), bool(metrics & {"roc", "auc"}) and not own_auc
    ranked = "Curves and the AUC estimate" if curves and area else "Curves estimate" if curves else "The AUC estimates"
    lines = [f"{ranked} the order within a cell from its neighbours. "] if curves or area else []
    if metrics - _WITHOUT_ORDER:
        lines.append(
            f"{'Other values' if lines else 'Values'} assume that classes are mixed evenly within a cell, and their "
            "intervals allow for any order. "
        )
    return "".join(lines)


def _crowded(releases: Sequence[Release]) -> Iterator[str]:
    """Yield a note if most rows lie in one cell, judged from the released counts."""
    table = next((release.curve for release in releases if release.metric == "counts"), None)
    if table is None or "positives" not in table.points:
        return
    rows = [ours + theirs for ours, theirs in zip(table.points["positives"], table.points["negatives"], strict=True)]
    if max(rows) > 0.8 * sum(rows):
        yield "Most rows lie in one cell: the grid does not fit these scores, and a better one would tell more."


def _range_note(release: Release) -> str:
    """Return the range of scores that the grid covers."""
    grid = release.options.get("grid")
    low, high = release.options.get("range", [grid[0], grid[-1]] if grid else [0.0, 1.0])
    return f"Scores are counted between {low:.4g} and {high:.4g}; those outside the grid count in its end cells."


def cells_of(release: Release) -> int:
    """Return the number of cells of the grid."""
    return int(release.options["cells"] if "cells" in release.options else len(release.options["grid"]) - 1)


def _shape_note(shape: str) -> str:
    if shape == "concave":
        return (
            "Curves were made proper (concave): the share of positives rises from cell to cell, up to rounding to "
            "whole rows."
        )
    if shape in SHAPE_NAMES:
        return f"Curves have a {SHAPE_NAMES[shape]} shape, which is an assumption; the bands do not depend on it."
    return (
        "Curves follow the noisy counts, including their dents: either the counts contradict a proper (concave) curve, "
        "or this shape was requested."
    )


def release_table(releases: Sequence[Release]) -> Table:
    """Return one line for each released number, with both intervals."""
    level = percent(releases[0].intervals.sample.level)
    return Table(
        title="Private release",
        head=("metric", "value", f"sample, {level}", f"population, {level}", "mechanism"),
        body=tuple(
            (
                metric_name(release),
                number(release.value, _digits(release)),
                interval_text(release.intervals.sample, _digits(release)),
                interval_text(release.intervals.population, _digits(release)),
                release.mechanism,
            )
            for release in releases
        ),
        note=" ".join(notes(releases)),
        text_columns=("mechanism",),
    )


def _digits(release: Release) -> int:
    if release.metric == "threshold":
        return 4
    if release.metric == "counts":
        return 0
    return 1 if release.metric in CELLS else 3


def achieved_table(releases: Sequence[Release]) -> Table | None:
    """Return recall and specificity at the chosen threshold; None if none was chosen."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    if chosen is None:
        return None
    level = percent(chosen.intervals.sample.level)
    return Table(
        title=f"At the chosen threshold, {number(chosen.value, 4)}{_ENDS.get(chosen.value, '')}",
        head=("measure", "value", f"sample, {level}", f"population, {level}"),
        body=tuple(_achieved_row(chosen, measure) for measure in ("recall", "specificity")),
        note="These intervals are valid although the threshold was chosen from the released numbers: they are "
        f"simultaneous over all edges of the grid. {_target_note(chosen)}",
    )


def _achieved_row(chosen: Release, measure: str) -> tuple[str, ...]:
    intervals = chosen.parts[f"{measure}_intervals"]
    ends = (interval_text(Interval(**intervals[name])) for name in ("sample", "population"))
    return (measure, number(chosen.parts[measure]), *ends)


_ENDS = {math.inf: ": nobody is called positive", -math.inf: ": everybody is called positive"}


def _target_note(chosen: Release) -> str:
    if math.isinf(chosen.value):
        return "No edge of the grid reaches the target: use more epsilon, a finer grid or a lower target."
    if chosen.options["safe"]:
        return "Even the lower end of the sample interval reaches the target."
    return "The estimate reaches the target; a safe threshold reaches it at the lower end of the interval."


def split_table(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> Table:
    """Return how the budget is divided; metrics on one line share one draw of noise."""
    return Table(
        title="Budget",
        head=("metrics", "epsilon", "delta"),
        body=tuple(
            (
                ", ".join(map(metric_title, names)),
                shown(part.epsilon, up=True),
                shown(part.delta, up=True),
            )
            for names, part in parts
        ),
    )


def split_of(receipt: Receipt[Release]) -> list[tuple[list[str], Guarantee]]:
    """Return the metrics of each answer, which share one draw of noise, with its guarantee."""
    return [([release.metric for release in answer], answer[0].guarantee) for answer in receipt.answers]


def ledger_table(receipt: Receipt[Any]) -> Table:
    """Return what was charged and what is left."""
    charged, note = receipt.in_a_cell()
    return Table(
        title="Ledger",
        head=(
            "account",
            "charged",
            "spent in total",
            "left" if receipt.analyst is None else f"left to {receipt.analyst}",
        ),
        body=((receipt.account, charged, receipt.spent.in_words(), receipt.remaining.in_words()),),
        note=note,
    )


def about_table(about: Mapping[str, str]) -> Table:
    """Return the description of what was measured."""
    return Table(title="What was measured", head=("", "meaning"), body=tuple(about.items()), text_columns=("meaning",))


INTERVALS_IN_WORDS = (
    "Intervals: sample is for the exact value of these rows, and allows for noise; population is for the value among "
    "all people like these, and allows for noise and sampling."
)


def print_release(receipt: Receipt[Release], console: Console) -> None:
    """Print the released numbers, the guarantee in words and the ledger."""
    releases = receipt.releases
    print_table(release_table(releases), console)
    achieved = achieved_table(releases)
    if achieved is not None:
        print_table(achieved, console)
    split = split_of(receipt)
    if len(split) > 1:
        print_table(split_table(split), console)
    print_line(INTERVALS_IN_WORDS, console)
    print_line(guarantee_words(receipt.guarantee), console)
    console.print()
    print_table(ledger_table(receipt), console)


def print_quote(quote: Quote, prepared: Sequence[PreparedRelease], console: Console) -> None:
    """Print the price of a request."""
    print_table(split_table([(_metrics(part), part.guarantee) for part in prepared]), console)
    price, note = quote.in_a_cell()
    print_table(
        Table(
            title="Price",
            head=("account", "price", "left now", "left after"),
            note=note,
            body=((quote.account, price, quote.remaining.in_words(), quote.remaining_after.in_words()),),
        ),
        console,
    )
    print_line(quote.refusal or "It fits. Nothing was charged.", console)


def _metrics(prepared: PreparedRelease) -> list[str]:
    """Return the metrics that a prepared request answers."""
    return list(prepared.requested or [prepared.request["metric"]])


def one_line(release: Release) -> str:
    """Return a value with both intervals and its price in one line."""
    intervals = release.intervals
    return (
        f"{metric_name(release)} {number(release.value)} (sample {interval_text(intervals.sample)}, "
        f"population {interval_text(intervals.population)}; epsilon {shown(release.guarantee.epsilon, up=True)}, "
        f"{release.guarantee.neighbours.value})"
    )


CAPTION_OF_INTERVALS = (
    "Released values (dots) with two intervals. Thick: for the exact value of these rows (noise). Thin: for the "
    "population that the rows were drawn from (noise and sampling)."
)

_CAPTIONS = {
    "roc": "True-positive rate against false-positive rate at each threshold. The dotted diagonal is guessing.",
    "pr": "Precision against recall at each threshold. No model can reach the hatched region at the released "
    "prevalence; the dotted line is guessing.",
    "calibration": "Observed frequency of the outcome at each predicted risk: dots at the mean score of a bin, lines "
    "from its lower to its upper edge. On the diagonal the model is calibrated; below it, predicted risks are too "
    "high. Bins have about equal numbers of rows. Mean scores use the middle of each cell, since scores within cells "
    "are unknown.",
    "counts": "Positives (up) and negatives (down) in each cell of the grid, each on its own scale. All cells are "
    "drawn equally wide; the numbers below are edges of cells.",
}

_BANDS = (
    " Strong colour: band for the whole exact curve of these rows (noise). Faint colour: band for the whole "
    "curve of the population (noise and sampling). {steps}"
)

_STEPS = "Bands have steps because nothing is known between the thresholds of the grid."


def curve_caption(release: Release) -> str:
    """Return the caption of a curve, with the assumptions that its shape rests on."""
    text = _CAPTIONS[release.metric]
    if release.curve is not None and release.curve.bands:
        text += _BANDS.format(steps=_STEPS if "threshold" in release.curve.points else "").rstrip()
    if release.metric == "calibration" and release.curve is not None and not _probabilities(release.curve):
        text += " The grid extends beyond [0, 1]: such scores are not probabilities, and only observed shares count."
    if "assumed" in release.options:
        text += (
            f" The shape is an assumption ({release.options['assumed']}): only the area was measured, and the bands "
            "are valid only under that assumption."
        )
    elif release.options.get("shape") in SHAPE_NAMES and release.metric != "counts":
        text += f" The shape ({SHAPE_NAMES[release.options['shape']]}) is an assumption; the bands do not depend on it."
    return text


def _probabilities(curve: ReleasedCurve) -> bool:
    return curve.points["lower_edge"][0] >= 0.0 and curve.points["upper_edge"][-1] <= 1.0


_ALL = "all its releases"


def origin_section(receipt: Receipt[Any], origin: PublicProvenance | None) -> list[str]:
    """Return the section; empty if nothing is known."""
    if origin is not None and not isinstance(origin, PublicProvenance):
        raise TypeError("a page to be published takes a PublicProvenance, which holds no digest of the data")
    table = origin_table(receipt, origin)
    if not table.body:
        return []
    words = "" if receipt.total is None else f"<p>{escape(total_words(receipt.total))}</p>"
    return [f"<h2>{TITLE}</h2>", words, html_table(table, caption=False, prose=True)]


def origin_table(receipt: Receipt[Any], origin: PublicProvenance | None) -> Table:
    """Return the day of the release, the total spent, and the facts of the page."""
    facts = () if origin is None else provenance_table(origin).body
    named = ((_NAMES.get(name, name), value) for name, value in facts)
    return Table(title=TITLE, head=("", "value"), body=(*_paid(receipt), *named), text_columns=("value",))


_NAMES = {"date": "date of this page"}


def _paid(receipt: Receipt[Any]) -> Iterator[tuple[str, str]]:
    if receipt.released_at is not None:
        yield "released", day_of(receipt.released_at)
    if receipt.total is not None:
        yield "spent in total", receipt.total.summary


def total_words(total: Guarantee) -> str:
    """Describe what everything that an account paid for promises together."""
    amount = f"epsilon {shown(total.epsilon, up=True)}" + (
        f" and delta {shown(total.delta, up=True)}" if total.delta else ""
    )
    stated = f"The account of these data has spent {amount} in total so far, this release included."
    return " ".join((stated, *attacker_words(total, seen=_ALL)))


def day_of(at: str) -> str:
    """Return the day of a moment. Seconds are left out: they would tell how long the work took."""
    return at[:10]


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
    return [figures([figure(svg, "intervals", CAPTION_OF_INTERVALS + _not_drawn(releases))])]


def _not_drawn(releases: Sequence[Release]) -> str:
    """Name the numbers that are in the table but not in the plot."""
    left = [metric_name(release) for release in releases if not drawable(release) and not is_curve(release)]
    return f" Not drawn, as they are not shares: {', '.join(left)}." if left else ""


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


COLUMNS = (
    *("metric", "threshold", "value", "sample_lower", "sample_upper", "population_lower", "population_upper"),
    *("level", "mechanism", "epsilon", "delta", "neighbours"),
)


def release_frame(releases: Sequence[Release]) -> DataFrame:
    """Return one row for each released number, with both intervals and the guarantee."""
    return data_frame(map(_row, releases), COLUMNS)


def _row(release: Release) -> dict[str, Any]:
    sample, population = release.intervals.sample, release.intervals.population
    return {
        "metric": release.metric,
        "threshold": release.options["threshold"] if at_a_threshold(release) else None,
        "value": release.value,
        "sample_lower": sample.lower,
        "sample_upper": sample.upper,
        "population_lower": population.lower,
        "population_upper": population.upper,
        "level": sample.level,
        "mechanism": release.mechanism,
        "epsilon": float(release.guarantee.epsilon),
        "delta": float(release.guarantee.delta),
        "neighbours": release.guarantee.neighbours.value,
    }


def plot_receipt(receipt: Receipt[Any]) -> Figure:
    """Draw the released curves, or the released numbers with both intervals."""
    return plot_releases(_numbers(receipt))


def receipt_frame(receipt: Receipt[Any]) -> DataFrame:
    """Return one row for each released number."""
    return release_frame(_numbers(receipt))


def receipt_fragment(receipt: Receipt[Any]) -> str:
    """Return the releases and the ledger, as a notebook shows them."""
    releases = [release for release in receipt.releases if isinstance(release, Release)]
    others = [release for release in receipt.releases if not isinstance(release, Release)]
    numbers = fragment(releases) if releases else ""
    texts = "".join(f"<p>{escape(str(release))}</p>" for release in others)
    return f"<div>{numbers}{texts}{html_table(ledger_table(receipt))}</div>"


def _numbers(receipt: Receipt[Any]) -> tuple[Release, ...]:
    """Return the releases of a receipt; refuse receipts of models and selections."""
    releases = tuple(release for release in receipt.releases if isinstance(release, Release))
    if not releases:
        raise UsageError("this receipt holds no released numbers or curves; look at its `releases`")
    return releases
