"""Selecting needs no scikit-learn; the transformers do, and say how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import confide.selection as selection
from confide.errors import UsageError
from confide.features import FeatureRows
rows = FeatureRows.from_matrix(np.eye(4), np.arange(4) > 1)
for method in selection.METHODS:
    k = {} if method == "clusters" else {"k": 2}
    threshold = {"threshold": 1} if method in ("clusters", "sparse-vector") else {}
    (drawn,) = selection.prepare_selection(rows, method=method, epsilon=1, **k, **threshold).draw()
    assert drawn.width == 4
for name in ("ScorePerturbation", "SparseVector", "TopFeatures", "ScoreClusters", "total_guarantee"):
    try:
        getattr(selection, name)
    except UsageError as error:
        assert "pip install 'confide[learn]'" in str(error), error
        assert name in str(error), error
    else:
        raise AssertionError(name)
"""
LAZY = """
import sys
import confide.selection
assert "sklearn" not in sys.modules
confide.selection.prepare_selection
assert "sklearn" not in sys.modules
assert set(dir(confide.selection)) == set(confide.selection.__all__)
for name in confide.selection.__all__:
    assert getattr(confide.selection, name) is not None
assert "sklearn" in sys.modules
try:
    confide.selection.unheard
except AttributeError as error:
    assert "no attribute 'unheard'" in str(error)
else:
    raise AssertionError
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_without_scikit_learn_only_the_transformers_are_missing() -> None:
    run(WITHOUT)


def test_scikit_learn_is_loaded_when_it_is_needed() -> None:
    run(LAZY)
