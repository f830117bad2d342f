"""The benchmarks of private releases run, and measure what they say: the documentation's numbers rest on them."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.__main__ import ALL
from benchmarks.curve_coverage import LAWS, Population, holds
from benchmarks.feature_data import Split, text_like
from benchmarks.federated_fit import drawn_sites, fisher_scoring, one_round, placements, whole_glm
from benchmarks.federated_rounds import gbsg2_sites, reference, validated
from benchmarks.private_curves import check_released, median_error, medians_grid, privelet_table
from benchmarks.private_learning import OURS, Accuracy, Task, our_strength_as_c, shares_right
from benchmarks.shared import FILES, shared_file, shared_folder

from benchmarks import parallel, private_curves
from confide import ScoreCounts, auc_score, average_precision_score, brier_score
from confide.curves.roc import Curve, area_between
from confide.curves.roc_glm import equidistant_thresholds
from confide.features import FeatureRows
from confide.intervals.resample import Band
from confide.learning.logistic import usual_regularization
from confide.learning.models import LOGISTIC_ROW_WEIGHT
from confide.metrics import observed_expected_ratio
from confide.privacy.mechanisms.logistic_minimum import near_minimum
from confide.privacy.mechanisms.unit_rows import unit_rows
from confide.privacy.neighbours import Neighbours
from confide.releases.curves import draw_curves
from confide.releases.shapes import whole_rows
from tests.noises import seeded

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpu", "AUC equals NumPy's integers"),
        ("private-auc", "targets missed by rank-sum in"),
        ("least-error", "any mechanism, at least"),
        ("least-width", "least width over the ideal"),
        ("coverage", "are LOW"),
        ("local-coverage", "width over the ideal"),
        ("private-curves", "targets missed in"),
        ("curve-coverage", "are LOW"),
        ("private-learning", "NB as published"),
        ("large-curves", "release_curves"),
        ("labelings", "submissions for all labels"),
        ("contest", "Ladder"),
        pytest.param("evaluate-speed", "paired DeLong", marks=pytest.mark.processes),
        ("federation", "targets missed: "),
        ("federated-peer", "aims missed in"),
        ("federated-network", "network targets missed: "),
        ("central-peer", "ROC, ours: median"),
    ],
)
@pytest.mark.usefixtures("few_simulated_tables")
def test_a_quick_run_prints_its_table_without_the_shared_data(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, as starting others takes most of the time; tasks and results are still sent by pickle."""
    monkeypatch.setenv("CONFIDE_SHARED", str(tmp_path))
    monkeypatch.setattr(parallel, "ProcessPoolExecutor", Alone)
    ALL[name](quick=True)
    assert said in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.documents
@pytest.mark.usefixtures("few_simulated_tables", "shared_data")
def test_private_curves_are_compared_on_the_papers_texts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the package's own curves on the texts. The other methods run on simulated rows above."""
    monkeypatch.setattr(parallel, "ProcessPoolExecutor", Alone)
    monkeypatch.setattr(private_curves, "median_error", error_of_ours)
    ALL["private-curves"](quick=True)
    printed = capsys.readouterr().out
    assert "tweets, 684 rows" in printed
    assert "SMS, 558 rows" in printed


def error_of_ours(task: private_curves.Task) -> float:
    """Measure the package's own curves; take the error of every other method for that of a random curve."""
    return median_error(task) if task.method == private_curves.OURS else 0.5


def test_a_named_folder_is_the_only_place_where_shared_data_are_sought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFIDE_SHARED", str(tmp_path))
    assert shared_folder() is None
    (tmp_path / "data").mkdir()
    for name in FILES:
        assert shared_file(name) is None
        assert shared_folder() is None  # a folder that lacks a file is not the shared data
        (tmp_path / "data" / name).touch()
        assert shared_file(name) == tmp_path / "data" / name
    assert shared_folder() == tmp_path / "data"


class Alone:
    """Stands in for a pool of processes, and refuses what could not be sent to one."""

    def __init__(self, workers: int, mp_context: object) -> None:
        assert workers >= 1

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            called, given = pickle.loads(pickle.dumps((function, task)))  # noqa: S301  # our own bytes
            yield pickle.loads(pickle.dumps(called(given)))  # noqa: S301


@pytest.mark.long
@pytest.mark.processes
def test_a_quick_run_works_with_real_processes() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks", "private-ap", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert finished.returncode == 0, finished.stderr
    assert "student-t" in finished.stdout


