"""The report of a validation: what it says is what was found, and what came from elsewhere cannot harm its reader."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console

from confide.counts import ScoreCounts
from confide.federation.coordinator.performance import Performance
from confide.federation.coordinator.validation import SiteResult, Validation, derive
from confide.federation.noisy_placements import NOT_PRIVATE
from confide.federation.outcome import SiteReport
from confide.federation.site_state import SiteState
from confide.intervals import private_counts
from confide.intervals.interval import Estimate, Interval
from confide.releases import curve_numbers
from confide.report.shared import style
from confide.report.validation.calibration_plots import draw_calibration, draw_site_calibrations, panels_size
from confide.report.validation.forest import forest_of
from confide.report.validation.forest_axis import axis_ends, ratio_ticks
from confide.report.validation.forest_plot import draw_forest
from confide.report.validation.forest_text import forest_caption
from confide.report.validation.methods import how_table
from confide.report.validation.names import cut, distinct, wrapped
from confide.report.validation.notes import hypothesis_words
from confide.report.validation.page import validation_page
from confide.report.validation.plot_data import PlotData
from confide.report.validation.plots import (
    MOST_NAMED,
    draw_decision,
    draw_roc,
    drawings,
    plot_size,
    plot_validation,
    site_style,
)
from confide.report.validation.released import NOTHING, released_table
from confide.report.validation.tables import numbers_table, sites_table
from confide.report.validation.text import lead_of, print_validation, title_of
from tests.federation.outcomes import drawn_sites, outcome_of

pytestmark = pytest.mark.slow

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
def budget(epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon, "delta": 0.0}


def made(case: str) -> Validation:
    """The validation of a case; intervals are simulated from few tables, which is rougher but as good here."""
    mode = case.split(", ")[0]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private_counts, "DRAWS", private_counts.FEWEST_DRAWS)
        patched.setattr(curve_numbers, "RISEN_DRAWS", 50)
        return derive(outcome_of(drawn_sites(300, NAMES), mode, absent=ABSENT, **TERMS[case]), null_auc=0.7)


@cache
def page(case: str) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private_counts, "DRAWS", private_counts.FEWEST_DRAWS)
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


@pytest.mark.parametrize("case", TERMS)
def test_a_page_needs_nothing_else_and_runs_nothing(case: str) -> None:
    html = page(case)
    assert html.startswith("<!DOCTYPE html>")
    assert html.rstrip().endswith("</html>")
    assert not re.search(r"<(script|img|iframe|link|object)\b", html)
    assert "@import" not in html
    assert not re.search(r"""(src|href)=["'](?!#)""", html)
    assert html.count("<svg ") == html.count("</svg>") >= 1
    names = re.findall(r'\bid="([^"]+)"', html)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("case", TERMS)
def test_page_and_terminal_show_the_numbers_that_were_found(case: str) -> None:
    validation, pooled = made(case), made(case).pooled
    expected = written(pooled.auc)
    assert pooled.roc_glm is not None
    expected += [f"{value:.3f}" for value in (pooled.roc_glm.auc, pooled.roc_glm.intercept, pooled.roc_glm.slope)]
    for name in ("average_precision", "brier", "observed_expected", "prevalence", "calibration_slope"):
        if getattr(pooled, name) is not None:
            expected += written(getattr(pooled, name))
    shown, printed = words(page(case)), " ".join(terminal(validation, 100).split())
    assert [text for text in expected if text not in shown] == []
    assert [text for text in expected if text not in printed] == []
    assert {row[0] for row in numbers_table(validation).body} >= {"AUC", "ROC-GLM: AUC"}


@pytest.mark.parametrize("case", TERMS)
def test_the_promise_and_the_mode_are_said(case: str) -> None:
    validation, shown = made(case), words(page(case))
    for sentence in validation.promise():
        assert sentence[1:] in shown
    assert f"mode {validation.question.mode}" in shown
    assert "7 asked, 4 answered" in shown
    assert f"{validation.question.grid}: " in shown
    assert "2, 3.2 s from the first question to the last answer" in shown


