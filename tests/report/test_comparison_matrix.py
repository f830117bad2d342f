"""All pairs of models in one table."""

from __future__ import annotations

import numpy as np

import confide
from confide.report.evaluation.tables import comparison_matrix
from confide.report.numbers import number, p_value
from tests.report.figures import simulated


def test_the_matrix_holds_every_comparison_once() -> None:
    evaluation = simulated(5)
    table = comparison_matrix(evaluation)
    names = [model.score for model in evaluation.models]
    assert table.head == ("score", "1", "2", "3", "4", "5")
    assert [row[0] for row in table.body] == [f"{place} {name}" for place, name in enumerate(names, 1)]
    for i, model in enumerate(evaluation.models):
        assert table.body[i][i + 1] == number(model.auc.value)
    compared = [entry for entry in evaluation.comparisons if entry.metric == "auc"]
    assert len(compared) == 10
    for entry in compared:
        first, second = names.index(entry.first), names.index(entry.second)
        assert table.body[first][second + 1].rstrip("*") == number(entry.difference)
        assert table.body[second][first + 1] == p_value(entry.p_value)


def test_asterisks_mark_simultaneous_intervals_without_zero() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(300) < 0.4
    noise = rng.random((4, 300))
    strong = confide.evaluate(labels, {f"m{i}": noise[i] + (i == 0) * 0.6 * labels for i in range(4)}, replicates=0)
    table = comparison_matrix(strong)
    assert [cell.endswith("*") for cell in table.body[0][2:]] == [True, True, True]
    assert not any(cell.endswith("*") for row in table.body[1:] for cell in row)
    assert "* The simultaneous interval" in table.note
    same = comparison_matrix(confide.evaluate(labels, {f"m{i}": noise[i] for i in range(4)}, replicates=0))
    assert "*" not in same.note


def test_the_note_has_the_joint_test() -> None:
    evaluation = simulated(5)
    assert evaluation.joint is not None
    assert (
        f"chi-squared {evaluation.joint.chi_squared:.2f} on 4 degrees of freedom" in comparison_matrix(evaluation).note
    )


def test_models_that_cannot_be_compared_have_dashes() -> None:
    labels = np.arange(3) == 0
    table = comparison_matrix(confide.evaluate(labels, {f"m{i}": np.arange(3) / 3 for i in range(4)}, replicates=0))
    assert table.body[0][2:] == ("–", "–", "–")
