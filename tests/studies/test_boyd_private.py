"""Study of private evaluation: formulas against brute force, mechanisms against releases, printed numbers, a run."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import average_precision_score, roc_auc_score
from studies.boyd_private.claims import BIN_NUMBERS, claims
from studies.boyd_private.data import (
    METRICS,
    NormalPopulation,
    RowPopulation,
    diabetes_stand_in,
    exact_values,
)
from studies.boyd_private.exhaustive import local_sensitivities, values
from studies.boyd_private.histograms import BINS, histogram, measure_histograms
from studies.boyd_private.mechanisms import CAUCHY, LENIENT, MECHANISMS, OURS, TRUE_PRICE, published_scale
from studies.boyd_private.plan import Settings, planned
from studies.boyd_private.published import DIABETES_AVERAGE_PRECISION, NEIGHBOUR_SIZES
from studies.boyd_private.reidentification import neighbours
from studies.boyd_private.report import boyd_private_report
from studies.boyd_private.sensitivity import (
    exact_sensitivities,
    printed_sensitivities,
    smooth_sensitivities,
    smooth_sensitivity,
)
from studies.boyd_private.study import Study
from studies.boyd_private.tables import limits_table
from studies.claims import Answer
from studies.page import study_page
from studies.running import run_pieces

from confide import ScoreCounts
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import published_cauchy, published_laplace
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import as_real, lower_bound
from confide.releases.auc import auc_of, default_mechanism, local_queries
from confide.releases.average_precision import precision_queries
from confide.releases.terms import Terms
from tests.studies.commands import studies

TINY = Settings(
    quick=True,
    epsilons=(Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(1)),
    sets=2,
    draws=5,
    attacked=(20, 50),
    trials=4,
    releases=2,
    histogram_draws=400,
    prevalence_draws=20,
    curve_draws=5,
    tables=2,
    most_rows=6,
)


@cache
def metrics(labels: tuple[int, ...]) -> tuple[float, float]:
    """AUC and average precision by scikit-learn, of labels from the highest score to the lowest."""
    scores = -np.arange(len(labels))
    auc = roc_auc_score(labels, scores) if 0 < sum(labels) < len(labels) else np.nan
    return auc, average_precision_score(labels, scores) if sum(labels) else 0.0


def test_metrics_of_every_order_are_those_of_scikit_learn() -> None:
    auc, average_precision = values(6)
    for order in range(2**6):
        labels = tuple(order >> place & 1 for place in range(6))
        assert (auc[order], average_precision[order]) == pytest.approx(metrics(labels), nan_ok=True)


@pytest.mark.parametrize("rows", [3, 4, 5])
def test_exhaustive_search_tries_every_neighbour(rows: int) -> None:
    """Again in plain Python, with scikit-learn's metrics."""
    greatest: dict[int, list[float]] = {}
    for labels in product((0, 1), repeat=rows):
        here = metrics(labels)
        changed = [0.0, 0.0]
        for out, place, label in product(range(rows), range(rows), (0, 1)):
            rest = labels[:out] + labels[out + 1 :]
            there = metrics((*rest[:place], label, *rest[place:]))
            changed = [np.fmax(most, abs(a - b)) for most, a, b in zip(changed, here, there, strict=True)]
        most = greatest.setdefault(sum(labels), [0.0, 0.0])
        greatest[sum(labels)] = [max(pair) for pair in zip(most, changed, strict=True)]
    for found in local_sensitivities(rows):
        assert [found.most_auc, found.most_average_precision] == pytest.approx(greatest[found.positives])


@pytest.mark.parametrize("rows", [5, 9, 14])
def test_formulas_are_the_greatest_changes_that_exist(rows: int) -> None:
    exact = {metric: exact_sensitivities(metric, rows) for metric in METRICS}
    printed = printed_sensitivities("average_precision", rows)
    for found in local_sensitivities(rows):
        n = found.positives
        assert found.most_auc == pytest.approx(exact["auc"][n])
        assert found.most_average_precision == pytest.approx(exact["average_precision"][n])
        assert found.most_average_precision <= printed[n] + 1e-12
        assert found.least_auc >= exact["auc"][n] / 2 - 1e-12


