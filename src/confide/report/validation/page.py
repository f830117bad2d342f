"""A validation across sites for people: on a terminal, and as one HTML page with forest plots and curves."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared import plots
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.text import print_table
from confide.report.validation.forest import draw_forest, forest_of
from confide.report.validation.forest_text import forest_caption
from confide.report.validation.methods import how_table
from confide.report.validation.plots import (
    Shown,
    captions,
    draw_site_calibrations,
    drawings,
    not_drawn_words,
    panels_size,
    picture,
    picture_size,
    site_calibrations,
)
from confide.report.validation.released import released_table
from confide.report.validation.tables import (
    absent_words,
    heterogeneity_lines,
    lead_of,
    no_forest_words,
    numbers_table,
    sites_table,
    title_of,
)

__all__ = ["picture", "print_validation", "validation_page"]

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.validation import Validation

_FOOTERS = {
    False: "Made from what the sites let go, and from nothing else; what that gives away is said above. Made with "
    "confide.",
    True: "Not to be taken for a private release: nothing proven protects the people in these data. Made with confide.",
}

_RED = "border-color: #b00020; background: #fdecee; color: #8a0019"

_READING = (
    "AUC: the probability that a positive row has a higher score than a negative one. 0.5 is guessing, 1 is perfect.",
    "ROC-GLM: a smooth (binormal) ROC curve fitted to all rows, TPR = Φ(intercept + slope Φ⁻¹(FPR)), and its AUC.",
    "Average precision depends on prevalence: compare it with the prevalence, not with 0.5.",
    "Brier score: the mean squared difference between risk and outcome; lower is better.",
    "Observed : expected: positives that there were over the sum of risks. Above 1 risks are too low on average, below "
    "1 too high; an intercept above 0 says the same in log-odds.",
    "Calibration slope: below 1, risks are too extreme: high ones too high and low ones too low.",
    "Mean over sites: what a typical site sees, each counting by what it knows, if true values differ from site to "
    "site. All rows together: what a typical person of these data sees. Where sites differ, so do the two.",
    "Prediction interval: where the true value at another site like these is expected. For use elsewhere it is the one "
    "to look at.",
)

_SITE_CALIBRATION = (
    "Calibration at each site: observed shares in bins with {level} intervals. Grey: all rows together. Above the "
    "dotted diagonal risks are too low at the site, below it too high."
)


def print_validation(validation: Validation, console: Console) -> None:
    """Print the result, how sites took part, what is promised and how it came about."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    say(title_of(validation))
    say(lead_of(validation))
    console.print()
    print_table(numbers_table(validation), console)
    for line in heterogeneity_lines(validation):
        say(f"• {line}")
    console.print()
    print_table(sites_table(validation, wide=False), console)
    for line in absent_words(validation):
        say(f"• {line}")
    print_table(released_table(validation), console)
    if not _forests(validation):
        say(no_forest_words(validation.question))
    console.print()
    say("What is promised")
    for line in _promise(validation):
        say(f"• {line}")
    console.print()
    print_table(how_table(validation), console)


def validation_page(validation: Validation) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    noisy = mode_of(validation.question).comparison_only
    return whole_page(title_of(validation), _parts(validation), footer=_FOOTERS[noisy])


def _parts(validation: Validation) -> Iterator[str]:
    if mode_of(validation.question).comparison_only:
        yield _not_private(validation)
    yield lead(lead_of(validation))
    if not mode_of(validation.question).comparison_only:
        yield "<p><strong>What is promised</strong> to the people in the data:</p>"
        yield bullets(_promise(validation))
    yield "<h2>Key numbers</h2>"
    yield html_table(numbers_table(validation), caption=False)
    yield "<h2>Site by site</h2>"
    yield from _forest_figures(validation)
    yield html_table(sites_table(validation))
    yield from _absent(validation)
    yield html_table(released_table(validation))
    yield "<h2>Curves</h2>"
    yield from _curve_figures(Shown.of(validation))
    yield "<h2>How it was done</h2>"
    yield html_table(how_table(validation), caption=False)
    yield "<h2>How to read this</h2>"
    yield bullets(_READING)


def _promise(validation: Validation) -> list[str]:
    return [f"{sentence[:1].upper()}{sentence[1:]}" for sentence in validation.promise()]


def _not_private(validation: Validation) -> str:
    """The box that stands first where nothing is promised."""
    reasons = " ".join(_promise(validation))
    return (
        f'<p class="warning" style="{_RED}"><strong>NOT differentially private.</strong> This is the published method, '
        f"run for comparison only. {escape(reasons)}.</p>"
    )


def _forests(validation: Validation) -> list[str]:
    """The measures that are seen at sites."""
    return [name for name in ("auc", "observed_expected") if forest_of(validation, name) is not None]


def _forest_figures(validation: Validation) -> Iterator[str]:
    names = _forests(validation)
    if not names:
        yield f"<p>{escape(no_forest_words(validation.question))}</p>"
    for name in names:
        forest = forest_of(validation, name)
        if forest is not None:
            svg = plots.as_svg(draw_forest, forest, size=forest.size)
            yield _wide(figure(svg, f"forest-{name}", forest_caption(forest)), 58)


def _absent(validation: Validation) -> Iterator[str]:
    lines = list(absent_words(validation))
    if lines:
        yield "<p>Not everybody took part:</p>"
        yield bullets(lines)


def _curve_figures(shown: Shown) -> Iterator[str]:
    validation = shown.validation
    said = captions(validation)
    yield figures(
        figure(plots.as_svg(draw, shown, size=picture_size(validation, name)), f"curve-{name}", said[name])
        for name, draw in drawings(validation).items()
    )
    sites = len(site_calibrations(validation))
    if sites:
        svg = plots.as_svg(draw_site_calibrations, shown, size=panels_size(sites))
        caption = _SITE_CALIBRATION.format(level=f"{100 * validation.level:g} %") + not_drawn_words(
            result for _, result in site_calibrations(validation)
        )
        yield _wide(figure(svg, "site-calibration", caption), min(16 + 12 * sites, 70))


def _wide(shown: str, rem: int) -> str:
    """A picture over the page's whole width, or as much of it as it needs."""
    return f'<div style="max-width: {rem}rem; margin: 1.2rem 0">{shown}</div>'
