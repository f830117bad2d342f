"""What may be spent: exact caps, reuse for free, relations, analysts, all or none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.errors import BudgetError, ParameterError
from confide.ledger.ledger import Ledger
from confide.ledger.spending import Budget
from confide.releases.release import PreparedRelease, Release
from tests.ledger.asking import Book, ask, noise
from tests.ledger.places import Place


def test_caps_hold_exactly(ledger: Book) -> None:
    """Ten tenths are one, which they are not in floating point, and an eleventh does not fit."""
    ledger.open_account("a", epsilon=1)
    for number in range(10):
        receipt = ledger.release(ask(0.1, number=number), account="a")
    assert receipt.spent.epsilon == 1
    assert receipt.remaining.epsilon == 0
    with pytest.raises(BudgetError, match=r"has epsilon 0 left, but 0.1 was requested: 0.1 is missing") as caught:
        ledger.release(ask(0.1, number=10), account="a")
    error = caught.value
    assert (error.requested, error.remaining, error.missing) == (Fraction(1, 10), Fraction(0), Fraction(1, 10))


@pytest.mark.parametrize(
    ("price", "times"), [("1/3", 3), ("1/7", 2), ("1/1024", 2), ("1/10000", 2), ("0.9999999", 1), ("1/1000000", 2)]
)
def test_a_charge_is_what_was_promised_to_the_last_digit(sqlite_place: Place, price: str, times: int) -> None:
    """Neither the price, the entry nor the sum is rounded, in the ledger that charged and in the next that reads it."""
    promised, delta = Fraction(price), Fraction(1, 3 * 10**9)
    with Ledger(sqlite_place.url) as book:
        book.open_account("a", epsilon=times * promised, delta=times * delta)
        for number in range(times):
            receipt = book.release(ask(price, delta=delta, number=number), account="a")
            assert receipt.charged == Budget(epsilon=promised, delta=delta)
            assert receipt.spent == Budget(epsilon=(number + 1) * promised, delta=(number + 1) * delta)
    with Ledger(sqlite_place.url) as again:
        account = again.account("a")
        assert account.spent == Budget(epsilon=times * promised, delta=times * delta)
        assert account.remaining() == Budget()
        with pytest.raises(BudgetError):
            again.release(ask("1/1000000", number=times), account="a")


def test_a_concentrated_account_charges_to_the_last_digit(sqlite_place: Place) -> None:
    """Large amounts of epsilon are counted as they are, and small ones by their rho."""
    large, small = Fraction(6, 7), Fraction(1, 11)
    with Ledger(sqlite_place.url) as book:
        book.open_account("a", epsilon=3, delta=Fraction(1, 10**6), composition="zcdp")
        assert book.release(ask(str(large)), account="a").charged == Budget(epsilon=large)
        book.release(ask(str(small), number=1), account="a")
    with Ledger(sqlite_place.url) as again:
        spent = again.account("a").spent
        at = again.account("a").terms.concentration
    assert at is not None
    assert spent == Budget(epsilon=large + at.epsilon_of(small**2 / 2), delta=at.delta, rho=small**2 / 2)


def test_the_same_request_gets_the_same_answer_for_free(ledger: Book, place: Place) -> None:
    first = ledger.release(ask(), analyst="ana")
    written = place.dump()
    for analyst in ("ana", "bob", None):
        again = ledger.release(ask(), analyst=analyst)
        assert again.releases == first.releases
        assert again.reused
        assert again.charged.epsilon == 0
        assert again.spent == first.spent
    assert place.dump() == written


def test_an_answer_comes_back_as_it_was_drawn(ledger: Book) -> None:
    drawn: list[Release] = []
    prepared = ask()

    def draw() -> tuple[Release, ...]:
        drawn.extend([noise(prepared.guarantee), noise(prepared.guarantee)])
        return tuple(drawn)

    receipt = ledger.release(ask(draw=draw))
    assert receipt.releases == tuple(drawn)
    assert ledger.release(ask()).releases == tuple(drawn)


@pytest.mark.parametrize(
    "other",
    [
        ask("1/5"),
        ask(delta="1/1000000"),
        ask(neighbours="add-remove-one"),
        ask(bins=10),
    ],
)
def test_other_parameters_are_other_requests(ledger: Book, other: PreparedRelease) -> None:
    ledger.release(ask(), account="a")
    receipt = ledger.release(other, account="a")
    assert not receipt.reused
    assert receipt.charged.epsilon > 0


def test_releases_for_other_neighbours_are_converted(ledger: Book) -> None:
    ledger.open_account("a", neighbours="replace-one")
    assert ledger.release(ask("1/10", neighbours="add-remove-one"), account="a").charged.epsilon == Fraction(1, 5)
    with pytest.raises(ParameterError, match=r"label-only neighbours promises nothing.*replace-one or add-remove-one"):
        ledger.release(ask(neighbours="label-only"), account="a")
    ledger.open_account("labels", neighbours="label-only")
    assert ledger.release(ask("1/10"), account="labels").charged.epsilon == Fraction(1, 10)


def test_what_would_fit_is_said_in_the_request_s_own_terms(ledger: Book) -> None:
    ledger.open_account("a", epsilon="1/2")
    with pytest.raises(
        BudgetError,
        match=r"0.5 left, but 1 was requested: 0.5 is missing \(epsilon 0.5 counts as 1 here.*epsilon 0.25 would fit",
    ):
        ledger.release(ask("1/2", neighbours="add-remove-one"), account="a")
    assert ledger.release(ask("1/4", neighbours="add-remove-one"), account="a").remaining.epsilon == 0


def test_units_do_not_mix(ledger: Book) -> None:
    ledger.open_account("a", unit="person")
    with pytest.raises(ParameterError, match="protects each person, but the release protects each row"):
        ledger.release(ask(), account="a")


def test_delta_has_a_cap_too(ledger: Book) -> None:
    ledger.open_account("a", delta="1/1000000")
    ledger.release(ask(delta="1/1000000"), account="a")
    with pytest.raises(BudgetError, match=r"delta 0 left, but 1e-06 was requested.*delta 0 would fit") as caught:
        ledger.release(ask(delta="1/1000000", bins=2), account="a")
    assert caught.value.parameter == "delta"
    assert not ledger.release(ask(bins=2), account="a").reused


def test_a_cap_on_delta_does_not_hold_back_who_asks_for_none(ledger: Book) -> None:
    ledger.open_account("a", delta="1/1000000")
    ledger.release(ask(delta="1/1000000"), account="a")
    ledger.change_caps("a", delta=0)
    assert ledger.release(ask(bins=2), account="a").charged.epsilon == Fraction(1, 10)
    with pytest.raises(BudgetError, match=r"delta 0 left"):
        ledger.release(ask(delta="1/1000000", bins=2), account="a")


def test_analysts_have_caps(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1, analyst_epsilon="1/5", analysts={"eve": 0, "ana": "1/2"})
    ledger.release(ask("1/2", n=1), account="a", analyst="ana")
    receipt = ledger.release(ask("1/5", n=2), account="a", analyst="bob")
    assert receipt.remaining.epsilon == 0
    assert receipt.spent.epsilon == Fraction(7, 10)
    for analyst in ("ana", "bob", "eve"):
        with pytest.raises(BudgetError, match=f"analyst '{analyst}' in account 'a' has epsilon 0 left"):
            ledger.release(ask(n=3), account="a", analyst=analyst)
    with pytest.raises(ParameterError, match="name the analyst"):
        ledger.release(ask(n=3), account="a")
    ledger.release(ask("1/5", n=3), account="a", analyst="cyd")
    with pytest.raises(BudgetError, match=r"^account 'a' has epsilon 0.1 left"):
        ledger.release(ask("1/5", n=4), account="a", analyst="dan")
    assert ledger.account("a").spent_by["bob"].epsilon == Fraction(1, 5)


@pytest.mark.parametrize("again", ["Ana", " ana", "ANA ", "a\uff4ea"])
def test_another_spelling_of_an_analyst_is_the_same_analyst(ledger: Book, again: str) -> None:
    ledger.open_account("a", epsilon=9, analyst_epsilon="1/5", analysts={"Eve": 0, "bob": "1/2"})
    ledger.release(ask("1/5", n=1), account="a", analyst="ana")
    for name in (again, "eve"):
        assert not ledger.quote(ask(n=2), account="a", analyst=name).fits
        with pytest.raises(BudgetError, match="has epsilon 0 left"):
            ledger.release(ask(n=2), account="a", analyst=name)
    ledger.release(ask("1/2", n=3), account="a", analyst="Bob")
    ledger.change_caps("a", analysts={again: "2/5"})
    assert ledger.release(ask("1/5", n=4), account="a", analyst=again).remaining.epsilon == 0
    assert {name: spent.epsilon for name, spent in ledger.account("a").spent_by.items()} == {
        "ana": Fraction(2, 5),
        "bob": Fraction(1, 2),
    }
    with pytest.raises(ParameterError, match="give each analyst one cap"):
        ledger.change_caps("a", analysts={"ana": 1, again: 2})
    with pytest.raises(ParameterError, match="give each analyst one cap"):
        ledger.open_account("b", epsilon=9, analysts={"ana": 1, again: 2})


def test_caps_change_and_may_lie_below_what_is_spent(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    ledger.release(ask("1/2", neighbours="add-remove-one"), account="a")
    changed = ledger.change_caps("a", epsilon="1/5", analysts={"ana": 3})
    assert changed.remaining().epsilon == 0
    assert changed.spent.epsilon == Fraction(1, 2)
    assert changed == ledger.account("a")
    raised = ledger.change_caps("a", epsilon=2)
    assert raised.remaining("ana").epsilon == Fraction(3, 2)
    assert raised.neighbours == "add-remove-one"
    with pytest.raises(ParameterError, match="exists already"):
        ledger.open_account("a")
    with pytest.raises(ParameterError, match="there is no account 'b'"):
        ledger.change_caps("b", epsilon=1)


def test_refusals_write_nothing(ledger: Book, place: Place) -> None:
    ledger.open_account("a", epsilon=1)
    written = place.dump()
    for refused, account in [
        (ask(2), "a"),
        (ask(neighbours="label-only"), "a"),
        (ask(unit="person"), "a"),
        (ask(bins=float("nan")), "a"),
        (ask(bins=object()), "a"),
        (ask(), "two\nlines"),
        (ask(), " "),
    ]:
        with pytest.raises((BudgetError, ParameterError)):
            ledger.release(refused, account=account)
    with pytest.raises(ParameterError, match="at least one"):
        ledger.release([])
    with pytest.raises(ParameterError, match="analyst"):
        ledger.release(ask(), analyst="")
    assert place.dump() == written


def test_several_are_charged_all_or_none(ledger: Book, place: Place) -> None:
    ledger.open_account("a", epsilon=1)
    written = place.dump()
    with pytest.raises(BudgetError, match=r"1.1 was requested: 0.1 is missing"):
        ledger.release([ask("1/2", n=1), ask("3/5", n=2)], account="a")
    assert place.dump() == written
    receipt = ledger.release([ask("1/2", n=1), ask("1/2", n=2), ask("1/2", n=1)], account="a")
    assert receipt.charged.epsilon == 1
    assert len(receipt.releases) == 3
    assert receipt.releases[0] == receipt.releases[2] != receipt.releases[1]
    both = ledger.release([ask("1/2", n=2), ask("1/2", n=1)], account="a")
    assert both.reused
    assert both.releases == (receipt.releases[1], receipt.releases[0])


def test_only_what_is_new_is_charged(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1)
    first = ledger.release(ask("1/2"), account="a")
    both = ledger.release([ask("1/2"), ask("1/2", n=2)], account="a")
    assert both.charged.epsilon == Fraction(1, 2)
    assert not both.reused
    assert both.releases[0] == first.releases[0]


def test_quotes_say_what_will_happen(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1)
    quote = ledger.quote(ask("2/5"), account="a")
    assert (quote.price.epsilon, quote.spent.epsilon, quote.remaining.epsilon) == (
        Fraction(2, 5),
        Fraction(0),
        Fraction(1),
    )
    assert quote.remaining_after.epsilon == Fraction(3, 5)
    assert quote.fits
    assert not quote.answered
    receipt = ledger.release(ask("2/5"), account="a")
    assert receipt.charged == quote.price
    assert receipt.remaining == quote.remaining_after
    again = ledger.quote(ask("2/5"), account="a")
    assert again.answered
    assert again.fits
    assert again.price.epsilon == 0
    dear = ledger.quote(ask(1), account="a")
    assert not dear.fits
    assert dear.remaining_after == dear.remaining
    assert "0.4 is missing" in str(dear.refusal)


def test_a_quote_writes_nothing(ledger: Book, place: Place) -> None:
    def files() -> list[str]:
        return sorted(str(path) for path in place.key.parent.rglob("*")) if place.key.parent.exists() else []

    before = files()
    with pytest.raises(ParameterError, match=r"there is no ledger at .*Ledger.open_account"):
        Ledger.quote(ledger, ask(), account="a")
    assert ledger.accounts() == ()
    assert ledger.verify().whole
    assert files() == before
    if place.kind == "postgresql":
        assert place.execute("SELECT to_regclass('confide_entries')") == [(None,)]
    ledger.release(ask(), account="a")
    written, before = place.dump(), files()
    assert ledger.quote(ask(bins=3), account="a").fits
    assert not ledger.quote(ask(11), account="a").fits
    with pytest.raises(ParameterError, match="there is no account 'another'"):
        Ledger.quote(ledger, ask(bins=3), account="another")
    assert (place.dump(), files()) == (written, before)


def test_history_says_what_happened(ledger: Book) -> None:
    ledger.open_account("a", epsilon=1)
    release = ledger.release(ask(bins=3), account="a", analyst="ana").releases[0]
    ledger.change_caps("a", epsilon=2)
    opened, charge, answer, cap = ledger.history("a")
    assert [entry.kind for entry in (opened, charge, answer, cap)] == ["open", "charge", "answer", "cap"]
    assert charge.amount.epsilon == Fraction(1, 10)
    assert charge.request_data["request"]["bins"] == 3
    assert charge.analyst == answer.analyst == "ana"
    assert answer.charge == charge.sequence
    assert answer.answered[0]["value"] == release.value
    assert cap.amount.epsilon == 2
    assert charge.at.endswith("+00:00")
    with pytest.raises(ParameterError, match="there is no account 'b'"):
        ledger.history("b")


def test_noise_of_another_kind_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="`noise` must be a Noise"):
        Ledger(tmp_path / "ledger.sqlite", noise=np.random.default_rng(0))  # type: ignore[arg-type]
