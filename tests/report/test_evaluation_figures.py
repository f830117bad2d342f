"""Figures of an evaluation: legends cover nothing, nothing leaves the figure, and models can be told apart."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

import confide
from confide.evaluation.evaluation import Evaluation
from confide.intervals.resample import curve_bands
from confide.report.evaluation import plots
from confide.report.evaluation.plots import columns_of
from confide.report.style import COLOURS, LIGHT_GREY, as_svg, marker, style
from tests.report.figures import LONG, drawn, model_lines, simulated

CURVES = ("roc", "pr", "calibration", "decision")
TOGETHER = [(models, name) for models in (1, 3, 6) for name in CURVES if name != "calibration" or models <= 3]


@pytest.fixture(autouse=True)
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands from few replicates look alike and are drawn sooner."""
    monkeypatch.setattr(plots, "curve_bands", partial(curve_bands, replicates=100))


def test_twelve_models_differ_in_colour_dash_or_marker_and_in_their_lines_alone() -> None:
    looks = [(style(i)["color"], str(style(i)["linestyle"]), marker(i)) for i in range(12)]
    assert len({look[:2] for look in looks}) == 12
    assert len({look[2] for look in looks}) == 12


def test_six_models_differ_in_colour_and_in_dash() -> None:
    assert len({style(i)["color"] for i in range(6)}) == 6
    assert len({str(style(i)["linestyle"]) for i in range(6)}) == 6


@pytest.mark.few(4)
@pytest.mark.parametrize(("models", "name"), TOGETHER)
def test_legends_lie_below_the_axes(models: int, name: str) -> None:
    figure = drawn(simulated(models), name)
    main = figure.axes[0]
    legend = main.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    for ax in (main, *main.child_axes):
        assert not box.overlaps(ax.get_window_extent()), name
        assert box.y1 <= ax.get_window_extent().y0
    label = main.xaxis.label.get_window_extent()
    assert not box.overlaps(label)
    assert len(legend.get_texts()) >= models


@pytest.mark.few(1)
@pytest.mark.parametrize("models", [1, 4, 6, pytest.param(12, marks=())])
@pytest.mark.parametrize("name", [*CURVES, "forest", "calibration_groups"])
def test_nothing_leaves_the_figure(models: int, name: str) -> None:
    evaluation = simulated(models, 5)
    if name not in plots.available(evaluation):
        assert (name, models > 6) == ("calibration_groups", True)
        return
    figure = drawn(evaluation, name)
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "name"), [(1, "calibration"), (2, "roc"), (6, "pr"), (4, "calibration")])
def test_axes_are_no_stamps(models: int, name: str) -> None:
    figure = drawn(simulated(models), name)
    shown = [ax.get_window_extent() for ax in figure.axes if ax.get_title(loc="left")]
    least = 4.0 if len(shown) == 1 else 1.5
    assert min(min(box.width, box.height) for box in shown) / figure.dpi >= least


def test_more_than_six_models_get_a_panel_each_before_the_others_in_grey() -> None:
    panels = drawn(simulated(7), "roc").axes
    assert len(panels) == 7
    for panel in panels:
        assert model_lines(panel, COLOURS[0]) == 1
        assert model_lines(panel, LIGHT_GREY) == 6
        assert panel.get_legend() is None


def test_a_grid_of_panels_has_few_gaps() -> None:
    assert [columns_of(panels) for panels in (1, 2, 3, 4, 5, 6, 8, 9, 12)] == [1, 2, 2, 2, 3, 3, 4, 3, 4]


@pytest.mark.long
def test_titles_of_panels_do_not_touch_each_other() -> None:
    figure = drawn(simulated(8), "roc")
    boxes = [ax._left_title.get_window_extent() for ax in figure.axes]  # type: ignore[attr-defined]
    assert not any(first.overlaps(second) for i, first in enumerate(boxes) for second in boxes[:i])