CORNER = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
DIAGONAL = np.array([0.0, 1.0]), np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("other", "area"),
    [
        (CORNER, 0.5),
        (DIAGONAL, 0.0),
        ((np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])), 0.25),  # a step across the diagonal
        ((np.array([0.0, 0.25, 0.75, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])), 0.125),  # a line across it
    ],
)
def test_the_area_between_curves_by_hand(other: Curve, area: float) -> None:
    assert area_between(DIAGONAL, other) == pytest.approx(area, abs=1e-15)
    assert area_between(other, DIAGONAL) == pytest.approx(area, abs=1e-15)


def test_the_area_between_curves_against_a_sum_over_many_places() -> None:
    rng = np.random.default_rng(0)
    places = (np.arange(200_000) + 0.5) / 200_000
    for _ in range(20):
        one, other = _random_curve(rng), _random_curve(rng)
        heights = [np.interp(places, x, y) for x, y in (one, other)]  # no place is on a step
        assert area_between(one, other) == pytest.approx(np.abs(heights[0] - heights[1]).mean(), abs=2e-5)


def _random_curve(rng: np.random.Generator) -> Curve:
    """Steps up, steps to the right and lines, in tenths that both curves may share."""
    x, y = (np.sort(rng.integers(0, 11, 12)) / 10.0 for _ in range(2))
    ends = np.zeros(1), np.ones(1)
    return np.concatenate((ends[0], x, ends[1])), np.concatenate((ends[0], y, ends[1]))


ROWS = ScoreCounts.from_arrays(np.arange(300) % 3 == 0, np.random.default_rng(0).beta(1.0, 2.0, 300))


@pytest.mark.parametrize("options", [{}, {"grid": "quantiles:16"}, {"grid": "arcsine:64", "strategy": "tree"}])
@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE])
def test_curves_without_bands_are_those_of_a_release(options: dict[str, Any], neighbours: Neighbours) -> None:
    check_released(ROWS, "1", neighbours, options)


def test_the_papers_way_for_any_grid_is_that_of_a_release() -> None:
    noise = seeded(1)
    grid = medians_grid(np.repeat(ROWS.scores, ROWS.positives + ROWS.negatives), 4, Fraction(1), noise)
    counts = whole_rows(privelet_table(ROWS, grid, Fraction(4, 5), noise), grid)
    released = draw_curves(
        ROWS,
        epsilon=1,
        mechanism="recursive-medians",
        grid="medians:4",
        neighbours="add-remove-one",
        noise=seeded(1),
    )
    assert released.grid == grid
    assert np.array_equal(released.counts.positives, counts.positives)
    assert np.array_equal(released.counts.negatives, counts.negatives)


@pytest.mark.parametrize("law", LAWS)
def test_a_population_has_the_numbers_that_many_rows_have(law: str) -> None:
    population = Population(law=law, auc=0.9, prevalence=0.24)
    rows = population.draw(200_000, np.random.default_rng(0))
    found, x = population.numbers(), np.array([0.3])
    measured = {
        "auc": auc_score(rows),
        "average_precision": average_precision_score(rows),
        "brier": brier_score(rows),
        "observed_expected": observed_expected_ratio(rows),
        "prevalence": rows.prevalence,
    }
    assert found == pytest.approx(measured, abs=0.01)  # at least five standard errors
    above = rows.scores >= x[0]
    recall, alarm = (column[above].sum() / column.sum() for column in (rows.positives, rows.negatives))
    assert [float(rate[0]) for rate in population.rates(x)] == pytest.approx([recall, alarm], abs=0.01)
    places, heights = population.curve()
    assert np.trapezoid(heights, places) == pytest.approx(0.9, abs=1e-3)


def test_a_band_is_looked_at_between_vertices_too() -> None:
    x = np.array([0.0, 0.5, 1.0])
    roomy = Band(x, np.zeros(3), np.ones(3), 0.95)
    dented = Band(x, np.array([0.0, 0.6, 0.9]), np.ones(3), 0.95)  # the diagonal is below it at 0.5 alone
    assert holds(roomy, *DIAGONAL, lines=True)
    assert holds(dented, *DIAGONAL, lines=False)
    assert not holds(dented, *DIAGONAL, lines=True)


