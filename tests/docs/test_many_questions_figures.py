"""Figures in the guide on many questions are those of the ledger and of the noise."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest

from confide.privacy.accounting import rho_for
from confide.privacy.concentration import Concentration
from confide.privacy.mechanisms.gaussian_shares import share_variance, shares_rho
from confide.privacy.mechanisms.strategies import best_strategy, predicted_error

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "how-to" / "validate-across-sites.md").read_text(encoding="utf-8")
EXPLAINED = (DOCS / "explanation" / "federation.md").read_text(encoding="utf-8")
DELTA, EACH = Fraction(1, 10**6), Fraction(1, 2)
LEDGER = Concentration.for_account(Fraction(3), DELTA)
RHO = rho_for(EACH, DELTA)


def laplace_error(epsilon: Fraction, cells: int) -> float:
    return sqrt(predicted_error(best_strategy(cells), cells) * 2.0) / float(epsilon)


def gaussian_error(rho: Fraction, cells: int) -> float:
    strategy = best_strategy(cells, gaussian=True)
    return sqrt(predicted_error(strategy, cells, gaussian=True) / (2.0 * float(rho)))


def better_from(cells: int) -> int:
    """The least number of questions for which Gaussian noise has less error, if all of epsilon 3 is spent."""
    whole = LEDGER.rho_within(Fraction(3))
    numbers = range(1, 100)
    return next(n for n in numbers if gaussian_error(whole / n, cells) < laplace_error(Fraction(3, n), cells))


def test_twenty_questions() -> None:
    """The ledger itself is asked in federation/test_gaussian_answers.py."""
    together = LEDGER.epsilon_of(20 * RHO)
    cost = f"epsilon {float(together):.2f}"
    for line in (
        f"| Laplace, epsilon 1/2 each | epsilon {20 * EACH} | {laplace_error(EACH, 112):.0f} rows |",
        f"| Laplace, epsilon {float(together / 20):.3f} each | {cost} | {laplace_error(together / 20, 112):.0f} rows |",
        f"| Gaussian, epsilon 1/2 and delta 1e-6 each | {cost}, delta 1e-6 | {gaussian_error(RHO, 112):.0f} rows |",
    ):
        assert line in GUIDE


def test_when_gaussian_noise_pays() -> None:
    words = " ".join(GUIDE.split())
    assert (
        f"from about {better_from(112)} questions on with 112 cells, and from about {better_from(20)} with 20" in words
    )


def test_the_first_question_and_the_next() -> None:
    first, second = LEDGER.epsilon_of(RHO), LEDGER.epsilon_of(2 * RHO)
    words = " ".join(GUIDE.split())
    assert f"costs epsilon {float(first):.2f} in this ledger, and each later one {float(second - first):.2f}" in words
    assert f"from rho to epsilon costs {float(LEDGER.reserve):.2f}, once" in words


def test_the_extra_term() -> None:
    assert "0.0002 for two shares of variance 1 and 0.00000001 for variance 2" in " ".join(EXPLAINED.split())
    for variance, stated in ((1, 2e-4), (2, 1e-8)):
        rho = shares_rho(Fraction(variance), 2)
        assert rho is not None
        extra = sqrt(2.0 * float(rho)) - 1.0 / sqrt(2.0 * variance)
        assert extra == pytest.approx(stated, rel=0.1, abs=1e-10)


def test_where_the_extra_term_matters() -> None:
    """How much larger the variance is than that of one Gaussian, by epsilon and number of honest sites."""

    def larger(epsilon: int, honest: int) -> str:
        rho = rho_for(Fraction(epsilon), DELTA)
        return f"{float(honest * share_variance(rho, honest) * 2 * rho):.2f}"

    words = " ".join(EXPLAINED.split())
    assert (
        f"the variance is {larger(1, 50)} times as large with 50 honest sites and {larger(1, 100)} times with 100 at "
        f"epsilon 1, {larger(2, 20)} times with 20 at epsilon 2, and {larger(3, 7)} times with 7 and {larger(3, 10)} "
        "times with 10 at epsilon 3; with 20 at epsilon 1 nothing is seen of it"
    ) in words
    assert larger(1, 20) == "1.00"
