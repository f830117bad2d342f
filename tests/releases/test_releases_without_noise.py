"""Without noise a release is the exact number: against scikit-learn, and by brute force where it has none."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

from confide import Grid, Release, ScoreCounts
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.registry import prepare
from tests.noises import RELATIONS, SILENT, WAYS, Way

GRID_STEP = 2.0**-40  # real numbers are released on a grid

Rows = tuple[NDArray[np.int64], NDArray[np.float64]]


def rows(seed: int, size: int = 90, *, digits: int | None = None) -> Rows:
    """Rows of two classes whose scores overlap; with few digits they are tied."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.35).astype(np.int64)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0.0, 1.0)
    return labels, scores if digits is None else np.round(scores, digits)


DATA = {"no ties": rows(1), "ties": rows(2, digits=1), "few rows": rows(5, 12), "mostly ties": rows(4, digits=0)}
every_data = pytest.mark.parametrize("data", DATA.values(), ids=list(DATA))


def silent(way: Way, data: Rows, **terms: Any) -> tuple[Release, ...]:
    return way.prepare(ScoreCounts.from_arrays(*data), noise=SILENT, **terms).draw()


def of(metric: str, *, without: str = "") -> pytest.MarkDecorator:
    """All ways to release a metric, but for a mechanism."""
    chosen = [way for way in WAYS if way.metric == metric and way.mechanism != without]
    return pytest.mark.parametrize("way", chosen, ids=str)


@pytest.mark.few(18)
@every_data
@of("auc")
def test_auc_against_scikit_learn(way: Way, data: Rows) -> None:
    (release,) = silent(way, data, epsilon=20)  # enough that no class is too small for the local scale
    assert release.value == pytest.approx(sk.roc_auc_score(*data), abs=GRID_STEP)
    check_sizes(release, data, way)


@pytest.mark.parametrize("relation", RELATIONS)
def test_auc_of_a_class_too_small_for_the_local_scale_is_shrunk(relation: str) -> None:
    """At epsilon 1/2, a tenth of it for the sizes, a class counts as 12 rows at least: 5 / 0.45, rounded up."""
    labels, scores = rows(1)
    few = np.concatenate((np.flatnonzero(labels)[:5], np.flatnonzero(1 - labels)))
    (release,) = silent(Way("auc", "local", relation), (labels[few], scores[few]), epsilon="1/2")
    exact = sk.roc_auc_score(labels[few], scores[few])
    assert release.options == {"least_class": 12, "centre": 0.75, "sizes_share": 0.1}
    assert release.value == pytest.approx(0.75 + 5 / 12 * (exact - 0.75), abs=GRID_STEP)
    assert exact in release.intervals.sample


def check_sizes(release: Release, data: Rows, way: Way) -> None:
    labels, _ = data
    sizes = {"positives": labels.sum(), "negatives": (1 - labels).sum(), "rows": labels.size}
    sizes |= {
        "pairs": sizes["positives"] * sizes["negatives"],
        "smaller_class": min(sizes["positives"], sizes["negatives"]),
    }
    shown = set(release.parts)
    assert {"positives", "negatives"} <= shown
    assert ("rows" in shown) <= (way.relation != "add-remove-one")
    for name in shown:
        assert release.parts[name] == pytest.approx(sizes[name], abs=1e-9), name


