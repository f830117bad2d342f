"""Compute the final of a closed contest where the labels are, and charge an account of the holder's ledger.

The final reads the rows that the board never used. The same finalists get the same result at no further cost.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.contest.bundles import Finalists
from confide.contest.final import prepare_final
from confide.contest.final_result import SCHEMA as RESULT_SCHEMA
from confide.contest.final_result import FinalResult
from confide.contest.terms import ContestTerms
from confide.errors import DataError, ParameterError, UsageError
from confide.files import replace_file
from confide.ledger.payer import FileSubject, Payer, open_ledger
from confide.ledger.receipts import Quote, Receipt, quote_document
from confide.privacy.prepared import Prepared
from confide.tasks.contest_folder import (
    FINAL,
    HolderRecord,
    SplitLabels,
    identify_data,
    lack_of_budget,
    read_split,
    with_command,
)
from confide.tasks.output_files import check_json_out, ledger_files
from confide.tasks.requests.contest import FinalRequest
from confide.tasks.requests.request import verb_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalQuote:
    """Price of a final; nothing was charged.

    `refusal` is the reason if the account cannot pay, with the command that raises its caps.
    """

    terms: ContestTerms
    quote: Quote
    finalists: tuple[str, ...]
    prepared: Prepared[FinalResult]
    refusal: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        document = quote_document(self.quote, [(("final",), self.prepared.guarantee)])
        return {**document, "contest": self.terms.name, "finalists": list(self.finalists)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFinal:
    """A final that was paid for, and the file with its result. The result may be published."""

    terms: ContestTerms
    result: FinalResult
    receipt: Receipt[FinalResult]
    file: Path
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the result, and what it cost."""
        return {**self.result.to_dict(), "ledger": self.receipt.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyFinal:
    """A final whose finalists were checked and whose labels were read. Nothing was charged or written."""

    terms: ContestTerms
    payer: Payer
    prepared: Prepared[FinalResult]
    finalists: tuple[str, ...]
    file: Path

    def quote(self) -> FinalQuote:
        """Return the price. Nothing is charged."""
        quote = self.payer.quote(self.prepared)
        return FinalQuote(
            terms=self.terms,
            quote=quote,
            finalists=self.finalists,
            prepared=self.prepared,
            refusal=with_command(quote, self.payer),
        )

    def publish(self) -> PublishedFinal:
        """Charge the account, draw the noise and write the result."""
        price = self.quote()
        if price.refusal is not None:
            raise lack_of_budget(f"nothing was charged: {price.refusal}", price.quote)
        receipt = self.payer.pay(self.prepared)
        result = receipt.releases[0]
        replace_file(self.file, json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n")
        notes = tuple(str(note) for note in self.payer.notes(receipt))
        return PublishedFinal(terms=self.terms, result=result, receipt=receipt, file=self.file, notes=notes)


def prepare_publication(request: FinalRequest) -> ReadyFinal:
    """Check a final and read its labels; then `quote` its price or `publish` it."""
    holder, labels_file, ledger = Path(request.holder), Path(request.labels_file), request.ledger
    record = HolderRecord.load(holder)
    terms = record.terms
    if terms.final_epsilon is None:
        raise ParameterError(f"contest {terms.name!r} has no final; nothing can be published")
    finalists = _finalists(Path(request.finalists_file), record)
    file = _beside(holder) if request.out is None else Path(request.out)
    check_json_out(file, labels_file, ledger_files(ledger))
    _check_overwritten(file)
    subject = FileSubject(
        file=labels_file,
        label=record.label,
        positive=record.positive,
        details={"contest": "final", "id": terms.id_column},
    )
    account = request.account or record.account
    unchecked = Payer(subject=subject, ledger=ledger, account=account, also_charge=request.also_charge)
    _require_ledger(unchecked, record)
    payer, _, identity = identify_data(unchecked)
    if identity != record.data:
        raise DataError(
            f"{labels_file} is not the file that the contest was made from, or it changed since; give that file, and "
            "the ledger that the contest was made with"
        )
    labels = read_split(subject, ledger, id_column=terms.id_column, share=terms.public_share)
    _require_same_split(labels, record)
    rows = labels.places(FINAL)
    prepared = prepare_final(
        terms,
        labels.labels(FINAL),
        {name: entry.scores[rows] for name, entry in finalists.by_name().items()},
        part=labels.split.part(FINAL),
    )
    return ReadyFinal(terms=terms, payer=payer, prepared=prepared, finalists=tuple(finalists.by_name()), file=file)


@verb_of(FinalRequest)
def publish_final(request: FinalRequest) -> PublishedFinal:
    """Compute the final of a contest, charge an account, and write the result to a file.

    Parameters
    ----------
    holder
        The folder `holder` of the contest.
    labels_file, ledger
        The file of labels and the ledger that the contest was made with.
    finalists_file
        The file `finalists.zip` of the closed contest, from its server.
    account, also_charge
        Who pays; by default the account that paid for the board. See `confide.release`.
    out
        The file of the result; by default `final.json` beside the holder's folder.
    """
    return prepare_publication(request).publish()


@verb_of(FinalRequest)
def quote_final(request: FinalRequest) -> FinalQuote:
    """Return the price of a final without charging it. Takes the parameters of `publish_final`."""
    return prepare_publication(request).quote()


def _finalists(file: Path, record: HolderRecord) -> Finalists:
    """Read finalists; refuse those of another contest, and more of a participant than the terms allow."""
    try:
        finalists = Finalists.from_bytes(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); give finalists.zip of the contest") from None
    if (finalists.contest, finalists.template) != (record.terms.name, record.template):
        raise DataError(f"{file} holds finalists of another contest or template; give that of {record.terms.name}")
    most = record.terms.finalists
    for participant, count in Counter(entry.participant for entry in finalists.entries).items():
        if count > most:
            raise DataError(f"{file}: {participant} has more than the {most} finalists that the terms allow")
    if any(entry.scores.size != record.terms.rows for entry in finalists.entries):
        raise DataError(f"{file}: a finalist has not scored every row of the template; fetch the file again")
    return finalists


def _beside(holder: Path) -> Path:
    """Return the usual place of the result."""
    return (holder if holder.name not in ("", "..") else holder.resolve()).parent / "final.json"


def _check_overwritten(file: Path) -> None:
    """Refuse to write over a file that is no result of a final."""
    if not file.exists():
        return
    try:
        if json.loads(file.read_bytes())["schema"] == RESULT_SCHEMA:
            return
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{file} exists and is not the result of a final; choose another name (`out`)")


def _require_ledger(payer: Payer, record: HolderRecord) -> None:
    """Refuse a ledger that lacks the account, or has one of this name that hides other labels."""
    name = payer.account or record.account
    with open_ledger(payer.ledger) as book:
        place, found = book.shown, next((one for one in book.accounts() if one.name == name), None)
    if found is None:
        raise ParameterError(
            f"there is no account {name!r} in the ledger {place}; give the ledger of the contest (`ledger`), in which "
            f"account {record.account!r} paid for the board"
        )
    if (found.terms.label, found.terms.positive) != (record.label, record.positive):
        raise ParameterError(
            f"account {name!r} in the ledger {place} hides other labels than those of contest {record.terms.name!r}; "
            f"give the ledger of the contest (`ledger`), and account {record.account!r}"
        )


def _require_same_split(labels: SplitLabels, record: HolderRecord) -> None:
    if labels.split.key_digest != record.split or int(labels.public.sum()) != record.terms.public_rows:
        raise DataError("the ledger is not the one that the contest was made with; give that one (`ledger`)")
