"""Prices by which limits of studies and periods count a site's answers."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from confide.errors import FederationError
from confide.federation.site.accounts import Prices, charged_to_study
from confide.ledger.entries import Kind


def test_a_price_of_gaussian_noise_without_rho_is_refused() -> None:
    """It would count as nothing."""
    question = SimpleNamespace(delta=Fraction(1, 10**6))
    price = SimpleNamespace(rho=Fraction(0), epsilon=Fraction(1, 2))
    with pytest.raises(FederationError, match="without rho"):
        Prices.of_question(question, price)  # type: ignore[arg-type]


@pytest.mark.parametrize("stated", ["1/2", "1/4"])
def test_rho_that_is_not_that_of_the_stated_epsilon_counts_in_full(stated: str) -> None:
    """A charge of Laplace noise in an account of rho counts as the epsilon whose rho it is, or more."""
    rho = Fraction(1, 8)
    guarantee = {"delta": "0", "epsilon": stated}
    charge = SimpleNamespace(
        amount=SimpleNamespace(rho=rho, epsilon=Fraction(0)), request_data={"guarantee": guarantee}
    )
    (epsilon,) = Prices.of_charges([charge]).pure  # type: ignore[list-item]
    assert (
        epsilon == Fraction(1, 2)
        if stated == "1/2"
        else Fraction(1, 2) <= epsilon < Fraction(1, 2) + Fraction(1, 10**6)
    )


def test_a_study_whose_name_is_written_otherwise_has_spent_the_same() -> None:
    guarantee = {"delta": "0", "epsilon": "1/2"}
    amount = SimpleNamespace(rho=Fraction(0), epsilon=Fraction(1, 2))
    charge = SimpleNamespace(
        kind=Kind.CHARGE, analyst="Stroke  2026", amount=amount, request_data={"guarantee": guarantee}
    )
    ledger = SimpleNamespace(history=lambda account: [charge])
    spent = {name: charged_to_study(ledger, "a", name) for name in ("Stroke  2026", "stroke 2026", "other")}  # type: ignore[arg-type]
    assert spent["Stroke  2026"] == spent["stroke 2026"] != Prices() == spent["other"]
