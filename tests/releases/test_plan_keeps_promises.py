"""A plan promises what releases then give.

The mean over `TIMES`, `MANY` or `FEW` releases is compared with the plan's, within 5 of its standard errors and 4 % of
the plan (8 % for numbers of rows, and for rows in the cells of a grid). Noise of the right distributions is drawn
from a seed, so there is no false alarm; that the system's noise has them is shown elsewhere. By the normal law a right
plan would have been refused by the seed less than once in a million comparisons; the noise's heavy tails are
cut at [0, 1], so one in 10,000 is a safe bound. Power: the broken twin, a plan for twice the epsilon, is off by
23 % or more in widths and 40 % or more in errors. By the normal law another seed would refuse it with a probability of
0.999 or more in every comparison: it lies beyond what is allowed by three standard errors or more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.intervals.interval import Interval
from confide.metrics.calibration import brier_score
from confide.metrics.ranking import auc_score
from confide.metrics.threshold import confusion_matrix
from confide.privacy import noisy_counts, noisy_numbers
from confide.privacy.mechanisms.average_precision_sensitivity import pessimistic_average_precision
from confide.releases import confusion
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.plan import EPSILONS, PLANNED, plan
from confide.releases.plan_result import MechanismPlan, Plan
from confide.releases.registry import ONLY_BY_CURVES, prepare
from confide.releases.release import PrivateIntervals, Release
from confide.releases.simulation import make_stand_in
from tests.noises import seeded

ROWS, PREVALENCE, THRESHOLD = 1_000, 0.2, 0.2
TIMES, MANY, FEW = 400, 1_000, 30
ERRORS = 5.0
WHATEVER = PrivateIntervals(
    sample=Interval(lower=0.0, upper=1.0, level=0.95, method=""),
    population=Interval(lower=0.0, upper=1.0, level=0.95, method=""),
)

CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("auc", "rank-sum", {}),
    ("auc", "rank-sum", {"neighbours": "label-only"}),
    ("auc", "student-t", {}),
    ("auc", "student-t", {"neighbours": "add-remove-one"}),
    ("auc", "published-cauchy", {}),
    ("auc", "published-laplace", {"delta": 1e-6}),
    ("auc", "pareto", {}),
    ("average_precision", "local", {}),
    ("average_precision", "local", {"neighbours": "add-remove-one"}),
    ("average_precision", "pareto", {"neighbours": "add-remove-one"}),
    ("average_precision", "student-t", {}),
    ("average_precision", "published-cauchy", {}),
    ("average_precision", "published-laplace", {"delta": 1e-6}),
    ("average_precision", "private-counts", {}),
    ("average_precision", "private-counts", {"neighbours": "label-only"}),
    ("brier", "laplace", {}),
    ("brier", "laplace", {"neighbours": "add-remove-one"}),
    ("prevalence", "laplace", {}),
    ("prevalence", "laplace", {"neighbours": "add-remove-one"}),
    ("recall", "laplace", {}),
    ("recall", "gaussian", {"delta": 1e-6}),
    ("precision", "laplace", {"neighbours": "label-only"}),
    ("matthews_correlation", "laplace", {}),
    ("true_positives", "laplace", {"neighbours": "add-remove-one"}),
)
named = pytest.mark.parametrize(("metric", "mechanism", "terms"), CASES)

EXACT: dict[str, Callable[[ScoreCounts], float]] = {
    "auc": auc_score,
    "average_precision": pessimistic_average_precision,
    "brier": brier_score,
    "prevalence": lambda counts: confusion_matrix(counts, THRESHOLD).prevalence,
}


def matching_rows() -> ScoreCounts:
    """Rows whose normal scores lie at equal steps of probability, shown as calibrated probabilities; AUC 0.8."""
    separation = math.sqrt(2.0) * float(ndtri(0.8))
    positives = round(ROWS * PREVALENCE)
    x = np.concatenate(
        [ndtri((np.arange(n) + 0.5) / n) + at for n, at in ((positives, separation), (ROWS - positives, 0.0))]
    )
    scores = expit(logit(PREVALENCE) + separation * (x - separation / 2.0))
    return ScoreCounts.from_arrays(np.arange(ROWS) < positives, scores)


ROWS_LIKE_THE_GUESS = matching_rows()


def exact(metric: str) -> float:
    if metric in EXACT:
        return float(EXACT[metric](ROWS_LIKE_THE_GUESS))
    return float(getattr(confusion_matrix(ROWS_LIKE_THE_GUESS, THRESHOLD), metric))


@cache
def plan_at(metric: str, epsilon: float, terms: tuple[tuple[str, Any], ...]) -> Plan:
    expected = None if metric == "prevalence" else exact(metric)
    return plan(
        metric, rows=ROWS, prevalence=PREVALENCE, expected=expected, epsilon=epsilon, curve=False, **dict(terms)
    )


def planned(metric: str, mechanism: str, terms: dict[str, Any], epsilon: float = 1.0) -> MechanismPlan:
    return plan_at(metric, epsilon, tuple(terms.items()))[mechanism]


def released(metric: str, mechanism: str, terms: dict[str, Any], times: int, epsilon: float = 1.0) -> list[Release]:
    (prepared,) = prepare(
        metric,
        ROWS_LIKE_THE_GUESS,
        epsilon=epsilon,
        mechanism=mechanism,
        threshold=THRESHOLD if metric in CONFUSION_METRICS else None,
        prevalence_guess=PREVALENCE,
        noise=seeded(times),
        **terms,
    )
    return [prepared.draw()[0] for _ in range(times)]


def agrees(promise: float, found: np.ndarray[Any, Any], *, coarse: bool) -> bool:
    standard_error = float(found.std()) / math.sqrt(found.size)
    return abs(float(found.mean()) - promise) <= ERRORS * standard_error + (0.08 if coarse else 0.04) * promise


def is_coarse(metric: str, mechanism: str) -> bool:
    return metric == "true_positives" or mechanism == "private-counts"


@pytest.mark.few(1)
@pytest.mark.statistical
@named
def test_the_error_is_the_promised_one(
    metric: str, mechanism: str, terms: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    promise = planned(metric, mechanism, terms).mean_absolute_error
    twin = planned(metric, mechanism, terms, epsilon=2.0).mean_absolute_error
    monkeypatch.setattr(
        noisy_numbers, "_turn", lambda excess, size: (np.zeros(size), np.ones(size))
    )  # nobody looks at them
    monkeypatch.setattr(noisy_counts, "DRAWS", 4)
    monkeypatch.setattr(confusion, "confusion_intervals", lambda plausible, measure, level: WHATEVER)
    times = MANY if (metric, mechanism) == ("auc", "published-cauchy") else TIMES  # whose errors vary most
    values = np.array([release.value for release in released(metric, mechanism, terms, times)])
    errors, coarse = np.abs(values - exact(metric)), is_coarse(metric, mechanism)
    assert agrees(promise, errors, coarse=coarse)
    assert not agrees(twin, errors, coarse=coarse)


@pytest.mark.few(1)
@pytest.mark.statistical
@named
def test_the_widths_are_the_promised_ones(metric: str, mechanism: str, terms: dict[str, Any]) -> None:
    promise = planned(metric, mechanism, terms)
    twin = planned(metric, mechanism, terms, epsilon=2.0)
    found, coarse = released(metric, mechanism, terms, FEW), is_coarse(metric, mechanism)
    sample, population = (
        np.array([getattr(release.intervals, which).width for release in found]) for which in ("sample", "population")
    )
    assert agrees(promise.sample_width, sample, coarse=coarse)
    assert agrees(promise.population_width, population, coarse=coarse)
    if promise.sample_width < 0.95:  # at full width twice the epsilon changes nothing
        assert not agrees(twin.sample_width, sample, coarse=coarse)


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("metric", "mechanism", "width"),
    [
        ("auc", "rank-sum", 0.1),
        ("auc", "student-t", 0.12),
        ("average_precision", "local", 0.2),
        ("average_precision", "student-t", 0.2),
        ("brier", "laplace", 0.05),
        ("prevalence", "laplace", 0.08),
        ("recall", "laplace", 0.2),
    ],
)
def test_the_epsilon_needed_gives_the_width(metric: str, mechanism: str, width: float) -> None:
    expected = None if metric == "prevalence" else exact(metric)
    found = plan(metric, rows=ROWS, prevalence=PREVALENCE, expected=expected, width=width)[mechanism]
    for which in ("sample", "population"):
        needed = getattr(found, f"{which}_needs")
        assert needed.relation == "about"
        releases = released(metric, mechanism, {}, FEW, epsilon=needed.epsilon)
        widths = np.array([getattr(release.intervals, which).width for release in releases])
        assert agrees(width, widths, coarse=False)


@pytest.mark.long
def test_without_an_epsilon_the_plan_is_for_the_one_that_is_needed() -> None:
    found = plan("auc", rows=ROWS, prevalence=PREVALENCE, width=0.1)
    assert found.recommended.population_needs is not None
    assert float(found.epsilon) == found.recommended.population_needs.epsilon
    assert found.recommended.population_width == pytest.approx(0.1, rel=0.03)


@pytest.mark.long
def test_a_width_that_sampling_alone_exceeds_needs_no_epsilon_that_exists() -> None:
    found = plan("auc", rows=ROWS, prevalence=PREVALENCE, width=0.05)
    assert found.sampling_width > 0.05
    for entry in found.mechanisms:
        assert entry.population_needs is not None
        assert entry.population_needs.relation == "none"
        assert not entry.population_needs.suffices
    assert found["local"].sample_needs is not None
    assert float(found.epsilon) == found["local"].sample_needs.epsilon


@pytest.mark.long
def test_widths_out_of_the_searched_range_say_so() -> None:
    needed = plan("auc", rows=ROWS, width=0.1)["published-cauchy"].population_needs
    assert needed is not None
    assert (needed.relation, needed.epsilon, needed.suffices) == ("more than", float(EPSILONS[-1]), False)
    large = plan("prevalence", rows=1_000_000, width=0.9)["laplace"].population_needs
    assert large is not None
    assert (large.relation, large.epsilon) == ("at most", float(EPSILONS[0]))


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("metric", ["auc", "average_precision", "brier", "prevalence", "recall"])
def test_more_epsilon_and_more_rows_never_widen(metric: str) -> None:
    by_epsilon = plan(metric, rows=ROWS, prevalence=PREVALENCE, epsilon=1, delta=1e-6)
    for entry in by_epsilon.mechanisms:
        for which in ("sample_width", "population_width"):
            widths = np.array([getattr(point, which) for point in entry.curve])
            assert (widths[1:] <= 1.01 * widths[:-1]).all()
        assert entry.noiseless_width <= 1.03 * entry.curve[-1].population_width  # from few simulated releases
    by_rows = [plan(metric, rows=rows, prevalence=PREVALENCE, epsilon=1, curve=False) for rows in (300, 1_200, 4_800)]
    for few, many in pairwise(by_rows):
        for entry in many.mechanisms:
            for which in ("mean_absolute_error", "sample_width", "population_width"):
                assert getattr(entry, which) <= 1.01 * getattr(few[entry.mechanism], which)


@pytest.mark.parametrize("metric", ONLY_BY_CURVES)
def test_a_curve_has_no_plan(metric: str) -> None:
    with pytest.raises(ParameterError, match="plan auc"):
        plan(metric, rows=400, epsilon=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", PLANNED)
def test_every_metric_has_a_plan(metric: str) -> None:
    found = plan(metric, rows=400, epsilon=1, delta=1e-6, curve=False)
    assert found.auto in {entry.mechanism for entry in found.mechanisms}
    for entry in found.mechanisms:
        assert entry.mean_absolute_error > 0.0
        assert entry.sample_width > 0.0
        assert entry.population_width > 0.0
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.few(2)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove-one", "label-only"])
@pytest.mark.parametrize("metric", ["auc", "average_precision", "brier", "prevalence", "confusion"])
def test_every_relation_has_a_plan(metric: str, neighbours: str) -> None:
    found = plan(metric, rows=400, epsilon=1, neighbours=neighbours, curve=False)
    assert found.neighbours.value == neighbours
    assert found.mechanisms
    assert not {entry.mechanism for entry in found.mechanisms} & set(found.left_out)


def test_mechanisms_that_cannot_be_used_are_left_out_with_the_reason() -> None:
    found = plan("auc", rows=400, epsilon=1, neighbours="add-remove-one", curve=False)
    assert "add-remove-one" in found.left_out["rank-sum"]
    assert "delta" in found.left_out["published-laplace"]
    assert found.auto == "local"
    with pytest.raises(KeyError):
        found["rank-sum"]


@pytest.mark.long
def test_the_same_plan_gives_the_same_numbers() -> None:
    first, second = (plan("average_precision", rows=300, epsilon=1, curve=False) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_the_recommended_one_is_the_narrowest() -> None:
    found = plan("average_precision", rows=200, prevalence=0.2, epsilon=0.5, curve=False)
    assert found.recommended.population_width <= 1.01 * min(entry.population_width for entry in found.mechanisms)
    assert found.recommended.mechanism in found.why


def test_a_guess_of_prevalence_is_given_to_the_release() -> None:
    """Student-t noise is tuned with it: a plan without it must not promise what only the guess gives."""
    with_it, without = (
        plan("auc", rows=10_000, prevalence=guessed, epsilon=1, curve=False)["student-t"] for guessed in (0.2, None)
    )
    assert with_it.mean_absolute_error < 0.9 * without.mean_absolute_error


@pytest.mark.parametrize("metric", [name for name in PLANNED if name not in ("prevalence", "confusion")])
def test_the_stand_in_has_the_guessed_value(metric: str) -> None:
    usual = make_stand_in(metric, 10_000, 0.3)
    again = make_stand_in(metric, 10_000, 0.3, usual.value)
    assert again.separation == pytest.approx(usual.separation, abs=1e-4)
    assert (again.counts.total_positives, again.counts.total_negatives) == (3_000, 7_000)
    matrix = confusion_matrix(again.counts, again.threshold)
    found = float(EXACT[metric](again.counts)) if metric in EXACT else float(getattr(matrix, metric))
    assert found == pytest.approx(usual.value, rel=0.02)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"epsilon": None}, "give epsilon"),
    ({"epsilon": 0}, "epsilon must be greater than 0"),
    ({"epsilon": "much"}, "epsilon must be a finite number"),
    ({"width": 0.0}, "width must be"),
    ({"width": math.nan}, "width must be"),
    ({"width": math.inf}, "width must be"),
    ({"width": True}, "width must be"),
    ({"rows": 1}, "rows must be"),
    ({"rows": 10.5}, "rows must be"),
    ({"rows": True}, "rows must be"),
    ({"rows": 10**9}, "at most 10,000,000 rows"),
    ({"prevalence": 0.0}, "prevalence"),
    ({"prevalence": 1.0}, "prevalence"),
    ({"prevalence": math.nan}, "prevalence"),
    ({"expected": 1.2}, "expected must be a value that auc can have"),
    ({"expected": math.nan}, "expected must be"),
    ({"metric": "brier", "expected": 0.5}, "between"),
    ({"metric": "prevalence", "prevalence": 0.2, "expected": 0.3}, "guessed twice"),
    ({"metric": "prevalence", "expected": 1.5}, "prevalence"),
    ({"metric": "acu"}, "Did you mean 'auc'"),
    ({"delta": 1}, "delta"),
    ({"neighbours": "some"}, "neighbours must be one of"),
    ({"level": 1.0}, "level"),
)


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_values_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"metric": "auc", "rows": 400, "epsilon": 1, **change}
    with pytest.raises(ParameterError, match=message):
        plan(given.pop("metric"), **given)


def test_a_plan_is_a_value() -> None:
    found = plan("prevalence", rows=400, expected=0.1, epsilon="1/3")
    assert isinstance(found, Plan)
    assert (found.prevalence, found.expected, str(found.epsilon)) == (0.1, 0.1, "1/3")
    with pytest.raises(AttributeError):
        found.rows = 3  # type: ignore[misc]
