"""A validation as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.style import as_svg
from confide.report.validation.calibration_plots import draw_site_calibrations, panels_size, site_calibrations
from confide.report.validation.captions import captions, site_calibration_caption
from confide.report.validation.forest import forest_of
from confide.report.validation.forest_plot import draw_forest
from confide.report.validation.forest_text import forest_caption
from confide.report.validation.methods import how_table
from confide.report.validation.plot_data import PlotData
from confide.report.validation.plots import drawings, plot_size
from confide.report.validation.released import released_table
from confide.report.validation.tables import numbers_table, sites_table
from confide.report.validation.text import absent_words, forests, guarantee_lines, lead_of, no_forest_words, title_of

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation

_FOOTERS = {
    False: "Computed from what the sites released, and from nothing else; the guarantee is stated above. Made with "
    "confide.",
    True: "This is not a private release: no proven guarantee protects the people in these data. Made with confide.",
}

_RED = "border-color: #b00020; background: #fdecee; color: #8a0019"

_READING = (
    "AUC: the probability that a random positive row has a higher score than a random negative row. 0.5 is guessing, "
    "1 is perfect.",
    "ROC-GLM: a smooth (binormal) ROC curve fitted to all rows, TPR = Φ(intercept + slope Φ⁻¹(FPR)), and its AUC.",
    "Average precision depends on prevalence: compare it with the prevalence, not with 0.5.",
    "Brier score: the mean squared difference between risk and outcome; lower is better.",
    "Observed : expected: number of positives divided by the sum of risks. Above 1, risks are too low on average; "
    "below 1, too high. A calibration intercept above 0 means the same in log-odds.",
    "Calibration slope: below 1, risks are too extreme: high risks too high and low risks too low.",
    "Mean over sites: the value at a typical site, with sites weighted by precision in a random-effects model. All "
    "rows together: the value for a typical person of these data. Where sites differ, the two differ.",
    "Prediction interval: range of the true value expected at another site like these. It is the interval to look at "
    "before using the model elsewhere.",
)


def validation_page(validation: Validation) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    noisy = mode_of(validation.question).comparison_only
    return whole_page(title_of(validation), _parts(validation), footer=_FOOTERS[noisy])


def fragment(validation: Validation) -> str:
    """Return the result, the guarantee and the sites, as a notebook shows them."""
    tables = (html_table(table) for table in (numbers_table(validation), sites_table(validation)))
    guarantee = f"<p><strong>Guarantee</strong> for the people in the data:</p>{bullets(guarantee_lines(validation))}"
    box = _not_private(validation) if mode_of(validation.question).comparison_only else guarantee
    return "".join(("<div>", lead(lead_of(validation)), box, *tables, "</div>"))


def _parts(validation: Validation) -> Iterator[str]:
    if mode_of(validation.question).comparison_only:
        yield _not_private(validation)
    yield lead(lead_of(validation))
    if not mode_of(validation.question).comparison_only:
        yield "<p><strong>Guarantee</strong> for the people in the data:</p>"
        yield bullets(guarantee_lines(validation))
    yield "<h2>Key numbers</h2>"
    yield html_table(numbers_table(validation), caption=False)
    yield "<h2>Site by site</h2>"
    yield from _forest_figures(validation)
    yield html_table(sites_table(validation))
    yield from _absent(validation)
    yield html_table(released_table(validation))
    yield "<h2>Curves</h2>"
    yield from _curve_figures(PlotData.of(validation))
    yield "<h2>How it was done</h2>"
    yield html_table(how_table(validation), caption=False)
    yield "<h2>How to read this</h2>"
    yield bullets(_READING)


def _not_private(validation: Validation) -> str:
    """Return the warning that comes first where nothing is guaranteed."""
    reasons = " ".join(guarantee_lines(validation))
    return (
        f'<p class="warning" style="{_RED}"><strong>NOT differentially private.</strong> This is the published method, '
        f"run for comparison only. {escape(reasons)}.</p>"
    )


def _forest_figures(validation: Validation) -> Iterator[str]:
    names = forests(validation)
    if not names:
        yield f"<p>{escape(no_forest_words(validation.question))}</p>"
    for name in names:
        forest = forest_of(validation, name)
        if forest is not None:
            svg = as_svg(draw_forest, forest, size=forest.size)
            yield _wide(figure(svg, f"forest-{name}", forest_caption(forest)), 58)


def _absent(validation: Validation) -> Iterator[str]:
    lines = list(absent_words(validation))
    if lines:
        yield "<p>Some sites did not take part:</p>"
        yield bullets(lines)


def _curve_figures(data: PlotData) -> Iterator[str]:
    validation = data.validation
    texts = captions(validation)
    yield figures(
        figure(as_svg(draw, data, size=plot_size(validation, name)), f"curve-{name}", texts[name])
        for name, draw in drawings(validation).items()
    )
    sites = len(site_calibrations(validation))
    if sites:
        svg = as_svg(draw_site_calibrations, data, size=panels_size(sites))
        yield _wide(figure(svg, "site-calibration", site_calibration_caption(validation)), min(16 + 12 * sites, 70))


def _wide(content: str, rem: int) -> str:
    """Return a figure over the whole width of the page, or as much of it as it needs."""
    return f'<div style="max-width: {rem}rem; margin: 1.2rem 0">{content}</div>'
