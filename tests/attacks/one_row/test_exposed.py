"""Labels that follow from a number: each row in turn, and what rounding hides."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from confide import ScoreCounts
from confide.attacks.disclosure import NUMBERS, Publication
from confide.attacks.numbers import exact_number
from confide.attacks.one_row.exposed import exposed_rows
from confide.attacks.one_row.games import label_game, label_of_score
from confide.errors import DataError
from tests.attacks.rows import few_rows


@pytest.mark.parametrize("metric", NUMBERS)
@pytest.mark.parametrize("digits", [None, 2])
def test_exposed_rows_against_each_row_in_turn(metric: str, digits: int | None) -> None:
    rng = np.random.default_rng(2)
    published = Publication(metric=metric, digits=digits)
    seen = set()
    for size in (5, 12, 30, 30, 60):
        labels, scores = few_rows(rng, size)
        if size > 12:
            scores = rng.uniform(0.05, 0.95, size).tolist()
        counts = ScoreCounts.from_arrays(labels, scores)
        window = published.window(exact_number(counts, metric))
        certain = [0, 0]
        for k in range(size):
            known = ScoreCounts.from_arrays(labels[:k] + labels[k + 1 :], scores[:k] + scores[k + 1 :], one_class=True)
            guess = label_of_score(known, scores[k], metric, window)
            assert guess.nearest[1 - labels[k]] == 1  # the truth always fits
            certain[labels[k]] += guess.certain
        found = exposed_rows(counts, published)
        assert (found.negatives, found.positives) == tuple(certain)
        assert found.exposed == sum(certain)
        assert found.to_dict()["share"] == found.exposed / size
        seen.add(found.share)
    assert min(seen) < 1.0 or digits is None or metric == "accuracy"  # two digits hide some label


@pytest.mark.parametrize("digits", [None, 1, 2, 3])
def test_exposed_average_precision_against_scikit_learn_on_flipped_labels(digits: int | None) -> None:
    """Several positives at one score, so that the precision there changes with what is left of them."""
    rng = np.random.default_rng(8)
    published = Publication(metric="average_precision", digits=digits)
    for size in (6, 12, 25, 40):
        labels = np.array([0, 1, 1, *(rng.random(size - 3) < 0.6)], dtype=int)
        scores = rng.integers(1, 5, size) / 5
        assert np.unique(scores[labels == 1]).size < labels.sum()
        exact = float(average_precision_score(labels, scores))
        flips = labels ^ np.eye(size, dtype=int)
        flipped = np.array([average_precision_score(each, scores) for each in flips])
        told = ~published.window(exact).holds(flipped)
        found = exposed_rows(ScoreCounts.from_arrays(labels, scores), published)
        assert (found.positives, found.negatives) == (told[labels == 1].sum(), told[labels == 0].sum())
        unit = 1e-12 if digits is None else 10.0**-digits
        assert found.average == pytest.approx(np.minimum(np.abs(flipped - exact) / unit, 1.0).mean(), abs=1e-9)


def test_exact_numbers_give_every_label_and_rounding_hides_some() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.4
    counts = ScoreCounts.from_arrays(labels, rng.normal(labels))
    assert exposed_rows(counts, Publication.parse("auc:exact")).share > 0.9
    assert exposed_rows(counts, Publication.parse("auc:digits=1")).share < 0.2
    assert label_game(counts, Publication.parse("auc"), trials=50, rng=rng).hits >= 48


def test_what_is_refused() -> None:
    with pytest.raises(DataError, match="strictly between"):
        exposed_rows(ScoreCounts.from_arrays([0, 1], [0.0, 0.5]), Publication.parse("log_loss"))
