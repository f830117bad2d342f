"""A study that recurs, on the terminal and in sentences: performance over time, the promise and what was spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confide.federation.coordinator.series import MEASURES, POOLED, Edition, SeriesCost, series_cost, series_names
from confide.privacy.guarantee import shown, stored_fraction
from confide.releases.shared_counts import GAUSSIAN
from confide.report.numbers import NAME_LETTERS, cut, estimate_text
from confide.report.promises import attacker_words
from confide.report.style import as_svg, marker, style
from confide.report.validation.pages import no_line_words
from confide.report.validation.plan import word_table
from confide.report.writers.html import bullets, figure, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_bullets, print_line, print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


SCHEMA = "confide.validation-series/1"

_SPENT = (
    "At most: a site counts with the full price of an edition unless its receipt states a smaller charge. Own counts "
    "of data that did not change are sent again at no cost. Runs without a result and other questions are not counted "
    "here; the site's ledger has them all."
)

_CONVERTED = (
    "Epsilon is converted from the sum of rho of these editions; a ledger converts the rho of all questions together, "
    "at an order that it fixed before the first, and so states another one."
)


def series_title(editions: Sequence[Edition]) -> str:
    """Return model and study in one line."""
    question = editions[-1].document["question"]
    return f"{question['model']} over time, study {question['study']}"


def series_lead(editions: Sequence[Edition]) -> str:
    """Return how many editions there are, their periods and the price of one."""
    first, last = editions[0].name, editions[-1].name
    question = editions[-1].document["question"]
    when = f"1 edition, {first}" if len(editions) == 1 else f"{len(editions)} editions, {first} to {last}"
    price = f", epsilon {question['epsilon']}{_delta(question)} for each at every site" if "epsilon" in question else ""
    noise = ", Gaussian noise" if question.get("noise") == GAUSSIAN else ""
    return f"{when}, mode {question['mode']}{price}{noise}."


def measure_tables(editions: Sequence[Edition]) -> Iterator[tuple[str, Table]]:
    """Yield each measure that any edition has, and its table: a line for each edition, a column for each site."""
    names = series_names(editions)
    for measure, title in MEASURES.items():
        if any(edition.estimate(measure, site) for edition in editions for site in names):
            rows = [
                (edition.name, *(estimate_text(edition.estimate(measure, site)) for site in names))
                for edition in editions
            ]
            yield measure, word_table(title, ("edition", *names), rows)


def missing_lines(editions: Sequence[Edition]) -> Iterator[str]:
    """Yield which measures are missing in which edition, and why where that is known."""
    for measure, title in MEASURES.items():
        for edition in editions:
            for reason, names in _missing(edition, measure).items():
                listed = ", ".join(cut(name, NAME_LETTERS) for name in names)
                yield f"{title} is not given for {listed} in {edition.name}. {reason}".rstrip()


def _missing(edition: Edition, measure: str) -> dict[str, list[str]]:
    """Return the sites without a measure in an edition, by the reason."""
    found: dict[str, list[str]] = {}
    for name in (POOLED, *edition.sites):
        if edition.estimate(measure, name) is None:
            absence = edition.no_line(name) if measure == "calibration_slope" else None
            found.setdefault("" if absence is None else no_line_words(absence), []).append(name)
    return found


def promise_lines(cost: SeriesCost) -> Iterator[str]:
    """Yield the guarantee of all editions together, then what one edition promises."""
    if cost.guarantee is None:
        yield (
            "All editions together: they do not protect the same unit under the same relation, so their guarantees do "
            "not add up to one. Each edition's own page states its guarantee."
        )
    else:
        together = "all editions together" if cost.editions > 1 else "this edition"
        yield from attacker_words(cost.guarantee, seen=together)
        if cost.editions + cost.unanswered > 1:
            yield (
                f"All {'questions' if cost.unanswered else 'editions'} together, for somebody whose rows are in the "
                f"data of each of them: {cost.guarantee.in_words()}"
            )
        if cost.unanswered:
            yield _unanswered(cost.unanswered)
        yield _further(cost)
    yield f"The latest edition alone: {cost.promise[0]}" if cost.editions > 1 else cost.promise[0]
    yield from cost.promise[1:]


def spent_table(cost: SeriesCost) -> Table:
    """Return what the question cost over all editions, and what each site spent on it at most."""
    editions = "1 edition" if cost.editions == 1 else f"{cost.editions} editions"
    editions += f" and {cost.unanswered} without a result" if cost.unanswered else ""
    total = [] if cost.guarantee is None else [(f"the question, {editions}", shown(cost.guarantee.epsilon, up=True))]
    sites = [(cut(name, NAME_LETTERS), shown(spent, up=True) if spent else "0") for name, spent in cost.sites.items()]
    column = f"epsilon at delta {shown(cost.delta, up=True)}, at most" if cost.delta else "epsilon, at most"
    note = _SPENT if cost.rho is None else f"{_SPENT} {_CONVERTED}"
    return word_table("Spent over the series", ("", column), [*total, *sites], note=note)


def print_series(editions: Sequence[Edition], console: Console) -> None:
    """Print performance over time, the promise and what was spent."""
    cost = series_cost(editions)
    print_line(series_title(editions), console)
    print_line(series_lead(editions), console)
    console.print()
    for _, table in measure_tables(editions):
        print_table(table, console)
    print_bullets(missing_lines(editions), console)
    print_line("Promise to the people in the data", console)
    print_bullets(promise_lines(cost), console)
    console.print()
    print_table(spent_table(cost), console)


def series_document(editions: Sequence[Edition], *, asked: bool) -> dict[str, Any]:
    """Return plain data in the published schema. `asked` is False if the latest result was stored already."""
    return {
        "schema": SCHEMA,
        "asked": asked,
        "editions": [edition.name for edition in editions],
        "cost": series_cost(editions).to_dict(),
        "latest": dict(editions[-1].document),
    }


def _unanswered(number: int) -> str:
    questions = "One question that got no result is" if number == 1 else f"{number} questions that got no result are"
    return f"{questions} counted too: sites may have paid for it, and what they sent may have been seen."


def _further(cost: SeriesCost) -> str:
    """Return what one more edition costs."""
    if cost.rho is not None:
        return (
            f"Every further edition adds its rho, {shown(cost.rho, up=True)} (zCDP), which is converted to epsilon for "
            f"all editions together, at delta {shown(cost.delta)}."
        )
    return f"Every further edition adds its epsilon{' and its delta' if cost.delta else ''}."


def _delta(question: Mapping[str, Any]) -> str:
    return f", delta {shown(stored_fraction(question['delta']))}" if "delta" in question else ""


_FOOTER = "Made with confide from stored results of earlier editions; nobody was asked again for this page."
_IDEAL = {"observed_expected": 1.0, "calibration_slope": 1.0}


def series_page(editions: Sequence[Edition]) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(series_title(editions), _parts(editions), footer=_FOOTER)


def _parts(editions: Sequence[Edition]) -> Iterator[str]:
    yield lead(series_lead(editions))
    yield (
        "<p>Each edition has noise of its own. A change is worth a look if intervals hardly overlap, or if it goes on "
        "over several editions.</p>"
    )
    for measure, table in measure_tables(editions):
        svg = as_svg(_draw, (measure, editions), size=(7.2, 3.6))
        caption = f"{MEASURES[measure]} by edition, with intervals where they are known."
        yield figure(svg, f"series-{measure}", caption)
        yield html_table(table)
    missing = list(missing_lines(editions))
    if missing:
        yield bullets(missing)
    cost = series_cost(editions)
    yield f"<h2>Promise to the people in the data</h2>{bullets(promise_lines(cost))}"
    yield html_table(spent_table(cost))


def _draw(ax: Axes, data: tuple[str, Sequence[Edition]]) -> None:
    measure, editions = data
    names = series_names(editions)
    for index, site in enumerate(names):
        shift = 0.06 * (index - (len(names) - 1) / 2)
        found = [(place, edition.estimate(measure, site)) for place, edition in enumerate(editions)]
        points = [(place + shift, estimate) for place, estimate in found if estimate is not None]
        if not points:
            continue
        looks = style(index)
        ax.plot([x for x, _ in points], [one.value for _, one in points], marker=marker(index), label=site, **looks)
        for x, one in points:
            if one.interval is not None:
                ax.plot([x, x], [one.interval.lower, one.interval.upper], color=looks["color"], linewidth=1.2)
    if measure in _IDEAL:
        ax.axhline(_IDEAL[measure], color="#b5b5b5", linewidth=0.8)
    ax.set_xticks(range(len(editions)), [edition.name for edition in editions])
    ax.set_xlim(-0.5, len(editions) - 0.5)
    ax.set_ylabel(MEASURES[measure])
    ax.legend()
