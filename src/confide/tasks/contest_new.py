"""Plan and make a contest from a file of labels: mask the labels once, and write what a server needs.

Nothing is charged before all input was checked. The same contest, made again, gets the same masked labels from the
ledger at no further cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from confide.contest.bundles import ServerBundle
from confide.contest.labels import MaskedAnswer, label_guarantee, prepare_masked
from confide.contest.metric import ContestMetric
from confide.contest.plan import ContestPlan, usual_repetitions
from confide.contest.plan import plan_contest as simulate
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, FinalMechanism, Mode
from confide.errors import LabelError
from confide.ledger.payer import FileSubject, Payer
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
from confide.tasks.requests.contest import ContestPlanRequest, ContestRequest
from confide.tasks.requests.request import verb_of


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
