"""Finals: exact without noise, equal for equal entries, never a failure, stored and read again, public requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.contest.bundles import Finalist, choose, scores_digest
from confide.contest.estimators import score_entry
from confide.contest.final import prepare_final
from confide.contest.final_result import FinalResult
from confide.contest.labels import MaskedLabels
from confide.contest.metric import KINDS, ContestMetric
from confide.contest.shaped_final import ShapedFinal
from confide.contest.terms import FinalMechanism
from confide.errors import ConfideError, DataError, ParameterError
from confide.ledger.charging import written
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.privacy.accounting import rho_for
from confide.privacy.queries import Noise
from tests.contest.finals import DELTA, FINAL, Labels, drawn, entries, final_terms
from tests.noises import FORBIDDEN, SILENT, seeded

QUESTION = PublicQuestion(data="heart attacks, version 2", label="died")
LABELS, FINALISTS = entries(np.random.default_rng(8), 150)
LINEAR = [name for name, kind in KINDS.items() if kind.linear]
BOTH = pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["masked", "shaped"])


def exact(metric: ContestMetric, name: str, labels: Labels = LABELS) -> float:
    return score_entry(metric, FINALISTS[name], MaskedLabels(labels, Fraction(0))).value


@pytest.mark.parametrize("metric", LINEAR)
def test_without_noise_a_shaped_final_is_the_metric_itself(metric: str) -> None:
    terms = final_terms(150, metric)
    result = drawn(prepare_final(terms, LABELS, FINALISTS, part=FINAL), SILENT)
    assert result.mechanism == FinalMechanism.SHAPED
    for entry in result.entries:
        assert entry.value == pytest.approx(exact(terms.metric, entry.name), abs=2e-6)
        assert entry.sample.lower <= entry.value <= entry.sample.upper
        assert entry.population.lower <= entry.sample.lower <= entry.sample.upper <= entry.population.upper
        assert 1 <= entry.rank == entry.rank_lowest <= entry.rank_highest <= 4
    goodness = [terms.metric.goodness(entry.value) for entry in result.entries]
    assert goodness == sorted(goodness, reverse=True)


@BOTH
def test_equal_entries_are_ties_with_equal_numbers(delta: Fraction) -> None:
    twice = {**FINALISTS, "copy": FINALISTS["entry 2"].copy(), "also": FINALISTS["entry 2"] ** 2}
    result = drawn(prepare_final(final_terms(150, delta=delta), LABELS, twice, part=FINAL), seeded(4))
    alike = [entry for entry in result.entries if entry.name in ("copy", "also", "entry 2")]
    assert [entry.name for entry in alike] == ["also", "copy", "entry 2"]
    assert len({(entry.value, entry.sample, entry.population, entry.rank) for entry in alike}) == 1
    assert len({entry.digest for entry in alike}) == 2


@pytest.mark.few(7)
@BOTH
@pytest.mark.parametrize("metric", LINEAR)
@pytest.mark.parametrize("rows", [2, 5, 60])
def test_no_labels_and_no_noise_make_a_final_fail(metric: str, rows: int, delta: Fraction) -> None:
    """One class alone, scores that are all alike, and noise from nothing to far beyond everything."""
    rng = np.random.default_rng(rows)
    finalists = {"a": rng.random(rows), "b": np.full(rows, 0.5), "c": np.zeros(rows), "d": np.arange(rows) / rows}
    far = Noise(discrete_gaussian=lambda values, scale: [value + 2**60 for value in values])
    wrong = Noise(flips=lambda count, probability: np.ones(count, dtype=np.bool_))
    for labels in (np.zeros(rows, dtype=np.bool_), np.ones(rows, dtype=np.bool_), rng.random(rows) < 0.5):
        prepared = prepare_final(final_terms(rows, metric, delta=delta), labels, finalists, part=FINAL)
        for noise in (SILENT, far, wrong, seeded(1)):
            result = drawn(prepared, noise)
            written((result,), prepared.numbers)
            for entry in result.entries:
                numbers = (entry.sample.lower, entry.value, entry.sample.upper)
                assert list(numbers) == sorted(numbers)
                assert np.isfinite([*numbers, entry.population.lower, entry.population.upper]).all()
                assert 1 <= entry.rank <= entry.rank_highest <= 4


@BOTH
def test_entries_are_identified_as_the_server_knows_them(delta: Fraction) -> None:
    """By the scores as they were sent: minus zero is no zero there."""
    finalists = {"a": np.linspace(-1.0, 1.0, 150), "b": np.full(150, -0.0)}
    result = drawn(prepare_final(final_terms(150, delta=delta), LABELS, finalists, part=FINAL), seeded(3))
    assert {entry.name: entry.digest for entry in result.entries} == {
        name: scores_digest(scores) for name, scores in finalists.items()
    }


# --- requests and answers


def book(folder: Path) -> Ledger:
    ledger = Ledger(folder / "ledger.sqlite", padding=0)
    ledger.open_account("trial", epsilon=1, delta=DELTA, neighbours="label-only", data=QUESTION.data, label="died")
    return ledger


def published(ledger: Ledger, delta: Fraction, finalists: Any = FINALISTS) -> Any:
    prepared = prepare_final(final_terms(150, delta=delta), LABELS, finalists, part=FINAL)
    return ledger.release(prepared, account="trial", question=QUESTION)


@BOTH
def test_a_final_published_again_costs_nothing_and_has_the_same_numbers(tmp_path: Path, delta: Fraction) -> None:
    with book(tmp_path) as ledger:
        first = published(ledger, delta)
        ledger.noise = FORBIDDEN
        again = published(ledger, delta, dict(reversed(FINALISTS.items())))
        assert again.reused
        assert again.answers == first.answers
        assert ledger.account("trial").spent.epsilon == 1


def test_other_finalists_of_a_shaped_final_are_another_request(tmp_path: Path) -> None:
    fewer = {name: FINALISTS[name] for name in ("entry 0", "entry 1")}
    renamed = {f"{name}!": scores for name, scores in FINALISTS.items()}
    moved = {**FINALISTS, "entry 0": np.roll(FINALISTS["entry 0"], 1)}
    with book(tmp_path) as ledger:
        published(ledger, DELTA)
        ledger.noise = FORBIDDEN
        for other in (fewer, renamed, moved):
            with pytest.raises(ConfideError, match="left"):
                published(ledger, DELTA, other)


def test_other_finalists_of_a_masked_final_follow_from_the_same_mask(tmp_path: Path) -> None:
    fewer = {name: FINALISTS[name] for name in ("entry 0", "entry 1")}
    with book(tmp_path) as ledger:
        ((first,),) = published(ledger, Fraction(0)).answers
        ledger.noise = FORBIDDEN
        receipt = published(ledger, Fraction(0), fewer)
        ((second,),) = receipt.answers
    assert receipt.reused
    assert second.noise == first.noise
    values = {entry.name: entry.value for entry in first.entries}
    assert {entry.name: entry.value for entry in second.entries} == {name: values[name] for name in fewer}


@BOTH
def test_the_request_and_its_room_do_not_depend_on_labels(delta: Fraction) -> None:
    terms = final_terms(150, delta=delta)
    first, second = (prepare_final(terms, labels, FINALISTS, part=FINAL) for labels in (LABELS, ~LABELS))
    assert (first.request, first.guarantee, first.numbers) == (second.request, second.guarantee, second.numbers)
    lengths = {len(written(each.draw(seeded(seed)), each.numbers)) for each in (first, second) for seed in range(3)}
    assert len(lengths) == 1


def test_the_noise_that_is_asked_for_is_that_of_the_guarantee() -> None:
    heard: list[Fraction] = []

    def gaussian(values: Sequence[int], scale: Fraction) -> list[int]:
        heard.append(scale)
        return list(values)

    prepared = prepare_final(final_terms(150), LABELS, FINALISTS, part=FINAL)
    prepared.draw(Noise(discrete_gaussian=gaussian))
    rho = rho_for(Fraction(1), DELTA)
    assert prepared.guarantee.epsilon == 1
    assert (prepared.guarantee.delta, prepared.guarantee.rho) == (DELTA, rho)
    (scale,) = heard
    assert 5 * 2**40 <= scale**2 * 2 * rho <= 1.03 * 5 * 2**40  # five lines, in steps of 2^-20


def test_long_names_fit_into_the_ledger() -> None:
    many = {f"{'ä' * 90}{number}": FINALISTS["entry 0"] for number in range(3)}
    prepared = prepare_final(final_terms(150), LABELS, many, part=FINAL)
    assert "\\u00e4" in written(prepared.draw(SILENT), prepared.numbers)


@BOTH
def test_plain_data_come_back(delta: Fraction) -> None:
    prepared = prepare_final(final_terms(150, delta=delta), LABELS, FINALISTS, part=FINAL)
    result = drawn(prepared, seeded(2))
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["schema"] == "confide.contest-final/1"
    assert "population" in plain["meaning"]["rank"]
    assert prepared.read(plain, prepared.guarantee) == result
    again = FinalResult.from_dict(plain)
    assert replace(again, guarantee=result.guarantee) == result
    assert again.guarantee.epsilon == result.guarantee.epsilon


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": "confide.board/1"},
        {"entries": [{}]},
        {"entries": None},
        {"metric": {"name": "x"}},
        {"noise": 3},
        {"rows": float("inf")},
    ],
)
def test_what_is_no_result_is_refused(damage: dict[str, Any]) -> None:
    result = drawn(prepare_final(final_terms(150), LABELS, FINALISTS, part=FINAL), seeded(2))
    with pytest.raises(DataError, match="not the result of a final"):
        FinalResult.from_dict({**result.to_dict(), **damage})
    infinite = json.loads(json.dumps(result.to_dict()))
    infinite["entries"][0]["value"] = float("nan")
    with pytest.raises(DataError, match="not the result of a final"):
        FinalResult.from_dict(infinite)


def test_wrong_finalists_are_refused_before_anything_is_charged() -> None:
    terms = final_terms(150)
    with pytest.raises(ParameterError, match="at least one finalist"):
        prepare_final(terms, LABELS, {}, part=FINAL)
    with pytest.raises(DataError, match="150 rows"):
        prepare_final(terms, LABELS[:-1], FINALISTS, part=FINAL)
    with pytest.raises(ParameterError, match="scores"):
        prepare_final(terms, LABELS, {"a": np.zeros(149)}, part=FINAL)
    with pytest.raises(ParameterError, match="finite"):
        prepare_final(terms, LABELS, {"a": np.full(150, np.nan)}, part=FINAL)
    with pytest.raises(ParameterError, match="no final"):
        prepare_final(replace(terms, final_epsilon=None), LABELS, FINALISTS, part=FINAL)


def test_nearly_equal_finalists_do_not_stop_a_final() -> None:
    """Forms that differ in one row leave hardly an ellipsoid; the strategy then is a ball, and as private."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores = np.round(rng.random(40), 1)
        other = scores.copy()
        other[seed] = 1.0 - other[seed]
        third = scores.copy()
        third[-1] += 1e-9
        final = ShapedFinal.of(ContestMetric.checked("auc"), [scores, other, third])
        assert np.isfinite(final.strategy.back).all()


def test_names_of_finalists_are_unique() -> None:
    named = [("A", "s1"), ("A", "s2"), ("A (s1)", "s3")]
    finalists = [Finalist(participant=one, submission=two, scores=np.arange(3.0)) for one, two in named]
    chosen = choose(finalists, contest="heart", template="0" * 64)
    assert len(chosen.by_name()) == 3
