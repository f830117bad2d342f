"""Accounts of composition zcdp: rho beside epsilon, with every promise of the ledger."""

from __future__ import annotations

import json
from fractions import Fraction
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from confide import ScoreCounts
from confide.errors import BudgetError, LedgerError, ParameterError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.spending import NOTHING, Budget, Cost
from confide.ledger.transaction import read_state, state_text
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import CONVERSION_SHARE, Concentration
from confide.privacy.guarantee import LEAST_DELTA, Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.confusion import prepare_confusion
from confide.releases.counting import Counting
from confide.releases.curves import prepare_curves
from confide.releases.release import PreparedRelease
from confide.releases.terms import Terms
from confide.report.ledger import print_accounts, print_history
from confide.tasks.ledger import Accounts, History
from tests.ledger.asking import COUNTS, OTHER_COUNTS, Book, about, ask
from tests.ledger.places import Place

DELTA = Fraction(1, 10**6)
AT = Concentration.for_account(Fraction(3), DELTA)
WHOLE = AT.rho_within(Fraction(3))
ONE, OTHER = Part("halves", "one"), Part("halves", "other")


def gaussian(rho: Fraction, **given: Any) -> PreparedRelease:
    """A request with a concentrated guarantee; its epsilon and delta do not matter to the account."""
    return ask(1, delta=DELTA / 2, rho=rho, **given)


def open_many(ledger: Book, **terms: Any) -> Account:
    return ledger.open_account("a", **{"epsilon": 3, "delta": DELTA, "composition": "zcdp", **terms})


def test_a_whole_cap_of_rho_is_spent_exactly_and_then_nothing_fits(ledger: Book) -> None:
    assert open_many(ledger).terms.concentration == AT
    for number in range(10):
        receipt = ledger.release(gaussian(WHOLE / 10, number=number))
    assert receipt.spent == Budget(epsilon=Fraction(3), delta=CONVERSION_SHARE * DELTA, rho=WHOLE)
    assert receipt.remaining.epsilon == receipt.remaining.rho == 0
    with pytest.raises(BudgetError, match=r"epsilon 0 left \(rho 0\), but rho .* was requested, which costs"):
        ledger.release(gaussian(WHOLE / 10**9, number=10))
    with pytest.raises(BudgetError, match="epsilon 0 left"):
        ledger.release(ask("1/100", number=10))
    assert ledger.verify().whole


def test_a_paid_answer_is_shown_however_small_delta_is(ledger: Book) -> None:
    """The delta of the conversion, nine tenths of the account's, lies below the least that a guarantee states."""
    open_many(ledger, delta=LEAST_DELTA)
    receipt = ledger.release(ask("1/100"))
    assert receipt.spent.delta == CONVERSION_SHARE * LEAST_DELTA
    assert receipt.total is not None
    assert receipt.total.delta == LEAST_DELTA


def test_many_small_questions_cost_less_than_their_sum(ledger: Book) -> None:
    """A hundred twentieths add up to 5, more than the cap of 3."""
    open_many(ledger)
    receipt = ledger.release([ask("1/20", number=number) for number in range(100)])
    assert receipt.full_price == Budget(rho=Fraction(100, 800))
    assert receipt.spent.epsilon == AT.order / 8 + AT.reserve < 3
    assert receipt.spent == receipt.charged
    assert ledger.history("a")[1].amount == Budget(rho=Fraction(1, 800))


def test_large_pure_releases_and_releases_with_a_delta_are_counted_outside(ledger: Book) -> None:
    open_many(ledger)
    assert ledger.release(ask("1/2", n=1)).spent == Budget(epsilon=Fraction(1, 2))
    receipt = ledger.release(gaussian(Fraction(1, 50), n=2))
    assert receipt.spent.epsilon == Fraction(1, 2) + AT.order / 50 + AT.reserve
    receipt = ledger.release(ask("1/10", delta=DELTA / 20, n=3))
    assert receipt.charged == Budget(epsilon=Fraction(1, 10), delta=DELTA / 20)
    assert receipt.spent.delta == CONVERSION_SHARE * DELTA + DELTA / 20
    with pytest.raises(BudgetError, match="has delta 5e-08 left, but 6e-08 was requested") as caught:
        ledger.release(ask("1/10", delta=Fraction(6, 10**8), n=4))
    assert caught.value.parameter == "delta"
    prices = [entry.amount for entry in ledger.history("a") if entry.kind == "charge"]
    assert [price.rho for price in prices] == [0, Fraction(1, 50), 0]


