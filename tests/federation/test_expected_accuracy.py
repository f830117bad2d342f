"""The cells of a private question, and what its answer will be worth, follow from public facts alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide.audits.sums import GRIDS
from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.federation.coordinator.answers import noise_parts
from confide.federation.coordinator.planning import expected_accuracy, stand_in
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.grid import Grid
from confide.privacy.mechanisms.noise_shares import shared_counts
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.mechanisms.strategies import Tree, best_strategy
from confide.releases.grids import CURVE_STEPS, cells_for_curves


def asked(**given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "s", "model": "m", "mode": "private", "sites": list("abcde"), "epsilon": 1}
    return Question.checked(**{**fixed, **given})


class TestCells:
    def test_they_follow_from_epsilon_rows_sites_and_colluders(self) -> None:
        questions: dict[str, dict[str, Any]] = {
            "supposed": {},
            "stated": {"rows": 100_000},
            "less epsilon": {"rows": 100_000, "epsilon": "1/4"},
            "sum alone": {"rows": 100_000, "site_share": 0},
            "nobody colludes": {"rows": 100_000, "site_share": 0, "colluders": 0},
            "persons": {"rows": 100_000, "unit": "person", "rows_per_person": 4},
        }
        cells = {name: len(asked(**given).public_grid) for name, given in questions.items()}
        assert cells == {
            "supposed": 20,
            "stated": 56,
            "less epsilon": 20,
            "sum alone": 112,
            "nobody colludes": 112,
            "persons": 20,
        }

    def test_a_rough_number_of_rows_gives_the_same_question(self) -> None:
        assert asked(rows=90_000) == asked(rows=110_000)
        assert asked(rows=5_000) == asked()

    def test_a_grid_that_is_given_stays(self) -> None:
        assert asked(grid="uniform:10", rows=10**6).grid == "uniform:10"

    def test_the_question_carries_cells_and_not_the_rows(self) -> None:
        question = asked(rows=100_000)
        assert "rows" not in question.to_dict()
        assert Question.from_dict(question.to_dict()) == question

    def test_sites_that_stay_away_do_not_change_the_cells(self) -> None:
        question = asked(rows=100_000, fewest=4)
        assert question.of(("a", "b", "c", "d")).grid == question.grid

    @pytest.mark.parametrize("rows", [0, -1, 1.5, True, "many", 10**9 + 1])
    def test_what_is_no_number_of_rows_is_refused(self, rows: object) -> None:
        with pytest.raises(ParameterError, match="`rows` must be a whole number"):
            asked(rows=rows)

    def test_other_modes_take_none(self) -> None:
        with pytest.raises(ParameterError, match="`rows` is for the mode private"):
            Question.checked(study="s", model="m", mode="secure-sum", sites=list("abc"), rows=100)

    def test_they_never_fall_with_more_rows_or_epsilon(self) -> None:
        for epsilon in (0.05, 0.5, 4.0):
            found = [cells_for_curves(rows, epsilon) for rows in np.unique(np.geomspace(1, 10**9, 60).astype(int))]
            assert found == sorted(found)
        assert cells_for_curves(10**9, 50.0) == CURVE_STEPS[-1]


class TestAudit:
    def test_the_audit_has_every_strategy_that_default_cells_take(self) -> None:
        """On no default grid has a strategy more levels than where it is audited."""
        audited = {type(strategy): strategy.levels(len(grid)) for strategy, grid in GRIDS.items()}
        for cells in CURVE_STEPS:
            strategy = best_strategy(cells)
            assert strategy.levels(cells) <= audited[type(strategy)]
        assert isinstance(best_strategy(CURVE_STEPS[-1]), Tree)

    @pytest.mark.parametrize("cells", CURVE_STEPS)
    def test_a_row_moves_as_many_integers_as_noise_was_drawn_for(self, cells: int) -> None:
        """In every cell of every default grid: the scale of the noise is the sum of all moves over epsilon."""
        grid, strategy = Grid.arcsine(cells), best_strategy(cells)
        table = np.zeros((2, cells), dtype=np.int64)
        epsilon = Fraction(1, 3)
        nothing = shared_counts(table, epsilon, honest=3, strategy=strategy)
        for place in range(cells):
            (row,) = (ScoreCounts.from_arrays([1], [grid.representatives[place]], one_class=True),)
            more = shared_counts(cells_on(row, grid), epsilon, honest=3, strategy=strategy)
            moved = sum(abs(one - other) for one, other in zip(more.values, nothing.values, strict=True))
            assert moved == epsilon * more.scale
            assert more.scale == nothing.scale


class TestExpected:
    def test_it_is_the_same_each_time_and_asks_for_no_data(self) -> None:
        question = asked(rows=2_000)
        assert expected_accuracy(question, rows=2_000, repetitions=3) == expected_accuracy(
            question, rows=2_000, repetitions=3
        )

    def test_without_own_results_there_is_no_site(self) -> None:
        found = expected_accuracy(asked(site_share=0), repetitions=2)
        assert found.site is None
        assert found.pooled.rows == 5_000
        assert not found.stated

    def test_the_stand_in_has_both_classes_and_the_usual_auc(self) -> None:
        counts = stand_in(50_000)
        assert counts.prevalence == pytest.approx(0.2)
        assert stand_in(2).total_positives == stand_in(2).total_negatives == 1

    def test_the_noise_is_that_of_the_terms(self) -> None:
        """Half of epsilon for each, three honest of five sites, one level: weights 3/4 and 1/4."""
        question = asked()
        assert noise_of(question).strategy.levels(len(question.public_grid)) == 1
        (summed, own), (alone,) = noise_parts(question)
        assert (summed.scale, own.scale, alone.scale) == (2.0, 2.0, 2.0)
        assert (summed.shares, own.shares, alone.shares) == (5 / 3, 5.0, 1.0)
        assert [part.weight for part in (summed, own, alone)] == pytest.approx([0.75, 0.25, 1.0])
        assert noise_of(question).worth_epsilon == pytest.approx(np.sqrt((3 * 0.25 + 0.25) / 5))
