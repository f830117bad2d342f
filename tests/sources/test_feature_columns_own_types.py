"""Values of types of their own: each is read by itself, in features, labels and lines before the first."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.sources.duckdb_files import open_file
from confide.sources.encoding import Encoding
from confide.sources.private_labels import label_rows


class _Folded(str):
    """A text that equals others in any letter case, as some libraries have them."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.lower())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()


@pytest.mark.parametrize("before", ["yes", "YES", "no"])
def test_texts_that_equal_others_are_encoded_each_by_itself(before: str) -> None:
    encoding = Encoding.parse(columns=["smoker=yes|"])
    rows = encoding.encoded({"smoker": [_Folded(before), _Folded("YES"), _Folded("yes")]})
    assert rows.starts.tolist()[1:] == [before == "yes", before == "yes", (before == "yes") + 1]


@pytest.mark.parametrize("nested", [(1, (2, 3)), [1], []])
def test_nested_labels_are_refused_with_one_message(nested: object) -> None:
    with pytest.raises(ParameterError, match="labels must be one-dimensional"):
        label_rows([1, nested, 0], positive=1)


@pytest.mark.parametrize("last", ["c", '"c" d'])
def test_a_line_of_spaces_before_the_names_is_no_row(tmp_path: Path, last: str) -> None:
    file = tmp_path / "one.csv"
    file.write_text(f"  \nword\na\nb\n{last.split()[-1]}\n")
    assert [row["word"] for row in open_file(file, as_written=True).rows()] == ["a", "b", last.split()[-1]]


@pytest.mark.parametrize("odd", [Fraction(10**5000, 3), np.timedelta64(1, "s"), np.timedelta64(1, "ns")])
def test_labels_of_odd_types_are_negative_and_no_error(odd: object) -> None:
    assert label_rows(["yes", odd, "no"], positive="yes").tolist() == [True, False, False]