@pytest.mark.parametrize("beta", [0.003, 0.1, 2.0])
def test_smooth_sensitivities_are_those_of_the_definition(beta: float) -> None:
    for metric in METRICS:
        local = printed_sensitivities(metric, 40)
        every = [smooth_sensitivity(local, n, beta) for n in range(41)]
        assert smooth_sensitivities(local, beta) == pytest.approx(every)
    sizes = np.arange(1.0, 40.0)
    auc = smooth_sensitivities(printed_sensitivities("auc", 40), beta)[1:-1]
    assert auc == pytest.approx(auc_smooth_bounds(sizes, 40.0 - sizes, beta))


def test_published_noise_has_the_scale_of_the_query_that_releases_use() -> None:
    counts = NormalPopulation(key="", name="", mean=1.0).typical(20, 70)
    for calibration in (published_cauchy(Fraction(1, 2)), published_laplace(Fraction(1), Fraction(1, 100))):
        scale = float(lower_bound(as_real(smooth_auc(counts, calibration).scale)))
        assert published_scale("auc", counts, calibration) == pytest.approx(scale)


def test_cauchy_noise_costs_a_third_of_what_is_said() -> None:
    """Density `1 / (1 + x^2)`: the loss over neighbours whose scales differ by beta and values by S, on a fine grid."""
    calibration = published_cauchy(Fraction(1))
    sigma, beta = float(calibration.multiplier), float(calibration.beta)
    x = np.concatenate((np.linspace(-50, 50, 200_001), np.geomspace(50, 1e6, 1000)))
    stretch = np.exp(beta)
    one, other = 1 / (1 + x**2), 1 / (1 + ((x - 1 / sigma) / stretch) ** 2) / stretch
    assert np.abs(np.log(one / other)).max() <= 1 / sigma + beta == pytest.approx(1 / 3)
    counts = NormalPopulation(key="", name="", mean=1.0).typical(30, 30)
    drawn = [each.prepare("auc", counts, Fraction(1))(5, np.random.default_rng(0)) for each in (TRUE_PRICE, CAUCHY)]
    tripled = CAUCHY.prepare("auc", counts, Fraction(3))(5, np.random.default_rng(0))
    assert (drawn[0] == tripled).all()
    assert not (drawn[1] == tripled).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "epsilon"), [(40, Fraction(1, 2)), (300, Fraction(1))])
def test_ours_has_the_law_of_the_queries_that_releases_draw_from(size: int, epsilon: Fraction) -> None:
    """Kolmogorov and Smirnov's test of 1,000 real draws, in four cases: a false alarm in one run of two million.

    The papers' noise is the broken twin.
    """
    counts, terms = NormalPopulation(key="", name="", mean=1.0).typical(size, size), Terms.checked(epsilon=epsilon)
    queries = {
        "auc": local_queries(counts, terms, 2 * size)[0].first,
        "average_precision": precision_queries(counts, terms, 2 * size)[0],
    }
    for metric, query in queries.items():
        released = [float(value) for value in query.draw_many(1_000)]
        ours, theirs = (
            each.prepare(metric, counts, epsilon)(20_000, np.random.default_rng(1)) for each in (OURS, CAUCHY)
        )
        assert kstest(released, ours).pvalue > 1e-7
        assert kstest(released, theirs).pvalue < 1e-7


def test_ours_is_the_rank_sum_where_releases_choose_it() -> None:
    counts, epsilon = NormalPopulation(key="", name="", mean=1.0).typical(12, 12), Fraction(1, 10)
    assert default_mechanism(Terms.checked(epsilon=epsilon), 24) == "rank-sum"
    drawn = OURS.prepare("auc", counts, epsilon)(2_000, np.random.default_rng(1))
    sums = np.array(rank_sum(counts, epsilon, Neighbours.REPLACE_ONE).draw_many(2_000))
    assert kstest(drawn, auc_of(sums[:, 0], sums[:, 1], 24)).pvalue > 1e-7


def test_printed_numbers() -> None:
    pair = neighbours(0)
    sizes = tuple((int(each.total_positives), int(each.total_negatives)) for each in (pair.first, pair.second))
    assert sizes == NEIGHBOUR_SIZES
    assert tuple(f"{auc:.3f}" for auc in pair.aucs) == ("0.796", "0.772")
    assert len(set(_rows(pair.first)) - set(_rows(pair.second))) == 1
    assert diabetes_stand_in().truth["average_precision"] == pytest.approx(DIABETES_AVERAGE_PRECISION)


