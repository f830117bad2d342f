"""Rows held out by a public rule: every row by itself, on one side, and never by its label."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from confide.errors import ParameterError
from confide.learning.workflow import HELD_OUT, TRAINING, HoldOut
from confide.releases.terms import Terms
from confide.sources.encoding import row_keys

keys = st.integers(0, 2**64 - 1)
shares = st.fractions(0, 1).filter(lambda share: 0 < share < 1)


@given(st.lists(keys, max_size=20), shares)
@example([0, 2**64 - 1], Fraction(1, 10**30))
@example([0, 2**64 - 1], 1 - Fraction(1, 10**30))
def test_a_row_s_side_depends_on_its_own_key_alone(every: list[int], share: Fraction) -> None:
    rule = HoldOut(share=share, by="key")
    held = rule.held_out(np.array(every, dtype=np.uint64)).tolist()
    assert held == [rule.held_out(np.array([key], dtype=np.uint64)).item() for key in every]
    edge = (1 - share) * 2**64
    for key, side in zip(every, held, strict=True):
        if abs(key - edge) >= 1:  # a key is a whole number, and the edge need not be
            assert side == (key > edge)


@given(st.lists(keys), shares, shares)
def test_a_larger_share_holds_out_those_of_a_smaller_one_too(every: list[int], one: Fraction, other: Fraction) -> None:
    fewer, more = (
        HoldOut(share=share, by="key").held_out(np.array(every, dtype=np.uint64)) for share in sorted((one, other))
    )
    assert (more | ~fewer).all()


@pytest.mark.parametrize("share", ["0.05", "0.3", "1/2", "0.9"])
def test_about_the_share_of_rows_is_held_out(tmp_path: Path, share: str) -> None:
    """The keys are a fixed hash, so this repeats itself; of random keys one in ten thousand would fail."""
    rows, file = 4000, tmp_path / "rows.csv"
    file.write_text("id,text\n" + "".join(f"p{number},words of {number % 7}\n" for number in range(rows)))
    held = HoldOut(share=Fraction(share), by="id").held_out(row_keys(file, ["id"]))
    lowest, highest = binom.interval(0.9999, rows, float(Fraction(share)))
    assert lowest <= held.sum() <= highest


def test_neither_the_label_nor_the_place_nor_other_rows_matter(tmp_path: Path) -> None:
    rows = [f"p{number},{number % 2}" for number in range(300)]
    rule = HoldOut(share=Fraction(3, 10), by="id")

    def sides(lines: list[str]) -> dict[str, bool]:
        file = tmp_path / "rows.csv"
        file.write_text("\n".join(["id,died", *lines]) + "\n")
        names = [line.split(",")[0] for line in lines]
        return dict(zip(names, rule.held_out(row_keys(file, ["id"])).tolist(), strict=True))

    held = sides(rows)
    assert sides([f"{row[:-1]}{1 - int(row[-1])}" for row in rows]) == held
    assert sides(rows[::-1]) == held
    assert sides(rows[:50]).items() <= held.items()


@pytest.mark.parametrize("share", [0, 1, -1, 2, "some", None, float("nan")])
def test_no_such_share(share: object) -> None:
    with pytest.raises(ParameterError):
        HoldOut(share=share, by="id")  # type: ignore[arg-type]


class TestParts:
    RULE = HoldOut(share=Fraction(3, 10), by="a hash of id")
    BY_PERSON = HoldOut(share=Fraction(3, 10), by="a hash of id", persons=True)

    def test_both_sides_are_of_one_partition_and_differ(self) -> None:
        ours, theirs = self.RULE.part(TRAINING), self.RULE.part(HELD_OUT)
        assert ours.partition == theirs.partition
        assert ours.name != theirs.name
        for other in (
            HoldOut(share=Fraction(1, 3), by="a hash of id"),
            HoldOut(share=Fraction(3, 10), by="a hash of a"),
        ):
            assert other.part(TRAINING).partition != ours.partition
        with pytest.raises(ParameterError, match="training and held-out"):
            self.RULE.part("test")

    @pytest.mark.parametrize("relation", ["add-remove-one", "label-only"])
    def test_where_a_row_cannot_change_sides_they_are_in_parallel(self, relation: str) -> None:
        terms = Terms.checked(epsilon=1, neighbours=relation)
        assert self.RULE.part_for(terms, TRAINING) == self.RULE.part(TRAINING)

    def test_where_it_can_rows_are_not_held_out(self) -> None:
        with pytest.raises(ParameterError, match="`hold_out=0`"):
            self.RULE.part_for(Terms.checked(epsilon=1, neighbours="replace-one"), TRAINING)

    def test_a_person_with_several_rows_may_be_on_both_sides(self) -> None:
        terms = Terms.checked(epsilon=1, neighbours="add-remove-one", unit="person", rows_per_person=2)
        assert self.RULE.part_for(terms, TRAINING) is None
        assert self.BY_PERSON.part_for(terms, HELD_OUT) == self.BY_PERSON.part(HELD_OUT)
        one = Terms.checked(epsilon=1, neighbours="add-remove-one", unit="person")
        assert self.RULE.part_for(one, HELD_OUT) == self.RULE.part(HELD_OUT)
