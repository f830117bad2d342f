"""Sentences about what publications reveal about labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.attacks.exposure import AttackReport, Exposure
from confide.report.attack.bounds import posterior, whole_percent
from confide.report.attack.tables import attack_table
from confide.report.shared.guarantees import at_most
from confide.report.shared.numbers import amount
from confide.report.shared.text import print_bullets, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

INTERNAL = "Internal: these findings come from the labels themselves. Do not publish them."

GENERAL = (
    "An outsider's guesses show mostly that the model is good: every honest evaluation gives this knowledge about "
    "people in general, a private one too. So a private release may have as many correct guesses as an exact number. "
    "Labels that are certain, and what an insider learns, concern single persons. Epsilon bounds these."
)

CLASS_SIZES = (
    "The exact numbers of positives and negatives are published too. They alone reveal the last label to an insider, "
    "who knows all others: no release beside them can be private against an insider."
)


def print_attack(attacked: AttackReport, console: Console) -> None:
    """Print sentences and the table."""
    console.print(INTERNAL, highlight=False, markup=False, style="bold")
    console.print()
    print_bullets(sentences(attacked), console)
    console.print()
    print_table(attack_table(attacked), console)
    console.print()
    print_line(GENERAL, console)


def sentences(attacked: AttackReport) -> Iterator[str]:
    """Yield what each publication reveals, and what would prevent it."""
    for exposure in attacked.exposures:
        parts = (_inside(exposure), _outside(attacked, exposure), _later(exposure))
        beside = " beside exact class sizes" if attacked.class_sizes else ""
        text = " ".join(part for part in parts if part)
        yield f"{capitalised(str(exposure.published))}{beside} {verdict(exposure)}: {text}"
    if attacked.class_sizes:
        yield CLASS_SIZES
    yield advice(attacked)


def capitalised(text: str) -> str:
    """Return text with a capital first letter."""
    return text[:1].upper() + text[1:]


def verdict(exposure: Exposure) -> str:
    """Return the verdict on a publication in a few words."""
    if exposure.insider.told or (exposure.outsider is not None and exposure.outsider.certain):
        return "reveals labels"
    if exposure.published.private:
        return "is bounded by its epsilon"
    return "revealed no label here, but guarantees nothing"


def _inside(exposure: Exposure) -> str:
    insider = exposure.insider
    if insider.game is None:
        told = f"an insider, who knows all else, can tell {amount(insider.told or 0)} of {amount(insider.tried)} labels"
        if insider.average is None:
            return f"{told}."
        average = whole_percent(insider.average)
        return f"{told}; averaged over the exact values that round to the same number, {average} %."
    game = insider.game
    low, high = 100 * game.interval.lower, 100 * game.interval.upper
    bound = "" if game.bound is None else f"; nobody can do better than {at_most(game.bound)} %"
    return (
        f"an insider, who knows all else, guessed {100 * game.success:.0f} % of labels correctly, where a coin toss "
        f"gets 50 % (measured, {low:.0f} to {high:.0f} %){bound}."
    )


def _outside(attacked: AttackReport, exposure: Exposure) -> str:
    found = exposure.outsider
    if found is None:
        return f"What an outsider learns is {exposure.left_out}."
    who = "To an outsider, who knows the scores and how many are positive,"
    if found.certain == attacked.rows and found.drawn is None:
        return f"{who} every label is certain."
    certain = f"{amount(found.certain)} of {amount(attacked.rows)} labels are certain"
    if not found.certain:
        certain = "no label is certain"
    elif found.drawn is not None:
        certain = f"at most {certain}"
    more = f"{amount(found.known)}{' more' if found.certain else ''}"
    rightly = f" ({amount(found.known_right)} of them correctly)" if found.known else ""
    return f"{who} {certain} and {more} are known with probability > {attacked.level:g}{rightly}."


def _later(exposure: Exposure) -> str:
    if exposure.added is None:
        return ""
    told = f"{amount(exposure.added.certain)} of {amount(exposure.added.tried)}"
    return f"If it is published again after one row was added, both together reveal that row's label in {told} trials."


def advice(attacked: AttackReport) -> str:
    """Return the epsilon that would prevent it."""
    odds, rare = attacked.sure / (1.0 - attacked.sure), 0.1
    return (
        f"To prevent this, publish releases whose epsilons sum to at most {_floored(attacked.epsilon)} (replace-one or "
        "label-only; half of that under add-remove-one; delta 0). They multiply any attacker's odds about one label "
        f"by at most {odds:.3g}, whatever else the attacker knows: from 50 % to at most {at_most(attacked.sure)} %, "
        f"from {100 * rare:g} % to at most {at_most(posterior(rare, attacked.epsilon))} %. A person with k rows, or "
        "whose label reveals k labels, needs an epsilon k times smaller."
    )


def _floored(value: float) -> str:
    """Write three significant digits, rounded down."""
    places = max(2 - math.floor(math.log10(value)), 0)
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"