@pytest.mark.parametrize("case", OWN_RESULTS)
def test_sites_own_results_and_their_summary_are_shown(case: str) -> None:
    validation, shown = made(case), words(page(case))
    assert 'id="forest-auc-' in page(case)
    assert 'id="forest-observed_expected-' in page(case)
    for name, result in seen(validation):
        value, ends = written(result.auc)
        assert f"{value} ({ends})" in shown
        assert name in [row[0] for row in sites_table(validation).body]
    summary = validation.heterogeneity["auc"]
    assert summary.prediction is not None
    assert f"{summary.prediction.lower:.3f} to {summary.prediction.upper:.3f}" in shown
    assert summary.i_squared is not None
    assert f"I² = {100 * summary.i_squared:.0f} %" in shown
    assert f"Q = {summary.q:.2f}, p " in shown
    assert ("account for noise and for unknown positions" in shown) is (case == "private")


@pytest.mark.parametrize("case", SUMS_ALONE)
def test_where_only_sums_are_seen_there_is_no_forest_and_a_reason(case: str) -> None:
    validation, shown = made(case), words(page(case))
    assert "forest-" not in page(case)
    assert "site-calibration" not in page(case)
    assert "There is no forest plot: " in shown
    assert "There is no forest plot: " in terminal(validation, 200)
    assert forest_of(validation, "auc") is None
    assert sites_table(validation).head == ("site", "state")


def test_weights_are_those_of_the_summary_whatever_the_order_of_sites() -> None:
    validation = made("disclosure-control")
    backwards = replace(validation.outcome, sites=dict(reversed(list(validation.outcome.sites.items()))))
    for case in (validation, derive(backwards)):
        summary, forest = case.heterogeneity["auc"], forest_of(case, "auc")
        assert forest is not None
        raw = {}
        for row in forest.sites:
            assert row.estimate is not None
            assert row.estimate.standard_error is not None
            value = row.estimate.value
            raw[row.name] = 1.0 / ((row.estimate.standard_error / (value * (1.0 - value))) ** 2 + summary.tau_squared)
        for row in forest.sites:
            assert row.weight == pytest.approx(raw[row.name] / sum(raw.values()), rel=1e-6)