def test_made_up_texts_are_the_same_every_time_and_like_texts() -> None:
    rows, again = text_like(2_000, 500, 10.0), text_like(2_000, 500, 10.0)
    for name in ("starts", "features", "labels"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(again, name))
    ours, theirs = rows.counts()
    assert (ours + theirs)[:10].min() > 5 * (ours + theirs)[-10:].max()
    positives, negatives = rows.class_sizes()
    apart = np.abs(ours / positives - theirs / negatives)[:10]
    assert apart.max() > 0.05 > apart.min()  # some words lean to a class and others do not


@pytest.mark.parametrize("method", OURS)
def test_a_share_that_is_right_is_counted_on_test_rows(method: str) -> None:
    """One feature tells the class, and a tenth of the test rows' labels are turned round.

    Noise that changed a prediction would be a hundred times its scale.
    """
    labels = np.arange(20_000) % 2 == 0
    training = FeatureRows.from_matrix(np.column_stack((labels, ~labels)), labels)
    turned = np.arange(20_000) % 10 == 0
    test = FeatureRows(training.starts, training.features, labels ^ turned, 2)
    data = Split(name="plain", training=training, test=test)
    assert shares_right(Task(method=method, data=data, epsilon="1", draws=2)) == [0.9, 0.9]


def test_accuracies_and_their_differences_by_hand() -> None:
    one, other = Accuracy.of([0.9, 0.7]), Accuracy.of([0.5, 0.5])
    assert (one.mean, one.error) == pytest.approx((0.8, 0.1))
    assert one.less(other) == "+0.300 ± 0.100"


def test_both_libraries_get_the_same_strength_of_regularisation() -> None:
    """With a constant column in place of its intercept, which it does not penalise, scikit-learn finds our weights."""
    from sklearn.linear_model import LogisticRegression

    data = text_like(500, 20, 3.0)
    matrix, bound = data.matrix().toarray(), math.sqrt(LOGISTIC_ROW_WEIGHT)
    assert matrix.sum(axis=1).max() <= LOGISTIC_ROW_WEIGHT  # no row is shortened
    rows = unit_rows(matrix, data.labels, row_norm=bound, intercept=True)
    weights = near_minimum(rows, usual_regularization("objective", Fraction(1), Neighbours.REPLACE_ONE, 21))
    ours = [float(weight) * scale for weight, scale in zip(weights, rows.scales, strict=True)]
    constant = np.full((500, 1), rows.scales[-1] / rows.scales[0])
    theirs = LogisticRegression(
        C=our_strength_as_c(Fraction(1), 20), fit_intercept=False, tol=1e-10, solver="newton-cholesky"
    ).fit(np.hstack((matrix, constant)), data.labels)
    assert theirs.coef_[0, :-1] == pytest.approx(ours[:-1], abs=1e-4)
    assert np.abs(theirs.coef_[0, :-1]).max() > 0.1


def test_three_ways_to_fit_a_roc_glm_find_the_same() -> None:
    sites, at = drawn_sites(100), equidistant_thresholds()
    fitted, placed = one_round([site.counts for site in sites], at), placements(sites)
    iterated = fisher_scoring(placed, at)
    assert fitted == pytest.approx(whole_glm(placed, at), abs=1e-8)
    assert fitted == pytest.approx((iterated.curve.intercept, iterated.curve.slope), abs=1e-8)
    assert iterated.aggregations > 3


def test_requests_to_sites_are_counted_and_find_the_same() -> None:
    sites = drawn_sites(100)
    ours, theirs, every = validated(sites, "secure-sum"), reference(sites), sum(site.counts for site in sites)
    assert isinstance(every, ScoreCounts)
    assert (ours.asked, theirs.asked - theirs.fisher) == (2, 12)
    assert ours.auc == pytest.approx(auc_score(every), abs=1e-12)
    assert ours.brier == pytest.approx(brier_score(every), abs=1e-12)
    assert theirs.brier == pytest.approx(ours.brier, abs=1e-12)
    assert theirs.auc == pytest.approx(ours.auc, abs=0.02)  # a fitted curve, and a counted one


@pytest.mark.usefixtures("shared_data")
def test_the_demonstration_of_the_reference_takes_eighteen_requests() -> None:
    sites = gbsg2_sites()
    assert sites is not None
    assert reference(sites).asked == 18


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.documents
def test_tables_are_ranked_in_a_process_of_their_own() -> None:
    """Spark runs once in a process: this benchmark would end the cluster of other tests."""
    command = [sys.executable, "-m", "benchmarks", "rank-tables", "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert "A cluster on paper" in run.stdout, run.stderr
