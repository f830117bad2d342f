"""Page of a study that recurs: how performance develops over time, for all sites together and for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from confide.federation.coordinator.series import MEASURES, Edition, series_names
from confide.federation.coordinator.series_cost import series_cost
from confide.report.shared.page import bullets, figure, html_table, lead, whole_page
from confide.report.shared.style import as_svg, marker, style
from confide.report.validation.series_text import (
    measure_tables,
    missing_lines,
    promise_lines,
    series_lead,
    series_title,
    spent_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FOOTER = "Made with confide from stored results of earlier editions; nobody was asked again for this page."
_IDEAL = {"observed_expected": 1.0, "calibration_slope": 1.0}


def series_page(editions: Sequence[Edition]) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(series_title(editions), _parts(editions), footer=_FOOTER)


def _parts(editions: Sequence[Edition]) -> Iterator[str]:
    yield lead(series_lead(editions))
    yield (
        "<p>Each edition has noise of its own. A change is worth a look if intervals hardly overlap, or if it goes on "
        "over several editions.</p>"
    )
    for measure, table in measure_tables(editions):
        svg = as_svg(_draw, (measure, editions), size=(7.2, 3.6))
        caption = f"{MEASURES[measure]} by edition, with intervals where they are known."
        yield figure(svg, f"series-{measure}", caption)
        yield html_table(table)
    missing = list(missing_lines(editions))
    if missing:
        yield bullets(missing)
    cost = series_cost(editions)
    yield f"<h2>Promise to the people in the data</h2>{bullets(promise_lines(cost))}"
    yield html_table(spent_table(cost))


def _draw(ax: Axes, data: tuple[str, Sequence[Edition]]) -> None:
    measure, editions = data
    names = series_names(editions)
    for index, site in enumerate(names):
        shift = 0.06 * (index - (len(names) - 1) / 2)
        found = [(place, edition.estimate(measure, site)) for place, edition in enumerate(editions)]
        points = [(place + shift, estimate) for place, estimate in found if estimate is not None]
        if not points:
            continue
        looks = style(index)
        ax.plot([x for x, _ in points], [one.value for _, one in points], marker=marker(index), label=site, **looks)
        for x, one in points:
            if one.interval is not None:
                ax.plot([x, x], [one.interval.lower, one.interval.upper], color=looks["color"], linewidth=1.2)
    if measure in _IDEAL:
        ax.axhline(_IDEAL[measure], color="#b5b5b5", linewidth=0.8)
    ax.set_xticks(range(len(editions)), [edition.name for edition in editions])
    ax.set_xlim(-0.5, len(editions) - 0.5)
    ax.set_ylabel(MEASURES[measure])
    ax.legend()
