"""A validation: its tables, sentences, page and data frame.

Receipts come from the sites and may hold anything, so every value is checked before it is displayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, TypeGuard

from confide.federation.coordinator.performance import NoLine, leaves_open
from confide.federation.modes.registry import mode_of
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.question import Question
from confide.federation.question_terms import edition_name, edition_words
from confide.federation.site_state import SiteState
from confide.intervals.interval import Estimate, Interval
from confide.metrics.names import Face, metric_title, names_of
from confide.privacy.guarantee import three_digits
from confide.report.numbers import (
    DASH,
    NAME_LETTERS,
    amount,
    cut,
    has_ends,
    interval_text,
    number,
    p_equation,
    percent,
    plain,
    whole,
)
from confide.report.style import as_svg
from confide.report.validation.forest import (
    draw_forest,
    forest_caption,
    forest_of,
    heterogeneity_words,
    left_out,
    rows_words,
)
from confide.report.validation.plan import guarantee_sentences
from confide.report.validation.plots import (
    PlotData,
    draw_site_calibrations,
    drawings,
    not_drawn_words,
    panels_size,
    plot_size,
    site_calibrations,
    with_results,
)
from confide.report.writers.frames import data_frame, estimate_cells, interval_cells
from confide.report.writers.html import bullets, figure, figures, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_bullets, print_line, print_table

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import SiteResult, Validation


_NO_LINE = {
    NoLine.ENDS: "Scores of exactly 0 or 1 have infinite log-odds, so calibration intercept and slope do not exist.",
    NoLine.END_CELLS: "The calibration slope, or the intercept, depends on the positions of rows within the lowest and "
    "highest cell, which are not known, so it is not given.",
    NoLine.SEPARATED: "There is no calibration slope, because the scores are all equal or separate the classes.",
    NoLine.NOISE: "Calibration intercept and slope are not given: noise dominates.",
}


def number_notes(validation: Validation) -> Iterator[str]:
    """Yield the notes of the key numbers."""
    if validation.test is not None:
        yield hypothesis_words(validation)
    bounds = validation.pooled.bounds
    if bounds is not None and bounds.width > 0.0:
        yield (
            "Groups hide the order of the rows within them, so AUC is an estimate even for these rows. Whatever that "
            f"order is, their AUC lies between {interval_text(bounds, joined=' and ')}. The "
            f"{percent(validation.level)} interval of AUC accounts for that and for sampling; other intervals "
            "account for sampling alone."
        )
        yield from _hidden(validation)
    yield from _line_notes(validation)
    if mode_of(validation.question).private:
        yield "Intervals are for the population and account for noise and sampling."
        yield from _wide_intervals(validation)


def _line_notes(validation: Validation) -> Iterator[str]:
    """Yield why calibration intercept or slope is missing, or where rows are placed within their cells."""
    pooled, question = validation.pooled, validation.question
    if pooled.no_line is not None:
        yield no_line_words(pooled.no_line)
        if pooled.no_line is NoLine.END_CELLS:
            yield _narrower_cells(private=mode_of(question).private)
    elif pooled.calibration_slope is not None and mode_of(question).calibration_from_cells(question):
        yield (
            "For calibration intercept and slope, rows are placed in the middle of their cells. Scores of exactly 0 "
            "or 1, for which neither exists, cannot be told from others in the lowest and highest cell."
        )


def no_line_words(absence: NoLine) -> str:
    """Return why calibration intercept or slope is missing, in a sentence."""
    return _NO_LINE[absence]


def _narrower_cells(*, private: bool) -> str:
    """Return which cells would give the missing number, and that they are chosen before the first question."""
    now = "is paid for again" if private else "is refused by sites that answered this one"
    return (
        "Cells that are narrower at the ends (--grid logit:64) may give it, but must be chosen before the first "
        f"question about a model: with other cells it is another question, which {now}."
    )


def _hidden(validation: Validation) -> Iterator[str]:
    """Yield the sites that have too few rows of a class for an AUC from groups."""
    hidden = [site.name for site in validation.sites if site.result is not None and math.isnan(site.result.auc.value)]
    if hidden:
        yield (
            f"There is no AUC for {_listed(hidden)} alone: a class has too few rows for several groups of at least "
            f"{validation.question.minimum_cell}, and one group hides the order of all its rows."
        )


def _wide_intervals(validation: Validation) -> Iterator[str]:
    """Yield the results whose interval of AUC covers nearly all of [0, 1]."""
    sites = [site.name for site in validation.sites if site.result is not None and leaves_open(site.result.auc)]
    if leaves_open(validation.pooled.auc):
        yield "The interval of AUC covers nearly all possible values: there are too few rows for this epsilon."
    if sites:
        yield (
            f"The interval of AUC for {_listed(sites)} alone covers nearly all possible values: there are too few "
            "rows for this epsilon."
        )


def _listed(sites: list[str]) -> str:
    return ", ".join(cut(name, NAME_LETTERS) for name in sites) if len(sites) <= 3 else f"{len(sites)} sites"


def hypothesis_words(validation: Validation) -> str:
    """Return the test of the hypothesis that AUC is at most a given value, in words."""
    test = validation.test
    assert test is not None  # noqa: S101  # called only where there is a test
    alpha = 1.0 - validation.level
    text = f"Test of AUC ≤ {test.a0:g}, one-sided: {p_equation(test.p_value)}. "
    if not test.p_value < alpha:
        return text + f"An AUC of {test.a0:g} or less cannot be ruled out."
    text += f"An AUC of {test.a0:g} or less is ruled out at the {100 * alpha:g} % level"
    return text + ("." if test.interval_above else ", though the two-sided interval reaches below it.")


_NUMBERS = tuple(name for name in names_of(Face.FEDERATION) if name not in ("auc", "prevalence"))
"""Numbers that have a row of their own in the table."""

_LINE = ("calibration_intercept", "calibration_slope")

NOISE_DOMINATES = "not given: noise dominates"
"""Stands for a number that would be noise, and has no interval that would show it."""


def numbers_table(validation: Validation) -> Table:
    """Return the numbers over all rows, and the summaries over sites."""
    pooled = validation.pooled
    rows = [*_sizes(pooled), ("AUC", *_value(pooled.auc))]
    if pooled.roc_glm is not None:
        rows.append(("ROC-GLM: AUC", number(pooled.roc_glm.auc), DASH))
        rows.append(("ROC-GLM: intercept", number(pooled.roc_glm.intercept), DASH))
        rows.append(("ROC-GLM: slope", number(pooled.roc_glm.slope), DASH))
    rows += _numbers(pooled)
    rows += _summaries(validation)
    return Table(
        title="Key numbers",
        head=("measure", "value", f"{percent(validation.level)} interval"),
        body=tuple(rows),
        note=" ".join(number_notes(validation)),
    )


def _sizes(pooled: Performance) -> Iterator[tuple[str, str, str]]:
    if pooled.rows is not None:
        yield "rows", amount(pooled.rows), DASH
    elif pooled.size is not None:
        yield "rows, estimated", whole(pooled.size.value), _whole_interval(pooled.size.interval)
    if pooled.positives is not None:
        yield "positives", amount(pooled.positives), DASH
    if pooled.prevalence is not None:
        yield "prevalence", *_value(pooled.prevalence)


def _numbers(pooled: Performance) -> Iterator[tuple[str, str, str]]:
    for name in _NUMBERS:
        if getattr(pooled, name) is not None:
            yield metric_title(name), *_value(getattr(pooled, name))
        elif name in _LINE and pooled.no_line is NoLine.NOISE:
            yield metric_title(name), NOISE_DOMINATES, DASH


def _summaries(validation: Validation) -> Iterator[tuple[str, str, str]]:
    for measure in ("auc", "observed_expected"):
        name, summary = metric_title(measure), validation.heterogeneity.get(measure)
        if summary is not None:
            yield f"{name}, mean over sites", number(summary.value), interval_text(summary.interval)
            if summary.prediction is not None:
                yield f"{name}, another site", DASH, interval_text(summary.prediction)


def sites_table(validation: Validation, *, wide: bool = True) -> Table:
    """Return the state of each site and its own results where they are known; AUC alone if not `wide`."""
    level = f"{percent(validation.level)} interval"
    columns: dict[str, list[str]] = {"state": [site.report.state for site in validation.sites]}
    results = [site.result for site in validation.sites]
    columns["rows"] = [rows_words(result) for result in results]
    columns["positives"] = [_positives_of(result) for result in results]
    for name, field in (("AUC", "auc"), ("obs:exp", "observed_expected"))[: 2 if wide else 1]:
        values = [_value(None if result is None else getattr(result, field)) for result in results]
        columns[name] = [value for value, _ in values]
        columns[f"{name}, {level}"] = [interval for _, interval in values]
        if field == "auc":
            columns[f"{name}, certain bounds"] = [
                interval_text(None if result is None else result.bounds) for result in results
            ]
    return table_of_sites("Sites", validation, columns, text_columns=("state",))


def table_of_sites(
    title: str,
    validation: Validation,
    columns: Mapping[str, list[str]],
    *,
    text_columns: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
) -> Table:
    """Return a table with one line for each site, without empty columns except those in `keep`."""
    used = {name: cells for name, cells in columns.items() if name in keep or any(cell != DASH for cell in cells)}
    names = [cut(site.name, NAME_LETTERS) for site in validation.sites]
    heads = tuple(name.split(", ")[-1] for name in used)
    body = tuple(zip(names, *used.values(), strict=True))
    return Table(title=title, head=("site", *heads), body=body, text_columns=text_columns)


def _value(estimate: Estimate | None) -> tuple[str, str]:
    return (DASH, DASH) if estimate is None else (number(estimate.value), interval_text(estimate.interval))


def _whole_interval(interval: Interval | None) -> str:
    return f"{whole(interval.lower)} to {whole(interval.upper)}" if has_ends(interval) else DASH


def _positives_of(result: Performance | None) -> str:
    if result is None:
        return DASH
    if result.positives is not None:
        return amount(result.positives)
    if result.size is None or result.prevalence is None:
        return DASH
    return f"≈ {whole(result.size.value * result.prevalence.value)}"


def took_part(site: SiteResult) -> bool:
    """Return whether a site's rows are in the results."""
    return site.report.state == SiteState.ANSWERED


