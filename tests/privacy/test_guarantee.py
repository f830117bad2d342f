"""What a guarantee is: exact numbers, checked; what follows from it under another relation."""

from __future__ import annotations

import dataclasses
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Guarantee, Neighbours
from confide.errors import ParameterError
from confide.privacy.accounting import split_evenly, total
from confide.privacy.guarantee import checked_delta, checked_epsilon, exact_fraction, shown, stored_fraction, typed
from confide.privacy.neighbours import price_factor
from tests.waiting import seconds_at_most

REPLACE, ADD_REMOVE, LABELS = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY


def promise(epsilon: Any = 1, *, neighbours: Neighbours = REPLACE, **terms: Any) -> Guarantee:
    """A guarantee from numbers as they are written; the constructor makes them exact."""
    return Guarantee(epsilon=epsilon, neighbours=neighbours, **terms)


fractions = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10_000)
small_fractions = st.fractions(min_value=0, max_value=Fraction(1, 1000), max_denominator=10**9)

NOT_NUMBERS: list[object] = [True, False, None, "one", "", "nan", "inf", "-inf", "1/0", "0x1", [1], (1,), {}, 1j, b"1"]
NOT_FINITE: list[object] = [
    float("nan"),
    float("inf"),
    float("-inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    np.float64("nan"),
]


@pytest.mark.parametrize(
    "written", ["0.1", 0.1, "1/10", ".1", "1e-1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), " 0.1 "]
)
def test_a_tenth_is_a_tenth_however_it_is_written(written: object) -> None:
    assert checked_epsilon(written) == Fraction(1, 10)
    assert promise(epsilon=written).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("whole", [np.int64(2), np.int32(2), np.uint8(2)])
def test_integers_of_numpy_become_exact_ones_of_any_size(whole: object) -> None:
    epsilon = checked_epsilon(whole)
    assert epsilon == 2
    assert epsilon / 2**80 * 3**90 == Fraction(3**90, 2**79)
    assert (type(epsilon.numerator), type(epsilon.denominator)) == (int, int)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 0, -1, "-0.5", "0", -0.0, Fraction(-1, 3)], ids=repr)
def test_what_is_no_positive_finite_number_is_no_epsilon(value: object) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        checked_epsilon(value)
    with pytest.raises(ParameterError, match="epsilon must be"):
        promise(epsilon=value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 1, "1", -1e-9, 1.5, "-1e-30", 2**70], ids=repr)
def test_what_lies_outside_of_0_to_1_is_no_delta(value: object) -> None:
    with pytest.raises(ParameterError, match="delta must"):
        checked_delta(value)
    with pytest.raises(ParameterError, match="delta must"):
        promise(epsilon=1, delta=value)


@pytest.mark.parametrize("written", ["1e400", "1e-400", 10**400, Fraction(1, 10**400), Decimal("1e400")], ids="abcde")
def test_an_epsilon_that_no_float_can_show_is_refused_or_shown(written: object) -> None:
    try:
        guarantee = promise(epsilon=written)
    except ParameterError:
        return
    assert guarantee.in_words()
    assert guarantee.to_dict()["epsilon"] > 0


def test_errors_say_what_to_do_next() -> None:
    for wrong, hint in ((0, "0.1 to 2"), ("x", "1/3"), (float("nan"), "1/3")):
        with pytest.raises(ParameterError, match=hint):
            checked_epsilon(wrong)
    with pytest.raises(ParameterError, match="far below 1 / rows"):
        checked_delta(1)
    with pytest.raises(ParameterError, match="replace-one, add-remove-one, label-only"):
        Neighbours.parse("everybody")
    with pytest.raises(ParameterError, match="row, person"):
        promise(epsilon=1, unit="family")


@pytest.mark.parametrize("rho", [0, -1, float("nan"), float("inf"), "a lot"], ids=repr)
def test_a_concentrated_guarantee_is_a_positive_number(rho: Any) -> None:
    with pytest.raises(ParameterError, match="rho must be"):
        promise(epsilon=1, rho=rho)


@given(st.lists(fractions, min_size=1, max_size=20))
def test_sums_are_exact(epsilons: list[Fraction]) -> None:
    each = [promise(epsilon=epsilon, delta="1e-9") for epsilon in epsilons]
    whole = total(each)
    assert whole.epsilon == sum(epsilons)
    assert whole.delta == len(epsilons) * Fraction(1, 10**9)


def test_ten_tenths_are_one() -> None:
    assert total([promise(0.1)] * 10).epsilon == 1


@given(fractions, st.integers(1, 40))
def test_parts_of_a_budget_add_up_exactly(epsilon: Fraction, parts: int) -> None:
    shares = split_evenly(epsilon, parts)
    assert len(shares) == parts
    assert sum(shares) == epsilon
    assert len(set(shares)) == 1


