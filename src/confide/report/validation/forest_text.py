"""Caption of a forest plot: how much sites differ, and which sites the mean leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confide.intervals.random_effects import RandomEffects
from confide.report.shared.names import LONGEST, cut
from confide.report.shared.numbers import number, p_equation, percent
from confide.report.validation.forest import GUESSING, NAMES, Forest, ForestRow, known
from confide.report.validation.forest_axis import axis_ends

_MEANT = {
    "auc": "The dotted line is guessing.",
    "observed_expected": "Left of the dotted line there were fewer positives than the model predicted, right of it "
    "more. The axis is logarithmic.",
}
_SCALE_WORDS = {"logit": "log-odds", "log": "logarithmic", "identity": "same"}
_MOST_NAMED = 3

_NO_VALUE = ("it has no value", "they have no value")
_AT_THE_END = {
    "logit": ("an AUC of 0 or 1 has no log-odds", "an AUC of 0 or 1 has no log-odds"),
    "log": ("a ratio of 0 has no logarithm", "a ratio of 0 has no logarithm"),
}
_NO_ERROR = ("its standard error is not known", "their standard errors are not known")
_OPEN = {
    "logit": ("its interval covers almost all possible values", "their intervals cover almost all possible values"),
    "log": ("its interval reaches 0 or has no end", "their intervals reach 0 or have no end"),
}

ENOUGH_SITES = 5
"""Sites from which on a prediction interval stands without a caution."""


def forest_caption(forest: Forest) -> str:
    """Return the caption."""
    sizes = "" if forest.summary is None else ", larger where the site weighs more in the summary"
    parts = [
        f"{NAMES[forest.measure]} at each site (squares{sizes}) with {percent(forest.level)} intervals, and of all "
        "rows together (circle)."
    ]
    if forest.summary is None:
        parts.append("There is no mean over sites: fewer than two of them have a usable interval.")
    else:
        parts += [f"Diamond: random-effects mean over sites. {heterogeneity_words(forest.summary)}", *left_out(forest)]
    if forest.noisy:
        parts.append(
            "Intervals account for noise and for unknown positions within cells, so small differences between sites "
            "stay hidden."
        )
    low, high = axis_ends(forest)
    if any(_leaves(row, low, high) for row in forest.sites):
        parts.append("Arrows: intervals that extend beyond the axis.")
    return " ".join([*parts, _MEANT[forest.measure]] if low < GUESSING[forest.measure] else parts)


def heterogeneity_words(summary: RandomEffects, *, bar: bool = True) -> str:
    """Return how much sites differ, in numbers. `bar` adds what the bar of the plot means."""
    spread = "0" if summary.tau_squared == 0.0 else number(summary.tau_squared)
    parts = [f"Between sites {_tied(f'τ² = {spread}')} on the {_SCALE_WORDS[summary.scale]} scale (REML)"]
    if summary.i_squared is not None:
        parts.append(_tied(f"I² = {100.0 * summary.i_squared:.0f} %"))
    if summary.q_p_value is not None:
        parts.append(f"{_tied(f'Q = {number(summary.q, 2)}')}, {_tied(p_equation(summary.q_p_value))}")
    sentence = ", ".join(parts) + "; interval of the mean after Hartung and Knapp."
    if summary.prediction is None:
        return f"{sentence} With fewer than three sites there is no prediction interval."
    if not bar:
        return sentence
    return f"{sentence} Bar: prediction interval for the true value at another such site.{prediction_caution(summary)}"


def prediction_caution(summary: RandomEffects) -> str:
    """Return that a prediction interval from few sites needs more of them."""
    if summary.prediction is None or summary.sites >= ENOUGH_SITES:
        return ""
    return (
        f" From {summary.sites} sites it is too rough to rely on, because their spread is estimated from "
        f"{summary.sites} numbers: it needs at least {ENOUGH_SITES} sites, and better ten."
    )


def left_out(forest: Forest) -> Iterator[str]:
    """Yield the sites that the mean leaves out, one sentence for each reason."""
    if forest.summary is None:
        return
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in forest.sites:
        if row.weight is None:
            reasons.setdefault(_reason(row, forest), []).append(row.name)
    for (of_one, of_many), names in reasons.items():
        one = len(names) == 1
        yield f"{_named(names)} {'was' if one else 'were'} left out of the mean: {of_one if one else of_many}."


def _reason(row: ForestRow, forest: Forest) -> tuple[str, str]:
    """Return why a site is not in the mean, in the singular and in the plural."""
    if not known(row.estimate):
        return _NO_VALUE
    value, interval = row.estimate.value, row.estimate.interval
    if value <= 0.0 or (value >= 1.0 and forest.scale == "logit"):
        return _AT_THE_END[forest.scale]
    if interval is None or not interval.lower < interval.upper:
        return _NO_ERROR
    return _OPEN[forest.scale]


def _named(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{len(names)} sites"
    *most, last = (cut(name, LONGEST) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _leaves(row: ForestRow, low: float, high: float) -> bool:
    interval = row.estimate.interval if known(row.estimate) else None
    return interval is not None and (interval.lower < low or interval.upper > high)


def _tied(words: str) -> str:
    """Join words so that they stay on one line."""
    return words.replace(" ", "\u00a0")
