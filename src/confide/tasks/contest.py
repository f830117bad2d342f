"""Plan a contest, make it from a file of labels, and publish its final: what the holder of the labels does.

To make it, labels are masked once, and what a server needs is written. The final reads the rows that the board never
used, once; the same finalists get the same result at no further cost.

Nothing is charged before all input was checked. The same contest, made again, gets the same masked labels from the
ledger at no further cost.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from confide.atomic_files import replace_file
from confide.contest.bundles import Finalists, ServerBundle
from confide.contest.final import prepare_final
from confide.contest.final_result import SCHEMA as RESULT_SCHEMA
from confide.contest.final_result import FinalResult
from confide.contest.labels import MaskedAnswer, label_guarantee, prepare_masked
from confide.contest.metric import ContestMetric
from confide.contest.plan import ContestPlan, usual_repetitions
from confide.contest.plan import plan_contest as simulate
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, FinalMechanism, Mode
from confide.errors import DataError, LabelError, ParameterError, UsageError
from confide.ledger.payer import FileSubject, Payer, open_ledger
from confide.ledger.receipts import Quote, Receipt, quote_document
from confide.privacy.accounting import rho_for
from confide.privacy.guarantee import shown
from confide.privacy.prepared import Prepared
from confide.tasks.contest_answer import require_answered
from confide.tasks.contest_folder import (
    FINAL,
    PUBLIC,
    ContestFolder,
    HolderRecord,
    Purse,
    SplitLabels,
    identify_data,
    lack_of_budget,
    read_split,
    shown_ledger,
    with_command,
)
from confide.tasks.output_files import check_json_out, ledger_files
from confide.tasks.requests.contest import ContestPlanRequest, ContestRequest, FinalRequest
from confide.tasks.requests.options import verb_of


@verb_of(ContestPlanRequest)
def plan_contest(request: ContestPlanRequest) -> ContestPlan:
    """Return the error of shown scores, the order of teams and the promise of a contest, by simulation.

    See `confide.contest.plan.plan_contest` for the parameters. `threshold` is that of metrics of calls, and `seed`
    makes a plan repeatable.

    >>> plan = plan_contest(rows=500, prevalence=0.3, answers=40, epsilon=2, teams=8, repetitions=2)
    >>> round(plan.planned.certainty, 2), plan.exact.rows_price
    (0.88, 1.0)
    """
    return simulate(
        request.rows,
        request.prevalence,
        request.answers,
        request.epsilon,
        teams=request.teams,
        public=request.public,
        metric=ContestMetric.checked(request.metric, request.threshold),
        auc=request.auc,
        final_epsilon=request.final_epsilon,
        final_delta=request.final_delta,
        finalists=request.finalists,
        repetitions=request.repetitions,
        rng=np.random.default_rng(request.seed),
        begin=request.begin,
    )


def planned_repetitions(request: ContestPlanRequest) -> int:
    """Return the number of contests that a plan simulates."""
    if request.repetitions is not None:
        return max(request.repetitions, 1)
    return usual_repetitions(max(round(request.rows * request.public), 1), max(request.answers, 1))


SCHEMA = "confide.contest-new/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestQuote:
    """Price of a contest: of the board, and of board and final together. Nothing was charged.

    `board` is None if each answer is charged; `final` is None if there is no final, or if the board is paid already.
    `refusal` is the reason if the account cannot pay, with the command that raises its caps.
    """

    terms: ContestTerms
    board: Quote | None
    final: Quote | None
    refusal: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        board = None if self.board is None else quote_document(self.board, [(("board",), _guarantee(self.terms))])
        final = None if self.final is None else self.final.to_dict()
        return {"schema": SCHEMA, "terms": self.terms.to_dict(), "board": board, "board_and_final": final}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewContest:
    """A contest that was made. `receipt` is None if each answer will be charged.

    `ledger` is the place of the ledger, as it may be shown; None if it is the default one.
    """

    terms: ContestTerms
    folder: ContestFolder
    labels_file: Path
    account: str
    ledger: str | None
    receipt: Receipt[MaskedAnswer] | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "terms": self.terms.to_dict(),
            "promise": {
                "epsilon": float(self.terms.epsilon),
                "certainty": self.terms.certainty,
                "final_certainty": self.terms.final_certainty,
            },
            "files": dict(self.folder.to_dict()),
            "account": self.account,
            "ledger": None if self.receipt is None else self.receipt.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyContest:
    """A contest whose input was checked and whose labels were read. Nothing was charged or written."""

    terms: ContestTerms
    template: Template
    labels: SplitLabels
    labels_file: Path
    payer: Payer
    folder: ContestFolder
    record: HolderRecord

    def quote(self) -> ContestQuote:
        """Return the price. Nothing is charged."""
        if self.terms.mode == Mode.PER_ANSWER:
            return ContestQuote(terms=self.terms, board=None, final=None, notes=_notes(self.terms))
        prepared = self._board_request()
        board = self.payer.quote(prepared)
        final = _final_price(self.terms, self.labels)
        together = None if final is None or board.answered else self.payer.quote([prepared, final])
        refusal = with_command(together or board, self.payer)
        return ContestQuote(terms=self.terms, board=board, final=together, refusal=refusal, notes=_notes(self.terms))

    def make(self) -> NewContest:
        """Charge the account, mask the labels and write the files."""
        quote = self.quote()
        if quote.board is not None and quote.refusal is not None:
            what = "the account can pay for the board, but not for the final after it. " if quote.board.fits else ""
            raise lack_of_budget(f"{what}Nothing was charged: {quote.refusal}", quote.final or quote.board)
        receipt = None if quote.board is None else self.payer.pay(self._board_request())
        masked = None if receipt is None else receipt.releases[0].labels
        bundle = ServerBundle(
            terms=self.terms, template=self.template, public=self.labels.places(PUBLIC), masked=masked
        )
        self.folder.write(bundle, self.record)
        notes = () if receipt is None else tuple(str(note) for note in self.payer.notes(receipt))
        notes += quote.notes
        return NewContest(
            terms=self.terms,
            folder=self.folder,
            labels_file=self.labels_file,
            account=self.record.account,
            ledger=shown_ledger(self.payer.ledger),
            receipt=receipt,
            notes=notes,
        )

    def _board_request(self) -> Prepared[MaskedAnswer]:
        part = self.labels.split.part(PUBLIC)
        return prepare_masked(self.labels.labels(PUBLIC), epsilon=self.terms.epsilon, part=part)


def prepare_contest(request: ContestRequest) -> ReadyContest:
    """Check a contest and read its labels; then `quote` its price or `make` it."""
    terms = request.terms
    if request.per_answer:
        require_answered(terms.metric)
    folder = ContestFolder(Path(request.out) / request.name)
    folder.check_place()
    subject = FileSubject(
        file=Path(request.labels_file),
        label=request.label,
        positive=request.positive,
        details={"contest": "masked labels", "id": request.id},
    )
    unchecked = Payer(subject=subject, ledger=request.ledger, account=request.account, also_charge=request.also_charge)
    most = max(terms.epsilon, terms.final_epsilon or terms.epsilon)
    purse = Purse(contest=request.name, id_column=request.id, epsilon=most, delta=terms.final_delta)
    purse.require(unchecked)
    payer, payer_name, identity = identify_data(unchecked)
    try:
        labels = read_split(subject, request.ledger, id_column=request.id, share=terms.public_share)
    except LabelError as error:
        raise error if request.positive is not None else purse.explain_error(error, payer_name, subject) from None
    terms = replace(terms, rows=len(labels.rows.ids), public_rows=int(labels.public.sum()))
    template = Template.of(terms, labels.rows.ids)
    record = HolderRecord(
        terms=terms,
        template=template.digest,
        data=identity,
        label=request.label,
        positive=request.positive,
        account=payer_name,
        split=labels.split.key_digest,
    )
    folder.check_contest(record)
    return ReadyContest(
        terms=terms,
        template=template,
        labels=labels,
        labels_file=subject.file,
        payer=payer,
        folder=folder,
        record=record,
    )


@verb_of(ContestRequest)
def make_contest(request: ContestRequest) -> NewContest:
    """Make a contest: mask the labels once, charge an account, and write the files of the server and of the holder.

    The ids are public: they are in the template that every participant gets, sorted by their text. Labels are not: the
    server's part holds each label flipped with a public probability, once and for all.

    Parameters
    ----------
    name, title
        The name in addresses, also of the folder that is made in `out`; and the title on pages.
    labels_file, id, label, positive
        The private file, its columns of ids and of labels, and the positive label unless labels are 0/1, -1/1 or
        false/true.
    metric, threshold, level
        The metric of the board and of the final, its decision threshold where it needs one, and the level of intervals.
    public
        The share of rows that the board is computed from; the others are for the final. One half if there is a final,
        else all rows.
    epsilon
        The promise of the board: of all answers together or, with `per_answer`, of each.
    final_epsilon, final_delta
        The promise of the final. Without a delta, its labels are masked too; with one, noise is shaped to the
        finalists, which is far less noise. None is charged now.
    per_answer
        Charge each answer to the account instead of masking labels: for few questions.
    score, daily_limit, total_limit, finalists
        The column of scores in submissions, the largest number of submissions of a participant each day and in all,
        and of submissions that a participant may choose for the final.
    account, ledger, also_charge
        Who pays: an account with label-only neighbours that was opened for this file and label. See `confide.release`.
    out
        The folder in which the contest's folder is made.
    """
    return prepare_contest(request).make()


@verb_of(ContestRequest)
def quote_contest(request: ContestRequest) -> ContestQuote:
    """Return the price of a contest without charging it. Takes the parameters of `make_contest`."""
    return prepare_contest(request).quote()


def _notes(terms: ContestTerms) -> tuple[str, ...]:
    """Return a note if the delta of the final is so large that it may give some labels away."""
    rows = terms.rows - terms.public_rows
    if terms.final_epsilon is None or terms.final_delta * 10 * rows < 1:
        return ()
    return (
        f"the delta of the final, {shown(terms.final_delta)}, is large for {rows:,} rows: some labels may be "
        f"revealed completely with this probability. Choose one far below 1 / rows, for example "
        f"{shown(Fraction(1, 100 * rows), down=True)}.",
    )


def _guarantee(terms: ContestTerms) -> Any:
    return label_guarantee(terms.epsilon)


def _final_price(terms: ContestTerms, labels: SplitLabels) -> Prepared[Any] | None:
    """Return a request with the price of the final, to see whether the account can pay for it later."""
    if terms.final_epsilon is None:
        return None
    shaped = terms.final_mechanism == FinalMechanism.SHAPED
    delta = terms.final_delta if shaped else Fraction(0)
    rho = rho_for(terms.final_epsilon, delta) if shaped else None

    def never(*_: object) -> Any:
        raise AssertionError("the final is drawn when there are finalists")

    return Prepared(
        guarantee=label_guarantee(terms.final_epsilon, delta, rho),
        request={"metric": "contest-final"},
        draw=never,
        read=never,
        part=labels.split.part(FINAL),
    )


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
