"""Only ratios of sampling weights count, for every number of an evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import confide
from confide.errors import WeightError
from confide.report.evaluation.plots import DRAWINGS, available, figure_size
from confide.report.style import drawn_figure

RNG = np.random.default_rng(4)
SCORES = RNG.beta(2.0, 3.0, 200)
LABELS = RNG.random(200) < SCORES**2
WEIGHTS = RNG.uniform(1.0, 9.0, 200)


def model(weights: Any) -> dict[str, Any]:
    plain = confide.evaluate(LABELS, SCORES, survey_weights=weights, replicates=0).models[0]
    numbers = {name: getattr(plain, name) for name in ("auc", "average_precision", "brier", "log_loss")}
    assert plain.calibration is not None
    calibration = {name: getattr(plain.calibration, name) for name in plain.calibration.__slots__}
    areas = {f"aucpr_{name}": area for name, area in plain.aucpr.items()}
    return {name: estimate.value for name, estimate in (numbers | calibration).items()} | areas


@pytest.mark.parametrize("factor", [2.0**-40, 0.01, 1_000.0, 2.0**60, 1e40])
def test_the_unit_of_weights_does_not_matter(factor: float) -> None:
    found, expected = model(WEIGHTS * factor), model(WEIGHTS)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def drawn(weights: Any) -> list[Any]:
    """Return all lines and bands of an evaluation's plots."""
    group = np.where(np.arange(200) % 2, "x", "y")
    evaluation = confide.evaluate(LABELS, SCORES, survey_weights=weights, groups={"g": group}, replicates=0)
    names = available(evaluation)
    figures = [drawn_figure([(DRAWINGS[each], evaluation)], size=figure_size(evaluation, each)) for each in names]
    axes = [each for figure in figures for each in figure.axes]
    lines = [line.get_xydata() for each in axes for line in each.lines]
    bands = [path.vertices for each in axes for shade in each.collections for path in shade.get_paths()]
    return [*lines, *bands]


@pytest.mark.few(1)
@pytest.mark.parametrize("factor", [2.0**-40, 3.0, 2.0**40])
def test_the_unit_of_weights_does_not_change_plots(factor: float) -> None:
    found, expected = drawn(WEIGHTS * factor), drawn(WEIGHTS)
    assert len(found) == len(expected) > 10
    for ours, theirs in zip(found, expected, strict=True):
        assert np.asarray(ours, dtype=float) == pytest.approx(np.asarray(theirs, dtype=float), abs=1e-9, nan_ok=True)


def test_totals_are_those_of_the_weights_as_given() -> None:
    evaluation = confide.evaluate(LABELS, SCORES, survey_weights=WEIGHTS * 1_000.0, replicates=0)
    assert evaluation.positives == pytest.approx(1_000.0 * WEIGHTS[LABELS].sum())
    assert evaluation.negatives == pytest.approx(1_000.0 * WEIGHTS[~LABELS].sum())


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_without_products_are_refused(weight: float) -> None:
    with pytest.raises(WeightError, match="multiply all by one number"):
        model(WEIGHTS * weight)


@pytest.mark.parametrize("factor", [0.001, 1.0, 1_000.0])
def test_cautions_count_rows_and_not_weight(factor: float) -> None:
    def warnings(rows: int) -> str:
        group = np.where(np.arange(rows) % 2, "x", "y")
        weights = WEIGHTS[:rows] * factor
        found = confide.evaluate(
            LABELS[:rows], SCORES[:rows], survey_weights=weights, groups={"g": group}, replicates=0
        )
        return " ".join(found.warnings)

    few, many = warnings(30), warnings(200)
    assert "A class has fewer than 20 rows" in few
    assert "Some groups have fewer than 20 rows" in few
    assert "fewer than 20 rows" not in many
    assert "at most one row" not in many
