"""What parts of the rows cost together, against every row that there could be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import BudgetError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.spending import NOTHING, Budget, Cost, Spending, covering
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from tests.examples import examples

PARTS = [None, *(Part(partition, name) for partition in ("hash", "site", "year") for name in "abc")]
PARAMETERS: tuple[Callable[[Budget], Fraction], ...] = (lambda one: one.epsilon, lambda one: one.delta)

prices = st.builds(
    Budget,
    epsilon=st.integers(1, 12).map(lambda quarters: Fraction(quarters, 4)),
    delta=st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 500)]),
)
costs = st.lists(st.builds(Cost, price=prices, part=st.sampled_from(PARTS)), max_size=9)


def of_every_row(paid: Sequence[Cost]) -> list[list[Budget]]:
    """The prices that concern a row, for every row: one part of each partition."""
    partitions = sorted({cost.part.partition for cost in paid if cost.part is not None})
    rows = product(*([part for part in PARTS if part is not None and part.partition == one] for one in partitions))
    return [[cost.price for cost in paid if cost.part is None or cost.part in row] for row in rows]


def dearest_row(paid: Sequence[Cost]) -> Budget:
    return Budget.dearest(sum(row, NOTHING) for row in of_every_row(paid))


@given(costs)
def test_the_total_is_what_the_dearest_row_costs(paid: list[Cost]) -> None:
    assert Spending().after(*paid).total == dearest_row(paid)


def test_it_differs_from_the_sum_and_from_the_dearest_charge() -> None:
    """Or the comparison above would show little."""
    paid = [Cost(price=Budget(epsilon=Fraction(2)), part=part) for part in PARTS[:6]]
    assert Spending().after(*paid).total.epsilon == 6


@given(costs, st.randoms(use_true_random=False))
def test_the_order_does_not_matter_and_nothing_makes_it_less(paid: list[Cost], order: Random) -> None:
    totals = [Spending().after(*paid[:length]).total for length in range(len(paid) + 1)]
    for amount in PARAMETERS:
        assert sorted(map(amount, totals)) == [amount(total) for total in totals]
    shuffled = list(paid)
    order.shuffle(shuffled)
    one_by_one = Spending()
    for cost in shuffled:
        one_by_one = one_by_one.after(cost)
    assert one_by_one == Spending().after(*paid)


@given(st.lists(st.tuples(costs, st.sampled_from(["ana", "bob"])), max_size=6), prices, st.integers(0, 12))
def test_caps_are_never_exceeded_and_never_held_back(
    requests: list[tuple[list[Cost], str]], cap: Budget, quarters: int
) -> None:
    """A request is granted exactly if the dearest row, of all and of the analyst's, then costs no more than the cap."""
    own = Fraction(quarters, 4)
    caps = Caps(total=cap).changed(analysts={"ana": own})
    account = Account(name="a", terms=AccountTerms(neighbours=Neighbours.ADD_REMOVE_ONE), caps=caps)
    granted: list[tuple[Cost, str]] = []
    for asked, who in requests:
        try:
            account.require(asked, who, requested=Fraction(1))
        except BudgetError:
            assert not fits(granted, asked, who, cap, own)
            continue
        assert fits(granted, asked, who, cap, own)
        after = account.charged(asked, who)
        assert after.spent == account.spent + account.added(asked)
        account, granted = after, [*granted, *((cost, who) for cost in asked)]
        assert account.spent == dearest_row([cost for cost, _ in granted])


def fits(granted: list[tuple[Cost, str]], asked: list[Cost], who: str, cap: Budget, own: Fraction) -> bool:
    """By brute force; who asks for no delta is not asked about it."""
    total = dearest_row([*(cost for cost, _ in granted), *asked])
    analyst = dearest_row([*(cost for cost, analyst in granted if analyst == who), *asked])
    delta = any(cost.price.delta for cost in asked)
    return not asked or (
        total.epsilon <= cap.epsilon
        and (total.delta <= cap.delta or not delta)
        and (who != "ana" or analyst.epsilon <= own)
    )


@examples(300)  # only some have a bend between the paid and the cap
@given(costs, costs, st.integers(0, 40))
def test_the_largest_share_meets_the_cap(paid: list[Cost], asked: list[Cost], quarters: int) -> None:
    """Against the smallest share at which some row's costs reach the cap."""
    cap = Fraction(quarters, 4)
    found = Spending().after(*paid).largest_share(asked, cap, lambda price: price.epsilon)
    shares = [Fraction(1)]
    marked = [*((cost, False) for cost in paid), *((cost, True) for cost in asked)]
    for before, more in of_every_row_apart(marked):
        if before + more > cap:
            shares.append(max((cap - before) / more, Fraction(0)) if more else Fraction(0))
    assert found == min(shares)


def of_every_row_apart(marked: list[tuple[Cost, bool]]) -> list[tuple[Fraction, Fraction]]:
    """For every row the epsilon that was paid and the epsilon that is asked."""
    paid = [cost if not new else Cost(price=NOTHING, part=cost.part) for cost, new in marked]
    asked = [cost if new else Cost(price=NOTHING, part=cost.part) for cost, new in marked]
    before, more = (
        [sum((price.epsilon for price in row), Fraction(0)) for row in of_every_row(some)] for some in (paid, asked)
    )
    return list(zip(before, more, strict=True))


@given(costs)
def test_a_covering_list_can_be_matched_with_any_row(paid: list[Cost]) -> None:
    """Each price of a row has one of its own that is as large in epsilon and in delta at once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    cover = covering(paid)
    for row in of_every_row(paid):
        if row:
            large = [[b.epsilon >= a.epsilon and b.delta >= a.delta for b in cover] for a in row]
            assert (maximum_bipartite_matching(csr_array(large), perm_type="column") >= 0).all()


def test_a_covering_list_is_as_short_and_as_cheap_as_its_rule_allows() -> None:
    paid = [("one", 1), ("one", 4), ("other", 3), ("other", 2), ("third", 1)]
    prices = covering(Cost(price=Budget(epsilon=Fraction(cost)), part=Part("site", part)) for part, cost in paid)
    assert [price.epsilon for price in prices] == [4, 2]


@pytest.mark.parametrize("account", list(Neighbours))
@pytest.mark.parametrize("released", list(Neighbours))
def test_parts_are_counted_apart_but_for_releases_about_replaced_rows(
    account: Neighbours, released: Neighbours
) -> None:
    terms = AccountTerms(neighbours=account, data="rows, version 1", label="y")
    state = Account(name="a", terms=terms, caps=Caps(total=NOTHING))
    guarantee = Guarantee(epsilon=Fraction(1), neighbours=released)
    if guarantee.in_account_of(account) is None:
        return
    part = Part("halves", "one")
    assert state.cost(guarantee, part).part == (None if released == Neighbours.REPLACE_ONE else part)
