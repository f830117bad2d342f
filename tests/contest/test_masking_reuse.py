"""Masked labels through a ledger: one charge, one mask, the same again; parts of one split cost the larger epsilon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.final import prepare_final
from confide.contest.labels import (
    MaskedAnswer,
    MaskedLabels,
    flip_probability,
    label_guarantee,
    labels_from_dict,
    labels_to_dict,
    prepare_masked,
)
from confide.errors import BudgetError, DataError, ParameterError
from confide.ledger.charging import written
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.privacy.queries import Noise
from tests.contest.finals import DELTA, FINAL, PUBLIC, Labels, entries, final_terms
from tests.noises import FORBIDDEN, seeded

QUESTION = PublicQuestion(data="heart attacks, version 2", label="died")
OTHER = replace(QUESTION, source="another file")
LABELS = np.random.default_rng(1).random(200) < 0.3


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", padding=0) as opened:
        opened.open_account(
            "trial", epsilon=3, delta=2 * DELTA, neighbours="label-only", data=QUESTION.data, label="died"
        )
        yield opened


def masked(ledger: Ledger, labels: Labels = LABELS, question: PublicQuestion = QUESTION, **options: Any) -> Any:
    given = {"epsilon": 2, "part": PUBLIC, **options}
    return ledger.release(prepare_masked(labels, **given), account="trial", question=question)


def bits(receipt: Any) -> list[bool]:
    ((answer,),) = receipt.answers
    assert isinstance(answer, MaskedAnswer)
    return [bool(bit) for bit in answer.labels.bits]


# --- the ledger


def test_the_same_labels_get_the_same_mask_at_no_cost(ledger: Ledger) -> None:
    first = masked(ledger)
    ledger.noise = FORBIDDEN
    again = masked(ledger)
    assert again.reused
    assert again.charged.epsilon == 0
    assert bits(again) == bits(first)
    assert first.charged.epsilon == 2
    assert ledger.account("trial").spent.epsilon == 2


def test_whether_a_request_is_the_same_does_not_depend_on_labels(ledger: Ledger) -> None:
    """Other labels under the same public description get the stored mask: nothing is learnt by asking."""
    first = masked(ledger)
    ledger.noise = FORBIDDEN
    assert bits(masked(ledger, ~LABELS)) == bits(first)


@pytest.mark.parametrize("change", [{"epsilon": "3/2"}, {"part": None}, {"question": OTHER}, {"labels": LABELS[:-1]}])
def test_another_mask_is_another_charge(ledger: Ledger, change: dict[str, Any]) -> None:
    masked(ledger, epsilon=1)
    options = {"epsilon": 1, **change}
    receipt = masked(ledger, **options)
    assert not receipt.reused
    assert receipt.full_price.epsilon == Fraction(str(options["epsilon"]))


def test_a_second_mask_that_does_not_fit_is_refused_without_noise(ledger: Ledger) -> None:
    masked(ledger)
    ledger.noise = FORBIDDEN
    with pytest.raises(BudgetError):
        masked(ledger, epsilon="3/2")


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_two_parts_of_one_split_cost_the_larger_epsilon(ledger: Ledger, delta: Fraction) -> None:
    """The public part at 2 and the final at 1, masked or shaped: 2 in all, and the final's delta."""
    labels, finalists = entries(np.random.default_rng(3), 200)
    masked(ledger)
    receipt = ledger.release(
        prepare_final(final_terms(200, delta=delta), labels, finalists, part=FINAL), account="trial", question=QUESTION
    )
    assert receipt.charged.epsilon == 0
    assert receipt.full_price.epsilon == 1
    assert ledger.account("trial").spent.epsilon == 2
    assert ledger.account("trial").spent.delta == delta


def test_accounts_that_protect_more_than_labels_do_not_take_it(ledger: Ledger) -> None:
    ledger.open_account("persons", epsilon=3, neighbours="replace-one")
    elsewhere = PublicQuestion(data="strokes, version 1", label="died")
    with pytest.raises(ParameterError, match="label-only"):
        ledger.release(prepare_masked(LABELS, epsilon=1, part=None), account="persons", question=elsewhere)


# --- the answer


@given(bits=st.lists(st.booleans(), max_size=70), epsilon=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(4)]))
def test_masked_labels_come_back_as_they_were(bits: list[bool], epsilon: Fraction) -> None:
    labels = MaskedLabels(np.array(bits, dtype=np.bool_), flip_probability(epsilon))
    plain = json.loads(json.dumps(labels_to_dict(labels)))
    again = labels_from_dict(plain)
    assert again.bits.tolist() == bits
    assert again.flip == labels.flip


@pytest.mark.parametrize("rows", [2, 7, 1000, 100_003])
def test_the_ledger_has_room_for_every_mask_and_its_length_tells_nothing(rows: int) -> None:
    texts = set()
    for seed in range(3):
        prepared = prepare_masked(np.zeros(rows, dtype=np.bool_), epsilon=1)
        texts.add(len(written(prepared.draw(seeded(seed)), prepared.numbers)))
    assert len(texts) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"rows": 9},
        {"rows": -1},
        {"labels": "AA=="},
        {"labels": "not base64!"},
        {"labels": None},
        {"flip": "1/0"},
        {"flip": "3/4"},
        {"labels": "AP8="},
    ],
)
def test_damaged_masks_are_refused(damage: dict[str, Any]) -> None:
    plain = labels_to_dict(MaskedLabels(np.ones(12, dtype=np.bool_), Fraction(1, 4)))
    with pytest.raises(DataError, match="damaged"):
        labels_from_dict({**plain, **damage})


def test_answers_of_another_kind_are_refused() -> None:
    with pytest.raises(DataError, match="not the masked labels"):
        MaskedAnswer.from_dict({"schema": "confide.contest-final/1"}, label_guarantee(Fraction(1)))


def test_the_request_holds_public_facts_alone() -> None:
    first, second = (prepare_masked(labels, epsilon=1, part=PUBLIC) for labels in (LABELS, ~LABELS))
    assert first.request == second.request
    assert first.guarantee == second.guarantee
    assert first.guarantee.delta == 0
    assert first.guarantee.neighbours.value == "label-only"
    assert first.numbers == second.numbers


def test_labels_are_in_the_mask_only_through_flips() -> None:
    """If every row flips, the mask is the opposite of the labels; if none does, it is the labels."""
    everything = Noise(flips=lambda count, probability: np.ones(count, dtype=np.bool_))
    (answer,) = prepare_masked(LABELS, epsilon=1).draw(everything)
    assert np.array_equal(answer.labels.bits, ~LABELS)


def test_one_row_and_wrong_prices_are_refused() -> None:
    with pytest.raises(DataError, match="two rows"):
        prepare_masked(LABELS[:1], epsilon=1)
    with pytest.raises(ParameterError, match="epsilon"):
        prepare_masked(LABELS, epsilon=0)
