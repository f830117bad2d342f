"""Options that name several columns."""

from __future__ import annotations

import pytest

from confide.errors import ParameterError
from confide.tasks.requests.evaluate import split_columns


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (["risk"], ["risk"]),
        (["new,old"], ["new", "old"]),
        (["new, old ,age"], ["new", "old", "age"]),
        (["new", "old,age"], ["new", "old", "age"]),
        (['"risk, adjusted"'], ["risk, adjusted"]),
        (['"risk, adjusted",age', "old"], ["risk, adjusted", "age", "old"]),
        (['"a ""b"", c"'], ['a "b", c']),
        (["a b"], ["a b"]),
        ([" risk "], [" risk "]),
        (['size "12"'], ['size "12"']),
    ],
)
def test_a_comma_separates_columns_unless_it_stands_in_quotes(given: list[str], columns: list[str]) -> None:
    assert split_columns(given) == columns


@pytest.mark.parametrize("text", ["a,,b", ",", "a,", '"a,b', '"a"b,c', '""'])
def test_what_names_no_column_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="`score` must name columns with commas"):
        split_columns([text])
