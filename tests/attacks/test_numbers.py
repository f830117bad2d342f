"""The exact number that would be published: by the definition, by another library, and refused where there is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from confide import ScoreCounts
from confide.attacks.disclosure import NUMBERS, Window
from confide.attacks.numbers import check_metric, exact_number, exact_number_of, gap_to, has_number
from confide.errors import ConfideError, DataError, OneClassError, ParameterError
from tests.attacks.brute import auc_by_pairs
from tests.attacks.rows import few_rows

AGAINST_SKLEARN = {
    "auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "accuracy": lambda labels, scores: sk.accuracy_score(labels, np.asarray(scores) >= 0.5),
    "log_loss": sk.log_loss,
    "brier": sk.brier_score_loss,
}


@pytest.mark.parametrize("metric", NUMBERS)
def test_numbers_against_scikit_learn(metric: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        labels, scores = few_rows(rng, 30)
        found = exact_number(ScoreCounts.from_arrays(labels, scores), metric)
        assert float(found) == pytest.approx(AGAINST_SKLEARN[metric](labels, scores), abs=1e-12)
        assert isinstance(found, Fraction) == (metric in ("auc", "accuracy"))
        assert found == exact_number_of(np.array(labels, dtype=bool), np.array(scores), metric)


def test_auc_and_accuracy_are_exact() -> None:
    labels, scores = [0, 1, 1, 0, 1], [1, 1, 2, 0, 0]
    counts = ScoreCounts.from_arrays(labels, scores)
    assert exact_number(counts, "auc") == auc_by_pairs(labels, scores)
    assert exact_number(counts, "accuracy") == Fraction(3, 5)


@pytest.mark.parametrize("metric", NUMBERS)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_some_numbers(metric: str, label: int) -> None:
    counts = ScoreCounts.from_arrays([label] * 3, [0.2, 0.4, 0.7], one_class=True)
    if has_number(counts, metric):
        assert np.isfinite(float(exact_number(counts, metric)))
    else:
        with pytest.raises(OneClassError):
            exact_number(counts, metric)


@pytest.mark.parametrize("metric", NUMBERS)
def test_weights_are_refused(metric: str) -> None:
    with pytest.raises(DataError, match="weights"):
        exact_number(ScoreCounts.from_arrays([0, 1], [0.1, 0.9], weights=[0.5, 2.0]), metric)


@pytest.mark.parametrize(
    ("scores", "metric", "error", "message"),
    [
        ([0.0, 0.5], "log_loss", DataError, "strictly between"),
        ([0.0, 1.5], "brier", DataError, "in \\[0, 1\\]"),
        ([0.0, 0.5], "brie", ParameterError, "Did you mean 'brier'"),
        ([0.0, 0.5], "roc", ParameterError, "Choose from"),
    ],
)
def test_what_cannot_be_attacked_row_by_row(
    scores: list[float], metric: str, error: type[ConfideError], message: str
) -> None:
    with pytest.raises(error, match=message):
        check_metric(ScoreCounts.from_arrays([0, 1], scores), metric)


def test_gaps_of_fractions_are_exact_and_of_floats_forgive_the_last_places() -> None:
    window = Window.written("1/3")
    assert gap_to(1 / 3, window) == 0
    assert gap_to(Fraction(1, 3) + Fraction(1, 10**30), window) == Fraction(1, 10**30)
    assert gap_to(0.5, window) == Fraction(1, 6)


def test_a_window_holds_floats_that_differ_from_it_in_the_last_places_only() -> None:
    window = Window.written("0.75")  # from 0.745 to 0.755
    inside = [np.nextafter(0.745, 0.0), np.nextafter(0.755, 1.0), 0.745 - 1e-13, 0.755 + 1e-13, 0.75]
    assert window.holds(np.array(inside)).all()
    assert not window.holds(np.array([0.745 - 1e-9, 0.755 + 1e-9, np.nan])).any()