NOTHING = "nothing that is used here"
_RECEIPT_LETTERS = 60
_ROUNDING = 1e-9
_LEAST, _MOST = 1e-6, 1e6  # an epsilon beyond is written as a site sent it


def released_table(validation: Validation) -> Table:
    """Return what every site released, what it was charged and what is left."""
    question = validation.question
    receipts = [site.report.receipt if took_part(site) else None for site in validation.sites]
    released = mode_of(question).released(question)
    columns = {
        "what it released": [released if took_part(site) else NOTHING for site in validation.sites],
        "what it was charged": [_charged(receipt, question) for receipt in receipts],
        "left to the study": [
            DASH if receipt is None else _budget(receipt.get("remaining"), down=True) for receipt in receipts
        ],
    }
    return table_of_sites(
        f"What each site released{', and what it cost' if mode_of(question).private else ''}",
        validation,
        columns,
        text_columns=tuple(columns),
        keep=("what it released",),
    )


def was_stored(receipt: Mapping[str, Any] | None) -> bool:
    """Return whether a site's receipt states that it sent a stored answer."""
    return receipt is not None and receipt.get("reused") is True


def was_partly_paid(receipt: Mapping[str, Any] | None, question: Question) -> bool:
    """Return whether a receipt states a charge below the price for an answer that was not stored."""
    if receipt is None or was_stored(receipt) or not mode_of(question).private:
        return False
    stated = receipt.get("charged")
    if not isinstance(stated, Mapping):
        return False
    noise = noise_of(question)
    if isinstance(noise, GaussianNoise):
        return stated.get("epsilon") == 0 or _is_less(stated.get("rho"), noise.rho)
    # A ledger that adds up rho charges epsilon for its conversion, too: such a charge tells nothing of parts.
    return "rho" not in stated and _is_less(stated.get("epsilon"), question.exact_epsilon)