def test_deltas_outside_never_leave_too_little_to_convert(ledger: Book) -> None:
    open_many(ledger)
    ledger.release(ask("1/10", delta=DELTA / 2, n=1))
    assert ledger.account("a").remaining().rho == 0
    with pytest.raises(BudgetError, match=r"delta 5e-07 left, but 9e-07 more is needed"):
        ledger.release(gaussian(Fraction(1, 100), n=2))
    ledger.change_caps("a", delta=2 * DELTA)
    assert ledger.release(gaussian(Fraction(1, 100), n=2)).spent.delta == DELTA / 2 + CONVERSION_SHARE * DELTA


def test_pure_releases_alone_add_up_to_the_whole_cap(ledger: Book) -> None:
    open_many(ledger)
    for number in range(3):
        receipt = ledger.release(ask(1, number=number))
    assert receipt.spent == Budget(epsilon=Fraction(3))
    with pytest.raises(BudgetError, match=r"has epsilon 0 left, but 1 was requested: 1 is missing"):
        ledger.release(ask(1, number=4))


def test_refusals_say_the_rho_that_would_fit(ledger: Book, place: Place) -> None:
    open_many(ledger)
    ledger.release(gaussian(WHOLE / 2, n=1))
    written = place.dump()
    left = ledger.account("a").remaining().rho
    assert left == WHOLE / 2
    with pytest.raises(BudgetError, match=r"\. rho [0-9.]+ would fit; more only") as caught:
        ledger.release(gaussian(WHOLE, n=2))
    assert caught.value.missing == AT.order * WHOLE / 2
    assert place.dump() == written
    assert ledger.release(gaussian(left, n=2)).remaining.rho == 0


def test_relations_multiply_rho_by_four(ledger: Book) -> None:
    open_many(ledger)
    paid = ledger.release(gaussian(Fraction(1, 100), neighbours="add-remove-one", n=1)).full_price
    assert paid == Budget(rho=Fraction(1, 25))
    paid = ledger.release(ask("1/20", neighbours="add-remove-one", n=2)).full_price
    assert paid == Budget(rho=Fraction(1, 200))  # half of the square of a tenth: four times that of a twentieth


def test_persons_multiply_rho_by_the_square_of_their_rows() -> None:
    counts = ScoreCounts.from_arrays([0, 1] * 20, [0.2, 0.8] * 20)
    persons: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "unit": "person", "rows_per_person": 3}
    row = Terms.checked(**persons)
    asked = prepare_confusion(counts, mechanism="gaussian", **persons)
    assert asked.guarantee.rho == 9 * rho_for(row.epsilon, row.delta)


@pytest.mark.parametrize("grid", ["uniform:8", "medians:3", "quantiles:4", None])
def test_gaussian_curves_cost_the_rho_of_their_counts_and_of_their_grid(ledger: Book, grid: str | None) -> None:
    counts = ScoreCounts.from_arrays([0, 1] * 20, np.linspace(0, 1, 40))
    terms: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "neighbours": "add-remove-one"}
    counting = Counting.checked(Terms.checked(**terms), mechanism="gaussian", grid=grid)
    assert counting.rho is not None
    open_many(ledger, neighbours="add-remove-one")
    receipt = ledger.release(prepare_curves(counts, mechanism="gaussian", grid=grid, **terms))
    of_grid = counting.rho / 19 if grid is None else (1 - counting.left) ** 2 / 2  # a twentieth of all rho, or epsilon
    assert receipt.full_price == Budget(rho=counting.rho + of_grid)
    assert (of_grid == 0) == (grid == "uniform:8")


def test_the_rho_of_persons_does_not_change_which_requests_are_the_same(ledger: Book) -> None:
    """Ledgers that were written before it was stated know the request without it."""
    from confide.ledger.requests import Request

    known, stated = (ask(unit="person", rows_per_person=2, rho=rho, delta=DELTA) for rho in (None, Fraction(1, 100)))
    assert Request.of(known, about()).parameters == Request.of(stated, about()).parameters


