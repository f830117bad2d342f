"""A receipt in a notebook: its releases and what they cost."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from confide.errors import UsageError
from confide.ledger.receipts import Receipt
from confide.releases.release import Release
from confide.report.release.frames import release_frame
from confide.report.release.page import fragment
from confide.report.release.plots import plot_releases
from confide.report.release.tables import ledger_table
from confide.report.shared.page import html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def plot_receipt(receipt: Receipt[Any]) -> Figure:
    """Draw the released curves, or the released numbers with both intervals."""
    return plot_releases(_numbers(receipt))


def receipt_frame(receipt: Receipt[Any]) -> DataFrame:
    """Return one row for each released number."""
    return release_frame(_numbers(receipt))


def receipt_fragment(receipt: Receipt[Any]) -> str:
    """Return the releases and the ledger, as a notebook shows them."""
    releases = [release for release in receipt.releases if isinstance(release, Release)]
    others = [release for release in receipt.releases if not isinstance(release, Release)]
    numbers = fragment(releases) if releases else ""
    texts = "".join(f"<p>{escape(str(release))}</p>" for release in others)
    return f"<div>{numbers}{texts}{html_table(ledger_table(receipt))}</div>"


def _numbers(receipt: Receipt[Any]) -> tuple[Release, ...]:
    """Return the releases of a receipt; refuse receipts of models and selections."""
    releases = tuple(release for release in receipt.releases if isinstance(release, Release))
    if not releases:
        raise UsageError("this receipt holds no released numbers or curves; look at its `releases`")
    return releases