def _is_less(charged: object, price: Fraction) -> bool:
    if not isinstance(charged, int | float) or not _is_number(charged):
        return False
    return float(charged) < float(price) * (1.0 - _ROUNDING)


def _charged(receipt: Mapping[str, Any] | None, question: Question) -> str:
    """Write the charge that a receipt states."""
    if receipt is None:
        return DASH
    if was_stored(receipt):
        return "nothing: answered before"
    stated = receipt.get("charged")
    charged = f"rho {_figure(stated['rho'])}: {_budget(stated)} more" if _has_rho(stated) else _budget(stated)
    return f"{charged}: the rest was paid before" if was_partly_paid(receipt, question) else charged


def _budget(value: object, *, down: bool = False) -> str:
    """Write a budget as a site sent it: epsilon with three digits, rounded up, or `down` if it is what is left."""
    if isinstance(value, Mapping):
        delta = value.get("delta")
        more = f", delta {_figure(delta)}" if delta not in (None, 0, 0.0, "0") else ""
        return f"epsilon {_epsilon(value.get('epsilon'), down=down)}{more}"
    if isinstance(value, str) and not _is_number(value):
        return cut(value, _RECEIPT_LETTERS) or DASH
    figure = _epsilon(value, down=down)
    return DASH if figure == DASH else f"epsilon {figure}"


