"""How long scores of features, private selection and private training take, beside scikit-learn and diffprivlib."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.feature_data import text_like
from benchmarks.timing import best_of, seconds, table
from confide.counts import FloatArray
from confide.features import FeatureRows
from confide.learning.logistic import prepare_logistic
from confide.learning.models import LOGISTIC_ROW_WEIGHT
from confide.learning.naive_bayes import prepare_naive_bayes
from confide.learning.selection import METHODS
from confide.learning.selection_methods import prepare_selection
from confide.privacy.mechanisms.feature_scores import SCORES, scored, units_of
from confide.privacy.neighbours import Neighbours

SCORES_TARGET, SELECTION_TARGET, TRAINING_TARGET = 0.3, 3.0, 5.0
"""Seconds that a score of every feature, a selection and the training of naive Bayes may take on the large rows."""

CHOSEN = 500
TIMED_FEATURES = 100
"""So many features are given to `mutual_info_classif`, which looks at one after the other."""

Timer = Callable[..., list[float]]
"""From functions to the least time of each."""

_NAMES = dict(zip(SCORES, ("TC", "DC", "PI", "IG"), strict=True))


def print_speed(*, quick: bool, theirs: Any) -> int:
    """Print times beside those of scikit-learn and, if given, diffprivlib's models; return how many are too long."""
    best = partial(best_of, 1, turn_seconds=0.0) if quick else partial(best_of, 3)
    size, words = ((2_000, 1_000), 20.0) if quick else ((100_000, 50_000), 57.0)
    rows = text_like(*size, words)
    matrix = _narrow(rows)
    print(f"{size[0]:,} rows of {size[1]:,} features with {rows.features.size:,} ones; best of some runs, one thread")
    (reading,) = best(lambda: FeatureRows.from_matrix(matrix, rows.labels))
    print(f"reading them from a SciPy matrix takes confide {seconds(reading)}, which is not counted below\n")
    missed = _print_scores(rows, matrix, best)
    missed += _print_selections(rows, matrix, best, CHOSEN // 50 if quick else CHOSEN)
    print("\ntraining at epsilon 1; ratios are confide's time over the other's:")
    small = text_like(1_000 if quick else 20_000, 100, 10.0)
    return missed + _print_training(rows, matrix, small, best, theirs)


def _narrow(rows: FeatureRows) -> Any:
    """The matrix as scikit-learn is fastest with: indices of 32 bits."""
    indices, starts = rows.features.astype(np.int32), rows.starts.astype(np.int32)
    return csr_array((np.ones(indices.size), indices, starts), shape=(len(rows), rows.width))


def _print_scores(rows: FeatureRows, matrix: Any, best: Timer) -> int:
    from sklearn.feature_selection import chi2, mutual_info_classif

    columns = np.arange(0, rows.width, rows.width // TIMED_FEATURES)
    few = matrix[:, columns]
    _check_gains(rows, columns, mutual_info_classif(few, rows.labels, discrete_features=True))
    (chi2_time,) = best(lambda: chi2(matrix, rows.labels))
    (gain_time,) = best_of(1, lambda: mutual_info_classif(few, rows.labels, discrete_features=True))
    gain_time *= rows.width / columns.size
    lines, missed = [], 0
    for score in SCORES:
        (ours,) = best(partial(scored, rows, score))
        peer, other = ("mutual_info_classif", gain_time) if score == "information-gain" else ("chi2", chi2_time)
        miss = ours > SCORES_TARGET
        missed += miss
        lines.append((score, seconds(ours), peer, seconds(other), _ratio(ours, other), *_mark(SCORES_TARGET, miss)))
    print(f"scores of all features, without noise (mutual_info_classif timed on {columns.size} features):")
    table(("", "confide", "scikit-learn", "", "confide/theirs", "target", ""), lines)
    return missed


def _check_gains(rows: FeatureRows, columns: NDArray[np.int64], theirs: FloatArray) -> None:
    ours = scored(rows, "information-gain")[columns] / (units_of("information-gain") * len(rows))
    assert np.allclose(ours, theirs, rtol=0.0, atol=1e-6)


def _print_selections(rows: FeatureRows, matrix: Any, best: Timer, chosen: int) -> int:
    from sklearn.feature_selection import SelectKBest, chi2

    (other,) = best(lambda: SelectKBest(chi2, k=chosen).fit(matrix, rows.labels))
    lines, missed = [], 0
    for method in METHODS:
        taken = [best(partial(_selected, rows, method, score, chosen))[0] for score in SCORES]
        miss = max(taken) > SELECTION_TARGET
        missed += miss
        lines.append(
            (
                method,
                *map(seconds, taken),
                seconds(other),
                _ratio(max(taken), other),
                *_mark(SELECTION_TARGET, miss),
            )
        )
    print(f"\nselection of {chosen} features at epsilon 1, prepared and drawn; by a threshold that no feature reaches")
    print("where there is one, so that all are asked; TC, DC and PI under add-remove-one, IG under replace-one:")
    table(("", *_NAMES.values(), "SelectKBest(chi2)", "slowest/theirs", "target", ""), lines)
    return missed


def _selected(rows: FeatureRows, method: str, score: str, chosen: int) -> object:
    numbers: dict[str, Any] = {"threshold": 2 * len(rows)} if method in ("sparse-vector", "clusters") else {}
    if method != "clusters":
        numbers["k"] = chosen
    neighbours = Neighbours.REPLACE_ONE if score == "information-gain" else Neighbours.ADD_REMOVE_ONE
    return prepare_selection(rows, method=method, epsilon=1, score=score, neighbours=neighbours, **numbers).draw()


def _print_training(rows: FeatureRows, matrix: Any, small: FeatureRows, best: Timer, theirs: Any) -> int:
    """Naive Bayes of the large rows; and of fewer features, as diffprivlib needs a dense matrix."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB

    dense, labels = small.matrix().toarray(), small.labels
    (large, large_peer) = best(
        lambda: prepare_naive_bayes(rows, epsilon=1).draw(),
        lambda: BernoulliNB().fit(matrix, rows.labels),
    )
    bayes, bayes_peer, objective, output, logistic_peer = best(
        lambda: prepare_naive_bayes(small, epsilon=1).draw(),
        lambda: BernoulliNB().fit(dense, labels),
        *(partial(_logistic, dense, labels, method) for method in ("objective", "output")),
        lambda: LogisticRegression(max_iter=1_000).fit(dense, labels),
    )
    private_bayes, private_logistic = _timed_diffprivlib(theirs, dense, labels, best)
    miss = large > TRAINING_TARGET
    shape = f"{len(small):,} x {small.width}"
    lines = [
        (
            f"naive Bayes, {len(rows):,} x {rows.width:,}",
            *_against(large, large_peer, None),
            *_mark(TRAINING_TARGET, miss),
        ),
        (f"naive Bayes, {shape}", *_against(bayes, bayes_peer, private_bayes), "", ""),
        (f"logistic, objective, {shape}", *_against(objective, logistic_peer, private_logistic), "", ""),
        (f"logistic, output, {shape}", *_against(output, logistic_peer, private_logistic), "", ""),
    ]
    table(("", "confide", "scikit-learn", "ratio", "diffprivlib", "ratio", "target", ""), lines)
    return int(miss)


def _logistic(dense: FloatArray, labels: NDArray[np.bool_], method: str) -> object:
    return prepare_logistic(dense, labels, epsilon=1, method=method, row_norm=math.sqrt(LOGISTIC_ROW_WEIGHT)).draw()


def _timed_diffprivlib(
    theirs: Any, dense: FloatArray, labels: NDArray[np.bool_], best: Timer
) -> tuple[float | None, float | None]:
    if theirs is None:
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bayes, logistic = best(
            lambda: theirs.GaussianNB(epsilon=1.0, bounds=(0, 1)).fit(dense, labels),
            lambda: theirs.LogisticRegression(epsilon=1.0, data_norm=math.sqrt(LOGISTIC_ROW_WEIGHT)).fit(dense, labels),
        )
    return bayes, logistic


def _against(ours: float, exact: float, private: float | None) -> Iterator[str]:
    yield seconds(ours)
    for other in (exact, private):
        yield "" if other is None else seconds(other)
        yield "" if other is None else _ratio(ours, other)


def _ratio(ours: float, other: float) -> str:
    return f"{ours / other:.2g}"


def _mark(target: float, miss: bool) -> tuple[str, str]:
    return f"{target:g} s", "MISS" if miss else ""
