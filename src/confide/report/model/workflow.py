"""A private workflow on the terminal and as JSON: the budget by steps, what was selected, what was trained."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.learning.budget import together
from confide.learning.workflow import Workflow
from confide.ledger.receipts import Quote, Receipt
from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.report.shared.tables import Table, number
from confide.selection.selection import Selection
from confide.sources.words import HashedWords

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 20
"""Features that the terminal and the page list; the file has all."""


def budget_table(workflow: Workflow, costs: Mapping[str, Fraction]) -> Table:
    """The steps of a workflow: which rows each reads, and what it costs."""
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
        return "held-out rows cost nothing more, up to what the training rows cost"
    if workflow.held_out is None:
        return "all steps add up"
    return "all steps add up, as rows of one person may be on both sides unless they are held out by person"


def selection_table(workflow: Workflow) -> Table:
    """The selected features, the highest noisy scores first where there are any."""
    selection = workflow.selection
    assert selection is not None  # noqa: S101  # asked for after a selection
    names = workflow.encoding.names(selection.features)
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
            f"{len(names):,} of {selection.width:,} features.", _and_more(len(listed)), _of_places(workflow)
        ),
    )


def _score_name(selection: Selection) -> str:
    """Counts of public features are public themselves, and have no noise."""
    public = selection.guarantee.neighbours == Neighbours.LABEL_ONLY and selection.score == "total-count"
    return selection.score if public else f"noisy {selection.score}"


def weights_table(workflow: Workflow) -> Table:
    """The features of a model that matter most: what having one adds to the log-odds."""
    weights = list(workflow.weights().items())
    return Table(
        title=workflow.trained().kind,
        head=("feature", "log-odds"),
        body=tuple((name, f"{weight:+.2f}") for name, weight in weights[:MOST_SHOWN]),
        note=_sentences(
            f"With a weight: {len(weights):,} of {len(workflow.names()):,} features, those that matter most first.",
            _and_more(len(weights)),
            _of_places(workflow),
        ),
    )


def _sentences(*said: str) -> str:
    return " ".join(sentence for sentence in said if sentence)


def _and_more(count: int) -> str:
    return f"And {count - MOST_SHOWN:,} more; --out writes all of them." if count > MOST_SHOWN else ""


def _of_places(workflow: Workflow) -> str:
    hashed = any(isinstance(rule, HashedWords) for rule in workflow.encoding.rules)
    return "Numbers are places of hashed words; a public --vocabulary shows words." if hashed else ""


def print_price(quote: Quote, workflow: Workflow, costs: Mapping[str, Fraction], console: Console) -> None:
    """Print what a step would cost, beside the whole workflow."""
    from confide.report.shared.text import print_table

    print_table(budget_table(workflow, costs), console)
    console.print()
    left = (quote.remaining.in_words(), quote.remaining_after.in_words())
    head = ("account", "price", "left now", "left after")
    print_table(Table(title="Price", head=head, body=((quote.account, quote.in_words(), *left),)), console)
    if quote.fits:
        console.print("It fits. Nothing was charged.", highlight=False, markup=False)


def print_step(
    receipt: Receipt[Any], workflow: Workflow, costs: Mapping[str, Fraction], table: Table, console: Console
) -> None:
    """Print what a step released, what it promises and what it cost."""
    from confide.report.shared.text import print_table

    print_table(table, console)
    console.print()
    console.print(receipt.releases[0].guarantee.in_words(), highlight=False, markup=False)
    console.print()
    print_table(budget_table(workflow, costs), console)
    console.print(
        f"Account {receipt.account}: paid {receipt.in_words()}; spent {receipt.spent.in_words()}, "
        f"left{'' if receipt.analyst is None else f' to {receipt.analyst}'} {receipt.remaining.in_words()}.",
        highlight=False,
        markup=False,
    )
