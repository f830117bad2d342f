"""Shapes, regions and calibrators against scikit-learn, statsmodels, SciPy and formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import confide
from confide import Grid, ScoreCounts
from confide.counts import FloatArray
from confide.privacy.noisy_counts import CurveRegion, Errors, NoisyCells, pr_band, ratio_intervals, roc_band
from confide.releases.curves_release import fit_calibrator
from confide.releases.release import ReleasedCurve
from confide.releases.shapes import probit_line, shaped, whole_rows
from confide.releases.symmetric import symmetric_recall

RNG = np.random.default_rng(3)


def noisy(cells: FloatArray, **public: object) -> NoisyCells:
    return NoisyCells(cells=np.asarray(cells, dtype=np.float64), scale=1.0, **public)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_isotonic_sums_against_sklearn(seed: int) -> None:
    cells = np.random.default_rng(seed).normal(3.0, 6.0, (2, 15)) + 8.0
    found = shaped(noisy(cells), "isotonic")
    for row, exact in zip(cells, found, strict=True):
        sums = np.cumsum(row[::-1])
        risen = IsotonicRegression(y_min=0.0, y_max=sums[-1]).fit_transform(np.arange(15), sums)
        np.testing.assert_allclose(np.cumsum(exact[::-1])[:-1], risen[:-1], atol=1e-9)
        assert exact.sum() == pytest.approx(sums[-1])


@pytest.mark.parametrize("seed", range(20))
def test_concave_counts_against_sklearn_and_the_hull(seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 30, (2, 12)).astype(float)
    found = shaped(noisy(cells), "concave")
    rows = cells.sum(axis=0)
    used = rows > 0
    place = np.flatnonzero(used)
    share = IsotonicRegression().fit(place, cells[0, used] / rows[used], rows[used]).predict(place)
    np.testing.assert_allclose(found[0, used], share * rows[used], atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), rows)
    np.testing.assert_allclose(found.sum(axis=1), cells.sum(axis=1))
    weighted = ScoreCounts(np.flatnonzero(used).astype(float), found[0, used], found[1, used])
    exact = ScoreCounts(np.flatnonzero(used).astype(float), cells[0, used], cells[1, used])
    assert confide.auc_score(weighted) == pytest.approx(confide.metrics.hull_auc_score(exact))


@pytest.mark.parametrize("seed", range(10))
def test_label_only_counts_are_the_nearest_between_0_and_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    most = rng.integers(0, 12, 9).astype(float)
    cells = rng.normal(0.0, 6.0, 9)
    total = float(most.sum()) * 0.4
    cells += (total - cells.sum()) / 9
    found = shaped(noisy(cells[None], cell_rows=most), "counts")

    def apart(counts: FloatArray) -> float:
        return float(((counts - cells) ** 2).sum())

    best = minimize(
        apart,
        most / 2.0,
        bounds=[(0.0, end) for end in most],
        constraints=LinearConstraint(np.ones((1, 9)), total, total),
        options={"maxiter": 500, "ftol": 1e-12},
    )
    np.testing.assert_allclose(found[0], best.x, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=0), most)


@pytest.mark.parametrize(("a", "b"), [(1.5, 1.0), (1.0, 0.7), (2.0, 1.4)])
def test_binormal_shape_finds_the_curve_that_made_the_counts(a: float, b: float) -> None:
    edges = np.array([-np.inf, -1.2, -0.3, 0.4, 1.0, 1.7, 2.6, np.inf])
    ours, theirs = np.diff(norm.cdf(b * edges - a)), np.diff(norm.cdf(edges))
    table = np.stack((3_000 * ours, 9_000 * theirs))
    found = shaped(noisy(table), "binormal")
    np.testing.assert_allclose(found, table, rtol=0.02)
    at = np.linspace(0.005, 0.995, 199)
    true = norm.cdf(a + b * norm.ppf(at))
    distance = dict.fromkeys(("counts", "binormal"), 0.0)
    for seed in range(20):
        crooked = np.maximum(table + np.random.default_rng(seed).laplace(0.0, 60.0, table.shape), 0.0)
        for shape in distance:
            sums = np.cumsum(shaped(noisy(crooked), shape)[:, ::-1], axis=1)
            recall, alarm = sums / sums[:, -1:]
            distance[shape] += np.abs(np.interp(at, np.append(0.0, alarm), np.append(0.0, recall)) - true).mean()
    assert distance["binormal"] < distance["counts"]


def test_roc_glm_line_against_statsmodels() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    z = norm.ppf(np.array([0.02, 0.1, 0.3, 0.6, 0.8, 0.95]))
    share = np.array([0.3, 0.55, 0.8, 0.9, 0.97, 0.99])
    family = statsmodels.families.Binomial(link=statsmodels.families.links.Probit())
    fitted = statsmodels.GLM(share, statsmodels.add_constant(z), family=family).fit()
    np.testing.assert_allclose(probit_line(z, share), fitted.params, atol=2e-4)


def test_roc_glm_shape_keeps_the_negatives_and_follows_the_line() -> None:
    edges = np.array([-np.inf, -0.5, 0.2, 0.9, 1.6, np.inf])
    table = np.stack((500 * np.diff(norm.cdf(edges - 1.2)), 700 * np.diff(norm.cdf(edges))))
    np.testing.assert_allclose(shaped(noisy(table), "roc-glm"), table, rtol=1e-3)


def test_symmetric_binormal_curve_has_its_area() -> None:
    alarm = np.linspace(0.0, 1.0, 20_001)
    for area in (0.5, 0.7, 0.95):
        assert np.trapezoid(symmetric_recall(area, alarm), alarm) == pytest.approx(area, abs=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_whole_rows_move_no_sum_by_more_than_half_a_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = Grid.uniform(9)
    table = rng.random((2, 9)) * rng.choice([0.0, 1.0, 20.0], (2, 9)) + 0.2
    counts = whole_rows(table, grid)
    dense = np.zeros((2, 9))
    where = grid.cells(counts.scores)
    dense[0, where], dense[1, where] = counts.positives, counts.negatives
    moved = np.cumsum(dense[:, ::-1], axis=1) - np.cumsum(table[:, ::-1], axis=1)
    assert np.abs(moved).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_whole_rows_keep_the_public_number_of_rows(seed: int) -> None:
    """Halves of both classes are where rounding each by itself loses or adds a row; floats' dust decides which."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 9, (2, 9)).astype(np.float64) + 1.0
    table[0, 4] += 0.5 + rng.choice([-1.0, 0.0, 1.0]) * 1e-14
    table[1, 0] += 0.5 + rng.choice([-1.0, 0.0, 1.0]) * 1e-14
    rows = round(table.sum())
    counts = whole_rows(table, Grid.uniform(9), rows=rows)
    assert counts.positives.sum() + counts.negatives.sum() == rows


