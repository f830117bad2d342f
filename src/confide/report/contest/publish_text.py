"""Final of a contest on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.contest.final_result import FinalResult
from confide.report.shared.guarantees import guarantee_words
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table
from confide.tasks.contest_publish import FinalQuote, PublishedFinal

if TYPE_CHECKING:
    from rich.console import Console


def final_table(result: FinalResult) -> Table:
    """Return the finalists with their ranks, values and intervals."""
    level = f"{100 * result.entries[0].population.level:g} %"
    body = tuple(
        (
            str(entry.rank),
            _span(entry.rank_lowest, entry.rank_highest),
            entry.name,
            f"{entry.value:.4f}",
            f"{entry.sample.lower:.4f} to {entry.sample.upper:.4f}",
            f"{entry.population.lower:.4f} to {entry.population.upper:.4f}",
        )
        for entry in result.entries
    )
    head = ("rank", "may be", "finalist", result.metric.title, f"these rows, {level}", f"population, {level}")
    note = "Rank: 1 + number of finalists that are significantly better. Equal ranks are ties; nothing breaks them."
    return Table(title=f"Final of {result.contest}, {result.rows:,} rows", head=head, body=body, note=note)


def print_price(price: FinalQuote, console: Console) -> None:
    """Print the price of a final."""
    quote = price.quote
    cell, note = quote.in_a_cell()
    body = ((quote.account, cell, quote.remaining.in_words(), quote.remaining_after.in_words()),)
    head = ("account", "price", "left now", "left after")
    print_table(Table(title=f"Final of {price.terms.name}", head=head, body=body, note=note), console)
    print_line(f"Finalists: {len(price.finalists)}.", console)
    if quote.fits:
        print_line("It fits. Nothing was charged.", console)


def print_final(done: PublishedFinal, console: Console) -> None:
    """Print the result of a final, its guarantee and its cost."""
    print_table(final_table(done.result), console)
    print_line(guarantee_words(done.result.guarantee), console)
    receipt = done.receipt
    print_line(
        f"Account {receipt.account}: paid {receipt.in_words()}; spent {receipt.spent.in_words()}, left "
        f"{receipt.remaining.in_words()}.",
        console,
    )


def _span(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"
