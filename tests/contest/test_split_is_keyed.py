"""Rows are divided by a keyed hash of the id: by the share, always alike, and by nothing but id and key."""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.labels import FINAL, PUBLIC, Split, ids_digest
from confide.errors import ParameterError

IDS = [f"p{row}" for row in range(20_000)]
KEY = bytes(range(32))


@given(ids=st.lists(st.text(min_size=1, max_size=8), max_size=30), share=st.fractions(Fraction(1, 100), 1))
def test_a_row_is_public_by_its_own_hash(ids: list[str], share: Fraction) -> None:
    """The rule that the documents state, written once more."""
    public = Split(share=share, key=KEY).public(ids)
    for one, inside in zip(ids, public, strict=True):
        number = int.from_bytes(hmac.new(KEY, one.encode(), hashlib.sha256).digest()[:8], "big")
        assert inside == (number < share * 2**64)


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_share_is_met(share: Fraction) -> None:
    """Six standard errors: a false alarm in about one of 10^9 keys, and the key is fixed."""
    public = Split(share=share, key=KEY).public(IDS)
    error = np.sqrt(float(share * (1 - share)) / len(IDS))
    assert abs(public.mean() - float(share)) < 6 * error


def test_all_rows_are_public_if_the_share_is_one() -> None:
    assert Split(share=Fraction(1), key=KEY).public(IDS).all()


def test_another_key_divides_otherwise_and_independently() -> None:
    one, other = (Split(share=Fraction(1, 2), key=key).public(IDS) for key in (KEY, KEY[::-1]))
    assert abs((one == other).mean() - 0.5) < 6 * 0.5 / np.sqrt(len(IDS))


def test_the_order_of_ids_and_the_other_ids_do_not_matter() -> None:
    split = Split(share=Fraction(1, 3), key=KEY)
    assert (split.public(IDS[::-1]) == split.public(IDS)[::-1]).all()
    assert (split.public(IDS[:100]) == split.public(IDS)[:100]).all()


def test_parts_name_the_rule_and_not_the_key() -> None:
    split = Split(share=Fraction(1, 3), key=KEY)
    public, final = split.part(PUBLIC), split.part(FINAL)
    assert public.partition == final.partition
    assert (public.name, final.name) == ("public", "final")
    assert KEY.hex() not in public.partition
    assert KEY.hex() not in repr(split)
    others = [Split(share=Fraction(1, 2), key=KEY), Split(share=Fraction(1, 3), key=KEY[::-1])]
    assert all(other.part(PUBLIC).partition != public.partition for other in others)
    with pytest.raises(ParameterError, match="public and final"):
        split.part("private")


@pytest.mark.parametrize("share", [0, Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_out_of_range_is_refused(share: Fraction) -> None:
    with pytest.raises(ParameterError, match="above 0"):
        Split(share=Fraction(share), key=KEY)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ParameterError, match="32 bytes"):
        Split(share=Fraction(1, 2), key=b"short")


def test_no_two_lists_of_ids_have_one_digest() -> None:
    lists: tuple[list[str], ...] = (["a", "b"], ["ab"], ["b", "a"], ["a", "b", ""], [])
    assert len({ids_digest(ids) for ids in lists}) == len(lists)
