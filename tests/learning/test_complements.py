"""Of two features that say the same, one is a candidate. Which one follows from public rules alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.learning import METHODS, prepare_selection
from confide.sources.encoding import Encoding
from tests.learning.data import random_rows, read
from tests.learning.test_requests import WANTED
from tests.noises import FORBIDDEN, seeded

ROWS = read(*random_rows(0))
EXCLUDED = (0, 5, 7)
CANDIDATES = np.array([feature for feature in range(ROWS.width) if feature not in EXCLUDED])


@pytest.mark.parametrize(
    ("columns", "excluded"),
    [
        (["sex=f|m"], ["sex=m"]),
        (["age=65"], ["age<65"]),
        (["smoker"], []),
        (["age=40,65"], []),
        (["sex=f|m|d", "ward=icu|"], []),
        (["smoker", "sex=f|m", "age=40,65", "weight=80"], ["sex=m", "weight<80"]),
    ],
)
def test_a_column_with_two_features_has_one_candidate(columns: list[str], excluded: list[str]) -> None:
    encoding = Encoding.parse(columns=columns)
    assert list(encoding.names(encoding.complements)) == excluded


def test_words_have_no_complements() -> None:
    assert Encoding.parse(text="message", bits=1).complements == ()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one", "label-only"])
def test_excluding_features_is_selecting_from_rows_without_them(method: str, neighbours: str) -> None:
    """A row without some features is a function of that row, so the guarantee is that of the narrower rows."""
    asked: dict[str, Any] = {"method": method, "epsilon": 1, "neighbours": neighbours, **WANTED[method]}
    narrow = prepare_selection(ROWS.only(CANDIDATES), **asked)
    wide = prepare_selection(ROWS, excluded=EXCLUDED, **asked)
    assert wide.guarantee == narrow.guarantee
    for seed in range(20):
        (alone,), (drawn,) = narrow.draw(seeded(seed)), wide.draw(seeded(seed))
        assert drawn.features == tuple(CANDIDATES[list(alone.features)])
        assert drawn.scores == alone.scores
        assert not set(drawn.features) & set(EXCLUDED)
        assert drawn.width == ROWS.width
        assert drawn.options["candidates"] == len(CANDIDATES)


def test_a_request_names_what_is_excluded() -> None:
    asked: dict[str, Any] = {"method": "peeling", "k": 2, "epsilon": 1}
    plain, without, other = (
        prepare_selection(ROWS, excluded=excluded, **asked).request for excluded in ((), (0, 5), (0, 7))
    )
    assert "excluded" not in plain
    assert without["excluded"] == [0, 5]
    assert without != other


def test_more_features_than_candidates_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"at most the number of features, 9 \(3 excluded\); got 10"):
        prepare_selection(ROWS, method="peeling", k=10, epsilon=1, excluded=EXCLUDED, noise=FORBIDDEN)


@pytest.mark.parametrize("excluded", [(-1,), (12,)])
def test_what_is_no_feature_is_refused(excluded: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="excluded must hold features, numbers from 0 to 11"):
        prepare_selection(ROWS, method="peeling", k=1, epsilon=1, excluded=excluded, noise=FORBIDDEN)
