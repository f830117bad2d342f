"""One request at the ledger: its price, or its answer, paid before noise is drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from confide.cli import output
from confide.errors import DataError, UsageError

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.ledger.ledger import Ledger
    from confide.ledger.question import PublicQuestion
    from confide.ledger.receipts import Quote, Receipt
    from confide.privacy.prepared import Answer, Prepared

    A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Who pays for a question about a file: the ledger, the account in it and the analyst.

    `details` are the public facts that identify the question besides the file, its labels and the request's own
    parameters: the score's column, or the digest of a model. `public_files` are files whose content is taken to be
    public, such as a list of words.
    """

    file: Path
    label: str
    positive: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    ledger: str | None
    account: str | None
    analyst: str | None
    also_charge: bool = False
    source: str | None = None
    public_files: tuple[Path, ...] = ()

    @classmethod
    def of_workflow(
        cls, workflow: Workflow, file: Path, words: Sequence[Path | None], *, ledger: str | None, **who: Any
    ) -> Payer:
        """Return who pays for a step of a workflow; `words` are the files of public words that it takes."""
        return cls(
            file=file,
            label=workflow.label,
            positive=workflow.positive,
            details={"workflow": workflow.digest()},
            ledger=ledger,
            public_files=tuple(one for one in words if one is not None),
            **who,
        )

    def checked(self) -> Payer:
        """Refuse an account that does not exist before the file's rows are read, and note which file it is."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.ledger) as book:
            _, question = self._find(book)
        return replace(self, source=question.rows)

    def quote(self, prepared: Prepared[A] | Sequence[Prepared[A]]) -> Quote:
        """Say what a request would cost."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.ledger) as book:
            account, question = self._find(book)
            return book.quote(
                prepared, account=account, analyst=self.analyst, question=question, also_charge=self.also_charge
            )

    def pay(self, prepared: Prepared[A] | Sequence[Prepared[A]]) -> Receipt[A]:
        """Charge a request and draw its answer."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.ledger) as book, output.busy("charging the ledger and drawing noise"):
            account, question = self._find(book)
            return book.release(
                prepared, account=account, analyst=self.analyst, question=question, also_charge=self.also_charge
            )

    def _find(self, book: Ledger) -> tuple[str, PublicQuestion]:
        """The account, and the public description of the question."""
        from confide.ledger.binding import question_about
        from confide.sources.raw import raw_bytes

        if self.account is not None:
            book.account(self.account)  # a wrong name is said before the file is looked at
        source = book.identify(raw_bytes(self.file))
        if self.source not in (None, source):
            raise DataError("the file changed while it was read; try again when nobody writes to it")
        for file in self.public_files:
            self._require_public(book, file)
        account = book.find_account(self.account, data=source)
        question = question_about(
            account, source=source, label=self.label, positive=self.positive, details=self.details
        )
        return account.name, question

    def _require_public(self, book: Ledger, file: Path) -> None:
        """Refuse a public file that holds the private rows, or rows that the ledger knows, packed or not."""
        from confide.sources.raw import raw_bytes, unpacked_bytes

        plain = book.identify(unpacked_bytes(file))
        known = any(book.knows(identity) for identity in (plain, book.identify(raw_bytes(file))))
        if known or plain == book.identify(unpacked_bytes(self.file)):
            raise UsageError(
                f"{file} holds private rows, and what is taken from it would be published; give a file that is public"
            )

    def remarks(self, receipt: Receipt[Any]) -> Iterator[str]:
        """Yield notes to print after a charge."""
        from confide.privacy.guarantee import shown

        if self.account is None:
            yield f"charged to account {receipt.account}, the only one that knows these data."
        asked = sum(answers[0].guarantee.epsilon for answers in receipt.answers)
        if receipt.full_price.epsilon > asked:
            yield (
                f"epsilon {shown(asked)} counts as {shown(receipt.full_price.epsilon)} in this account, whose "
                "neighbours are of another kind."
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
    from confide.report.model.documents import price_document
    from confide.report.model.text import print_price

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