def test_whole_rows_keep_the_public_rows_of_each_cell() -> None:
    """Sums from the top that are a hair below a half and exactly one: a cell of one row must not get two positives."""
    table = np.array([[1.0, 0.4999999999999999], [0.0, 1.5000000000000001]])
    counts = whole_rows(table, Grid.uniform(2), rows=3, cell_rows=np.array([1.0, 2.0]))
    assert (counts.positives + counts.negatives).tolist() == [1, 2]


def test_ratio_intervals_against_fiellers_formula() -> None:
    """One ratio with independent normal errors: the exact set has a closed form."""
    draws = 400_000
    rng = np.random.default_rng(0)
    errors = Errors(rng.normal(0.0, 3.0, (draws, 1)), rng.normal(0.0, 2.0, (draws, 1)))
    found = ratio_intervals(np.array([40.0]), np.array([100.0]), errors, np.array([0.4]), 0.95, highest=np.ones(1))
    g = 1.959964**2
    a, b, c = 100.0**2 - g * 4.0, 40.0 * 100.0, 40.0**2 - g * 9.0
    root = np.sqrt(b * b - a * c)
    np.testing.assert_allclose(found[:, 0], [(b - root) / a, (b + root) / a], atol=5e-4)


def test_ratio_intervals_with_sampling_are_wilsons() -> None:
    """Without noise and with binomial sampling the set is Wilson's interval."""
    draws, rows, share = 400_000, 80.0, 0.3
    rng = np.random.default_rng(0)
    none = Errors(np.zeros((draws, 1)), np.zeros((draws, 1)))
    sampling = Errors(rng.normal(0.0, np.sqrt(rows * share * (1 - share)), (draws, 1)), np.zeros((draws, 1)))
    found = ratio_intervals(
        np.array([rows * share]),
        np.array([rows]),
        none,
        np.array([share]),
        0.95,
        highest=np.ones(1),
        sampling=sampling,
        linear=np.array([rows]),
        square=np.array([rows]),
    )
    wilson = pytest.importorskip("statsmodels.stats.proportion").proportion_confint(24, 80, method="wilson")
    np.testing.assert_allclose(found[:, 0], wilson, atol=2e-3)


def test_a_ratio_that_cannot_be_told_is_anything() -> None:
    rng = np.random.default_rng(0)
    errors = Errors(rng.normal(0.0, 3.0, (2_000, 1)), rng.normal(0.0, 50.0, (2_000, 1)))
    found = ratio_intervals(np.array([4.0]), np.array([10.0]), errors, np.array([0.4]), 0.95, highest=np.ones(1))
    assert found[:, 0].tolist() == [0.0, 1.0]


def _region(recall: list[float], alarm: list[float], slack: float = 0.0) -> CurveRegion:
    boxes = [
        np.array([[max(v - slack, 0.0) for v in ends], [min(v + slack, 1.0) for v in ends]]) for ends in (recall, alarm)
    ]
    for box in boxes:
        box[:, 0], box[:, -1] = 0.0, 1.0
    return CurveRegion(recall=boxes[0], alarm=boxes[1], odds=(2.0, 2.0), level=0.95)


