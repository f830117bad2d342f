"""What publications reveal about labels, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.attacks.exposure import AttackReport, Exposure
from confide.report.attack.bounds import at_most, posterior, whole_percent
from confide.report.attack.tables import attack_table
from confide.report.shared.numbers import amount
from confide.report.shared.text import print_bullets, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

INTERNAL = "Internal: these findings come from the labels themselves. Do not publish them."

GENERAL = (
    "What an outsider comes to know with a probability is mostly that the model is good: knowledge about people in "
    "general, which every honest evaluation gives, a private one too. What is certain, and what somebody learns who "
    "knows all else, is about persons; that is what epsilon bounds."
)

CLASS_SIZES = (
    "The exact numbers of positives and negatives, which are published too, alone tell the last label to somebody who "
    "knows all others: no release beside them can be private to him."
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
        return "gives labels away"
    if exposure.published.private:
        return "is bounded by its epsilon"
    return "gave no label away here, and promises nothing"


def _inside(exposure: Exposure) -> str:
    insider = exposure.insider
    if insider.game is None:
        told = f"somebody who knows all else can tell {amount(insider.told or 0)} of {amount(insider.tried)} labels"
        if insider.average is None:
            return f"{told}."
        average = whole_percent(insider.average)
        return f"{told}; on average over where the number may lie between two rounded ones, {average} %."
    game = insider.game
    low, high = 100 * game.interval.lower, 100 * game.interval.upper
    bound = "" if game.bound is None else f"; nobody can do better than {at_most(game.bound)} %"
    return (
        f"somebody who knows all else guessed {100 * game.success:.0f} % of labels that a coin decided "
        f"(measured, {low:.0f} to {high:.0f} %){bound}."
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
    rightly = f" ({amount(found.known_right)} of them rightly)" if found.known else ""
    return f"{who} {certain} and {more} known with probability > {attacked.level:g}{rightly}."


def _later(exposure: Exposure) -> str:
    if exposure.added is None:
        return ""
    told = f"{amount(exposure.added.certain)} of {amount(exposure.added.tried)}"
    return f"Published without and then with one more row, it tells that row's label in {told} cases."


def advice(attacked: AttackReport) -> str:
    """Return the epsilon that would prevent it."""
    odds, rare = attacked.sure / (1.0 - attacked.sure), 0.1
    return (
        f"What would prevent it: releases that together have an epsilon of {_floored(attacked.epsilon)} or less for "
        f"replacing one person's row (replace-one or label-only; half of that under add-remove-one; delta 0). They "
        f"multiply anybody's odds about one label by at most {odds:.3g}, whatever else is known: from 50 % to at most "
        f"{100 * attacked.sure:g} %, from {100 * rare:g} % to at most {at_most(posterior(rare, attacked.epsilon))} %. "
        "Somebody with k rows, or whose label tells k labels, needs an epsilon k times smaller."
    )


def _floored(value: float) -> str:
    """Write three significant digits, rounded down."""
    places = max(2 - math.floor(math.log10(value)), 0)
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"
