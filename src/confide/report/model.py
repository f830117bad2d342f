"""A private model and how it was made: tables, sentences, plot and page."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.learning.selection import Selection
from confide.learning.workflow import Workflow, together
from confide.ledger.receipts import Quote, Receipt
from confide.privacy.accounting import total
from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.report.numbers import number
from confide.report.promises import guarantee_words
from confide.report.style import COLOURS, GREY, as_svg
from confide.report.writers.html import bullets, figure, figures, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_line, print_table
from confide.sources.words import HashedWords

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


MOST_SHOWN = 20
"""Number of features that the terminal and the page list; the file has all."""

NO_WORDS: Mapping[str, str] = MappingProxyType({})
"""No names for the places of hashed words."""


def budget_table(workflow: Workflow, costs: Mapping[str, Fraction]) -> Table:
    """Return the steps of a workflow: the rows that each reads, and its cost."""
    rows = {} if workflow.held_out is None else {"select": "training", "train": "training", "evaluate": "held-out"}
    whole = together(costs, parallel=workflow.parallel)
    return Table(
        title="Budget of the workflow",
        head=("step", "rows", "epsilon"),
        body=tuple((_named(step, workflow), rows.get(step, "all"), shown(cost)) for step, cost in costs.items()),
        note=f"Together epsilon {shown(whole)}: {_how_costs_add_up(workflow)}.",
    )


def _named(step: str, workflow: Workflow) -> str:
    return step if step in workflow.steps else f"{step} (planned)"


def _how_costs_add_up(workflow: Workflow) -> str:
    if workflow.parallel:
        return "held-out rows cost nothing more, up to the cost of the training rows"
    if workflow.held_out is None:
        return "all steps add up"
    return "all steps add up, because rows of one person may be on both sides unless they are held out by person"


def selection_table(workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> Table:
    """Return the selected features, those with the highest noisy scores first. `words` name hashed words."""
    selection = workflow.selection
    assert selection is not None  # noqa: S101  # called only after a selection
    names = [words.get(name, name) for name in workflow.encoding.names(selection.features)]
    if selection.scores is None:
        listed = [(name,) for name in names]
    else:
        pairs = sorted(zip(selection.scores, names, strict=True), key=lambda pair: -pair[0])
        listed = [(name, number(score, 0)) for score, name in pairs]  # type: ignore[misc]
    return Table(
        title="Selected",
        head=("feature",) if selection.scores is None else ("feature", _score_name(selection)),
        body=tuple(listed[:MOST_SHOWN]),
        note=_sentences(
            f"{len(names):,} of {selection.width:,} features.", _and_more(len(listed)), _of_places(workflow, words)
        ),
    )


def _score_name(selection: Selection) -> str:
    """Return the name of the score, "noisy" unless it is a count of public features."""
    public = selection.guarantee.neighbours == Neighbours.LABEL_ONLY and selection.score == "total-count"
    return selection.score if public else f"noisy {selection.score}"


def weights_table(workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> Table:
    """Return the most important features with what each adds to the log-odds. `words` name hashed words."""
    weights = list(workflow.weights().items())
    return Table(
        title=workflow.trained().kind,
        head=("feature", "log-odds"),
        body=tuple((words.get(name, name), f"{weight:+.2f}") for name, weight in weights[:MOST_SHOWN]),
        note=_sentences(
            f"With a weight: {len(weights):,} of {len(workflow.names()):,} features, the most important "
            f"first{_order(workflow)}.",
            _and_more(len(weights)),
            _of_places(workflow, words),
        ),
    )


def _order(workflow: Workflow) -> str:
    """Explain an order that the shown numbers do not follow."""
    often = workflow.trained().frequencies is not None
    return ": those with the largest weight times frequency" if often else ", whatever the sign"


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _and_more(count: int) -> str:
    return f"And {count - MOST_SHOWN:,} more; --out writes all of them." if count > MOST_SHOWN else ""


def _of_places(workflow: Workflow, words: Mapping[str, str]) -> str:
    if not any(isinstance(rule, HashedWords) for rule in workflow.encoding.rules):
        return ""
    if words:
        return "Numbers are positions of hashed words, named by words of a public list; others may share a position."
    return "Numbers are positions of hashed words; a public --dictionary names them."


def print_price(quote: Quote, workflow: Workflow, costs: Mapping[str, Fraction], console: Console) -> None:
    """Print the price of a step, and the budget of the whole workflow."""
    print_table(budget_table(workflow, costs), console)
    console.print()
    left = (quote.remaining.in_words(), quote.remaining_after.in_words())
    head = ("account", "price", "left now", "left after")
    price, note = quote.in_a_cell()
    print_table(Table(title="Price", head=head, body=((quote.account, price, *left),), note=note), console)
    if quote.fits:
        print_line("It fits. Nothing was charged.", console)


def print_step(
    receipt: Receipt[Any], workflow: Workflow, costs: Mapping[str, Fraction], table: Table, console: Console
) -> None:
    """Print what a step released, its guarantee and its cost."""
    print_table(table, console)
    console.print()
    print_line(guarantee_words(receipt.releases[0].guarantee), console)
    console.print()
    print_table(budget_table(workflow, costs), console)
    print_line(
        f"Account {receipt.account}: paid {receipt.in_words()}; spent {receipt.spent.in_words()}, "
        f"left{'' if receipt.analyst is None else f' to {receipt.analyst}'} {receipt.remaining.in_words()}.",
        console,
    )


def draw_weights(ax: Axes, workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> None:
    """Draw bars for the most important features, to the right if they speak for the positive class."""
    strongest = list(workflow.weights().items())[:MOST_SHOWN][::-1]
    values = np.array([weight for _, weight in strongest])
    for_it, against = COLOURS[1], COLOURS[0]
    ax.barh(range(len(strongest)), values, color=[for_it if value > 0 else against for value in values], height=0.7)
    ax.set_yticks(range(len(strongest)), [words.get(name, name) for name, _ in strongest])
    ax.axvline(0.0, color=GREY, linewidth=1.0)
    ax.set_ylim(-0.6, len(strongest) - 0.4)
    ax.set_xlabel("Log-odds added (right: speaks for the positive class)")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


_FOOTER = "Everything on this page was released under the guarantee stated on it. Made with confide."

_CAPTION = (
    "What each feature adds to the log-odds of the positive class, for the most important features. Importance is the "
    "weight, multiplied by the frequency of the feature where that was released. All values include the noise of the "
    "training."
)


def model_page(
    workflow: Workflow, costs: Mapping[str, Fraction], *, title: str, words: Mapping[str, str] = NO_WORDS
) -> str:
    """Return the whole page. `words` name the places of hashed words."""
    return whole_page(title, _parts(workflow, costs, words), footer=_FOOTER)


def _parts(workflow: Workflow, costs: Mapping[str, Fraction], words: Mapping[str, str]) -> list[str]:
    model = workflow.trained()
    guarantee = total(workflow.steps.values())
    kept = f"{len(model.features):,} of {workflow.encoding.width:,} features"
    return [
        lead(f"A {model.kind} model for {workflow.label!r} with {kept}, trained under differential privacy."),
        f"<p>{escape(guarantee_words(guarantee))}</p>",
        "<h2>Budget</h2>",
        html_table(budget_table(workflow, costs), caption=False),
        "<h2>The model</h2>",
        *(_figure(workflow, words) if model.features else []),
        html_table(weights_table(workflow, words), caption=False),
        "<h2>What was assumed</h2>",
        bullets(_assumptions(workflow)),
    ]


def _figure(workflow: Workflow, words: Mapping[str, str]) -> list[str]:
    count = min(len(workflow.trained().features), MOST_SHOWN)
    svg = as_svg(partial(draw_weights, words=words), workflow, size=(7.0, 1.2 + 0.28 * count))
    return [figures([figure(svg, "weights", _CAPTION)])]


def _assumptions(workflow: Workflow) -> list[str]:
    guarantee = total(workflow.steps.values())
    lines = [
        f"Taken to be public: {', '.join(guarantee.public)}.",
        "The encoding of rows as features does not depend on the data: words are hashed or come from a public list, "
        "and columns are cut at given points.",
    ]
    if workflow.held_out is not None:
        free = (
            " Releases about them cost nothing more, up to the cost of the training rows." if workflow.parallel else ""
        )
        lines.append(
            f"{float(workflow.held_out):g} of the rows were held out by a public hash of "
            f"{', '.join(workflow.held_out_columns)}, and were not read.{free}"
        )
    return lines