@cache
def with_a_tiny_site() -> Validation:
    """Three sites and one that is too small for noise: its interval of AUC leaves everything open."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private_counts, "DRAWS", private_counts.FEWEST_DRAWS)
        patched.setattr(curve_numbers, "RISEN_DRAWS", 50)
        return derive(outcome_of(drawn_sites((600, 500, 40, 700), NAMES), "private", epsilon=2))


def test_a_site_that_says_nothing_is_left_out_of_the_mean_by_name() -> None:
    validation = with_a_tiny_site()
    summary, forest = validation.heterogeneity["auc"], forest_of(validation, "auc")
    assert forest is not None
    assert validation.summarised["auc"] == ("east", "north", "west")
    assert {row.name: row.weight for row in forest.sites} == {
        **dict(zip(("east", "north", "west"), summary.weights, strict=True)),
        "south": None,
    }
    sentence = "south was left out of the mean: its interval covers almost all possible values."
    assert sentence in forest_caption(forest)
    assert sentence in " ".join(terminal(validation, 80).split())
    assert "left out of the mean" not in words(page("private"))
    (ax,) = axes_of(draw_forest, forest, forest.size)
    squares = [line for line in ax.lines if line.get_marker() == "s"]
    assert [square.get_markerfacecolor() == "white" for square in squares] == [False, False, True, False]
    shares = [text.get_text() for text in ax.texts if re.fullmatch(r"–|[\d.]+ %", text.get_text())]
    east, north, west = (f"{100 * weight:.1f} %" for weight in summary.weights)
    assert shares == [east, north, "–", west, "100 %"]


@pytest.mark.parametrize(
    ("value", "interval", "reason"),
    [
        (1.0, (0.8, 1.0), "an AUC of 0 or 1 has no log-odds"),
        (0.7, None, "its standard error is not known"),
        (math.nan, None, "it has no value"),
        (0.7, (0.02, 0.99), "its interval covers almost all possible values"),
    ],
)
def test_the_reason_why_a_site_is_left_out_is_said(
    value: float, interval: tuple[float, float] | None, reason: str
) -> None:
    forest = forest_of(made("disclosure-control"), "auc")
    assert forest is not None
    ends = None if interval is None else Interval(lower=interval[0], upper=interval[1], level=0.95, method="made up")
    odd = replace(forest.sites[0], estimate=Estimate(value=value, interval=ends), weight=None)
    caption = forest_caption(replace(forest, sites=(odd, *forest.sites[1:])))
    assert f" east was left out of the mean: {reason}." in caption


def test_several_sites_that_are_left_out_share_a_sentence_for_each_reason() -> None:
    forest = forest_of(made("disclosure-control"), "observed_expected")
    assert forest is not None
    endless = Interval(lower=0.0, upper=math.inf, level=0.95, method="made up")
    rows = [replace(row, estimate=Estimate(value=1.1, interval=endless), weight=None) for row in forest.sites]
    none = replace(rows[2], estimate=Estimate(value=0.0, interval=endless))
    caption = forest_caption(replace(forest, sites=(rows[0], rows[1], none, forest.sites[3])))
    assert "east and north were left out of the mean: their intervals reach 0 or have no end." in caption
    assert "south was left out of the mean: a ratio of 0 has no logarithm." in caption
    assert "4 sites were left out of the mean" in forest_caption(replace(forest, sites=tuple(rows)))
    alone = forest_caption(replace(forest, sites=tuple(rows), summary=None))
    assert "left out" not in alone
    assert "There is no mean over sites" in alone


@pytest.mark.parametrize("ends", [(0.0, math.inf), (1e-9, 1e9), (0.0, 1.4), (0.7, math.inf), (0.0, 0.0)])
def test_endless_ratios_leave_the_axis_as_arrows(ends: tuple[float, float]) -> None:
    forest = forest_of(made("disclosure-control"), "observed_expected")
    assert forest is not None
    wide = Interval(lower=ends[0], upper=ends[1], level=0.95, method="made up")
    value = 0.0 if ends == (0.0, 0.0) else 1.1
    odd = replace(forest.sites[0], estimate=Estimate(value=value, interval=wide), weight=None)
    drawn = replace(forest, sites=(odd, *forest.sites[1:]))
    low, high = axis_ends(drawn)
    assert 0.05 < low < 0.75
    assert 1.4 < high < 20.0
    (ax,) = axes_of(draw_forest, drawn, drawn.size)
    arrows = {str(line.get_marker()) for line in ax.lines if list(line.get_ydata()) == [0]} & {"<", ">"}
    assert arrows == {mark for mark, out in (("<", ends[0] < low), (">", ends[1] > high)) if out}
    assert ("Arrows: " in forest_caption(drawn)) is bool(arrows)
    (line,) = (line for line in ax.lines if list(line.get_ydata()) == [0, 0])
    np.testing.assert_allclose(line.get_xdata(), np.clip(ends, low, high))
    assert overhang(draw_forest, drawn, drawn.size) <= 0.02


@pytest.mark.parametrize("others", [(0.99, 1.02), (0.5, 1.8), (0.2, 7.0), (0.02, 60.0), (1e-4, 1e4)])
def test_labels_of_ratios_do_not_run_together(others: tuple[float, float]) -> None:
    forest = forest_of(_renamed(made("disclosure-control")), "observed_expected")
    assert forest is not None
    ends = Interval(lower=others[0], upper=others[1], level=0.95, method="made up")
    rows = tuple(
        replace(row, estimate=Estimate(value=value, interval=ends))
        for row, value in zip(forest.sites, (1.0, math.sqrt(math.prod(others)), *others), strict=True)
    )
    with style.house_style():
        figure = Figure(figsize=forest.size, layout="constrained")
        FigureCanvasAgg(figure)
        draw_forest(figure.subplots(), replace(forest, sites=rows, pooled=None, summary=None))
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert len(boxes) >= 3
    assert all(right.x0 - left.x1 > 3.0 for left, right in pairwise(boxes))


def test_the_noisy_scores_page_says_first_that_it_is_not_private() -> None:
    html = page("noisy-scores")
    box = html.index("NOT differentially private.</strong>")
    assert box < html.index("was validated at")
    assert NOT_PRIVATE[1:] in words(html)
    assert dict(zip(*_east("noisy-scores"), strict=True))["what it released"].startswith("a noisy score of every row")
    assert "of the noise alone: no guarantee follows" in words(html)
    for case in TERMS:
        assert case == "noisy-scores" or "NOT differentially private" not in page(case)


@pytest.mark.parametrize("case", TERMS)
def test_what_sites_say_cannot_harm_a_reader(case: str) -> None:
    html, printed = page(case), terminal(made(case), 80)
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    for text in (html, printed):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "[bold]red[/bold]" in " ".join(printed.split())


def test_hostile_names_are_escaped_in_tables_and_pictures() -> None:
    validation = made("disclosure-control")
    old = validation.sites[1]
    sites = tuple(
        replace(site, report=replace(site.report, name=f"--> {HOSTILE[:60]}")) if site is old else site
        for site in validation.sites
    )
    html = validation_page(replace(validation, sites=sites))
    assert "<script" not in html
    assert "--> <" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("case", TERMS)
def test_sites_that_did_not_take_part_are_shown_with_their_reasons(case: str) -> None:
    shown, printed = words(page(case)), " ".join(terminal(made(case), 80).split())
    for text in (shown, printed):
        assert "alps, refused: the study is not allowed here" in text
        assert "coast, silent: it did not reply within 60 s" in text
        assert "valley, failed: its rows cannot be read" in text
    states = {row[0]: row[1] for row in sites_table(made(case)).body}
    assert states == {"alps": "refused", "coast": "silent", "valley": "failed", **dict.fromkeys(NAMES, "answered")}
    released = {row[0]: row[1] for row in released_table(made(case)).body}
    assert all((released[name] == NOTHING) is (name not in NAMES) for name in released)


def test_each_mode_says_what_left_a_site() -> None:
    said = {case: dict(zip(*_east(case), strict=True))["what it released"] for case in TERMS}
    assert said["disclosure-control"] == "groups of at least 5 rows of a class, and two rounded sums over all rows"
    assert said["secure-sum"] == "masked counts, seen only inside the sum"
    assert said["private"] == "noisy counts, epsilon 2, and a share of the sum, epsilon 2"
    assert said["private, sum alone"] == "a share of the noisy sum, epsilon 4"


def _east(case: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    table = released_table(made(case))
    return table.head, next(row for row in table.body if row[0] == "east")


@pytest.mark.parametrize(
    ("receipt", "charged", "left"),
    [
        ({"charged": budget(4.0), "remaining": budget(1.5), "reused": False}, "epsilon 4", "epsilon 1.5"),
        (
            {"charged": budget(2.0), "remaining": budget(1.5), "reused": False},
            "epsilon 2: the rest was paid before",
            "epsilon 1.5",
        ),
        ({"charged": budget(0.0), "remaining": budget(1.5), "reused": True}, "nothing: answered before", "epsilon 1.5"),
        (
            {"charged": {"epsilon": 0.5, "delta": 0.0}, "remaining": "1/3"},
            "epsilon 0.5: the rest was paid before",
            "1/3",
        ),
        ({"charged": float("nan"), "remaining": [1] * 9}, "–", "–"),
        ({"charged": "x" * 10_000, "remaining": "\x1b[2J"}, "x" * 30 + "…" + "x" * 29, "·[2J"),
        ({}, "–", "–"),
    ],
)
def test_receipts_are_shown_whatever_a_site_sent(receipt: dict[str, Any], charged: str, left: str) -> None:
    validation = made("private")
    sites = tuple(
        replace(site, report=replace(site.report, receipt=receipt)) if site.name == "east" else site
        for site in validation.sites
    )
    table = released_table(replace(validation, sites=sites))
    row = dict(zip(table.head, next(row for row in table.body if row[0] == "east"), strict=True))
    assert (row["what it was charged"], row["left to the study"]) == (charged, left)


def how(validation: Validation) -> dict[str, str]:
    return {row[0]: row[1] for row in how_table(validation).body}


def test_editions_and_stored_answers_are_told_apart_in_words() -> None:
    first = made("private")
    second = replace(first, outcome=replace(first.outcome, question=replace(first.question, edition=2)))
    shown = {number: how(each) for number, each in ((1, first), (2, second))}
    assert shown[1]["edition"].startswith("1: ")
    assert shown[2]["edition"].startswith("2: a new run of the question")
    assert "edition" not in title_of(first)
    assert title_of(second).endswith(", edition 2)")
    assert shown[1]["answers"] == "all made for this run; none was a stored one"
    stored = {"charged": budget(0.0), "remaining": budget(1.5), "reused": True}
    partly = {"charged": budget(2.0), "remaining": budget(1.5), "reused": False}
    before, rest = "as stored by the sites: answered before, no further cost", "at a part of the price: the rest was "
    for receipts, expected in (
        ({"east": stored, "west": stored}, f"2 of 4 {before}"),
        (dict.fromkeys(NAMES, stored), f"all {before}"),
        ({"east": partly, "west": stored}, f"1 of 4 {before}; 1 of 4 {rest}paid before"),
        ({"east": {"charged": "much"}, "west": {"reused": "yes"}}, "all made for this run; none was a stored one"),
    ):
        sites = tuple(
            replace(site, report=replace(site.report, receipt=receipts.get(site.name, site.report.receipt)))
            for site in first.sites
        )
        assert how(replace(first, sites=sites))["answers"] == expected
    assert all(("edition" in how(made(case))) is case.startswith("private") for case in TERMS)


@pytest.mark.parametrize("case", TERMS)
def test_every_column_has_a_head_and_words_stand_at_the_left(case: str) -> None:
    validation = made(case)
    for table in (
        numbers_table(validation),
        sites_table(validation),
        released_table(validation),
        how_table(validation),
    ):
        assert all(table.head)
        for position, head in enumerate(table.head[1:], 1):
            cells = [row[position] for row in table.body if row[position] != "–"]
            is_words = any(re.match(r"[a-z]", cell) for cell in cells)
            assert table.aligned_left[position] is is_words, head


def test_bins_that_say_nothing_are_not_drawn_and_said_not_to_be() -> None:
    validation = made("disclosure-control")
    assert "are not drawn" not in page("disclosure-control")
    (east, *others) = (site for site in validation.sites if site.result is not None)
    assert east.result is not None
    points = east.result.calibration
    assert points is not None
    lower, upper = points.lower.copy(), points.upper.copy()
    lower[:2], upper[:2] = (0.0, 0.04), (0.96, 0.98)
    for ends, texts in (((0.0, 1.0), 1), ((0.0, 0.9), 0)):
        panel = replace(points, lower=np.full_like(lower, ends[0]), upper=np.full_like(upper, ends[1]))
        blank = replace(validation, sites=(replace(east, result=replace(east.result, calibration=panel)), *others))
        first, *_ = axes_of(draw_site_calibrations, PlotData.of(blank), panels_size(4))
        assert len(first.texts) == texts
    dim = replace(east, result=replace(east.result, calibration=replace(points, lower=lower, upper=upper)))
    changed = replace(validation, sites=(dim, *others))
    first, *_ = axes_of(draw_site_calibrations, PlotData.of(changed), panels_size(4))
    drawn = next(line for line in first.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(drawn.get_xdata(), points.mean_score[1:])
    assert "Bins whose interval is wider than 0.95 are not drawn." in words(validation_page(changed))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("case", ["disclosure-control", "private"])
def test_no_line_is_wider_than_the_terminal(case: str, width: int) -> None:
    validation = _renamed(made(case))
    lines = terminal(validation, width).splitlines()
    assert max(len(line) for line in lines) <= width
    if width >= 80:
        value, ends = written(validation.pooled.auc)
        assert any(re.search(rf"AUC +{value} +{ends}", line) for line in lines)


def _renamed(validation: Validation) -> Validation:
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


def test_whatever_is_missing_is_a_dash() -> None:
    validation = made("disclosure-control")
    nothing = Performance(level=0.95, auc=Estimate(value=math.nan))
    open_ends = Interval(lower=math.nan, upper=math.nan, level=0.95, method="none")
    little = Performance(
        level=0.95,
        auc=Estimate(value=0.7, interval=open_ends),
        observed_expected=Estimate(value=1.2, interval=replace(open_ends, lower=0.0, upper=math.inf)),
        size=Estimate(value=math.nan),
        prevalence=Estimate(value=math.nan),
    )
    results = (nothing, little, None, little)
    sites = tuple(
        SiteResult(report=report, result=result)
        for report, result in zip(validation.outcome.reports[1:5], results, strict=True)
    )
    bare = replace(validation, pooled=nothing, sites=sites, heterogeneity={}, test=None)
    html = validation_page(bare)
    assert "nan" not in words(html).replace("Φ", "")
    assert "AUC is –." in words(html)
    assert "nan" not in terminal(bare, 80)
    assert "1.200 0.000 to ∞" in words(html)
    assert drawings(bare) == {}


def test_the_test_of_the_auc_is_said_in_words() -> None:
    validation = made("secure-sum")
    assert validation.test is not None
    assert validation.test.p_value < 1e-4
    assert hypothesis_words(validation) == (
        "Test of AUC ≤ 0.7, one-sided: p < 0.0001. An AUC of 0.7 or less is ruled out at the 5 % level."
    )
    assert hypothesis_words(validation) in words(page("secure-sum"))
    near = replace(validation.test, p_value=0.03, interval_above=False)
    assert "p = 0.0300." in hypothesis_words(replace(validation, test=near))
    assert hypothesis_words(replace(validation, test=near)).endswith("though the two-sided interval reaches below it.")
    weak = replace(validation.test, p_value=0.2, interval_above=False)
    assert hypothesis_words(replace(validation, test=weak)).endswith("An AUC of 0.7 or less cannot be ruled out.")


def test_groups_state_between_what_the_auc_lies() -> None:
    bounds = made("disclosure-control").pooled.bounds
    assert bounds is not None
    assert f"their AUC lies between {bounds.lower:.3f} and {bounds.upper:.3f}" in words(page("disclosure-control"))
    assert all("Groups hide the order" not in page(case) for case in (*SUMS_ALONE, "private"))


def test_a_site_whose_groups_hide_everything_has_bounds_and_no_auc() -> None:
    data = drawn_sites([150, 200, 250], ["first", "second", "third"])
    data["tiny"] = ScoreCounts.from_arrays(np.arange(40) < 7, np.random.default_rng(0).random(40))
    validation = derive(outcome_of(data, "disclosure-control"))
    table = sites_table(validation)
    auc, bounds = (table.head.index(name) for name in ("AUC", "certain bounds"))
    rows = {row[0]: row for row in table.body}
    assert (rows["tiny"][auc], rows["tiny"][auc + 1], rows["tiny"][bounds]) == ("–", "–", "0.000 to 1.000")
    for site in validation.sites:
        if site.result is not None and site.name != "tiny":
            assert site.result.bounds is not None
            assert rows[site.name][bounds] == f"{site.result.bounds.lower:.3f} to {site.result.bounds.upper:.3f}"
    assert (
        "There is no AUC for tiny alone: a class has too few rows for several groups" in numbers_table(validation).note
    )
    assert validation.summarised["auc"] == ("first", "second", "third")
    shown = words(validation_page(validation))
    assert "There is no AUC for tiny alone" in shown
    assert "nan" not in shown


def test_a_calibration_line_that_is_missing_has_its_reason() -> None:
    data = drawn_sites([150, 200, 250], ["first", "second", "third"])
    assert (
        "for calibration intercept and slope" not in numbers_table(derive(outcome_of(data, "secure-sum"))).note.lower()
    )
    assert "cannot be told from others" in numbers_table(derive(outcome_of(data, "disclosure-control"))).note
    data["ends"] = ScoreCounts.from_arrays([0, 1, 1, 0, 1] * 20, np.tile([0.0, 0.0, 0.2, 0.6, 1.0], 20))
    for mode in ("secure-sum", "disclosure-control"):
        table = numbers_table(derive(outcome_of(data, mode)))
        assert "calibration slope" not in [row[0] for row in table.body]
        said = (
            "do not exist"
            if mode == "secure-sum"
            else "depends on the positions of rows within the lowest and highest cell"
        )
        assert said in table.note


def test_intervals_that_leave_everything_open_are_said_to() -> None:
    validation = made("private")
    everything = Interval(lower=0.0, upper=1.0, level=0.95, method="noise")
    wide = Performance(level=0.95, auc=Estimate(value=0.6, interval=everything))
    sites = tuple(replace(site, result=wide) if site.name == "east" else site for site in validation.sites)
    assert "nearly all possible values" not in numbers_table(validation).note
    assert (
        "The interval of AUC for east alone covers nearly all" in numbers_table(replace(validation, sites=sites)).note
    )
    assert (
        "The interval of AUC covers nearly all possible values" in numbers_table(replace(validation, pooled=wide)).note
    )


@pytest.mark.parametrize(
    ("sites", "prediction", "said"), [(4, (0.6, 0.85), True), (3, (0.6, 0.85), False), (9, (0.4, 0.91), False)]
)
def test_a_prediction_is_in_the_first_paragraph_only_where_it_says_something(
    sites: int, prediction: tuple[float, float], said: bool
) -> None:
    validation = made("disclosure-control")
    expected = Interval(lower=prediction[0], upper=prediction[1], level=0.95, method="made up")
    summary = replace(validation.heterogeneity["auc"], sites=sites, prediction=expected)
    assert ("At another such site" in lead_of(replace(validation, heterogeneity={"auc": summary}))) is said


@pytest.mark.parametrize(
    ("auc", "pairs"), [(0.805, 81), (0.8046, 81), (0.8044, 80), (0.845, 85), (0.5, 50), (0.9996, 100)]
)
def test_pairs_of_a_hundred_are_rounded_from_the_auc_that_is_shown(auc: float, pairs: int) -> None:
    validation = made("secure-sum")
    said = lead_of(replace(validation, pooled=replace(validation.pooled, auc=Estimate(value=auc))))
    assert f"AUC is {auc:.3f}: " in said
    assert f"in about {pairs} of 100 such pairs" in said


@pytest.mark.parametrize("case", TERMS)
def test_curves_drawn_are_those_that_were_found(case: str) -> None:
    validation, shown = made(case), PlotData.of(made(case))
    (ax,) = axes_of(draw_roc, shown, plot_size(validation, "roc"))
    lines = {str(line.get_label()): line for line in ax.lines}
    pooled = validation.pooled
    assert pooled.roc_glm is not None
    fitted = next(line for label, line in lines.items() if label.startswith("ROC-GLM"))
    np.testing.assert_allclose(fitted.get_ydata(), pooled.roc_glm.roc(np.asarray(fitted.get_xdata())))
    if pooled.roc is not None:
        drawn = next(line for label, line in lines.items() if label.startswith("all rows"))
        np.testing.assert_array_equal(drawn.get_xdata(), pooled.roc.false_positive_rate)
        np.testing.assert_array_equal(drawn.get_ydata(), pooled.roc.true_positive_rate)
    for name, result in seen(validation):
        assert result.roc is not None
        line = next(line for label, line in lines.items() if label.startswith(f"{name}: "))
        np.testing.assert_array_equal(line.get_xdata(), result.roc.false_positive_rate)
    assert len(ax.collections) == int(case.startswith("private"))  # the band


def test_calibration_and_decision_curves_are_those_that_were_found() -> None:
    validation, shown = made("secure-sum"), PlotData.of(made("secure-sum"))
    assert validation.pooled.calibration is not None
    assert validation.pooled.decision is not None
    (ax,) = axes_of(draw_calibration, shown, (5.4, 5.4))
    points = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(points.get_ydata(), validation.pooled.calibration.observed)
    (segments,) = (np.array(each.get_segments()) for each in ax.collections)
    np.testing.assert_allclose(segments[:, 0, 1], validation.pooled.calibration.lower)
    np.testing.assert_allclose(segments[:, 1, 1], validation.pooled.calibration.upper)
    (ax,) = axes_of(draw_decision, shown, (5.4, 5.4))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), validation.pooled.decision.net_benefit)


def test_many_sites_with_long_names_fit_their_pictures() -> None:
    names = [f"University Hospital of Longtown, Ward {place:02d}".replace(",", "") for place in range(20)]
    validation = derive(outcome_of(drawn_sites(120, names), "disclosure-control"))
    shown, forest = PlotData.of(validation), forest_of(validation, "auc")
    assert forest is not None
    pictures: list[tuple[style.Drawing, Any, tuple[float, float]]] = [
        (draw_forest, forest, forest.size),
        (draw_roc, shown, plot_size(validation, "roc")),
        (draw_site_calibrations, shown, panels_size(20)),
    ]
    for draw, what, size in pictures:
        assert overhang(draw, what, size) <= 0.02
    (ax,) = axes_of(draw_forest, forest, forest.size)
    ticks = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert ticks[:20] == names
    (ax,) = axes_of(draw_roc, shown, plot_size(validation, "roc"))
    assert sum("site" in str(line.get_label()) for line in ax.lines) == 1


@pytest.mark.parametrize("case", TERMS)
def test_everything_is_inside_its_picture(case: str) -> None:
    validation = _renamed(made(case))
    shown = PlotData.of(validation)
    for name, draw in drawings(validation).items():
        assert overhang(draw, shown, plot_size(validation, name)) <= 0.02
    for measure in ("auc", "observed_expected"):
        forest = forest_of(validation, measure)
        if forest is not None:
            assert overhang(draw_forest, forest, forest.size) <= 0.02
    sites = len(seen(validation))
    if sites:
        assert overhang(draw_site_calibrations, shown, panels_size(sites)) <= 0.02


def test_as_many_sites_as_are_named_fit_the_legend() -> None:
    names = [f"Hospital number {place}" for place in range(MOST_NAMED)]
    validation = derive(outcome_of(drawn_sites(100, names), "disclosure-control"))
    assert overhang(draw_roc, PlotData.of(validation), plot_size(validation, "roc")) <= 0.02


def test_names_of_two_hundred_letters_stay_on_two_lines_and_different() -> None:
    validation = made("disclosure-control")
    sites = tuple(
        replace(site, report=replace(site.report, name=f"{'long ' * 20}{site.name}{' name' * 20}"[:200]))
        for site in validation.sites
    )
    forest = forest_of(replace(validation, sites=sites), "observed_expected")
    assert forest is not None
    (ax,) = axes_of(draw_forest, forest, forest.size)
    ticks = [label.get_text() for label in ax.get_yticklabels()][: len(NAMES)]
    assert len(set(ticks)) == len(NAMES)
    assert all(tick.count("\n") == 1 and max(map(len, tick.split("\n"))) <= 26 for tick in ticks)


def test_sites_that_are_named_differ_in_colour_and_dashes() -> None:
    looks = [site_style(place) for place in range(25)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 25
    for left, right in pairwise(looks[:MOST_NAMED]):
        assert left["color"] != right["color"]
        assert left["linestyle"] != right["linestyle"]


def test_all_curves_can_be_had_as_one_figure() -> None:
    import matplotlib.pyplot as plt

    for case, panels in (("secure-sum", 4), ("noisy-scores", 1)):
        figure = plot_validation(made(case))
        assert sum(ax.axison for ax in figure.axes) == panels
        plt.close(figure)


def test_one_site_has_no_forest_and_two_have_no_prediction() -> None:
    one = derive(outcome_of(drawn_sites(150, ["alone"]), "disclosure-control"))
    assert forest_of(one, "auc") is None
    assert "only one site took part" in terminal(one, 200)
    two = derive(outcome_of(drawn_sites(150, ["first", "second"]), "disclosure-control"))
    forest = forest_of(two, "auc")
    assert forest is not None
    assert "no prediction interval" in forest_caption(forest)


@given(st.lists(st.text(max_size=200), max_size=8, unique=True))
def test_cut_names_stay_short_and_different(names: list[str]) -> None:
    for most in (26, 48):
        short = distinct(names, most)
        assert all(len(name) <= most for name in short)
        assert len(set(short)) == len(names)
        assert all(letter.isprintable() for name in short for letter in name)


@given(st.text(alphabet="ab -_.", min_size=1, max_size=48))
def test_names_take_two_lines_at_most(name: str) -> None:
    lines = wrapped(name).split("\n")
    assert len(lines) <= 2
    assert all(len(line) <= 26 for line in lines)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")


def test_a_cut_name_keeps_both_ends() -> None:
    assert cut("abcdefghij", 10) == "abcdefghij"
    assert cut("abcdefghijk", 10) == "abcde…hijk"


@given(st.floats(0.01, 1.0), st.floats(1.02, 100.0))
def test_ratios_have_ticks_inside_their_axis(low: float, wide: float) -> None:
    ticks = ratio_ticks(low, low * wide)
    assert all(low <= tick <= low * wide for tick in ticks)
    assert len(ticks) <= 10
    gaps = [math.log(right / left) / math.log(wide) for left, right in pairwise(ticks)]
    assert min(gaps, default=1.0) >= 0.109
    assert ticks == sorted(set(ticks))
    if wide > 1.6:
        assert len(ticks) >= 2
