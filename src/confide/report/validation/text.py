"""A validation in sentences and on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.federation.periods import edition_name
from confide.federation.question import Question
from confide.report.shared.names import NAME_LETTERS, cut, plain
from confide.report.shared.numbers import has_ends, interval_text, number, percent
from confide.report.shared.text import print_bullets, print_line, print_table
from confide.report.validation.forest import forest_of
from confide.report.validation.forest_text import heterogeneity_words, left_out
from confide.report.validation.guarantee import guarantee_sentences
from confide.report.validation.methods import how_table
from confide.report.validation.released import released_table
from confide.report.validation.tables import numbers_table, sites_table, took_part

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.validation import Validation

_FEWEST_PREDICTING, _WIDEST_PREDICTION = 4, 0.5  # other prediction intervals are too rough for the first paragraph


def print_validation(validation: Validation, console: Console) -> None:
    """Print the result, the sites, the guarantee and the method."""
    print_line(title_of(validation), console)
    print_line(lead_of(validation), console)
    console.print()
    print_table(numbers_table(validation), console)
    print_bullets(heterogeneity_lines(validation), console)
    console.print()
    print_table(sites_table(validation, wide=False), console)
    print_bullets(absent_words(validation), console)
    print_table(released_table(validation), console)
    if not forests(validation):
        print_line(no_forest_words(validation.question), console)
    console.print()
    print_line("Guarantee", console)
    print_bullets(guarantee_lines(validation), console)
    console.print()
    print_table(how_table(validation), console)


def title_of(validation: Validation) -> str:
    """Return model, study and mode in one line."""
    question = validation.question
    edition = f", edition {edition_name(question.edition or 1)}" if (question.edition or 1) > 1 else ""
    return f"{question.model}: validation across sites ({question.study}, {mode_of(question).title}{edition})"


def lead_of(validation: Validation) -> str:
    """Return the result in one paragraph."""
    question, auc = validation.question, validation.pooled.auc
    sites = len(question.sites)
    where = "1 site" if sites == 1 else f"{sites} sites that share no rows"
    over = "Over its rows" if sites == 1 else "Over the rows of all of them"
    text = f"{question.model} was validated at {where}. {over} the model's AUC is {number(auc.value)}"
    if has_ends(auc.interval):
        text += f" ({percent(validation.level)} interval {interval_text(auc.interval)})"
    if math.isfinite(auc.value):
        text += (
            ": given one person with the outcome and one without it, the model gives the higher score to the former in "
            f"about {_of_hundred(auc.value)} of 100 such pairs"
        )
    return text + "." + _between_sites(validation)


def _of_hundred(value: float) -> str:
    """Round the displayed value to whole hundredths, halves up: 0.805 is 81."""
    return str((100 * Decimal(number(value))).quantize(Decimal(1), ROUND_HALF_UP))


def _between_sites(validation: Validation) -> str:
    summary = validation.heterogeneity.get("auc")
    if summary is None or summary.prediction is None:
        return ""
    if summary.sites < _FEWEST_PREDICTING or summary.prediction.width > _WIDEST_PREDICTION:
        return ""
    return (
        f" At another such site, its AUC is expected between {interval_text(summary.prediction, joined=' and ')} "
        f"({percent(validation.level)} prediction interval)."
    )


def guarantee_lines(validation: Validation) -> list[str]:
    """Return the guarantee in sentences: what an attacker can learn at most, then the precise statements."""
    return guarantee_sentences(validation.question)


def forests(validation: Validation) -> list[str]:
    """Return the measures that have a forest plot."""
    return [name for name in ("auc", "observed_expected") if forest_of(validation, name) is not None]


def absent_words(validation: Validation) -> Iterator[str]:
    """Yield the sites that did not take part, with their reasons."""
    for site in validation.sites:
        if not took_part(site):
            reason = plain(site.report.message) or "no reason was given"
            yield f"{cut(site.name, NAME_LETTERS)}, {plain(site.report.state)}: {reason}"


def no_forest_words(question: Question) -> str:
    """Return why there is no forest plot."""
    if len(question.sites) == 1:
        return "There is no forest plot: only one site took part, and its results are those above."
    reason = mode_of(question).no_site_results(question)
    if reason is not None:
        return reason
    return "There is no forest plot: fewer than two sites have results of their own that can be compared."


def heterogeneity_lines(validation: Validation) -> Iterator[str]:
    """Yield how much sites differ, for the terminal."""
    for measure, name in (("auc", "AUC"), ("observed_expected", "Observed : expected")):
        summary = validation.heterogeneity.get(measure)
        if summary is not None:
            forest = forest_of(validation, measure)
            outside = [] if forest is None else left_out(forest)
            yield " ".join((f"{name}. {heterogeneity_words(summary, bar=False)}", *outside))
