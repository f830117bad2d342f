"""Answers one by one: each is charged, the same scores are free, and the account ends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.errors import BudgetError, DataError, ParameterError
from confide.metrics.ranking import auc_score
from confide.tasks.contest_answer import ANSWERED, Answerer, answerer
from tests.noises import SILENT, seeded
from tests.tasks.contest_files import IDS, LABELS, Holder, scores_for, write_labels


def answering(holder: Holder, **options: Any) -> Answerer:
    """Return what answers; the ledger stays open, as it does in a server."""
    given = {"account": "trial", "ledger": holder.ledger(), **options}
    return answerer(holder.bundle(), given.pop("labels_file", holder.file), **given)


def truth(holder: Holder) -> Any:
    labels = dict(zip(IDS, LABELS, strict=True))
    return np.array([labels[one] for one in holder.bundle().template.ids])


@pytest.fixture
def holder(tmp_path: Path) -> Holder:
    made = Holder(tmp_path / "one", noise=seeded(0))
    made.make(per_answer=True, epsilon="1/2", final_epsilon=None)
    return made


def test_making_the_contest_costs_nothing_and_its_bundle_has_no_labels(holder: Holder) -> None:
    assert holder.spent() == (0.0, 0.0)
    assert holder.bundle().masked is None


def test_an_answer_costs_epsilon_and_the_same_scores_are_free(holder: Holder) -> None:
    ask = answering(holder)
    scores = scores_for(truth(holder), 2.0)
    first = ask(scores)
    assert (float(first.charged.epsilon), first.reused) == (0.5, False)
    again = ask(scores.copy())
    assert (again.value, float(again.charged.epsilon), again.reused) == (first.value, 0.0, True)
    assert holder.spent() == (0.5, 0.0)
    assert first.sample.lower <= first.value <= first.sample.upper
    assert ask(1.0 - scores).value != first.value
    assert holder.spent() == (1.0, 0.0)


def test_the_account_ends_it(holder: Holder) -> None:
    ask, labels = answering(holder), truth(holder)
    for number in range(6):
        ask(scores_for(labels, number))
    with pytest.raises(BudgetError):
        ask(scores_for(labels, 6))
    assert holder.spent() == (3.0, 0.0)


def test_scores_of_rows_that_the_board_does_not_use_change_nothing(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    holder.make(per_answer=True, epsilon="1/2", final_epsilon=1)
    ask, scores = answering(holder), scores_for(truth(holder), 2.0)
    first = ask(scores)
    other = scores.copy()
    other[holder.bundle().final_rows] = 0.5
    assert ask(other).reused
    assert ask(other).value == first.value


def test_without_noise_answers_are_exact(tmp_path: Path) -> None:
    silent = Holder(tmp_path / "silent", noise=SILENT)
    silent.make(per_answer=True, epsilon=1, final_epsilon=1)
    public, labels = silent.bundle().public, truth(silent)
    scores = scores_for(labels, 2.0)
    expected = float(auc_score(labels[public], scores[public]))
    assert answering(silent)(scores).value == pytest.approx(expected, abs=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("metric", ANSWERED)
def test_every_metric_that_is_offered_is_answered(tmp_path: Path, metric: str) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    holder.make(per_answer=True, epsilon=2, final_epsilon=None, metric=metric)
    answer = answering(holder)(scores_for(truth(holder), 2.0))
    assert np.isfinite(answer.value)
    assert answer.population.lower <= answer.sample.lower <= answer.sample.upper <= answer.population.upper
    assert answer.to_dict()["value"] == answer.value


def test_other_labels_ledgers_and_modes_are_refused(holder: Holder, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no account"):
        answering(holder, account="other")
    other = write_labels(tmp_path / "other.csv", ~LABELS, [f"x{one}" for one in IDS])
    with holder.ledger() as ledger:
        ledger.open_account(
            "other",
            epsilon=3,
            neighbours="label-only",
            label="died",
            positive="deceased-xyz",
            data=[other.read_bytes()],
        )
    with pytest.raises(DataError, match="not the one that the contest was made with"):
        answering(holder, labels_file=other, account="other")
    holder.open_account("rows", neighbours="replace-one")
    with pytest.raises(ParameterError, match="label-only"):
        answering(holder, account="rows")
    holder.make("masked")
    with pytest.raises(ParameterError, match="masked labels"):
        answerer(holder.bundle("masked"), holder.file, account="trial", ledger=holder.ledger())