def _epsilon(value: object, *, down: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not _is_number(value):
        return _figure(value)
    number = float(value)
    return three_digits(Fraction(number), down=down) if _LEAST <= number <= _MOST else _figure(value)


def _has_rho(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a site's ledger adds up rho; its epsilon is then what the rho adds to the total spent."""
    return isinstance(value, Mapping) and "rho" in value


def _figure(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return DASH
    if _is_number(value):
        return f"{float(value):.6g}"
    return cut(value, _RECEIPT_LETTERS) if isinstance(value, str) else DASH


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(str(value)))
    except (ValueError, OverflowError):
        return False


def how_table(validation: Validation) -> Table:
    """Return the terms and the course of the validation."""
    return Table(
        title="How it was done",
        head=("term", "in this validation"),
        body=tuple(_how(validation)),
        text_columns=("in this validation",),
    )


def _how(validation: Validation) -> Iterator[tuple[str, str]]:
    question, outcome = validation.question, validation.outcome
    answered = sum(took_part(site) for site in validation.sites)
    grid = question.public_grid
    yield "study", question.study
    yield "model", question.model
    yield "mode", question.mode
    yield "sites", f"{len(validation.sites)} asked, {answered} answered"
    yield "grid", f"{question.grid}: {len(grid):,} cells from {grid.edges[0]:g} to {grid.edges[-1]:g}, public"
    yield from _terms(question)
    if mode_of(question).private:
        yield "edition", _edition_sentence(question.edition or 1)
        yield "answers", _answers_words(validation)
    took = f"{_seconds(outcome.seconds)} from the first question to the last answer, without connecting"
    yield "rounds", f"{outcome.rounds}, {took}"
    yield "intervals", percent(validation.level)


def _edition_sentence(edition: int) -> str:
    if edition == 1:
        return "1: the first run of this question"
    new = "a new run of the question, whose sum over sites has new noise and was paid for again"
    return f"{edition_words(edition)}: {new}"


def _answers_words(validation: Validation) -> str:
    """Return whether sites drew noise for this run or sent stored answers, according to their receipts."""
    receipts = [site.report.receipt for site in validation.sites if took_part(site)]
    stored = sum(was_stored(receipt) for receipt in receipts)
    partly = sum(was_partly_paid(receipt, validation.question) for receipt in receipts)
    parts = []
    if stored:
        parts.append(f"{_of(stored, len(receipts))} as stored by the sites: answered before, no further cost")
    if partly:
        parts.append(f"{_of(partly, len(receipts))} at a part of the price: the rest was paid before")
    return "; ".join(parts) or "all made for this run; none was a stored one"


def _of(some: int, every: int) -> str:
    return "all" if some == every else f"{some} of {every}"


def _terms(question: Question) -> Iterator[tuple[str, str]]:
    if question.minimum_cell is not None and question.minimum_cell > 1:
        yield "minimum cell", f"{question.minimum_cell} rows of a class"
    yield from mode_of(question).described_terms(question)


def _seconds(seconds: float) -> str:
    if not math.isfinite(seconds):
        return DASH
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"


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


_CAPTIONS = {
    "roc": "True-positive rate against false-positive rate at each threshold. Higher and further left is better; the "
    "dotted diagonal is guessing.",
    "pr": "Precision against recall at each threshold, over all rows. No model can reach the hatched region at this "
    "prevalence; the dotted line is guessing.",
    "calibration": "Observed frequency of the outcome at each predicted risk, over all rows, in bins with {level} "
    "intervals. On the diagonal the model is calibrated; below it, predicted risks are too high.",
    "decision": "Net benefit of acting on the score at each threshold probability, over all rows: true positives per "
    "row minus weighted false positives. A model is useful where its line is above both treating all and treating "
    "none.",
}

_SITE_CALIBRATION = (
    "Calibration at each site: observed frequency of the outcome in bins, with {level} intervals. Grey: all rows "
    "together. Above the dotted diagonal predicted risks are too low at the site, below it too high."
)


def captions(validation: Validation) -> dict[str, str]:
    """Return the caption of each plot, by name."""
    level = percent(validation.level)
    texts = {name: words.format(level=level) for name, words in _CAPTIONS.items()}
    if with_results(validation):
        texts["roc"] += " Thick: all rows together. Thin: each site alone."
    if validation.pooled.roc_glm is not None:
        texts["roc"] += " Dashed: the binormal curve fitted to all rows (ROC-GLM)."
    if mode_of(validation.question).private:
        band = f" Shaded: {level} band for the whole curve of the population (noise and sampling)."
        texts["roc"] += band
        texts["pr"] += band
    texts["calibration"] += not_drawn_words([validation.pooled])
    return texts


def site_calibration_caption(validation: Validation) -> str:
    """Return the caption of the calibration plots of single sites."""
    results = [result for _, result in site_calibrations(validation)]
    return _SITE_CALIBRATION.format(level=percent(validation.level)) + not_drawn_words(results)


_FOOTERS = {
    False: "Computed from what the sites released, and from nothing else; the guarantee is stated above. Made with "
    "confide.",
    True: "This is not a private release: no proven guarantee protects the people in these data. Made with confide.",
}

_RED = "border-color: #b00020; background: #fdecee; color: #8a0019"

_READING = (
    "AUC: the probability that a random positive row has a higher score than a random negative row. 0.5 is guessing, "
    "1 is perfect.",
    "ROC-GLM: a smooth (binormal) ROC curve fitted to all rows, TPR = Φ(intercept + slope Φ⁻¹(FPR)), and its AUC.",
    "Average precision depends on prevalence: compare it with the prevalence, not with 0.5.",
    "Brier score: the mean squared difference between risk and outcome; lower is better.",
    "Observed : expected: number of positives divided by the sum of risks. Above 1, risks are too low on average; "
    "below 1, too high. A calibration intercept above 0 means the same in log-odds.",
    "Calibration slope: below 1, risks are too extreme: high risks too high and low risks too low.",
    "Mean over sites: the value at a typical site, with sites weighted by precision in a random-effects model. All "
    "rows together: the value for a typical person of these data. Where sites differ, the two differ.",
    "Prediction interval: range of the true value expected at another site like these. It is the interval to look at "
    "before using the model elsewhere.",
)


def validation_page(validation: Validation) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    noisy = mode_of(validation.question).comparison_only
    return whole_page(title_of(validation), _parts(validation), footer=_FOOTERS[noisy])


def fragment(validation: Validation) -> str:
    """Return the result, the guarantee and the sites, as a notebook shows them."""
    tables = (html_table(table) for table in (numbers_table(validation), sites_table(validation)))
    guarantee = f"<p><strong>Guarantee</strong> for the people in the data:</p>{bullets(guarantee_lines(validation))}"
    box = _not_private(validation) if mode_of(validation.question).comparison_only else guarantee
    return "".join(("<div>", lead(lead_of(validation)), box, *tables, "</div>"))


def _parts(validation: Validation) -> Iterator[str]:
    if mode_of(validation.question).comparison_only:
        yield _not_private(validation)
    yield lead(lead_of(validation))
    if not mode_of(validation.question).comparison_only:
        yield "<p><strong>Guarantee</strong> for the people in the data:</p>"
        yield bullets(guarantee_lines(validation))
    yield "<h2>Key numbers</h2>"
    yield html_table(numbers_table(validation), caption=False)
    yield "<h2>Site by site</h2>"
    yield from _forest_figures(validation)
    yield html_table(sites_table(validation))
    yield from _absent(validation)
    yield html_table(released_table(validation))
    yield "<h2>Curves</h2>"
    yield from _curve_figures(PlotData.of(validation))
    yield "<h2>How it was done</h2>"
    yield html_table(how_table(validation), caption=False)
    yield "<h2>How to read this</h2>"
    yield bullets(_READING)


def _not_private(validation: Validation) -> str:
    """Return the warning that comes first where nothing is guaranteed."""
    reasons = " ".join(guarantee_lines(validation))
    return (
        f'<p class="warning" style="{_RED}"><strong>NOT differentially private.</strong> This is the published method, '
        f"run for comparison only. {escape(reasons)}.</p>"
    )


def _forest_figures(validation: Validation) -> Iterator[str]:
    names = forests(validation)
    if not names:
        yield f"<p>{escape(no_forest_words(validation.question))}</p>"
    for name in names:
        forest = forest_of(validation, name)
        if forest is not None:
            svg = as_svg(draw_forest, forest, size=forest.size)
            yield _wide(figure(svg, f"forest-{name}", forest_caption(forest)), 58)


def _absent(validation: Validation) -> Iterator[str]:
    lines = list(absent_words(validation))
    if lines:
        yield "<p>Some sites did not take part:</p>"
        yield bullets(lines)


def _curve_figures(data: PlotData) -> Iterator[str]:
    validation = data.validation
    texts = captions(validation)
    yield figures(
        figure(as_svg(draw, data, size=plot_size(validation, name)), f"curve-{name}", texts[name])
        for name, draw in drawings(validation).items()
    )
    sites = len(site_calibrations(validation))
    if sites:
        svg = as_svg(draw_site_calibrations, data, size=panels_size(sites))
        yield _wide(figure(svg, "site-calibration", site_calibration_caption(validation)), min(16 + 12 * sites, 70))


def _wide(content: str, rem: int) -> str:
    """Return a figure over the whole width of the page, or as much of it as it needs."""
    return f'<div style="max-width: {rem}rem; margin: 1.2rem 0">{content}</div>'


COLUMNS = ("model", "site", "metric", "value", "lower", "upper", "level")

_ESTIMATES = names_of(Face.FEDERATION)


def validation_frame(validation: Validation) -> DataFrame:
    """Return one row for each number: over all rows (no site), the means over sites, and each site's own."""
    rows = ({"model": validation.question.model, **row} for row in _rows(validation))
    return data_frame(rows, COLUMNS)


def _rows(validation: Validation) -> Iterator[dict[str, Any]]:
    yield from _result_rows(validation.pooled)
    for name, summary in validation.heterogeneity.items():
        yield {"metric": f"{name}_mean_over_sites", "value": summary.value, **interval_cells(summary.interval)}
        if summary.prediction is not None:
            yield {"metric": f"{name}_prediction", **interval_cells(summary.prediction)}
    for site in validation.sites:
        if site.result is not None:
            yield from ({"site": site.name, **row} for row in _result_rows(site.result))


def _result_rows(result: Performance) -> Iterator[dict[str, Any]]:
    for name in ("rows", "positives"):
        if getattr(result, name) is not None:
            yield {"metric": name, "value": float(getattr(result, name))}
    if result.rows is None and result.size is not None:
        yield {"metric": "rows", **estimate_cells(result.size)}
    for name in _ESTIMATES:
        estimate: Estimate | None = getattr(result, name)
        if estimate is not None:
            yield {"metric": name, **estimate_cells(estimate)}
