"""A private workflow on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.learning.workflow import Workflow
from confide.ledger.receipts import Quote, Receipt
from confide.report.model.tables import budget_table
from confide.report.shared.guarantees import guarantee_words
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console


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
