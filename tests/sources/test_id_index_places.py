"""An index of ids finds what a dictionary finds, whatever the texts are."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.sources.submissions import IdIndex

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40) | st.text("ab\0", max_size=18)


@given(ids=st.lists(TEXTS, unique=True, max_size=40), others=st.lists(TEXTS, max_size=40), data=st.data())
def test_places_are_those_of_a_dictionary(ids: list[str], others: list[str], data: st.DataObject) -> None:
    asked = data.draw(st.permutations(ids + others))
    expected = {text: place for place, text in enumerate(ids)}
    found = IdIndex(ids).places(pa.array(asked, type=pa.string()))
    assert found.tolist() == [expected.get(text, -1) for text in asked]
    assert IdIndex(ids).places(asked).tolist() == found.tolist()


@pytest.mark.parametrize("number", [1, 5000])
def test_many_ids_in_another_order_slices_and_dictionaries(number: int) -> None:
    ids = [f"patient-{place:06d}" for place in range(number)]
    index = IdIndex(ids)
    backwards = pa.array(["not an id", *reversed(ids)])
    assert index.places(backwards).tolist() == [-1, *reversed(range(number))]
    assert index.places(backwards.slice(1)).tolist() == list(reversed(range(number)))
    assert index.places(backwards.dictionary_encode()).tolist() == [-1, *reversed(range(number))]
    assert index.places(pa.array([None, *ids])).tolist() == [-1, *range(number)]
