"""Selecting needs no scikit-learn."""

from __future__ import annotations

import pytest

from tests.learning.processes import run

pytestmark = pytest.mark.processes

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import confide.learning
from confide.features import FeatureRows
rows = FeatureRows.from_matrix(np.eye(4), np.arange(4) > 1)
for method in confide.learning.METHODS:
    k = {} if method == "clusters" else {"k": 2}
    threshold = {"threshold": 1} if method in ("clusters", "sparse-vector") else {}
    (drawn,) = confide.learning.prepare_selection(rows, method=method, epsilon=1, **k, **threshold).draw()
    assert drawn.width == 4
"""
LAZY = """
import sys
import confide.learning
assert set(dir(confide.learning)) == set(confide.learning.__all__)
assert "numpy" not in sys.modules
estimators = {"PrivateLogisticRegression", "PrivateNaiveBayes", "PrivateSelector", "total_guarantee"}
for name in set(confide.learning.__all__) - estimators:
    assert getattr(confide.learning, name) is not None
assert "sklearn" not in sys.modules
try:
    confide.learning.unheard
except AttributeError as error:
    assert "no attribute 'unheard'" in str(error)
else:
    raise AssertionError
"""


def test_selecting_works_without_scikit_learn() -> None:
    run(WITHOUT)


def test_names_load_on_first_use() -> None:
    run(LAZY)
