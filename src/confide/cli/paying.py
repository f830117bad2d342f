"""One step of a workflow at the ledger: its price, or its answer, paid before noise is drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from confide.cli import output
from confide.cli.release import STEP_SECONDS, file_chunks
from confide.cli.same_data import bound, check_label
from confide.errors import UsageError
from confide.privacy.steady import steady

if TYPE_CHECKING:
    from confide.learning.linear_model import LinearModel
    from confide.learning.workflow import Workflow
    from confide.ledger.ledger import Ledger
    from confide.ledger.receipts import Quote, Receipt
    from confide.releases.prepared import Prepared
    from confide.selection.selection import Selection

    Step = TypeVar("Step", Selection, LinearModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Who pays for a step about a file and its labels: the ledger, the account in it and the analyst."""

    file: Path
    label: str
    ledger: str | None
    account: str | None
    analyst: str | None

    def quote(self, prepared: Prepared[Any]) -> Quote:
        """Say what a step would cost."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.ledger) as book:
            account, (asked,) = self._settled(book, prepared)
            return book.quote(asked, account=account, analyst=self.analyst)

    def pay(self, prepared: Prepared[Step]) -> Receipt[Step]:
        """Charge a step and draw its answer, which comes after a whole number of steps of time."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.ledger) as book:
            account, (asked,) = self._settled(book, prepared)
            with output.busy("charging the ledger and drawing noise"), steady(STEP_SECONDS):
                return book.release(asked, account=account, analyst=self.analyst)

    def _settled(self, book: Ledger, prepared: Prepared[Step]) -> tuple[str, tuple[Prepared[Step], ...]]:
        """The account, and the request with what it says about the data."""
        data = book.account_for(file_chunks(self.file))
        account = data if self.account is None else self.account
        check_label(book, account, self.label, prepared.guarantee.neighbours)
        return account, bound([prepared], data=data, label=self.label)

    def remarks(self, receipt: Receipt[Any]) -> Iterator[str]:
        """What the one who pays should know."""
        from confide.privacy.guarantee import shown

        if receipt.opened:
            yield f"opened account {receipt.account}. If it should have existed, check its name and the ledger's."
        if self.account is None:
            yield (
                f"account {receipt.account} is known by the file's content: a changed copy would get a budget of its "
                "own. Name it with --account to hold versions together."
            )
        asked, paid = receipt.releases[0].guarantee.epsilon, receipt.full_price.epsilon
        if paid > asked:
            yield (
                f"epsilon {shown(asked)} counts as {shown(paid)} in this account, whose neighbours are of another kind."
            )


def check_out(out: Path | None, file: str, ledger: str | None) -> None:
    """Refuse a file that would overwrite the data or the ledger, or could not be written, before any work is done."""
    if out is None:
        return
    if out.suffix.lower() != ".json":
        raise UsageError(f"{out} must end in .json, as what is released is written as JSON")
    if file != "-" and out.exists() and Path(file).exists() and out.samefile(file):
        raise UsageError(f"{out} is the private file; choose another name")
    output.check_writable(out)
    output.check_not_ledger(out, ledger)


def check_page(report: Path | None, file: str, ledger: str | None) -> None:
    """The same for a page."""
    if report is not None:
        output.check_report(report, file)
        output.check_not_ledger(report, ledger)


def show_price(quote: Quote, workflow: Workflow, costs: dict[str, Any], *, as_json: bool) -> None:
    """Print what a step would cost, beside the whole workflow; a price that does not fit exits with 3."""
    from confide.report.workflow import price_document, print_price

    if as_json:
        output.print_json(price_document(quote, workflow, costs))
    else:
        print_price(quote, workflow, costs, output.console())
    if quote.refusal is not None:
        typer.echo(f"error: {quote.refusal}", err=True)
        sys.exit(3)


def write_workflow(workflow: Workflow, out: Path | None) -> None:
    """Write the file for the next step, if one was asked for."""
    if out is not None:
        output.write_whole(out, workflow.written())
        typer.echo(f"written: {out}", err=True)