def test_public_facts_are_gathered_once_each_and_in_order() -> None:
    first = promise(epsilon=1, public=("number of rows", "threshold"))
    second = promise(epsilon=1, public=("number of rows", "grid of scores"))
    assert total([first, second]).public == ("number of rows", "threshold", "grid of scores")


def test_nothing_adds_up_to_nothing() -> None:
    with pytest.raises(ParameterError, match="at least one"):
        total([])


@pytest.mark.parametrize("other", [{"neighbours": ADD_REMOVE}, {"unit": "person"}])
def test_guarantees_of_different_things_do_not_add_up(other: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="in_account_of"):
        total([promise(epsilon=1), promise(epsilon=1, **other)])


@pytest.mark.parametrize(("rows", "together"), [((5, 5), 5), ((5, 3), 3), ((1, 4), 1), ((7,), 7)])
def test_a_total_protects_persons_with_as_many_rows_as_all_do(rows: tuple[int, ...], together: int) -> None:
    """A promise for persons with five rows holds for those with three, and not the other way round."""
    whole = total(promise(epsilon=1, unit="person", rows_per_person=k) for k in rows)
    assert whole.rows_per_person == together
    assert whole.to_dict().get("rows_per_person", 1) == together


def test_concentrated_guarantees_add_up_where_all_are_given() -> None:
    one = promise(epsilon=1, delta="1e-6", rho=Fraction(1, 50))
    assert total([one, one]).rho == Fraction(1, 25)
    assert total([one, promise(epsilon=1)]).rho is None


@given(st.lists(st.fractions(0, Fraction(99, 100), max_denominator=100), min_size=1, max_size=6))
def test_a_sum_of_deltas_never_promises_more_than_holds(deltas: list[Fraction]) -> None:
    """The best that holds for all together, whatever they are, is `1 - prod(1 - delta)`."""
    missed = Fraction(1)
    for delta in deltas:
        missed *= 1 - delta
    every = [promise(epsilon=1, delta=delta) for delta in deltas]
    if sum(deltas) >= 1:
        with pytest.raises(ParameterError, match="delta"):
            total(every)
    else:
        assert 1 - missed <= total(every).delta < 1


FOLLOWS = {
    (REPLACE, REPLACE): 1,
    (ADD_REMOVE, ADD_REMOVE): 1,
    (LABELS, LABELS): 1,
    (REPLACE, LABELS): 1,
    (ADD_REMOVE, REPLACE): 2,
    (ADD_REMOVE, LABELS): 2,
    (REPLACE, ADD_REMOVE): None,
    (LABELS, ADD_REMOVE): None,
    (LABELS, REPLACE): None,
}


def test_every_pair_of_relations_is_decided() -> None:
    assert set(FOLLOWS) == {(a, b) for a in Neighbours for b in Neighbours}
    assert {pair: price_factor(*pair) for pair in FOLLOWS} == FOLLOWS


@given(st.sampled_from(sorted(FOLLOWS)), fractions)
def test_pure_guarantees_are_converted_by_the_factor(pair: tuple[Neighbours, Neighbours], epsilon: Fraction) -> None:
    released, account = pair
    guarantee = promise(epsilon=epsilon, neighbours=released, unit="person", public=("threshold",))
    converted, factor = guarantee.in_account_of(account), FOLLOWS[pair]
    if factor is None:
        assert converted is None
        return
    assert converted is not None
    assert converted.epsilon == factor * epsilon
    assert converted.delta == 0
    assert (converted.neighbours, converted.unit, converted.public) == (account, "person", ("threshold",))


@given(fractions, small_fractions.filter(bool))
def test_two_steps_make_a_replacement(epsilon: Fraction, delta: Fraction) -> None:
    """Group privacy for two: `(1 + exp(epsilon)) delta`, rounded up and hardly."""
    guarantee = promise(epsilon=epsilon, delta=delta, neighbours=ADD_REMOVE, rho=Fraction(1, 9))
    converted = guarantee.in_account_of(REPLACE)
    with mpmath.workdps(80):
        exact = (1 + mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)) * (
            mpmath.mpf(delta.numerator) / delta.denominator
        )
        if exact >= 1:
            assert converted is None
            return
        assert converted is not None
        found = mpmath.mpf(converted.delta.numerator) / converted.delta.denominator
        assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -59)
    assert converted.epsilon == 2 * epsilon
    assert converted.rho == Fraction(4, 9)  # two steps: Bun & Steinke (2016), proposition 1.9


@pytest.mark.parametrize("epsilon", [50, 10**5, 10**6])
def test_where_delta_would_exceed_one_nothing_follows(epsilon: int) -> None:
    guarantee = promise(epsilon=epsilon, delta="1e-6", neighbours=ADD_REMOVE)
    assert guarantee.in_account_of(REPLACE) is None


