"""Validations in each mode, and what a reader sees of them, for tests of their reports."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from html import unescape
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console

from confide.federation.coordinator.performance import Performance
from confide.federation.coordinator.validation import Validation, derive
from confide.federation.protocol import SiteReport
from confide.federation.site_state import SiteState
from confide.intervals.interval import Estimate
from confide.privacy import noisy_counts
from confide.releases import curve_numbers
from confide.report import style
from confide.report.validation.pages import print_validation, validation_page
from tests.federation.outcomes import drawn_sites, outcome_of

NAMES = ("east", "north", "south", "west")
HOSTILE = "</p><script>alert(1)</script>\"'><img src=x onerror=alert(2)> \x1b[31m[bold]red[/bold] \u202eevil"
ABSENT = (
    SiteReport(name="alps", state=SiteState.REFUSED, message=f"the study is not allowed here {HOSTILE}"),
    SiteReport(name="coast", state=SiteState.SILENT, message="it did not reply within 60 s"),
    SiteReport(name="valley", state=SiteState.FAILED, message="its rows cannot be read"),
)
TERMS: dict[str, dict[str, Any]] = {
    "disclosure-control": {},
    "secure-sum": {},
    "private": {"epsilon": 4},
    "private, sum alone": {"epsilon": 4, "site_share": 0},
    "noisy-scores": {"epsilon": 5, "delta": "0.01", "sensitivity": "0.2"},
}
OWN_RESULTS = ("disclosure-control", "private")
SUMS_ALONE = tuple(name for name in TERMS if name not in OWN_RESULTS)


@cache
def made(case: str) -> Validation:
    """The validation of a case; intervals are simulated from few tables, which is rougher but as good here."""
    mode = case.split(", ")[0]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(noisy_counts, "DRAWS", noisy_counts.FEWEST_DRAWS)
        patched.setattr(curve_numbers, "RISEN_DRAWS", 50)
        return derive(outcome_of(drawn_sites(300, NAMES), mode, absent=ABSENT, **TERMS[case]), null_auc=0.7)


@cache
def page(case: str) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(noisy_counts, "DRAWS", noisy_counts.FEWEST_DRAWS)
        patched.setattr(curve_numbers, "RISEN_DRAWS", 50)
        return validation_page(made(case))


def words(html: str) -> str:
    """What a reader reads, on one line."""
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def terminal(validation: Validation, width: int) -> str:
    buffer = io.StringIO()
    print_validation(validation, Console(file=buffer, width=width, color_system=None))
    return buffer.getvalue()


def written(estimate: Estimate | None) -> list[str]:
    """A value and its interval as tables have them."""
    assert estimate is not None
    found = [f"{estimate.value:.3f}"]
    if estimate.interval is not None:
        found.append(f"{estimate.interval.lower:.3f} to {estimate.interval.upper:.3f}")
    return found


def seen(validation: Validation) -> list[tuple[str, Performance]]:
    return [(site.name, site.result) for site in validation.sites if site.result is not None]


def axes_of(draw: style.Drawing, shown: Any, size: tuple[float, float]) -> Any:
    """The axes of a picture."""
    with style.house_style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots(), shown)
    return figure.axes


def overhang(draw: style.Drawing, shown: Any, size: tuple[float, float]) -> float:
    """By how many inches something leaves its picture."""
    with style.house_style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots(), shown)
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
    return float(max(-box.x0, -box.y0, box.x1 - size[0], box.y1 - size[1]))


def renamed(validation: Validation) -> Validation:
    """The same with names of forty letters."""
    sites = tuple(
        replace(
            site, report=replace(site.report, name=f"{site.name} {'University Hospital of the Province ' * 2}"[:40])
        )
        for site in validation.sites
    )
    new = dict(zip((site.name for site in validation.sites), (site.name for site in sites), strict=True))
    summarised = {measure: tuple(new[name] for name in names) for measure, names in validation.summarised.items()}
    return replace(validation, sites=sites, summarised=summarised)