def test_parts_take_the_maximum(ledger: Book) -> None:
    open_many(ledger, neighbours="add-remove-one")
    ledger.release(gaussian(WHOLE / 2, neighbours="add-remove-one", part=ONE))
    receipt = ledger.release(gaussian(WHOLE / 4, neighbours="add-remove-one", part=OTHER))
    assert receipt.charged == NOTHING
    assert receipt.in_words().endswith("adds epsilon 0 to the total; parts of the rows count in parallel")
    receipt = ledger.release(gaussian(WHOLE / 2, neighbours="add-remove-one", part=OTHER, n=1))
    assert receipt.charged.rho == WHOLE / 4
    receipt = ledger.release(gaussian(WHOLE / 4, neighbours="add-remove-one"))
    assert receipt.remaining.rho == 0
    with pytest.raises(BudgetError):
        ledger.release(gaussian(WHOLE / 10**6, neighbours="add-remove-one", part=OTHER, n=2))
    assert ledger.release(gaussian(WHOLE / 4, neighbours="add-remove-one", part=ONE, n=2)).charged == NOTHING
    assert ledger.verify().whole


def test_caps_of_analysts_count_prices_without_the_reserve(ledger: Book) -> None:
    open_many(ledger, analyst_epsilon="1/2")
    share = Fraction(1, 2) / AT.order
    receipt = ledger.release(gaussian(share), analyst="ana")
    assert receipt.remaining.epsilon == receipt.remaining.rho == 0
    assert ledger.account("a").spent_by["ana"].epsilon == Fraction(1, 2)
    with pytest.raises(BudgetError, match="analyst 'ana' in account 'a' has epsilon 0 left"):
        ledger.release(gaussian(share / 100, n=1), analyst="ana")
    assert ledger.release(gaussian(share, n=1), analyst="bob").spent.rho == 2 * share


def test_quotes_say_what_is_then_charged_and_repeats_are_free(ledger: Book) -> None:
    open_many(ledger)
    for asked in ([gaussian(WHOLE / 3, n=1)], [ask("1/2", n=2), gaussian(WHOLE / 4, n=3), ask("1/100", n=4)]):
        quote = ledger.quote(asked)
        receipt = ledger.release(asked)
        assert (receipt.charged, receipt.full_price) == (quote.price, quote.full_price)
        assert receipt.remaining == quote.remaining_after
        assert receipt.in_words() == quote.in_words()
        assert receipt.in_words().startswith(("rho", "epsilon 0.5, rho"))
        again = ledger.release(asked)
        assert (again.reused, again.charged, again.answers) == (True, NOTHING, receipt.answers)
    assert set(receipt.to_dict()["spent"]) == {"epsilon", "delta", "rho"}
    assert not ledger.quote(gaussian(WHOLE, n=9)).fits


def test_a_charge_stands_when_drawing_fails(ledger: Book) -> None:
    def draw() -> tuple[Any, ...]:
        raise RuntimeError("no noise")

    open_many(ledger)
    for paid in (1, 2):
        with pytest.raises(RuntimeError):
            ledger.release(gaussian(WHOLE / 4, draw=draw))
        assert ledger.account("a").spent.rho == paid * WHOLE / 4


def test_a_run_that_died_after_its_charge_is_answered_on_it(ledger: Book) -> None:
    def die() -> tuple[Any, ...]:
        raise KeyboardInterrupt

    open_many(ledger)
    with pytest.raises(KeyboardInterrupt):
        ledger.release(gaussian(WHOLE / 4, draw=die))
    assert ledger.quote(gaussian(WHOLE / 4)).price == NOTHING
    receipt = ledger.release(gaussian(WHOLE / 4))
    assert (receipt.charged, receipt.reused, receipt.spent.rho) == (NOTHING, False, WHOLE / 4)
    assert ledger.verify().whole


def test_neighbouring_data_give_the_same_transcript(ledger: Book) -> None:
    """Prices, what is left, refusals and entries follow from public facts; only answers differ."""
    transcripts = []
    for account, counts in (("one", COUNTS), ("two", OTHER_COUNTS)):
        ledger.open_account(account, epsilon=3, delta=DELTA, composition="zcdp")
        said: list[Any] = []
        for price in (WHOLE / 2, WHOLE / 3, WHOLE):
            try:
                said.append(ledger.release(gaussian(price, counts=counts), account=account).to_dict())
            except BudgetError as error:
                said.append(str(error))
        said += [(entry.kind, entry.amount, len(entry.answer or "")) for entry in ledger.history(account)]
        transcripts.append(repr(said).replace(f"'{account}'", "'a'"))
    assert transcripts[0] == transcripts[1]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE confide_entries SET text = replace(text, '1/50', '1/100')",
        "UPDATE confide_heads SET state = replace(state, '1/50', '1/100')",
        'DELETE FROM confide_entries WHERE text LIKE \'%"kind":"charge"%\'',
    ],
)
def test_a_changed_rho_shows(ledger: Book, place: Place, statement: str) -> None:
    open_many(ledger)
    ledger.release(gaussian(Fraction(1, 50)))
    place.execute(statement)
    assert not ledger.verify().whole
    with pytest.raises(LedgerError, match="behind"):
        ledger.release(gaussian(Fraction(1, 50), n=1))