def test_a_concentrated_guarantee_survives_where_nothing_is_multiplied() -> None:
    guarantee = promise(epsilon=1, delta="1e-6", rho=Fraction(1, 50))
    converted = guarantee.in_account_of(LABELS)
    assert converted is not None
    assert converted.rho == Fraction(1, 50)


@given(fractions, small_fractions, st.sampled_from(list(Neighbours)), st.sampled_from(["row", "person"]))
def test_guarantees_are_frozen_equal_and_plain(
    epsilon: Fraction, delta: Fraction, relation: Neighbours, unit: str
) -> None:
    guarantee = promise(epsilon=epsilon, delta=delta, neighbours=relation, unit=unit, public=relation.public)
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee  # noqa: S301  # our own bytes
    assert hash(guarantee) == hash(dataclasses.replace(guarantee))
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = Fraction(9)  # type: ignore[misc]
    plain = json.loads(json.dumps(guarantee.to_dict(), allow_nan=False))
    assert list(plain) == ["epsilon", "delta", "neighbours", "unit", "public"]
    assert plain["epsilon"] == float(epsilon)
    assert exact_fraction(str(guarantee.epsilon), "epsilon") == epsilon


@given(fractions, small_fractions, st.sampled_from(list(Neighbours)))
def test_words_name_the_numbers_the_relation_and_what_is_not_hidden(
    epsilon: Fraction, delta: Fraction, relation: Neighbours
) -> None:
    words = promise(epsilon=epsilon, delta=delta, neighbours=relation, public=("number of rows",)).in_words()
    assert f"epsilon = {shown(epsilon, up=True)}" in words
    assert Fraction(shown(epsilon, up=True)) >= epsilon
    assert ("delta" in words) == bool(delta)
    assert relation.value in words
    assert "number of rows" in words
    assert "{" not in words


@given(fractions)
def test_what_is_shown_is_a_decimal_of_the_number(value: Fraction) -> None:
    text = shown(value)
    assert "/" not in text
    assert Fraction(text) == value or float(text) == pytest.approx(float(value), rel=5.001e-4)


@given(fractions)
def test_what_is_shown_to_be_typed_asks_for_no_more(value: Fraction) -> None:
    below = Fraction(shown(value, down=True))
    assert value * Fraction(998, 1000) <= below <= value
    assert below <= Fraction(typed(value)) <= value
    assert typed(Fraction(typed(value))) == typed(value)


@pytest.mark.parametrize(
    ("value", "text", "down"),
    [
        (Fraction(17, 30), "0.5667", "0.5666"),
        (Fraction(1, 3), "0.3333", "0.3333"),
        (Fraction(2, 3), "0.6667", "0.6666"),
        (Fraction(5, 3), "1.667", "1.666"),
        (Fraction(1, 3_000_000), "3.333e-07", "3.333e-07"),
        (Fraction(99_999_999, 10**8), "1", "0.9999"),
        (Fraction(0), "0", "0"),
        (Fraction(1, 64), "0.015625", "0.015625"),
    ],
)
def test_decimals_are_short(value: Fraction, text: str, down: str) -> None:
    assert (shown(value), shown(value, down=True)) == (text, down)


def test_relations_say_what_they_do_not_hide() -> None:
    assert REPLACE.public == ("number of rows",)
    assert ADD_REMOVE.public == ()
    assert LABELS.public == ("number of rows", "scores")
    for relation in Neighbours:
        assert "person" in relation.meaning.format(unit="person")
        assert Neighbours.parse(relation.value) is relation
        assert Neighbours.parse(relation) is relation


HUGE = ("1e999999999", "1e-999999999", "1E+9_9_9_9_9_9_9_9_9", "1e-9_99999999", "1e999_999_999", "1e٩٩٩٩٩٩٩٩٩")


@pytest.mark.parametrize("written", [*HUGE, Decimal("1e999999999"), "9" * 5000])
def test_numbers_that_would_take_hours_are_refused_at_once(written: object) -> None:
    with seconds_at_most(2.0), pytest.raises(ParameterError, match="finite number"):
        exact_fraction(written, "epsilon")


@pytest.mark.parametrize(
    "text", [*HUGE, "9" * 5000, "1/0", "0.5", " 1", "1\n", "1_0", "", "+1", "nan", "²", 1, 0.5, None]
)
def test_stored_fractions_are_digits_alone(text: object) -> None:
    with seconds_at_most(2.0), pytest.raises(ParameterError, match="get it again"):
        stored_fraction(text)


@given(st.fractions())
def test_stored_fractions_are_read_as_they_were_written(number: Fraction) -> None:
    assert stored_fraction(str(number)) == number
    assert stored_fraction(str(number / 3**4000)) == number / 3**4000
