"""Answers that are no metrics, and answers that read a part of the rows: parts compose in parallel where they may."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from confide.errors import BudgetError, LedgerError, ParameterError
from confide.ledger.question import PublicQuestion
from confide.privacy.prepared import Part, Prepared
from tests.ledger.asking import Book, Choice, ask, choose
from tests.ledger.places import Place

HALVES = "a hash of the features, two halves"
ONE, OTHER = Part(HALVES, "one"), Part(HALVES, "other")
IN_A = {part: replace(part, partition=f"{HALVES}, in data of a") for part in (ONE, OTHER)}
HALF = Fraction(1, 2)
ZERO = Fraction(0)


def test_an_answer_that_is_no_metric_is_charged_stored_and_read_again(ledger: Book) -> None:
    receipt = ledger.release(choose("1/2"), account="a")
    ((choice,),) = receipt.answers
    assert isinstance(choice, Choice)
    assert receipt.releases == (choice,)
    assert (receipt.charged.epsilon, receipt.full_price.epsilon) == (HALF, HALF)
    again = ledger.release(choose("1/2"), account="a")
    assert again.reused
    assert again.answers == receipt.answers
    assert again.full_price.epsilon == 0
    assert ledger.history("a")[-1].answered[0]["features"] == list(choice.features)


def test_metrics_and_other_answers_share_a_budget(ledger: Book) -> None:
    both: list[Prepared[Any]] = [choose("1/2"), ask("1/2", neighbours="add-remove-one")]
    ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    chosen, released = ledger.release(both, account="a").answers
    assert isinstance(chosen[0], Choice)
    assert released[0].metric == "auc"
    with pytest.raises(BudgetError, match="has epsilon 0 left"):
        ledger.release(choose(number=2), account="a")


def test_rules_and_data_whose_names_run_together_are_told_apart(ledger: Book) -> None:
    """A rule ", in e" for data "d" is not the rule for data "e, in d"."""
    ledger.open_account("a", epsilon=3, neighbours="add-remove-one")
    for part, data in ((Part("halves, in e", "one"), "d"), (Part("halves", "other"), "e, in d")):
        ledger.release(choose("1/2", part=part), account="a", question=PublicQuestion(data=data))
    assert len({part.partition for part in ledger.account("a").spending.parts}) == 2
    assert ledger.account("a").spent.epsilon == 1


@pytest.mark.parametrize("neighbours", ["add-remove-one", "label-only"])
def test_parts_compose_in_parallel(ledger: Book, neighbours: str) -> None:
    ledger.open_account("a", epsilon=1, neighbours=neighbours)

    def pay(epsilon: str, part: Part | None) -> tuple[Fraction, Fraction, Fraction]:
        receipt = ledger.release(choose(epsilon, neighbours=neighbours, part=part), account="a")
        return receipt.charged.epsilon, receipt.full_price.epsilon, receipt.spent.epsilon

    assert pay("1/2", ONE) == (HALF, HALF, HALF)
    assert pay("1/4", OTHER) == (ZERO, HALF / 2, HALF)
    assert pay("3/8", OTHER) == (HALF / 4, 3 * HALF / 4, 5 * HALF / 4)
    assert pay("1/4", None) == (HALF / 2, HALF / 2, 7 * HALF / 4)
    account = ledger.account("a")
    assert account.spending.parts[IN_A[ONE]].epsilon == HALF
    assert account.spending.parts[IN_A[OTHER]].epsilon == 5 * HALF / 4
    assert account.to_dict()["parts"][0] == {**IN_A[ONE].to_dict(), "spent": {"epsilon": 0.5, "delta": 0.0}}
    charges = [entry for entry in ledger.history("a") if entry.kind == "charge"]
    assert [entry.part for entry in charges] == [IN_A[ONE], IN_A[OTHER], IN_A[OTHER], None]
    assert [entry.amount.epsilon for entry in charges] == [HALF, HALF / 2, 3 * HALF / 4, HALF / 2]


def test_different_partitions_add_up(ledger: Book) -> None:
    ledger.release(choose("1/2", part=ONE), account="a")
    receipt = ledger.release(choose("1/4", part=Part(f"{HALVES} of another key", "one")), account="a")
    assert receipt.spent.epsilon == 3 * HALF / 2


@pytest.mark.parametrize(
    ("account", "released", "price"),
    [
        ("replace-one", "replace-one", "1/4"),
        ("label-only", "replace-one", "1/4"),
    ],
)
def test_parts_add_up_where_replacement_is_what_was_promised_about(
    ledger: Book, account: str, released: str, price: str
) -> None:
    """A replaced row may leave one part and enter another."""
    ledger.open_account("a", neighbours=account)
    for part in (ONE, OTHER):
        receipt = ledger.release(choose("1/4", neighbours=released, part=part), account="a")
        assert receipt.charged == receipt.full_price
    assert receipt.spent.epsilon == 2 * Fraction(price)
    assert ledger.account("a").spending.parts == {}
    assert ledger.history("a")[1].part == IN_A[ONE]


@pytest.mark.parametrize("account", ["label-only", "replace-one"])
def test_add_remove_one_parts_keep_their_double_price_elsewhere(ledger: Book, account: str) -> None:
    """A row that moves costs half of the double price on either side: together no more than the dearer side."""
    ledger.open_account("a", neighbours=account)
    for part in (ONE, OTHER):
        receipt = ledger.release(choose("1/4", part=part), account="a")
    assert (receipt.full_price.epsilon, receipt.charged.epsilon, receipt.spent.epsilon) == (HALF, ZERO, HALF)


def test_a_part_makes_another_request(ledger: Book) -> None:
    whole, one = ledger.release(choose(), account="a"), ledger.release(choose(part=ONE), account="a")
    assert not one.reused
    assert one.answers != whole.answers
    assert not ledger.release(choose(part=OTHER), account="a").reused
    again = ledger.release(choose(part=ONE), account="a")
    assert (again.reused, again.answers) == (True, one.answers)


def test_quotes_for_parts_say_what_is_then_charged(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    for asked in (
        [choose("1/2", part=ONE)],
        [choose("1/4", part=OTHER)],
        [choose("1/2", part=OTHER, n=1), choose("1/8", n=2), choose("1/8", part=ONE, n=3)],
        [choose("1/4", part=OTHER)],
    ):
        quote = ledger.quote(asked, account="a")
        assert quote.fits
        receipt = ledger.release(asked, account="a")
        assert (receipt.charged, receipt.full_price) == (quote.price, quote.full_price)
        assert receipt.remaining == quote.remaining_after
        assert receipt.in_words() == quote.in_words()
    assert receipt.spent.epsilon == 7 * HALF / 4
    assert receipt.in_words() == "nothing: answered before"
    more = ledger.quote(choose("1/8", part=ONE, n=9), account="a")
    assert more.in_words() == "epsilon 0 more (by itself epsilon 0.125; parts of the rows count in parallel)"
    assert more.in_a_cell() == ("epsilon 0", "By itself it costs epsilon 0.125; parts of the rows count in parallel.")
    assert (more.to_dict()["price"]["epsilon"], more.to_dict()["full_price"]["epsilon"]) == (0.0, 0.125)


def test_refusals_say_what_would_fit_in_a_part(ledger: Book, place: Place) -> None:
    """Nothing is left for all rows, but a part that cost less than another has room up to it."""
    ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    ledger.release([choose(1, part=ONE), choose("1/4", part=OTHER)], account="a")
    written = place.dump()
    with pytest.raises(BudgetError, match=r"has epsilon 0 left, but 0.25 more would be spent \(1 for the parts") as got:
        ledger.release(choose(1, part=OTHER, n=1), account="a")
    assert "0.25 is missing. epsilon 0.75 would fit" in str(got.value)
    assert (got.value.requested, got.value.remaining, got.value.missing) == (HALF / 2, ZERO, HALF / 2)
    with pytest.raises(BudgetError, match="It can go on only"):
        ledger.release(choose("1/100", part=ONE, n=1), account="a")
    assert place.dump() == written
    assert ledger.release(choose("3/4", part=OTHER), account="a").remaining.epsilon == 0


def test_a_cap_below_what_is_spent_leaves_nothing_to_any_part(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    ledger.release(choose(1, part=ONE), account="a")
    ledger.change_caps("a", epsilon=HALF)
    with pytest.raises(BudgetError, match=r"account 'a' has spent epsilon 1, and its cap is 0.5. It can go on only"):
        ledger.release(choose("1/100", part=OTHER), account="a")


def test_analysts_spend_parts_in_parallel_too(ledger: Book) -> None:
    ledger.open_account("a", epsilon=2, neighbours="add-remove-one", analyst_epsilon="1/2")
    for part in (ONE, OTHER):
        receipt = ledger.release(choose("1/2", part=part), account="a", analyst="ana")
    assert receipt.remaining.epsilon == 0
    assert ledger.account("a").spent_by["ana"].epsilon == HALF
    with pytest.raises(BudgetError, match="analyst 'ana' in account 'a' has epsilon 0 left"):
        ledger.release(choose("1/4", part=ONE, n=1), account="a", analyst="ana")
    bob = ledger.release(choose("1/4", part=ONE, n=1), account="a", analyst="bob")
    assert (bob.spent.epsilon, bob.remaining.epsilon) == (3 * HALF / 2, HALF / 2)


def test_what_an_analyst_may_spend_counts_where_the_account_spends_nothing_more(ledger: Book) -> None:
    """Bob's half of part one costs the account nothing, as ana's half of the other did; bob it costs a half."""
    ledger.open_account("a", epsilon=2, neighbours="add-remove-one", analyst_epsilon="1/2")
    ledger.release(choose("1/2", part=OTHER), account="a", analyst="ana")
    receipt = ledger.release(choose("1/2", part=ONE), account="a", analyst="bob")
    assert (receipt.charged.epsilon, receipt.remaining.epsilon) == (ZERO, ZERO)
    with pytest.raises(BudgetError, match="analyst 'bob'"):
        ledger.release(choose("1/100", part=ONE, n=1), account="a", analyst="bob")


def test_a_charge_of_a_part_stands_when_drawing_fails(ledger: Book) -> None:
    def draw() -> tuple[Any, ...]:
        raise RuntimeError("no noise")

    def failing() -> Prepared[Any]:
        return ask("1/4", neighbours="add-remove-one", part=ONE, draw=draw)

    for _ in range(2):
        with pytest.raises(RuntimeError):
            ledger.release(failing(), account="a")
    assert ledger.account("a").spending.parts[IN_A[ONE]].epsilon == HALF
    assert ledger.release(choose("1/2", part=OTHER), account="a").charged.epsilon == 0


def test_a_charge_moved_to_another_part_shows(ledger: Book, place: Place) -> None:
    for part in (ONE, OTHER):
        ledger.release(choose("1/2", part=part), account="a")
    place.execute(
        "UPDATE confide_entries SET text = replace(text, 'other', 'third') WHERE text LIKE '%\"kind\":\"charge\"%'"
    )
    assert [check.broken for check in ledger.verify().accounts] == [4]
    with pytest.raises(LedgerError, match="behind the ledger's back"):
        ledger.release(choose("1/2", part=OTHER), account="a")


def test_tight_composition_is_that_of_one_row(sqlite_place: Place) -> None:
    pytest.importorskip("dp_accounting", reason="tight composition needs confide[pld]")
    places = {"parts": (None, ONE, OTHER), "whole": (None, None), "thrice": (None, None, None)}
    with Book(sqlite_place.url) as ledger:
        for name, parts in places.items():
            asked = [choose("1/20", part=part, n=n, k=k) for n in range(30) for k, part in enumerate(parts)]
            ledger.release(asked, account=name)
        composed, whole, thrice = (ledger.tight_epsilon(name, 1e-6) for name in places)
        assert composed == whole < thrice
        assert whole < ledger.account("parts").spent.epsilon == 3


def test_tight_composition_never_exceeds_what_is_spent(sqlite_place: Place) -> None:
    """One by one, the dearest of either part make up 11/8, but no row costs more than 5/4."""
    pytest.importorskip("dp_accounting", reason="tight composition needs confide[pld]")
    paid = (("1", ONE), ("1/4", ONE), ("1/2", OTHER), ("3/8", OTHER))
    with Book(sqlite_place.url) as ledger:
        ledger.release([choose(epsilon, part=part) for epsilon, part in paid], account="a")
        assert ledger.tight_epsilon("a", 1e-6) == 1.25


@pytest.mark.parametrize(("partition", "name"), [("", "one"), ("halves", " "), ("two\nlines", "one"), ("h" * 401, "1")])
def test_a_part_needs_names(partition: str, name: str) -> None:
    with pytest.raises(ParameterError, match="of a part must be text of 1 to 400 printable characters"):
        Part(partition, name)
