"""The audit refutes what is broken and does not refute what holds.

False alarms: a bound is too high with a probability of at most its `error` (exact, by Clopper and Pearson). Up to
120 mechanisms are audited at 8e-8 each without a seed, so this file raises a false alarm with a probability below
1e-5. Power: the floors below lie five standard deviations or more under the mean of the bounds measured in four to
fourteen runs each (0.01 to 0.1 at these draws), and every broken twin is caught with a margin of that size. An audit
that is blind finds 0. Twice the noise that a claim needs falls below the floor of each mechanism, in one relation at
least.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide.audits.events import choose_event, loss_below, lowest_bit, proportion_above, proportion_below
from confide.audits.run import audit, audit_all, subjects
from confide.audits.subject import Subject, counted
from confide.audits.targets import targets
from confide.audits.twins import twins
from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.privacy.neighbours import Neighbours

ERROR = 8e-8
FEWEST = 400  # draws for each unit of cost, that an audit takes
ONE, TWO = counted([(0, 0.5)]), counted([(1, 0.5)])

# What must be found of a claim of 1, so that the audit is not blind; the others add more noise than any pair needs.
FLOORS = {
    "auc/rank-sum": 0.42,
    "average_precision/private-counts": 0.3,
    "brier/laplace": 0.25,
    "prevalence/laplace": 0.6,
    "confusion/laplace": 0.35,
    "curves/laplace-flat": 0.45,
    "curves/laplace-haar": 0.12,
    "curves/laplace-automatic": 0.05,
    "features/scores": 0.4,
    "learning/counts": 0.25,
    "shares/flat": 0.35,
    "shares/spare": 0.15,
    "contest/masked-labels": 0.55,
}
HARD = {"curves/laplace-flat", "curves/laplace-automatic", "shares/spare"}
"""Mechanisms whose floor takes twice the draws: in some runs a less telling event is chosen."""

CLOSE = {"auc/local-student-t", "curves/parallel-medians", "shares/all-needed", "shares/gaussian-scarce"}
"""Twins that lose little more than they claim."""

WEAK = {("curves/laplace-automatic", Neighbours.REPLACE_ONE)}
"""Targets with a floor for other relations, whose noise leaves too little to find in so few draws."""


def response(truth: float, claim: float, rng: np.random.Generator, delta: float = 0.0) -> Subject[ScoreCounts]:
    """Randomised response that loses exactly `truth`, and with probability delta tells everything."""
    honest = math.exp(truth) / (1.0 + math.exp(truth))

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        bit = counts.total_positives
        answers = np.where(rng.random(times) < honest, bit, 1 - bit).astype(np.float64)
        return np.where(rng.random(times) < delta, 2.0 + bit, answers)[:, None]

    return Subject(
        name="response",
        neighbours=Neighbours.LABEL_ONLY,
        epsilon=Fraction(claim),
        delta=Fraction(delta),
        pairs=((ONE, TWO),),
        sample=sample,
        cost=1,
    )


# --- the bound


def test_limits_against_scipy() -> None:
    for hits in (0, 1, 17, 49, 50):
        exact = stats.binomtest(hits, 50, alternative="two-sided").proportion_ci(0.98, method="exact")
        assert proportion_below(hits, 50, 0.01) == pytest.approx(exact.low, abs=1e-12)
        assert proportion_above(hits, 50, 0.01) == pytest.approx(exact.high, abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(("p", "q"), [(0.3, 0.1), (0.9, 0.4), (0.06, 0.001), (1.0, 0.5), (0.5, 0.5)])
def test_the_bound_is_too_high_as_rarely_as_it_says(p: float, q: float, delta: float) -> None:
    """All outcomes of forty draws of each, with their probabilities: no simulation."""
    draws, error = 40, 0.1
    outcomes = np.arange(draws + 1)
    bounds = loss_below(outcomes[:, None], draws, outcomes[None, :], draws, delta=delta, error=error)
    chances = stats.binom.pmf(outcomes, draws, p)[:, None] * stats.binom.pmf(outcomes, draws, q)[None, :]
    truth = max(math.log((p - delta) / q), 0.0)
    assert chances[bounds > truth + 1e-12].sum() <= error


def test_delta_is_taken_off() -> None:
    assert loss_below(500, 1000, 0, 1000, delta=0.6, error=1e-4) == 0.0
    assert loss_below(900, 1000, 10, 1000, delta=0.1, error=1e-4) < loss_below(900, 1000, 10, 1000, error=1e-4)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="hits"):
        loss_below(5, 4, 0, 4, error=0.1)
    with pytest.raises(ParameterError, match="error"):
        audit(subjects()[0], error=0.0)
    with pytest.raises(ParameterError, match="`draws` must be at least"):
        audit_all(subjects(), draws=1000)
    with pytest.raises(ParameterError, match="Did you mean 'auc/rank-sum'"):
        subjects(["auc/ranksum"])
    with pytest.raises(ParameterError, match="epsilon"):
        subjects(epsilon=0)


# --- the audit


@pytest.mark.statistical
def test_false_alarms_are_as_rare_as_declared() -> None:
    """Three hundred audits of a mechanism exactly at its claim, at an error of 0.1 each, with a seed."""
    rng = np.random.default_rng(3)
    exact = response(1.0, 1.0, rng)
    alarms = sum(audit(exact, draws=2000, error=0.1).refuted for _ in range(300))
    assert alarms <= stats.binom.isf(1e-6, 300, 0.1)


@pytest.mark.statistical
def test_a_tenth_too_much_is_found_given_draws() -> None:
    rng = np.random.default_rng(4)
    assert audit(response(1.1, 1.0, rng), draws=200_000).refuted
    assert not audit(response(1.0, 1.0, rng), draws=200_000).refuted


@pytest.mark.statistical
def test_delta_allows_what_it_says_and_no_more() -> None:
    rng = np.random.default_rng(5)
    telling = response(0.5, 1.0, rng, delta=0.01)
    assert not audit(telling, draws=100_000).refuted
    assert audit(replace(telling, delta=Fraction(1, 1000)), draws=100_000).refuted


def test_the_direction_does_not_matter() -> None:
    rng = np.random.default_rng(6)
    broken = response(2.0, 1.0, rng)
    turned = replace(broken, pairs=((TWO, ONE),))
    assert audit(broken, draws=20_000).refuted
    assert audit(turned, draws=20_000).refuted


def test_an_event_of_one_dataset_alone_is_found() -> None:
    rng = np.random.default_rng(7)
    first = rng.normal(size=(4000, 2))
    second = rng.normal(size=(4000, 2))
    second[: second.shape[0] // 2, 1] = np.nan  # half of the answers are refused
    rng.shuffle(second)
    event = choose_event(first, second, delta=0.0, error=1e-4)
    assert event.swapped
    assert event.hits(first) <= 5
    assert event.hits(second) >= 1990


def test_the_lowest_bit() -> None:
    values = np.array([1.0, 1.5, 6.0, -0.75, 2.0**-60, 0.1, 0.0, math.inf])
    expected = [0, -1, 1, -2, -60, -55, -math.inf, -math.inf]
    assert lowest_bit(values).tolist() == expected


# --- the mechanisms and their twins


def test_there_are_no_more_audits_than_the_rate_of_false_alarms_allows_for() -> None:
    assert len(targets(Fraction(1))) <= 120


def elsewhere(subject: Subject[Any]) -> bool:
    """What takes long to draw is audited in a file of its own."""
    return subject.name.startswith("logistic-regression/")


TARGETS = [target for target in targets(Fraction(1)) if not elsewhere(target)]
TWINS = [twin for twin in twins(Fraction(1)) if not elsewhere(twin)]


def draws_for(target: Subject[Any]) -> int:
    """What must be found takes draws; the others share most of their code with these, and get fewer."""
    if target.name in HARD:
        return 80_000
    return 40_000 if target.steps or target.name in FLOORS else max(20_000, FEWEST * target.cost * len(target.pairs))


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.name}-{target.neighbours}")
def test_every_mechanism_holds_and_the_audit_is_not_blind(target: Subject[Any]) -> None:
    found = audit(target, draws=draws_for(target), error=ERROR)
    assert found.verdict == "not refuted"
    if (target.name, target.neighbours) not in WEAK:
        assert found.lower_bound >= FLOORS.get(target.name, 0.0)


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_every_broken_twin_is_caught(twin: Subject[Any]) -> None:
    """Half of the noise is found by six standard deviations or more with the fewest draws."""
    draws = 30_000 if twin.name.endswith("-halved") else 120_000 if twin.name in CLOSE else 50_000
    assert audit(twin, draws=draws).lower_bound > 1.0


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(5)])
def test_floats_grids_edges_and_special_cases_are_caught_at_any_epsilon(epsilon: Fraction) -> None:
    kinds = ("float", "own-grid", "own-edges", "one-class")
    chosen = [twin for twin in twins(epsilon) if any(kind in twin.name for kind in kinds)]
    assert len(chosen) == 5
    for found in audit_all(chosen, draws=80_000):
        assert found.verdict == "caught", found


def test_a_finding_says_what_it_found() -> None:
    rng = np.random.default_rng(8)
    broken = audit(response(2.0, 1.0, rng), draws=20_000)
    caught = replace(broken, wrong="tells too much")
    assert (broken.verdict, broken.as_expected) == ("REFUTED", False)
    assert (caught.verdict, caught.as_expected) == ("caught", True)
    missed = replace(caught, lower_bound=0.5)
    assert (missed.verdict, missed.as_expected) == ("NOT CAUGHT", False)
    assert caught.to_dict()["wrong"] == "tells too much"
    assert "wrong" not in broken.to_dict()
    assert broken.draws == 20_000
