"""Releases and quotes on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confide.ledger.receipts import Quote, Receipt
from confide.privacy.guarantee import shown
from confide.releases.release import PreparedRelease, Release
from confide.report.release.names import metric_name
from confide.report.release.tables import (
    achieved_table,
    ledger_table,
    release_table,
    split_of,
    split_table,
)
from confide.report.shared.guarantees import guarantee_words
from confide.report.shared.numbers import interval_text, number
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

INTERVALS = (
    "Intervals: sample is for the exact value of these rows, and allows for noise; population is for the value among "
    "all people like these, and allows for noise and sampling."
)


def print_release(receipt: Receipt[Release], console: Console) -> None:
    """Print the released numbers, the guarantee in words and the ledger."""
    releases = receipt.releases
    print_table(release_table(releases), console)
    achieved = achieved_table(releases)
    if achieved is not None:
        print_table(achieved, console)
    split = split_of(receipt)
    if len(split) > 1:
        print_table(split_table(split), console)
    print_line(INTERVALS, console)
    print_line(guarantee_words(receipt.guarantee), console)
    console.print()
    print_table(ledger_table(receipt), console)


def print_quote(quote: Quote, prepared: Sequence[PreparedRelease], console: Console) -> None:
    """Print the price of a request."""
    print_table(split_table([(_metrics(part), part.guarantee) for part in prepared]), console)
    price, note = quote.in_a_cell()
    print_table(
        Table(
            title="Price",
            head=("account", "price", "left now", "left after"),
            note=note,
            body=((quote.account, price, quote.remaining.in_words(), quote.remaining_after.in_words()),),
        ),
        console,
    )
    print_line(quote.refusal or "It fits. Nothing was charged.", console)


def _metrics(prepared: PreparedRelease) -> list[str]:
    """Return the metrics that a prepared request answers."""
    return list(prepared.requested or [prepared.request["metric"]])


def one_line(release: Release) -> str:
    """Return a value with both intervals and its price in one line."""
    intervals = release.intervals
    return (
        f"{metric_name(release)} {number(release.value)} (sample {interval_text(intervals.sample)}, "
        f"population {interval_text(intervals.population)}; epsilon {shown(release.guarantee.epsilon, up=True)}, "
        f"{release.guarantee.neighbours.value})"
    )