def test_available_figures_are_those_that_can_be_drawn() -> None:
    assert plots.available(simulated(2)) == CURVES
    assert plots.available(simulated(2, 5)) == (*CURVES, "forest", "calibration_groups")
    assert plots.available(simulated(7, 5)) == (*CURVES, "forest")
    rng = np.random.default_rng(0)
    labels = rng.random(100) < 0.4
    margins = confide.evaluate(labels, rng.standard_normal(100) + labels, groups=np.arange(100) % 2, replicates=0)
    assert plots.available(margins) == ("roc", "pr", "forest")
    one_class = confide.evaluate(labels, rng.random(100), groups=labels, replicates=0)
    assert plots.available(one_class) == CURVES
    assert set(plots.available(simulated(2, 5))) == set(plots.DRAWINGS)


def _texts(figure: Any) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in figure.findobj(Text)]


@pytest.mark.parametrize("name", ["forest", "calibration_groups"])
def test_names_of_groups_are_not_cut(name: str) -> None:
    assert LONG in _texts(drawn(simulated(2, 5), name))


def test_names_of_models_are_not_cut() -> None:
    legend = drawn(simulated(2), "roc").axes[0].get_legend()
    assert legend is not None
    assert (
        legend.get_texts()[1]
        .get_text()
        .replace("\n", " ")
        .startswith("support vector machine (calibrated on other data): AUC")
    )


def test_names_that_begin_alike_stay_different() -> None:
    rng = np.random.default_rng(2)
    names = [f"{'a risk model that was trained in ' * 3}{place}" for place in ("Ulm", "Bonn")]
    evaluation = confide.evaluate(rng.random(60) < 0.4, {name: rng.random(60) for name in names}, replicates=0)
    legend = drawn(evaluation, "decision").axes[0].get_legend()
    assert legend is not None
    assert len({text.get_text() for text in legend.get_texts()}) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "groups"), [(1, 2), (3, 5), (6, 12), (2, 12)])
def test_points_and_names_of_a_forest_keep_apart(models: int, groups: int) -> None:
    figure = drawn(simulated(models, groups, rows=400), "forest")
    ax = figure.axes[0]
    names = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in pairwise(names))
    points = sorted(
        float(ax.transData.transform((0.5, float(np.asarray(line.get_ydata())[0])))[1])
        for line in ax.lines
        if line.get_marker() not in ("None", "")
    )
    assert len(points) == (groups + 1) * models
    assert min(np.diff(points)) / figure.dpi >= 0.08


def test_calibration_by_group_has_a_panel_for_each_group_with_both_classes() -> None:
    evaluation = simulated(1, 5)
    panels = drawn(evaluation, "calibration_groups").axes
    assert len(panels) == 5
    assert all(model_lines(panel, COLOURS[0]) == 1 and model_lines(panel, LIGHT_GREY) == 1 for panel in panels)
    panels = drawn(simulated(3, 2), "calibration_groups").axes
    assert all(model_lines(panel, COLOURS[i]) == 1 for panel in panels for i in range(3))


