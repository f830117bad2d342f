"""Private curves: what a `CurvesRelease` offers, whatever the noise, the grid, the strategy and the shape."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import confide
from confide import Grid, ScoreCounts
from confide.errors import ParameterError
from confide.privacy.queries import Noise
from confide.releases import CurvesRelease
from confide.releases.curves import curves_of, draw_curves, prepare_curves
from confide.releases.curves_release import CURVE_METRICS
from confide.releases.grids import FACTOR
from confide.releases.release import Release
from confide.releases.shapes import SHAPES
from tests.ledger.asking import Book
from tests.noises import RELATIONS, SILENT, Deaf, seeded

pytestmark = [pytest.mark.usefixtures("few_simulated_tables")]  # about form, not about widths

GRIDS = (None, "uniform:10", "logit:64", "arcsine:7", "quantiles:8", "medians:3")
STRATEGIES = ("auto", "flat", "tree:4", "haar")

every_relation = pytest.mark.parametrize("relation", RELATIONS)


def drawn_rows(rows: int = 400, prevalence: float = 0.3, seed: int = 0) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < prevalence
    return ScoreCounts.from_arrays(labels, np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0.0, 1.0))


COUNTS = drawn_rows()


def released(relation: str = "add-remove-one", noise: Noise | None = None, **options: Any) -> CurvesRelease:
    given: dict[str, Any] = {"epsilon": 1, "noise": seeded(1) if noise is None else noise, **options}
    return draw_curves(COUNTS, neighbours=relation, **given)


def check_sound(curves: CurvesRelease) -> None:
    """What holds for every release, however noisy."""
    counts = curves.counts
    assert counts.positives.dtype.kind == "i"
    assert counts.total_positives >= 1
    assert counts.total_negatives >= 1
    for rate in (curves.roc.false_positive_rate, curves.roc.true_positive_rate):
        assert rate[0] == 0.0
        assert rate[-1] == 1.0
        assert (np.diff(rate) >= 0.0).all()
    for bands in curves.bands.values():
        for band in (bands.sample, bands.population):
            assert ((band.lower >= 0.0) & (band.lower <= band.upper) & (band.upper <= 1.0)).all()
    for name, value in curves.values.items():
        intervals = curves.intervals[name]
        assert intervals.population.lower <= intervals.sample.lower <= value <= intervals.sample.upper
        assert intervals.sample.upper <= intervals.population.upper
    assert (curves.calibration.weight > 0.0).all()
    for low, high in curves.calibration_ends:
        assert ((low >= 0.0) & (low <= curves.calibration.observed + 1e-12)).all()
        assert ((high <= 1.0) & (high >= curves.calibration.observed - 1e-12)).all()


@pytest.mark.few(20)
@every_relation
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_grid_and_strategy_gives_a_sound_curve(relation: str, grid: str | None, strategy: str) -> None:
    check_sound(released(relation, grid=grid, strategy=strategy))


@every_relation
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [1e-3, 1, 1e3])
def test_every_shape_gives_a_sound_curve_at_any_epsilon(relation: str, shape: str, epsilon: float) -> None:
    check_sound(released(relation, shape=shape, epsilon=epsilon, grid="uniform:8"))


@every_relation
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace-per-point", "fixed-space", "recursive-medians"])
def test_every_mechanism_gives_a_sound_curve(relation: str, mechanism: str) -> None:
    grid = {"fixed-space": "uniform:64", "recursive-medians": "medians:4"}.get(mechanism)
    check_sound(released(relation, mechanism=mechanism, delta="1e-6" if mechanism == "gaussian" else 0, grid=grid))


@pytest.mark.few(16)
@every_relation
@pytest.mark.parametrize("level", [-500, 0, 7, 10_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_noise_that_drowns_everything_still_gives_a_sound_curve(relation: str, level: int, shape: str) -> None:
    check_sound(released(relation, noise=Deaf(level).noise(), shape=shape, grid="uniform:8"))


@pytest.mark.parametrize("shape", ["counts", "isotonic"])
@every_relation
@pytest.mark.parametrize("strategy", ["flat", "tree:3", "haar", "per-point"])
def test_without_noise_it_is_the_exact_evaluation_of_the_projected_rows(
    relation: str, strategy: str, shape: str
) -> None:
    grid = Grid.uniform(12)
    curves = released(relation, noise=SILENT, grid=grid, strategy=strategy, shape=shape)
    assert curves.counts == COUNTS.project(grid)
    exact = confide.roc_curve(COUNTS.project(grid))
    points = set(zip(curves.roc.false_positive_rate, curves.roc.true_positive_rate, strict=True))
    assert points >= set(zip(exact.false_positive_rate, exact.true_positive_rate, strict=True))
    assert curves.auc == pytest.approx(confide.auc_score(curves.drawn), abs=2e-3)
    assert curves.brier == pytest.approx(confide.brier_score(COUNTS.project(grid)))
    assert curves.observed_expected == pytest.approx(confide.metrics.observed_expected_ratio(COUNTS.project(grid)))
    assert curves.prevalence == pytest.approx(COUNTS.prevalence)
    assert curves.confusion(0.5) == confide.confusion_matrix(COUNTS, 0.5)


def test_without_noise_the_concave_shape_is_the_hull_but_for_half_a_row() -> None:
    grid = Grid.uniform(12)
    curves = released(noise=SILENT, grid=grid)
    hull = confide.curves.roc_hull(COUNTS.project(grid))
    at_edges = np.isin(curves["roc"].curve.points["threshold"], grid.edges)  # type: ignore[union-attr]
    beyond = at_edges & (curves.roc.false_positive_rate > 0.0)
    found = np.interp(curves.roc.false_positive_rate[beyond], hull.false_positive_rate, hull.true_positive_rate)
    assert np.abs(found - curves.roc.true_positive_rate[beyond]).max() <= 1.0 / COUNTS.total_positives


@every_relation
def test_what_is_public_is_kept(relation: str) -> None:
    for seed in range(5):
        curves = released(relation, noise=seeded(seed), grid="uniform:10", epsilon="0.1")
        rows = curves.counts.total_positives + curves.counts.total_negatives
        exact = COUNTS.total_positives + COUNTS.total_negatives
        if relation == "add-remove-one":
            continue
        assert rows == exact
        if relation == "label-only":
            ours, theirs = (
                np.bincount(Grid.uniform(10).cells(each.scores), each.positives + each.negatives, 10)
                for each in (curves.counts, COUNTS)
            )
            np.testing.assert_array_equal(ours, theirs)


NEEDED: dict[str, dict[str, Any]] = {"partial_auc": {"specificity": (0.9, 1.0)}}
EXACT: dict[str, Callable[[ScoreCounts], object]] = {
    "curve_bands": lambda counts: confide.intervals.curve_bands(counts, replicates=100, rng=0),
    "decision_curve": confide.curves.decision_curve,
    "reliability_bins": confide.curves.reliability_bins,
    "smooth_calibration": confide.curves.smooth_calibration,
    "roc_hull": confide.curves.roc_hull,
    "delong_interval": confide.delong_interval,
    "hanley_mcneil_interval": confide.intervals.hanley_mcneil_interval,
    "bootstrap_interval": lambda counts: confide.bootstrap_interval(counts, "auc", replicates=100, rng=0),
    "average_precision_minimum": confide.metrics.average_precision_minimum,
    "youden_threshold": confide.metrics.youden_threshold,
    "partial_auc_score": lambda counts: confide.metrics.partial_auc_score(counts, specificity=(0.9, 1.0)),
    "evaluate": confide.evaluate,
    **{
        f"aucpr {name}": lambda counts, name=name: confide.aucpr_score(counts, estimator=name)  # type: ignore[misc]
        for name in confide.metrics.ESTIMATORS
    },
    **{
        f"metric {name}": lambda counts, name=name: confide.metric_score(counts, name, **NEEDED.get(name, {}))  # type: ignore[misc]
        for name in confide.metrics.metric_names()
    },
}


@pytest.mark.few(23)
@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("function", EXACT)
def test_every_function_of_exact_evaluation_takes_the_released_counts(function: str) -> None:
    assert EXACT[function](released(grid="uniform:16").counts) is not None


@every_relation
def test_one_release_answers_everything_and_comes_back_from_its_table(relation: str) -> None:
    curves = released(relation, grid="uniform:10", threshold=0.3)
    releases = curves.releases(threshold=0.3)
    assert [release.metric for release in releases][: len(CURVE_METRICS)] == list(CURVE_METRICS)
    assert {release.guarantee for release in releases} == {curves.guarantee}
    table = next(release for release in releases if release.metric == "counts")
    again = curves_of(Release.from_dict(json.loads(json.dumps(table.to_dict())), curves.guarantee))
    assert [each.to_dict() for each in again.releases(threshold=0.3)] == [each.to_dict() for each in releases]
    assert pickle.loads(pickle.dumps(releases)) == releases  # noqa: S301  # what we wrote ourselves


def test_json_holds_the_points_and_bands() -> None:
    curves = released(grid="uniform:10")
    plain = json.loads(json.dumps(curves["roc"].to_dict()))["curve"]
    assert plain["points"]["false_positive_rate"][-1] == plain["points"]["true_positive_rate"][-1] == 1.0
    assert plain["points"]["threshold"][0] is None
    assert set(plain["points"]["threshold"][1:]) >= set(curves.grid.edges[:-1])
    for band in plain["bands"].values():
        assert len(band["false_positive_rate"]) == len(band["lower"]) == len(band["upper"])


def test_the_threshold_of_a_point_gives_that_point() -> None:
    curves = released(grid="uniform:10")
    points = curves["roc"].curve.points  # type: ignore[union-attr]
    for alarm, recall, threshold in zip(*points.values(), strict=True):
        matrix = curves.confusion(threshold)
        assert matrix.recall == pytest.approx(recall)
        assert matrix.false_positive_rate == pytest.approx(alarm)


def test_measures_at_a_threshold_follow_from_the_same_noise() -> None:
    curves = released(grid="uniform:10", threshold=0.37, noise=SILENT)
    assert 0.37 in curves.grid.edges
    exact = confide.confusion_matrix(COUNTS, 0.37)
    found = {release.metric: release.value for release in curves.releases(threshold=0.37)}
    assert found["recall"] == pytest.approx(exact.recall)
    assert found["true_negatives"] == exact.true_negatives
    with pytest.raises(ParameterError, match="not an edge of the grid"):
        curves.releases(threshold=0.371)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"grid": "uniform"}, "arcsine:32"),
        ({"grid": "quantiles:9"}, "2, 4, 8"),
        ({"grid": "medians:40"}, "1 to 11"),
        ({"grid": "uniform:5000"}, "2,048"),
        ({"grid": 7}, "Grid"),
        ({"strategy": "oak"}, "tree:4"),
        ({"strategy": "tree:1"}, "at least 2"),
        ({"shape": "pear"}, "concave"),
        ({"mechanism": "rank-sum"}, "no mechanism"),
        ({"mechanism": "gaussian"}, "delta"),
        ({"mechanism": "fixed-space", "strategy": "flat"}, "haar"),
        ({"mechanism": "symmetric-binormal"}, "release_symmetric_roc"),
        ({"threshold": 1.5}, "inside the grid"),
        ({"threshold": float("nan")}, "finite"),
        ({"epsilon": 0}, "epsilon"),
        ({"colour": "red"}, "no term"),
    ],
    ids=str,
)
def test_bad_requests_are_refused_before_noise_is_drawn(wrong: dict[str, Any], says: str) -> None:
    from tests.noises import FORBIDDEN

    with pytest.raises(ParameterError, match=says):
        draw_curves(COUNTS, **{"epsilon": 1, "noise": FORBIDDEN, **wrong})


@pytest.mark.long
def test_the_default_has_cells_for_what_noise_leaves_to_be_seen() -> None:
    """Without noise: half the noise makes twice the cells. Where scores are public the rule is another."""
    sizes = {}
    for rows in (100, 2_000, 50_000):
        counts = drawn_rows(rows)
        sizes[rows] = {
            relation: len(draw_curves(counts, epsilon=1, neighbours=relation, noise=SILENT).grid)
            for relation in RELATIONS
        }
    assert sizes[100] == dict.fromkeys(RELATIONS, 12)
    assert sizes[2_000]["label-only"] == 34
    for rows in (2_000, 50_000):
        expected = FACTOR * 0.95 * np.sqrt(_smaller(drawn_rows(rows)) / 2.0)
        assert sizes[rows]["add-remove-one"] == round(expected)
        assert sizes[rows]["replace-one"] == max(round(expected / 2.0), 12)


def _smaller(counts: ScoreCounts) -> float:
    sizes = np.array([counts.total_positives, counts.total_negatives], dtype=float)
    return float((1.0 / sizes).sum() / (1.0 / sizes**2).sum())


@pytest.mark.parametrize(
    ("options", "strategy"),
    [
        ({"grid": "uniform:32"}, "flat"),
        ({"grid": "uniform:64"}, "tree:8"),
        ({"grid": "uniform:64", "mechanism": "gaussian", "delta": "1e-6"}, "haar"),
        ({"grid": "uniform:64", "strategy": "tree"}, "tree:16"),
    ],
    ids=str,
)
def test_the_strategy_is_the_one_that_promises_least_error(options: dict[str, Any], strategy: str) -> None:
    assert released(**options).strategy == strategy


@pytest.mark.few(1)
@pytest.mark.parametrize(("delta", "mechanism"), [("0", "laplace"), ("1e-6", "laplace"), ("0.1", "gaussian")])
def test_gaussian_noise_is_taken_where_it_promises_less_error(delta: str, mechanism: str) -> None:
    curves = released(grid="uniform:1024", delta=delta, epsilon="0.1")
    assert curves.mechanism == mechanism
    assert curves.guarantee.delta == (0 if mechanism == "laplace" else Fraction("0.1"))


def test_a_curve_that_is_not_proper_is_not_drawn_so() -> None:
    """Scores that rank the wrong way: concave is refused by the counts, and taken only where it is asked for."""
    swapped = COUNTS.swapped()
    exact = confide.auc_score(swapped)
    assert exact < 0.3
    curves = draw_curves(swapped, epsilon=5, noise=seeded(2))
    assert curves.shape == "isotonic"
    assert curves.auc == pytest.approx(exact, abs=0.05)
    asked = draw_curves(swapped, epsilon=5, noise=seeded(2), shape="concave")
    assert asked.auc == pytest.approx(0.5)
    assert released(noise=seeded(2)).shape == "concave"


def test_scores_that_are_no_probabilities_have_no_brier_score() -> None:
    counts = ScoreCounts(COUNTS.scores * 8.0 - 4.0, COUNTS.positives, COUNTS.negatives)
    curves = draw_curves(counts, epsilon=5, grid="uniform:16:-4:4", noise=seeded(2))
    assert np.isnan(curves.brier)
    assert np.isnan(curves.observed_expected)
    assert curves["calibration"].to_dict()["value"] is None
    assert curves.auc == pytest.approx(confide.auc_score(counts), abs=0.05)


def test_more_epsilon_does_not_widen_the_population_s_bands() -> None:
    """Not even with more cells, most of them next to empty."""
    counts = drawn_rows(4_000)
    widths = []
    for epsilon in (2, 20):
        band = draw_curves(counts, epsilon=epsilon, noise=seeded(4)).bands["roc"].population
        widths.append(float(np.trapezoid(band.upper - band.lower, band.x)))
    assert widths[1] < 1.02 * widths[0]


def test_curves_come_back_from_what_a_ledger_paid_for(tmp_path: Any) -> None:
    from confide.releases.registry import prepare

    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare(["roc", "counts", "calibration"], COUNTS, epsilon=1), account="a")
    roc, table, calibration = receipt.releases
    curves = confide.releases.curves_of(table)
    assert curves["roc"] == roc
    points = calibration.parts["recalibration"]
    for method in ("isotonic", "logistic"):
        np.testing.assert_allclose(curves.calibrator(method)(points["score"]), points[method])
    with pytest.raises(ParameterError, match="'counts'"):
        confide.releases.curves_of(roc)


@pytest.mark.parametrize("grid", ["uniform:2048", "medians:11"])
def test_a_grid_of_the_largest_size_is_answered_with_a_threshold_too(grid: str) -> None:
    raw = prepare_curves(COUNTS, epsilon=1, grid=grid, threshold=0.3777, noise=seeded(1)).draw()[0]
    assert len(raw.options["grid"]) - 1 == 2049


def test_text_forms_show_the_guarantee() -> None:
    curves = released()
    assert "epsilon = 1" in str(curves)
    assert "epsilon 1, add-remove-one" in repr(curves)


def test_other_wishes_are_the_same_request() -> None:
    one = prepare_curves(COUNTS, epsilon=1, grid="uniform:10")
    other = prepare_curves(
        COUNTS, epsilon=1, grid="uniform:10", level=0.8, shape="isotonic", metrics=("pr",), threshold=0.3
    )
    assert dict(one.request) == dict(other.request)
    finer = prepare_curves(COUNTS, epsilon=1, grid="uniform:10", threshold=0.35)
    assert dict(finer.request) != dict(one.request)
