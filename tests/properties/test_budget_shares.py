"""What a release spends in its parts is what it promises: shares, calibration and persons' rows, recomputed."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from confide.counts import ScoreCounts
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds
from confide.privacy.neighbours import Neighbours
from confide.releases.smooth import calibrate, sizes_query
from confide.releases.terms import Terms

COUNTS = ScoreCounts.from_arrays([0, 1] * 50, range(100))
EPSILONS = ("1/10", "1", "3")


def exact(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("guess", [None, 0.3])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_student_t_and_class_sizes_share_one_epsilon(neighbours: Neighbours, epsilon: str, guess: float | None) -> None:
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours, prevalence_guess=guess)
    noise = calibrate("student-t", terms, auc_smooth_bounds, 100 if terms.rows_are_public else None)
    sizes = sizes_query(COUNTS, terms)
    with mpmath.workdps(60):
        d = noise.degrees_of_freedom
        of_value = (d + 1) / (2 * mpmath.sqrt(d)) / exact(noise.multiplier) + d * exact(noise.beta)
        spent = of_value + 1 / exact(sizes.scales[0])  # one row changes one size by one
        assert spent <= exact(terms.epsilon)
        assert spent > exact(terms.epsilon) * (1 - mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_published_mechanisms_and_class_sizes_share_one_epsilon(epsilon: str) -> None:
    terms = Terms.checked(epsilon=epsilon, delta="1e-6")
    sizes = 1 / sizes_query(COUNTS, terms).scales[0]
    cauchy = calibrate("published-cauchy", terms, auc_smooth_bounds, 100)
    assert 6 / cauchy.multiplier + sizes == terms.epsilon
    assert 6 * cauchy.beta + sizes == terms.epsilon
    laplace = calibrate("published-laplace", terms, auc_smooth_bounds, 100)
    assert 2 / laplace.multiplier + sizes == terms.epsilon
    assert laplace.delta == terms.delta


@pytest.mark.parametrize("rows", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_steps_from_row_to_row_make_what_a_person_is_promised(epsilon: str, rows: int) -> None:
    """k steps of (e, d) are (k e, d (1 + exp(e) + ... + exp((k-1) e))), which is at most k exp((k-1) e) d."""
    terms = Terms.checked(epsilon=epsilon, delta="1e-6", unit="person", rows_per_person=rows)
    promised = terms.guarantee(needs_delta=True)
    assert rows * terms.epsilon == promised.epsilon == Fraction(epsilon)
    with mpmath.workdps(60):
        one, delta = exact(terms.epsilon), exact(terms.delta)
        coarse = rows * mpmath.exp((rows - 1) * one) * delta
        assert mpmath.fsum(mpmath.exp(step * one) * delta for step in range(rows)) <= exact(promised.delta)
        assert coarse <= exact(promised.delta) * (1 + mpmath.mpf(10) ** -12)
        assert coarse >= exact(promised.delta) * (1 - mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "1", "7"])
def test_a_concentrated_budget_never_exceeds_what_was_asked(epsilon: str, delta: str) -> None:
    """To the last of sixty digits, so that a root rounded the wrong way shows."""
    rho = rho_for(Fraction(epsilon), Fraction(delta))
    with mpmath.workdps(80):
        loss = exact(rho) + 2 * mpmath.sqrt(exact(rho) * mpmath.log(1 / exact(Fraction(delta))))
        assert loss <= exact(Fraction(epsilon))
        assert loss <= exact(epsilon_for(rho, Fraction(delta)))
