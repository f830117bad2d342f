"""Page of the demonstration: a private release, a refusal, and the exact evaluation."""

from __future__ import annotations

from html import escape

from confide.evaluation.evaluation import Evaluation
from confide.ledger.receipts import Receipt
from confide.releases.release import Release
from confide.report.evaluation.page import evaluation_parts
from confide.report.release.page import release_parts
from confide.report.release.tables import ledger_table
from confide.report.shared.page import html_table, lead, warning, whole_page

_FOOTER = "The first part may be published; the second is for people who may see the data. Made with confide."


def demo_page(evaluation: Evaluation, receipt: Receipt[Release], refusal: str, *, title: str) -> str:
    """Return one page: the private release and a refusal, then the exact evaluation."""
    return whole_page(
        title,
        [
            warning(
                "Internal page: its second part holds exact numbers, so do not publish the whole page. "
                "The command confide release --report writes the first part alone."
            ),
            lead(
                "The same model twice: first as it may be published, then exactly, for people who may see the records."
            ),
            "<h2>Part 1. To be published</h2>",
            *release_parts(receipt),
            "<h2>The ledger after it</h2>",
            html_table(ledger_table(receipt), caption=False),
            "<h2>What happens when the budget is used up</h2>",
            f"<p>The next request was refused, before any noise was drawn:</p><p><code>{escape(refusal)}</code></p>",
            "<h2>Part 2. Not to be published</h2>",
            warning("From here on the numbers are exact. Publishing exact numbers can reveal labels."),
            *evaluation_parts(evaluation),
        ],
        footer=_FOOTER,
    )