def pessimistic(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> Fraction:
    """`(1/n) sum i / (i + s_i)` over all positives, tied negatives above, by sorting rows one at a time."""
    order = sorted(zip(scores.tolist(), labels.tolist(), strict=True), key=lambda row: (-row[0], row[1]))
    found, negatives, precisions = 0, 0, Fraction(0)
    for _, label in order:
        found, negatives = found + label, negatives + 1 - label
        if label:
            precisions += Fraction(found, found + negatives)
    return precisions / found


@every_data
@of("average_precision", without="private-counts")
def test_average_precision_by_brute_force(way: Way, data: Rows) -> None:
    (release,) = silent(way, data, epsilon=20)  # enough that five positives are not too few for the local scale
    assert release.value == pytest.approx(float(pessimistic(*data)), abs=2 * GRID_STEP)
    assert release.value <= sk.average_precision_score(*data) + GRID_STEP  # which takes tied rows together
    check_sizes(release, data, way)


@pytest.mark.parametrize(("relation", "least"), [("replace-one", 23), ("label-only", 23), ("add-remove-one", 12)])
def test_average_precision_of_too_few_positives_for_the_local_scale_is_drawn_to_1(relation: str, least: int) -> None:
    """At epsilon 1/2, a tenth of it for the sizes, positives count as 10 / 0.45 at least, or 5 / 0.45, rounded up."""
    labels, scores = rows(1)
    few = np.concatenate((np.flatnonzero(labels)[:8], np.flatnonzero(1 - labels)))
    data = (labels[few], scores[few])
    (release,) = silent(Way("average_precision", "local", relation), data, epsilon="1/2")
    exact = float(pessimistic(*data))
    assert release.options == {"least_positives": least}
    assert release.value == pytest.approx(1.0 - 8 / least * (1.0 - exact), abs=2 * GRID_STEP)
    assert exact in release.intervals.sample


@pytest.mark.parametrize("relation", RELATIONS)
def test_average_precision_of_private_counts_is_near_the_exact_one(relation: str) -> None:
    way = Way("average_precision", "private-counts", relation)
    data = rows(7, 4000)
    exact = float(pessimistic(*data))
    for cells, error in ((16, 0.02), (200, 0.002)):
        (release,) = silent(way, data, grid=Grid.uniform(cells))
        assert release.value == pytest.approx(exact, abs=error)
        check_sizes(release, data, way)


@pytest.mark.parametrize("relation", RELATIONS)
def test_average_precision_of_private_counts_is_bracketed_by_its_cells(relation: str) -> None:
    """With nearly no noise the sample's interval is what the order within cells leaves open."""
    data = rows(8, 300)
    (release,) = silent(Way("average_precision", "private-counts", relation), data, epsilon=1000)
    assert float(pessimistic(*data)) in release.intervals.sample
    assert release.value in release.intervals.sample


@every_data
@of("brier")
def test_brier_against_scikit_learn(way: Way, data: Rows) -> None:
    (release,) = silent(way, data)
    assert release.value == pytest.approx(sk.brier_score_loss(*data), abs=2.0**-20)
    assert release.parts["rows"] == data[0].size


@of("brier")
def test_brier_cuts_scores_to_probabilities(way: Way) -> None:
    labels, scores = rows(3)
    stretched = 4.0 * scores - 1.5
    (release,) = silent(way, (labels, stretched))
    assert release.value == pytest.approx(sk.brier_score_loss(labels, np.clip(stretched, 0.0, 1.0)), abs=2.0**-20)


@every_data
@of("prevalence")
def test_prevalence_is_the_share_of_positives(way: Way, data: Rows) -> None:
    (release,) = silent(way, data)
    assert release.value == pytest.approx(data[0].mean(), abs=1e-12)
    check_sizes(release, data, way)


def by_scikit_learn(labels: NDArray[np.int64], called: NDArray[np.int64]) -> dict[str, float]:
    tn, fp, fn, tp = sk.confusion_matrix(labels, called).ravel().tolist()
    return {
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "true_negatives": tn,
        "accuracy": sk.accuracy_score(labels, called),
        "recall": sk.recall_score(labels, called),
        "false_positive_rate": 1.0 - sk.recall_score(labels, called, pos_label=0),
        "specificity": sk.recall_score(labels, called, pos_label=0),
        "precision": sk.precision_score(labels, called),
        "negative_predictive_value": sk.precision_score(labels, called, pos_label=0),
        "f1": sk.f1_score(labels, called),
        "balanced_accuracy": sk.balanced_accuracy_score(labels, called),
        "matthews_correlation": sk.matthews_corrcoef(labels, called),
        "youden": sk.balanced_accuracy_score(labels, called, adjusted=True),
        "positive_likelihood_ratio": sk.class_likelihood_ratios(labels, called)[0],
        "negative_likelihood_ratio": sk.class_likelihood_ratios(labels, called)[1],
    }


@pytest.mark.parametrize("threshold", [0.5, 0.4])
@of("confusion")
def test_confusion_against_scikit_learn(way: Way, threshold: float) -> None:
    labels, scores = DATA["ties"]  # scores equal to the threshold are called positive
    expected = by_scikit_learn(labels, (scores >= threshold).astype(np.int64))
    assert set(expected) == set(CONFUSION_METRICS)
    releases = silent(way, (labels, scores), threshold=threshold)
    for release in releases:
        assert release.value == pytest.approx(expected[release.metric], abs=1e-9), release.metric
        assert release.parts == pytest.approx({cell: expected[cell] for cell in release.parts})
        assert release.options == {"threshold": threshold}


@pytest.mark.parametrize("relation", RELATIONS)
def test_measures_that_do_not_exist_are_none(relation: str) -> None:
    counts = ScoreCounts.from_arrays([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], one_class=True)
    releases = {
        release.metric: release
        for release in prepare("confusion", counts, epsilon=1000, neighbours=relation, noise=SILENT)[0].draw()
    }
    assert math.isnan(releases["recall"].value)
    assert releases["recall"].to_dict()["value"] is None
    assert releases["specificity"].value == 1.0
    assert releases["recall"].intervals.sample.lower == 0.0
    assert releases["recall"].intervals.sample.upper == 1.0


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_of_an_exact_size_moves_counts_by_as_much(relation: str) -> None:
    """What reaches the release is what was drawn: one more of everything is one more."""
    from dataclasses import replace

    louder = replace(SILENT, discrete_laplace=lambda values, scale: [value + 1 for value in values])
    counts = ScoreCounts.from_arrays(*DATA["no ties"])
    quiet, loud = (
        prepare("prevalence", counts, epsilon=1, neighbours=relation, noise=noise)[0].draw()[0]
        for noise in (SILENT, louder)
    )
    assert loud.parts["positives"] == quiet.parts["positives"] + 1