def test_the_state_reads_back_and_versions_without_rho_refuse_it(ledger: Book, place: Place) -> None:
    opened = open_many(ledger, neighbours="add-remove-one")
    ledger.release(gaussian(Fraction(1, 50), neighbours="add-remove-one"), analyst="ana")
    ledger.release(gaussian(Fraction(1, 60), neighbours="add-remove-one", part=ONE), analyst="ana")
    account = ledger.account("a")
    assert Account.fold(ledger.history("a")) == account == read_state("a", state_text(account))
    for state in (opened, account):
        plain = json.loads(state_text(state))
        assert len(plain["spending"]["common"]) == 3  # earlier versions read exactly two amounts


def test_accounts_of_addition_are_written_as_before(ledger: Book) -> None:
    """Byte for byte: ledgers that exist stay valid, whoever reads or extends them."""
    ledger.open_account("a", epsilon=3, delta=DELTA)
    ledger.release(gaussian(Fraction(1, 50)), analyst="ana")
    account, (opened, charge, _) = ledger.account("a"), ledger.history("a")
    terms = '"neighbours":"replace-one","rows_per_person":1,"unit":"row"'
    assert opened.request == f'{{"analysts":{{}},"each_analyst":null,{terms}}}'
    assert json.loads(charge.request).keys() == {"request", "guarantee", "question"}
    assert (charge.epsilon, charge.delta) == ("1", "1/2000000")
    assert state_text(account) == (
        '{"caps":{"analysts":{},"each_analyst":null},"data":["data of a"],'
        '"spending":{"common":["1","1/2000000"],"parts":[]},'
        '"spending_by":{"ana":{"common":["1","1/2000000"],"parts":[]}},'
        '"terms":{"neighbours":"replace-one","rows_per_person":1,"unit":"row"},"total":["3","1/1000000"],"waiting":[]}'
    )
    assert account.to_dict()["spent"] == {"epsilon": 1.0, "delta": 5e-7}


def test_terms_need_a_delta_and_a_known_composition(ledger: Book) -> None:
    with pytest.raises(ParameterError, match="give delta"):
        open_many(ledger, delta=0)
    with pytest.raises(ParameterError, match="composition must be one of addition, zcdp"):
        open_many(ledger, composition="renyi")


def test_caps_may_change_and_the_order_stays(ledger: Book) -> None:
    open_many(ledger)
    ledger.release(gaussian(WHOLE))
    lowered = ledger.change_caps("a", epsilon=1, delta=DELTA / 10)
    assert lowered.remaining() == NOTHING
    with pytest.raises(BudgetError, match="left"):
        ledger.release(gaussian(WHOLE / 100, n=1))
    raised = ledger.change_caps("a", epsilon=4, delta=DELTA)
    assert raised.remaining().rho == 1 / AT.order
    assert raised.terms.concentration == AT


def test_tight_composition_converts_at_the_delta_that_is_granted(ledger: Book) -> None:
    open_many(ledger)
    ledger.release(gaussian(WHOLE / 2))
    ledger.release(ask("1/2"))
    assert 0.5 < ledger.tight_epsilon("a", DELTA) < float(ledger.account("a").spent.epsilon)
    with pytest.raises(ParameterError, match="give a larger one"):
        ledger.tight_epsilon("a", 0)


def test_what_is_shown_names_rho(ledger: Book) -> None:
    open_many(ledger)
    ledger.release(gaussian(Fraction(1, 50), neighbours="add-remove-one", part=ONE))
    text = StringIO()
    console = Console(file=text, width=200)
    print_accounts(Accounts(ledger="here", accounts=ledger.accounts()), console)
    print_history(History(ledger="here", account="a", entries=ledger.history("a")), console)
    shown = text.getvalue()
    for words in ("replace-one, each row, zCDP", "Concentrated accounts", "rho spent", "0.08", "reserve"):
        assert words in shown
    plain = ledger.account("a").to_dict()
    assert plain["concentration"] == {"order": str(AT.order), "delta": str(AT.delta)}
    assert plain["spent"]["rho"] == 0.08
    assert plain["cap"]["rho"] == float(WHOLE)