def _rows(counts: ScoreCounts) -> list[tuple[float, bool]]:
    return [
        (float(score), positive)
        for score, ours in zip(counts.scores, counts.positives, strict=True)
        for positive in [bool(ours)]
    ]


def test_populations_have_the_values_that_they_state() -> None:
    generator = np.random.default_rng(2)
    population = NormalPopulation(key="", name="", mean=1.0, deviation=1.5)
    typical = exact_values(population.typical(2_000, 2_000))
    assert typical == pytest.approx(population.truth, abs=1e-3)
    rows = RowPopulation(key="", name="", positives=generator.normal(1, 1, 300), negatives=generator.normal(0, 1, 900))
    scores = np.concatenate((rows.positives, rows.negatives))
    labels, weights = np.arange(1200) < 300, np.where(np.arange(1200) < 300, 3.0, 1.0)
    assert rows.truth["average_precision"] == pytest.approx(
        average_precision_score(labels, scores, sample_weight=weights)
    )
    drawn = rows.draw(300, 50, generator)
    assert (drawn.total_positives, drawn.total_negatives) == (300, 50)
    assert set(rows.positives) <= set(drawn.scores)


def test_a_histogram_counts_what_was_cut() -> None:
    found = measure_histograms(diabetes_stand_in(), 100, Fraction(1), 20_000, 0)
    held = histogram(found, "average_precision", LENIENT.key)
    assert held.shares.sum() == pytest.approx(1.0)
    assert 0.1 < held.cut_at_one.value <= min(held.shares[-1], held.cut.value)
    assert all(BINS % bins == 0 for bins in BIN_NUMBERS)
    with pytest.raises(ValueError, match="rows must be"):
        local_sensitivities(17)


@pytest.fixture(scope="module")
def tiny() -> Study:
    populations = (diabetes_stand_in(),)
    return Study(settings=TINY, populations=populations, found=run_pieces(planned(TINY, populations), jobs=1))


@pytest.mark.long
def test_a_tiny_study_is_whole(tiny: Study) -> None:
    report = boyd_private_report(tiny, "absent")
    assert any("adult.csv.gz was not found" in warning for warning in report.warnings)
    page = study_page(report)
    for exhibit in report.exhibits:
        assert f"<h2>{exhibit.where}" in page
        assert all(f'id="{picture.name}' in page or picture.caption[:20] in page for picture in exhibit.pictures)
    assert len({picture.name for exhibit in report.exhibits for picture in exhibit.pictures}) == sum(
        len(exhibit.pictures) for exhibit in report.exhibits
    )
    json.dumps(report.to_dict(), allow_nan=False)
    by_sentence = {claim.sentence: claim.verdict.answer for claim in claims(tiny)}
    printed = next(answer for sentence, answer in by_sentence.items() if sentence.startswith("As printed"))
    assert printed in (Answer.FAILS, Answer.IN_PART)
    head = report.exhibits[6].tables[0].head
    assert len(head) == len(set(head)) == 3 + len(MECHANISMS)
    assert {OURS.name, "true price, δ = 0", "paper, δ = 0", "paper, δ = 10⁻⁶", "test set"} <= set(head)


@pytest.mark.long
def test_limits_of_ours_are_shown_beside_others(tiny: Study) -> None:
    table = limits_table(tiny)
    assert len(table.body) >= 8
    for line in table.body:
        named = dict(part.split(": ") for part in line[2].split("; "))
        assert list(named) == ["stricter", "ours", "laxer"]
        assert set(named.values()) <= {str(answer) for answer in Answer}


@pytest.mark.long
def test_pieces_can_be_repeated_and_resumed() -> None:
    pieces = {piece.name: piece for piece in planned(TINY, (diabetes_stand_in(),))}
    for name in ("attack 20", "errors stand-in 30", "curves 1,1", "histogram stand-in 100"):
        once, again = pieces[name].run(), pieces[name].run()
        assert all(np.array_equal(once[key], again[key], equal_nan=True) for key in once)


def test_a_wrong_folder_is_refused(tmp_path: Path) -> None:
    answer = studies("boyd-private", "--data", tmp_path / "absent")
    assert answer.code == 2
    assert "is not a folder" in answer.err
