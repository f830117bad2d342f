"""Pictures of a validation: curves are those that were found, and nothing leaves its picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from confide.federation.coordinator.validation import derive
from confide.report import style
from confide.report.validation.forest import draw_forest, forest_of
from confide.report.validation.pages import validation_page
from confide.report.validation.plots import (
    MOST_NAMED,
    PlotData,
    draw_calibration,
    draw_decision,
    draw_roc,
    draw_site_calibrations,
    drawings,
    panels_size,
    plot_size,
    plot_validation,
    site_style,
)
from tests.federation.outcomes import drawn_sites, outcome_of
from tests.report.validations import TERMS, axes_of, made, overhang, page, renamed, seen, words


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


@pytest.mark.long
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


@pytest.mark.few(1)
@pytest.mark.parametrize("case", TERMS)
def test_everything_is_inside_its_picture(case: str) -> None:
    validation = renamed(made(case))
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
