"""A threshold chosen from private curves reaches its target, and says what it achieves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.errors import ParameterError
from confide.releases import CurvesRelease
from confide.releases.curves import draw_curves
from confide.releases.operating import Target
from confide.releases.registry import prepare
from tests.ledger.asking import Book
from tests.noises import RELATIONS, SILENT, seeded

pytestmark = pytest.mark.usefixtures("few_simulated_tables")  # these are about form, not about widths

TARGETS = [("recall", 0.5), ("recall", 0.9), ("recall", 0.99), ("specificity", 0.5), ("specificity", 0.95)]


def drawn_rows(seed: int = 0) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    labels = rng.random(2_000) < 0.3
    return ScoreCounts.from_arrays(labels, np.clip(rng.normal(0.4 + 0.2 * labels, 0.15), 0.0, 1.0))


COUNTS = drawn_rows()


def released(**options: Any) -> CurvesRelease:
    given: dict[str, Any] = {"epsilon": 1, "grid": "uniform:40", "noise": seeded(3), "shape": "counts", **options}
    return draw_curves(COUNTS, **given)


@pytest.mark.parametrize(("measure", "value"), TARGETS)
def test_without_noise_it_is_the_best_edge_of_the_grid(measure: str, value: float) -> None:
    curves = released(noise=SILENT)
    target: dict[str, Any] = {measure: value}
    point = curves.threshold_for(**target)
    reaching = [
        edge
        for edge in (-np.inf, *curves.grid.edges[1:-1], np.inf)
        if getattr(confide.confusion_matrix(COUNTS, edge), measure) >= value
    ]
    assert point.threshold == (max(reaching) if measure == "recall" else min(reaching))
    exact = confide.confusion_matrix(COUNTS, point.threshold)
    assert point.recall == pytest.approx(exact.recall)
    assert point.specificity == pytest.approx(exact.specificity)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("measure", "value"), TARGETS)
def test_the_chosen_threshold_reaches_the_target_and_the_safe_one_surely(
    relation: str, measure: str, value: float
) -> None:
    curves = released(neighbours=relation)
    point, safe = (curves.threshold_for(safe=wish, **{measure: value}) for wish in (False, True))
    assert getattr(point, measure) >= value
    assert getattr(safe, f"{measure}_intervals").sample.lower >= value
    assert (safe.threshold <= point.threshold) == (measure == "recall") or safe.threshold == point.threshold
    for each in (point, safe):
        assert each.guarantee == curves.guarantee
        for intervals, found in ((each.recall_intervals, each.recall), (each.specificity_intervals, each.specificity)):
            assert intervals.population.lower <= intervals.sample.lower <= found + 1e-9
            assert found - 1e-9 <= intervals.sample.upper <= intervals.population.upper
        assert each.thresholds.sample.lower <= each.threshold <= each.thresholds.sample.upper


@pytest.mark.long
@pytest.mark.statistical
def test_safe_thresholds_really_reach_the_target() -> None:
    """At level 0.9 a safe threshold misses its target in the rows in at most a tenth of all draws; twins do not."""
    missed = {True: 0, False: 0}
    for draw in range(60):
        curves = released(noise=seeded(draw), level=0.9, epsilon="0.2", grid="uniform:100")
        for safe in missed:
            point = curves.threshold_for(recall=0.8, safe=safe)
            missed[safe] += confide.confusion_matrix(COUNTS, point.threshold).recall < 0.8
    assert missed[True] <= 15  # binomial: above it with a probability of 2e-4 at most
    assert missed[False] > 15


def test_a_target_that_nothing_reaches_ends_at_the_end_of_the_grid() -> None:
    curves = draw_curves(COUNTS, epsilon="0.001", grid="uniform:4", noise=seeded(1))
    everybody = curves.threshold_for(recall=0.99, safe=True)
    nobody = curves.threshold_for(specificity=0.99, safe=True)
    assert (everybody.threshold, everybody.recall, everybody.specificity) == (-np.inf, 1.0, 0.0)
    assert (nobody.threshold, nobody.recall, nobody.specificity) == (np.inf, 0.0, 1.0)
    assert json.loads(json.dumps(nobody.release(curves).to_dict()))["value"] is None


@pytest.mark.parametrize("scores", [(0.2, 1.0), (-3.0, 0.4), (0.3, 7.0)], ids=str)
def test_scores_at_and_beyond_the_ends_of_the_grid_are_never_misjudged(scores: tuple[float, float]) -> None:
    """What is said of a threshold is true of `score >= threshold`, wherever scores lie."""
    counts = ScoreCounts(np.array(scores), np.array([100, 400]), np.array([400, 100]))
    curves = draw_curves(counts, epsilon=1, grid="uniform:10", noise=SILENT)
    for measure, value in TARGETS:
        target: dict[str, Any] = {measure: value}
        point = curves.threshold_for(**target)
        matrix = confide.confusion_matrix(counts, point.threshold)
        assert (point.recall, point.specificity) == pytest.approx((matrix.recall, matrix.specificity))


@pytest.mark.parametrize(
    ("target", "says"),
    [("recall", "recall=0.9"), ("recall=x", "recall=0.9"), ("recall=1", "between 0 and 1"), ("f1=0.5", "specificity")],
)
def test_bad_targets_are_refused(target: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Target.parse(target)


def test_targets_are_named_one_at_a_time() -> None:
    with pytest.raises(ParameterError, match="one target"):
        released().threshold_for(recall=0.9, specificity=0.9)
    assert Target.parse("sensitivity=0.9") == Target(measure="recall", value=0.9)


def test_another_target_level_shape_or_metric_costs_nothing_more(tmp_path: Any) -> None:
    options: dict[str, Any] = {"epsilon": 1, "grid": "uniform:10"}
    with Book(tmp_path / "ledger.sqlite") as ledger:
        first = ledger.release(prepare("roc", COUNTS, **options), account="a")
        wishes: tuple[dict[str, Any], ...] = (
            {"target": "recall=0.9"},
            {"target": "specificity=0.9", "level": 0.8},
            {"shape": "isotonic"},
            {"threshold": 0.3, "metrics": ["roc", "precision"]},
        )
        for more in wishes:
            asked = more.pop("metrics", "roc")
            again = ledger.release(prepare(asked, COUNTS, **options, **more), account="a")
            assert again.reused
            assert again.spent == first.spent
        roc, threshold = ledger.release(prepare("roc", COUNTS, target="recall=0.9", **options), account="a").releases
        assert roc == first.releases[0]
        assert threshold.metric == "threshold"
        assert threshold.parts["recall"] >= 0.9
        other = ledger.release(prepare("roc", COUNTS, epsilon=1, grid="uniform:11"), account="a")
        assert not other.reused