@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_bands_hold_every_curve_through_the_boxes_and_no_more(slack: float) -> None:
    """Curves drawn at random through points in the boxes stay inside; and every end is reached by one of them."""
    rng = np.random.default_rng(1)
    region = _region([0.0, 0.4, 0.7, 1.0], [0.0, 0.1, 0.3, 1.0], slack)
    band = roc_band(region)
    precision = pr_band(region)
    reached = np.stack((np.ones(band.x.size), np.zeros(band.x.size)))
    for _ in range(4_000):
        corner = rng.random() < 0.5
        pick = (lambda low, high: rng.choice([low, high])) if corner else rng.uniform
        x = np.maximum.accumulate([pick(*ends) for ends in region.alarm.T])
        y = np.maximum.accumulate([pick(*ends) for ends in region.recall.T])
        steps_x, steps_y = [0.0], [0.0]
        for k in range(1, x.size):  # a staircase inside the cell: up first, right first, or both
            middle = rng.choice([0.0, 1.0, rng.random()])
            steps_x += [x[k - 1] + middle * (x[k] - x[k - 1]), x[k]]
            steps_y += [y[k - 1] + (1.0 - middle) * (y[k] - y[k - 1]), y[k]]
        xs, ys = np.array(steps_x), np.array(steps_y)
        assert (ys <= np.interp(xs, band.x, band.upper) + 1e-9).all()
        assert (ys >= np.interp(xs, band.x, band.lower) - 1e-9).all()
        some = ys > 0.0
        achieved = ys[some] / (ys[some] + 2.0 * xs[some])
        assert (achieved <= np.interp(ys[some], precision.x, precision.upper) + 1e-9).all()
        assert (achieved >= np.interp(ys[some], precision.x, precision.lower) - 1e-9).all()
        heights = np.interp(band.x, xs, ys)
        reached = np.stack((np.minimum(reached[0], heights), np.maximum(reached[1], heights)))
    inside = (band.x > 0.12) & (band.x < 0.28)
    assert reached[1, inside].max() == pytest.approx(band.upper[inside].max(), abs=0.02)
    assert reached[0, inside].min() == pytest.approx(band.lower[inside].min(), abs=0.02)


def test_logistic_calibrator_against_sklearn() -> None:
    rng = np.random.default_rng(5)
    scores = rng.uniform(0.02, 0.98, 3_000)
    odds = np.log(scores / (1 - scores))
    labels = rng.random(3_000) < 1.0 / (1.0 + np.exp(-(0.7 * odds - 0.5)))
    grid = Grid.uniform(400)
    counts = ScoreCounts.from_arrays(labels, scores)
    fitted = LogisticRegression(C=1e9).fit(odds[:, None], labels)
    calibrator = fit_calibrator(counts.project(grid), grid, GUARANTEE, "logistic")
    at = np.array([0.05, 0.2, 0.5, 0.9])
    expected = fitted.predict_proba(np.log(at / (1 - at))[:, None])[:, 1]
    np.testing.assert_allclose(calibrator(at), expected, atol=0.01)


def test_isotonic_calibrator_against_sklearn() -> None:
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 20, 500) / 20 + 0.025
    labels = rng.random(500) < scores**2
    counts = ScoreCounts.from_arrays(labels, scores)
    calibrator = fit_calibrator(counts, Grid.uniform(20), GUARANTEE)
    rows = counts.positives + counts.negatives + 1.0  # half a row of each class more
    fitted = IsotonicRegression(out_of_bounds="clip").fit(counts.scores, (counts.positives + 0.5) / rows, rows)
    np.testing.assert_allclose(calibrator(counts.scores), fitted.predict(counts.scores), atol=1e-9)
    assert 0.0 < calibrator([0.0])[0] < calibrator([1.0])[0] < 1.0
    assert calibrator([-3.0])[0] == calibrator(counts.scores[:1])[0]


GUARANTEE = confide.release_auc(ScoreCounts.from_arrays([0, 1] * 5, range(10)), epsilon=1).guarantee


def test_a_calibrator_says_what_it_costs_and_refuses_what_it_cannot_do() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.9])
    calibrator = fit_calibrator(counts, Grid.uniform(10), GUARANTEE)
    again = type(calibrator).from_dict(calibrator.to_dict(), GUARANTEE)
    np.testing.assert_array_equal(again([0.3, 0.7]), calibrator([0.3, 0.7]))
    assert calibrator.to_dict()["guarantee"]["epsilon"] == 1.0
    with pytest.raises(confide.ConfideError, match="isotonic, logistic"):
        fit_calibrator(counts, Grid.uniform(10), GUARANTEE, "magic")
    with pytest.raises(confide.ConfideError, match="finite"):
        calibrator([np.nan])


def test_a_curve_keeps_its_sequences_to_itself() -> None:
    values = [0.0, 1.0]
    curve = ReleasedCurve.of({"x": values, "y": np.array(values)})
    values[0] = 5.0
    assert curve.points["x"] == (0.0, 1.0)
    assert ReleasedCurve.from_dict(curve.to_dict()) == curve
    assert hash(curve) == hash(ReleasedCurve.of({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
