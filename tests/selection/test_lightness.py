"""Selecting needs no scikit-learn."""

from __future__ import annotations

import pytest

from tests.selection.processes import run

pytestmark = pytest.mark.processes

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import confide.selection as selection
from confide.features import FeatureRows
rows = FeatureRows.from_matrix(np.eye(4), np.arange(4) > 1)
for method in selection.METHODS:
    k = {} if method == "clusters" else {"k": 2}
    threshold = {"threshold": 1} if method in ("clusters", "sparse-vector") else {}
    (drawn,) = selection.prepare_selection(rows, method=method, epsilon=1, **k, **threshold).draw()
    assert drawn.width == 4
"""
LAZY = """
import sys
import confide.selection
assert set(dir(confide.selection)) == set(confide.selection.__all__)
assert "numpy" not in sys.modules
for name in confide.selection.__all__:
    assert getattr(confide.selection, name) is not None
assert "sklearn" not in sys.modules
try:
    confide.selection.unheard
except AttributeError as error:
    assert "no attribute 'unheard'" in str(error)
else:
    raise AssertionError
"""


def test_selecting_works_without_scikit_learn() -> None:
    run(WITHOUT)


def test_names_load_on_first_use() -> None:
    run(LAZY)