class TestDecision:
    def limits(self, evaluation: Evaluation) -> tuple[float, float]:
        return drawn(evaluation, "decision").axes[0].get_xlim()

    def test_axes_reach_1_for_common_outcomes(self) -> None:
        assert self.limits(simulated(2)) == (0.0, 1.0)

    def test_axes_end_where_the_lines_of_a_rare_outcome_are_flat(self) -> None:
        evaluation = simulated(1, rows=6_000, prevalence=0.01)
        ax = drawn(evaluation, "decision").axes[0]
        end = ax.get_xlim()[1]
        assert 2.0 * evaluation.prevalence <= end < 0.5
        line = next(line for line in ax.lines if line.get_label() == "logistic")
        threshold, benefit = (np.asarray(values) for values in line.get_data())
        assert (np.abs(benefit[threshold > end]) < 0.1 * evaluation.prevalence).all()
        assert (threshold < 2.0 * evaluation.prevalence).sum() > 50

    def test_harm_at_high_thresholds_is_shown(self) -> None:
        rng = np.random.default_rng(0)
        labels = rng.random(2_000) < 0.05
        assert self.limits(confide.evaluate(labels, rng.random(2_000), replicates=0)) == (0.0, 1.0)

    @pytest.mark.parametrize("prevalence", [0.05, 0.3, 0.6, 0.9])
    def test_both_policies_are_named_once_on_their_lines_and_not_in_the_legend(self, prevalence: float) -> None:
        ax = drawn(simulated(2, rows=400, prevalence=prevalence), "decision").axes[0]
        legend = ax.get_legend()
        assert legend is not None
        assert not any("treat" in text.get_text() for text in legend.get_texts())
        all_, none = ax.texts
        assert (all_.get_text(), none.get_text()) == ("treat all", "treat none")
        assert not all_.get_window_extent().overlaps(none.get_window_extent())
        assert all(
            ax.get_window_extent().padded(4).contains(*point)
            for word in ax.texts
            for point in word.get_window_extent().corners()
        )

    def test_a_band_is_shaded(self) -> None:
        from matplotlib.figure import Figure

        from confide.intervals.resample import Band
        from confide.report.curves import decision_line

        ax, counts = Figure().subplots(), simulated(1).models[0].counts
        decision_line(ax, counts, 0, label="a")
        assert not ax.collections
        at = np.linspace(0.0, 0.9, 10)
        decision_line(ax, counts, 0, label="a", band=Band(at, at - 0.1, at + 0.1, 0.95))
        (shade,) = ax.collections
        assert shade.get_datalim(ax.transData).y1 == pytest.approx(1.0)

    def test_drawing_again_does_not_repeat_the_words(self) -> None:
        counts = simulated(2).models[0].counts
        ax = confide.DecisionCurveDisplay.from_counts(counts).ax_
        confide.DecisionCurveDisplay.from_counts(counts, ax=ax)
        assert [text.get_text() for text in ax.texts] == ["treat all", "treat none"]


def test_weighted_and_separated_scores_are_drawn() -> None:
    rng = np.random.default_rng(4)
    labels = rng.random(80) < 0.4
    separated = confide.evaluate(labels, np.where(labels, 0.8, 0.1) + 0.1 * rng.random(80), replicates=0)
    weighted = confide.evaluate(labels, rng.random(80), weights=rng.random(80) + 0.1, replicates=0)
    for evaluation in (separated, weighted):
        for name in plots.available(evaluation):
            svg = as_svg(plots.DRAWINGS[name], evaluation, size=plots.figure_size(evaluation, name))
            assert "nan" not in svg.lower()
    assert not drawn(weighted, "roc").axes[0].collections


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "name"), [(2, "decision"), (4, "calibration"), (2, "calibration_groups")])
def test_identifiers_in_a_figure_do_not_clash(models: int, name: str) -> None:
    evaluation = simulated(models, 5)
    svg = as_svg(plots.DRAWINGS[name], evaluation, size=plots.figure_size(evaluation, name))
    identifiers = re.findall(r'\bid="([^"]+)"', svg)
    assert len(identifiers) == len(set(identifiers))


DISPLAYS = (
    confide.RocCurveDisplay,
    confide.PrecisionRecallDisplay,
    confide.CalibrationDisplay,
    confide.DecisionCurveDisplay,
)


@pytest.mark.parametrize("display", DISPLAYS)
def test_two_models_fit_a_display_with_their_legend(display: Any) -> None:
    first, second = simulated(2).models
    shown = display.from_counts(first.counts, name="first", level=None)
    display.from_counts(second.counts, name="second", level=None, ax=shown.ax_)
    figure = shown.figure_
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > 0.0
    assert shown.ax_.get_legend().get_window_extent().y1 <= shown.ax_.get_window_extent().y0
    plt.close(figure)


@pytest.mark.long
def test_the_overview_of_many_models_has_all_panels() -> None:
    figure = simulated(8).plot()
    figure.draw_without_rendering()
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert [title.split(" (")[0] for title in titles] == ["ROC", "Precision–recall", "Calibration", "Decision curve"]
