"""Estimators need scikit-learn, load it on first use, and say how to get it."""

from __future__ import annotations

import pytest

from tests.learning.processes import run

pytestmark = pytest.mark.processes

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import confide.learning
from confide.errors import UsageError
for name in ("PrivateLogisticRegression", "PrivateNaiveBayes", "PrivateSelector", "total_guarantee"):
    try:
        getattr(confide.learning, name)
    except UsageError as error:
        assert "pip install 'confide[learn]'" in str(error), error
        assert name in str(error), error
    else:
        raise AssertionError(name)
"""
LAZY = """
import sys
import confide.learning
assert set(dir(confide.learning)) == set(confide.learning.__all__)
assert "sklearn" not in sys.modules
for name in confide.learning.__all__:
    assert getattr(confide.learning, name) is not None
assert "sklearn" in sys.modules
try:
    confide.learning.unheard
except AttributeError as error:
    assert "no attribute 'unheard'" in str(error)
else:
    raise AssertionError
"""


def test_without_scikit_learn_every_estimator_says_how_to_install_it() -> None:
    run(WITHOUT)


@pytest.mark.long
def test_scikit_learn_is_loaded_on_first_use() -> None:
    run(LAZY)