def test_a_small_release_is_counted_by_its_epsilon_if_it_fits_only_so(ledger: Book) -> None:
    """A large release left too little for the reserve; the dry run says the same, and rho stays unpaid."""
    open_many(ledger)
    ledger.release(ask("5/2", n=1))
    assert AT.reserve > Fraction(1, 2)
    quote = ledger.quote(ask("1/20", n=2))
    assert quote.refusal is None
    receipt = ledger.release(ask("1/20", n=2))
    assert quote.price == receipt.charged == Budget(epsilon=Fraction(1, 20))
    with pytest.raises(BudgetError, match=r"left, but 1 was requested: 0.55 is missing. epsilon 0.45 would fit"):
        ledger.release(ask(1, n=3))
    with pytest.raises(BudgetError, match=r"epsilon 0.45 left, but 0.5 was requested"):
        ledger.release([ask("1/20", n=number) for number in range(4, 14)])
    assert ledger.release([ask("1/20", n=number) for number in range(4, 13)]).spent == Budget(epsilon=Fraction(3))


def test_small_releases_are_counted_in_rho_as_long_as_that_fits(ledger: Book) -> None:
    open_many(ledger)
    assert ledger.release(ask("1/20", n=1)).charged.rho == Fraction(1, 800)


prices = st.one_of(
    st.builds(Budget, rho=st.integers(1, 30).map(lambda n: Fraction(n, 300))),
    st.builds(Budget, epsilon=st.integers(1, 8).map(lambda n: Fraction(n, 4))),
    st.builds(Budget, epsilon=st.just(Fraction(1, 8)), delta=st.just(DELTA / 15)),
)
parts = st.sampled_from([None, None, ONE, OTHER])


@given(st.lists(st.builds(Cost, price=prices, part=parts), max_size=8))
def test_caps_hold_for_every_row_and_never_hold_back(asked: list[Cost]) -> None:
    """Granted exactly if, for either part, the proof's condition holds after it, amount by amount."""
    caps = Budget(epsilon=Fraction(3), delta=DELTA)
    terms = AccountTerms(neighbours=Neighbours.ADD_REMOVE_ONE, concentration=AT)
    account = Account(name="a", terms=terms, caps=Caps(total=caps))
    granted: list[Cost] = []
    for cost in asked:
        fits = holds([*granted, cost], caps)
        try:
            account.require([cost], None, requested=Fraction(1))
        except BudgetError:
            assert not fits
            continue
        assert fits
        granted.append(cost)
        account = account.charged([cost], None)
    assert holds(granted, caps)


def holds(paid: list[Cost], caps: Budget) -> bool:
    sums = [sum((one.price for one in paid if one.part in (None, part)), NOTHING) for part in (ONE, OTHER)]
    most = Budget.dearest(sums)
    if not most.rho:
        return most.epsilon <= caps.epsilon and most.delta <= caps.delta
    return most.epsilon + AT.order * most.rho + AT.reserve <= caps.epsilon and most.delta + AT.delta <= caps.delta


pure = st.integers(1, 60).map(lambda n: Fraction(n, 20))


@given(st.lists(st.builds(Cost, price=prices, part=parts), max_size=6), st.integers(1, 20), pure, pure)
def test_if_a_pure_release_fits_every_smaller_one_does(
    paid: list[Cost], third: int, one: Fraction, other: Fraction
) -> None:
    caps = Caps(total=Budget(epsilon=Fraction(3), delta=DELTA))
    terms = AccountTerms(neighbours=Neighbours.ADD_REMOVE_ONE, concentration=AT)
    account = Account(name="a", terms=terms, caps=caps)
    for cost in paid:
        if account.fits([cost], None):
            account = account.charged([cost], None)
    small, large = sorted((one, other))
    for part in (None, ONE):
        fits = [account.fits(account.costs([(pure_guarantee(each), part)], None), None) for each in (small, large)]
        assert fits[0] >= fits[1]
    chosen = account.costs([(pure_guarantee(small), None)] * third, None)
    assert len({cost.price for cost in chosen}) == 1


def pure_guarantee(epsilon: Fraction) -> Guarantee:
    return Guarantee(epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE_ONE)
