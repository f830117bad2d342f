from __future__ import annotations

import numpy as np
import pytest
from studies.folds import checked_folds, fold_of_each

from confide.errors import DataError, ParameterError


def test_folds_divide_each_class_evenly() -> None:
    labels = np.random.default_rng(1).random(103) < 0.3
    fold = fold_of_each(labels, 10, np.random.default_rng(2))
    for members in (fold, fold[labels], fold[~labels]):
        sizes = np.bincount(members, minlength=10)
        assert sizes.max() - sizes.min() <= 1


def test_folds_need_rows_of_each_class() -> None:
    with pytest.raises(DataError, match="at least 3 rows"):
        fold_of_each(np.array([True, True, False, False, False, False]), 3, np.random.default_rng(0))


@pytest.mark.parametrize("folds", [1, 0, 101, 2.5, True])
def test_bad_numbers_of_folds_are_refused(folds: object) -> None:
    with pytest.raises(ParameterError, match="folds must be a whole number"):
        checked_folds(folds)
