"""Boards: order, ties, plain data, and covariances from influences."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.contest.board import Board, MatrixCovariance, Standing, influence_covariance, make_board
from confide.contest.estimators import EntryScore, score_entry
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.errors import ParameterError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def terms(metric: str = "auc") -> ContestTerms:
    return ContestTerms(
        name="heart",
        title="Heart",
        metric=ContestMetric.checked(metric),
        rows=1_000,
        public_rows=1_000,
        epsilon=Fraction(2),
        flip=Fraction(3, 25),
    )


def standing(name: str, score: EntryScore, submissions: int = 1) -> Standing:
    return Standing(
        name=name,
        submission=f"id-{name}",
        value=score.value,
        sample=score.sample,
        population=score.population,
        submissions=submissions,
    )


def board_of(entries: dict[str, FloatArray], labels: MaskedLabels, metric: str = "auc") -> Board:
    scored = {name: score_entry(ContestMetric.checked(metric), scores, labels) for name, scores in entries.items()}
    covariance = MatrixCovariance(influence_covariance([score.influence for score in scored.values()]))
    standings = [standing(name, score) for name, score in scored.items()]
    return make_board(terms(metric), standings, covariance, scored=7, as_of=NOW)


def simulated(seed: int = 1) -> tuple[dict[str, FloatArray], MaskedLabels]:
    generator = np.random.default_rng(seed)
    labels = generator.random(1_000) < 0.4
    seen = 1.5 * labels + generator.standard_normal(1_000)
    entries = {
        "good": 1.0 / (1.0 + np.exp(0.6 - seen - 0.1 * generator.standard_normal(1_000))),
        "bad": generator.random(1_000),
        "fair": 1.0 / (1.0 + np.exp(0.6 - seen - 0.3 * generator.standard_normal(1_000))),
    }
    return entries, MaskedLabels(labels ^ (generator.random(1_000) < 0.12), Fraction(3, 25))


def test_entries_are_ordered_by_value_and_keep_ties() -> None:
    entries, labels = simulated()
    entries["copy"] = entries["good"].copy()
    board = board_of(entries, labels)
    values = [entry.value for entry in board.entries]
    assert values == sorted(values, reverse=True)
    ranks = {entry.name: entry.rank for entry in board.entries}
    assert ranks["good"] == ranks["copy"] == 1
    assert ranks["bad"] == 4
    assert [len(group) for group in board.tie_groups] == [3, 1]
    names = [entry.name for entry in board.entries]
    assert names.index("copy") + 1 == names.index("good")  # equal values are listed by name


def test_lower_is_better_where_the_metric_says_so() -> None:
    board = board_of(*simulated(), metric="brier")
    values = [entry.value for entry in board.entries]
    assert values == sorted(values)
    assert board.entries[-1].name == "bad"
    assert board.entries[-1].rank == 3


def test_the_order_of_standings_does_not_matter() -> None:
    entries, labels = simulated()
    backwards = dict(reversed(entries.items()))
    assert [entry.to_dict() for entry in board_of(backwards, labels).entries] == [
        entry.to_dict() for entry in board_of(entries, labels).entries
    ]


def test_pairs_are_compared_on_the_same_rows() -> None:
    """Two correlated entries part although their own intervals overlap."""
    generator = np.random.default_rng(4)
    truth = generator.random(4_000) < 0.5
    seen = 1.5 * truth + generator.standard_normal(4_000)
    entries = {"ahead": seen, "behind": seen + 0.4 * generator.standard_normal(4_000)}
    labels = MaskedLabels(truth ^ (generator.random(4_000) < 0.12), Fraction(3, 25))
    ahead, behind = board_of(entries, labels).entries
    assert (ahead.name, ahead.rank, behind.rank) == ("ahead", 1, 2)
    assert behind.population.upper > ahead.population.lower


def test_plain_data() -> None:
    plain = board_of(*simulated()).to_dict()
    assert plain["schema"] == "confide.contest-board/1"
    assert (plain["contest"], plain["scored"], plain["as_of"]) == ("heart", 7, "2026-05-01T12:00:00+00:00")
    assert plain["metric"] == {"name": "auc", "threshold": None}
    assert plain["entries"][0].keys() == {
        "rank",
        "rank_lowest",
        "rank_highest",
        "name",
        "value",
        "sample",
        "population",
        "submission",
        "submissions",
    }


def test_an_empty_board() -> None:
    board = make_board(terms(), [], MatrixCovariance(np.empty((0, 0))), scored=0, as_of=NOW)
    assert (board.entries, board.tie_groups) == ((), ())


def test_covariance_of_another_number_of_entries_is_refused() -> None:
    with pytest.raises(ParameterError, match="one row and one column"):
        make_board(terms(), [], MatrixCovariance(np.zeros((2, 2))), scored=0, as_of=NOW)


def test_covariances_come_from_files_mapped_to_memory_in_chunks(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    influences = generator.standard_normal((3, 40_000)).astype(np.float32)
    mapped = []
    for k, one in enumerate(influences):
        one.tofile(tmp_path / f"{k}.f4")
        mapped.append(np.memmap(tmp_path / f"{k}.f4", dtype="<f4", mode="r"))
    exact = influences.astype(np.float64)
    assert influence_covariance(mapped) == pytest.approx(exact @ exact.T / 40_000**2, rel=1e-9)
    assert influence_covariance(mapped[:1], mapped[1:]) == pytest.approx(exact[:1] @ exact[1:].T / 40_000**2, rel=1e-9)


def test_influences_of_other_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="same rows"):
        influence_covariance([np.zeros(3), np.zeros(4)])
