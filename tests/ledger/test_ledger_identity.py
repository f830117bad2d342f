"""Two requests are the same by public facts alone: whether their private contents coincide shows nowhere."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts, release_auc
from confide.errors import BudgetError, ParameterError
from confide.features import FeatureRows
from confide.learning.models import prepare_model
from confide.learning.selection_methods import prepare_selection
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion, score_digest
from confide.ledger.requests import Request
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import Noise
from confide.releases.auc import prepare_auc
from confide.releases.registry import RELEASABLE, RELEASE_METRICS, prepare
from confide.releases.terms import TermOptions
from tests.ledger.asking import COUNTS, OTHER_COUNTS, Book, about, ask
from tests.ledger.places import Place
from tests.noises import SILENT, WAYS, Way

LABELS = np.array([1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1])
SCORES = np.linspace(0.05, 0.95, LABELS.size)


def submission(swapped: int) -> np.ndarray[Any, Any]:
    """The scores with those of the first row and another one exchanged."""
    scores = SCORES.copy()
    scores[[0, swapped]] = scores[[swapped, 0]]
    return scores


def test_swapped_scores_do_not_repeat_an_answer(ledger: Book) -> None:
    """In a contest, submissions that swap two rows have the same counts exactly if the two labels are equal."""
    ledger.open_account("contest", epsilon=1, neighbours="label-only")
    terms: dict[str, Any] = {"epsilon": Fraction(1, 100_000), "neighbours": "label-only"}
    seen = {}
    for row in range(LABELS.size):
        scores = submission(row)
        counts = ScoreCounts.from_arrays(LABELS, scores)
        question = replace(about("contest"), details={"scores": score_digest(scores)})
        seen[row] = ledger.release(prepare_auc(counts, **terms), account="contest", question=question)
    assert not any(receipt.reused for receipt in seen.values())
    assert sum(entry.kind == "answer" for entry in ledger.history("contest")) == LABELS.size
    assert ledger.account("contest").spent.epsilon == LABELS.size * terms["epsilon"]


def test_a_question_decides_not_the_counts(ledger: Book) -> None:
    first = ledger.release(ask(counts=COUNTS))
    assert ledger.release(ask(counts=OTHER_COUNTS)).releases == first.releases
    assert COUNTS != OTHER_COUNTS
    for other in (
        replace(about(), details={"score": "age"}),
        replace(about(), data="data of a, version 2"),
        replace(about(), label="z"),
        replace(about(), positive="yes"),
        replace(about(), source="data-" + 32 * "0"),
    ):
        assert not ledger.release(ask(counts=COUNTS), question=other).reused


def test_without_a_question_every_call_is_a_new_one(ledger: Book) -> None:
    for times in range(1, 4):
        receipt = ledger.release(ask(), question=None)
        assert (receipt.reused, receipt.spent.epsilon) == (False, Fraction(times, 10))
    assert not ledger.quote(ask(), question=None).answered
    both = ledger.release([ask(), ask()], question=None)
    assert both.charged.epsilon == Fraction(2, 10)
    assert both.releases[0] != both.releases[1]


def test_an_account_used_up_refuses_alike_whatever_the_counts(ledger: Book) -> None:
    """Exit codes told whether private contents were those of an earlier request."""
    ledger.open_account("a", epsilon="1/10")
    ledger.release(ask(counts=COUNTS))
    another = replace(about(), details={"score": "another"})
    for counts in (COUNTS, OTHER_COUNTS):
        with pytest.raises(BudgetError):
            ledger.release(ask(counts=counts), question=another)
        assert ledger.quote(ask(counts=counts), question=another).price.epsilon == Fraction(1, 10)
        assert ledger.release(ask(counts=counts)).reused


def neighbours_of(relation: str) -> tuple[ScoreCounts, ScoreCounts]:
    other = LABELS.copy()
    if relation == "add-remove-one":
        return ScoreCounts.from_arrays(LABELS, SCORES), ScoreCounts.from_arrays(LABELS[:-1], SCORES[:-1])
    other[3] = 1 - other[3]
    moved = SCORES.copy()
    if relation == "replace-one":
        moved[3] = 0.5001
    return ScoreCounts.from_arrays(LABELS, SCORES), ScoreCounts.from_arrays(other, moved)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_what_identifies_a_release_is_the_same_for_neighbours(relation: Neighbours) -> None:
    """Every metric that can be released: parameters, guarantee and room in the ledger."""
    one, other = neighbours_of(relation)
    for metric in RELEASE_METRICS:
        terms: dict[str, Any] = {"epsilon": 1, "neighbours": relation}
        pairs = zip(prepare([metric], one, **terms), prepare([metric], other, **terms), strict=True)
        for mine, theirs in pairs:
            assert (mine.request, mine.guarantee, mine.numbers) == (theirs.request, theirs.guarantee, theirs.numbers)


VARIED: Mapping[str, Sequence[Any]] = {
    "epsilon": ("1/2", "1/3"),
    "delta": ("1e-5",),
    "unit": ("person",),
    "rows_per_person": (2,),
    "level": (0.9,),
    "prevalence_guess": (0.001, 0.02, 0.03, 0.2, 0.6),  # the first has the least class of no guess
    "threshold": (0.25, 0.75),
    "grid": ("uniform:8", "medians:2"),
    "strategy": ("haar", "per-point"),
    "shape": ("binormal", "counts"),
    "target": ("sensitivity=0.9",),
    "with_auc": (True,),
}
"""Values of every public parameter of a release, beside the usual one."""


MANY = ScoreCounts.from_arrays(np.arange(1000) % 5 == 0, (np.arange(1000) * 7 % 100) / 100)


def listening(calls: list[str]) -> Noise:
    """Add nothing, and note every call: what noise is asked for, and for which values."""

    def heard(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(re.sub(" at 0x[0-9a-f]+", "", repr((name, arguments, options))))
            return getattr(SILENT, name)(*arguments, **options)

        return call

    return Noise(**{each.name: heard(each.name) for each in fields(Noise)})


def test_every_parameter_of_a_release_is_varied() -> None:
    options = {option for each in RELEASABLE.values() for option in each.options}
    terms = set(TermOptions.__annotations__) - {"neighbours"}  # part of each way
    assert set(VARIED) == options | terms | {"epsilon"}


@pytest.mark.few(5)
@pytest.mark.usefixtures("few_simulated_tables")
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_requests_of_one_identity_draw_the_same(way: Way) -> None:
    """Whatever parameter is changed: if the noise or what it is added to changes, so does the request."""
    draws: defaultdict[str, set[str]] = defaultdict(set)
    for name, values in VARIED.items():
        for value in values:
            beside = {"unit": "person"} if name == "rows_per_person" else {}
            calls: list[str] = []
            try:
                prepared = way.prepare(MANY, **{**beside, name: value}, noise=listening(calls))
            except (ParameterError, TypeError):
                continue  # this way has no such parameter
            prepared.draw()
            draws[Request.of(prepared, PublicQuestion(data="rows, version 1")).parameters].add("\n".join(calls))
    assert len(draws) > 4
    assert all(len(found) == 1 for found in draws.values())


GUARANTEES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "epsilon": ({}, {"epsilon": Fraction(2)}),
    "delta": ({"delta": Fraction(1, 10**6)}, {"delta": Fraction(1, 10**5)}),
    "neighbours": ({}, {"neighbours": Neighbours.ADD_REMOVE_ONE}),
    "unit": ({}, {"unit": "person"}),
    "rows_per_person": ({"unit": "person"}, {"rows_per_person": 2}),
    "public": ({}, {"public": ("number of rows", "grid")}),
    "rho": ({"delta": Fraction(1, 10**6), "rho": Fraction(1, 50)}, {"rho": Fraction(1, 60)}),
}


@pytest.mark.parametrize("name", [each.name for each in fields(Guarantee)])
def test_a_request_is_identified_by_each_field_of_its_guarantee(name: str) -> None:
    usual, other = GUARANTEES[name]
    terms: dict[str, Any] = {
        "epsilon": Fraction(1),
        "neighbours": Neighbours.REPLACE_ONE,
        "public": ("number of rows",),
    }
    one = Guarantee(**{**terms, **usual})
    another = Guarantee(**{**terms, **usual, **other})
    asked = [Request.of(replace(ask(), guarantee=each), PublicQuestion(data="x")).parameters for each in (one, another)]
    assert asked[0] != asked[1]


def test_what_identifies_features_and_models_is_the_same_for_neighbours() -> None:
    generator = np.random.default_rng(1)
    matrix, labels = generator.random((30, 6)) < 0.4, generator.random(30) < 0.5
    one, other = FeatureRows.from_matrix(matrix, labels), FeatureRows.from_matrix(matrix[1:], labels[1:])
    part = Part("halves", "one")
    asked: list[Callable[[FeatureRows], Prepared[Any]]] = [
        lambda rows: prepare_selection(rows, method="peeling", k=2, epsilon=1, part=part),
        lambda rows: prepare_selection(rows, method="score-perturbation", threshold=3.0, epsilon=1),
        lambda rows: prepare_model(rows, "naive-bayes", {}, epsilon=1),
        lambda rows: prepare_model(rows, "logistic-regression", {}, epsilon=1),
    ]
    for ask_for in asked:
        mine, theirs = ask_for(one), ask_for(other)
        assert (mine.request, mine.guarantee, mine.numbers) == (theirs.request, theirs.guarantee, theirs.numbers)


@pytest.mark.long
def test_every_answer_to_one_request_is_stored_at_one_length(sqlite_place: Place) -> None:
    """Or whether a disk has room for it would tell how long it is, before anything was stored."""
    counts = ScoreCounts.from_arrays(LABELS, SCORES)
    lengths: dict[str, set[int]] = {}
    with Book(sqlite_place.url) as ledger:
        ledger.open_account("a", epsilon=1_000)
        for metric in RELEASE_METRICS:
            for _ in range(4):
                ledger.release(prepare([metric], counts, epsilon=1), question=None)
        for charge, answer in zip(*(iter(ledger.history("a")[1:]),) * 2, strict=True):
            lengths.setdefault(charge.request, set()).add(len(answer.answer or ""))
    assert len(lengths) > 5
    assert all(len(found) == 1 for found in lengths.values())


def test_an_answer_beyond_its_room_uses_the_charge_up(ledger: Book) -> None:
    from confide.errors import LedgerError

    long = replace(release_auc(COUNTS, epsilon=1), parts={"integers": list(range(3_000))})
    with pytest.raises(LedgerError, match="is too long for the ledger"):
        ledger.release(ask(draw=lambda: (long,)))
    assert [entry.kind for entry in ledger.history("a")] == ["open", "charge", "failure"]


def test_sources_are_known_by_their_bytes(place: Place) -> None:
    with Ledger(place.url) as ledger:
        ledger.open_account("a", epsilon=1)
        assert ledger.identify([b"some ", b"data"]) == ledger.identify([b"some data"])
        assert ledger.identify([b"some data"]) != ledger.identify([b"some data "])


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"data": ""}, "data must be a name and version"),
        ({"data": "a", "label": 1}, "label of a question must be text"),
        ({"data": "a", "details": [1]}, "details of a question must be a mapping"),
    ],
)
def test_questions_are_public_facts_in_words(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        PublicQuestion(**wrong)


def test_details_must_be_plain(ledger: Book) -> None:
    with pytest.raises(ParameterError, match="plain data"):
        ledger.release(ask(), question=replace(about(), details={"scores": object()}))
