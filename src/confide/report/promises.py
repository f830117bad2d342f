"""A guarantee in words: what an attacker can learn at most, then the precise statement."""

from __future__ import annotations

import math

from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours

_OUTCOMES = {"person": "a person's outcome", "row": "the outcome in one row"}


def guarantee_words(guarantee: Guarantee) -> str:
    """Return the meaning of a guarantee for an attacker, followed by the precise statement."""
    return " ".join((*attacker_words(guarantee), guarantee.in_words()))


def attacker_words(guarantee: Guarantee, *, seen: str = "this") -> list[str]:
    """Return the sentence about an attacker who has `seen` something, if epsilon is small enough for one to hold.

    Changing an outcome replaces one row, which is two steps under add-remove-one. With delta 0 the posterior of a fifty
    per cent prior is at most `e^epsilon / (1 + e^epsilon)`; with delta only the success of guessing is bounded, by
    `(e^epsilon + delta) / (1 + e^epsilon)`.
    """
    replaced = guarantee
    if guarantee.neighbours == Neighbours.ADD_REMOVE_ONE:
        converted = guarantee.in_account_of(Neighbours.REPLACE_ONE)
        if converted is None:
            return []
        replaced = converted
    bound = at_most(success_bound(float(replaced.epsilon), float(replaced.delta)))
    outcome = _OUTCOMES[guarantee.unit]
    if replaced.delta:
        return [
            f"An attacker who guessed {outcome} right half of the time is right at most {bound} % of the time after "
            f"seeing {seen}."
        ]
    return [f"An attacker who was 50 % sure of {outcome} is at most {bound} % sure after seeing {seen}."]


def at_most(share: float) -> str:
    """Write a bound in per cent, rounded up, and never as 100 if it is less."""
    for digits in range(1, 13):
        rounded = math.ceil(round(share * 10 ** (digits + 2), 3)) / 10**digits
        if rounded < 100.0:
            return f"{rounded:.{digits}f}"
    return "100"
