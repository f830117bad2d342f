"""Plan and make a contest from a file of labels: mask the labels once, and write what a server needs.

Nothing is charged before all input was checked. The same contest, made again, gets the same masked labels from the
ledger at no further cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from confide.contest.bundles import ServerBundle
from confide.contest.labels import MaskedAnswer, flip_probability, label_guarantee, prepare_masked
from confide.contest.metric import ContestMetric
from confide.contest.plan import ContestPlan, usual_repetitions
from confide.contest.plan import plan_contest as simulate
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, FinalMechanism, Mode
from confide.errors import LabelError, ParameterError
from confide.ledger.payer import FileSubject, LedgerPlace, Payer
from confide.ledger.receipts import Quote, Receipt, quote_document
from confide.privacy.accounting import rho_for
from confide.privacy.guarantee import Exact, checked_delta, checked_epsilon, exact_fraction, shown
from confide.privacy.prepared import Prepared
from confide.tasks.contest_answer import require_answered
from confide.tasks.contest_folder import (
    FINAL,
    PUBLIC,
    ContestFolder,
    HolderRecord,
    Purse,
    SplitLabels,
    identified,
    lack_of_budget,
    read_split,
    shown_ledger,
    with_command,
)
from confide.tasks.parameters import with_parameters_of


def plan_contest(
    *,
    rows: int,
    prevalence: float,
    answers: int,
    epsilon: Exact,
    teams: int = 50,
    public: float = 1.0,
    metric: str = "auc",
    threshold: float | None = None,
    auc: float = 0.8,
    final_epsilon: Exact | None = None,
    final_delta: Exact = 0,
    finalists: int = 20,
    repetitions: int | None = None,
    seed: int = 0,
    begin: Callable[[str], None] | None = None,
) -> ContestPlan:
    """Return the error of shown scores, the order of teams and the promise of a contest, by simulation.

    See `confide.contest.plan.plan_contest` for the parameters. `threshold` is that of metrics of calls, and `seed`
    makes a plan repeatable.

    >>> plan = plan_contest(rows=500, prevalence=0.3, answers=40, epsilon=2, teams=8, repetitions=2)
    >>> round(plan.planned.certainty, 2), plan.exact.rows_price
    (0.88, 1.0)
    """
    return simulate(
        rows,
        prevalence,
        answers,
        epsilon,
        teams=teams,
        public=public,
        metric=ContestMetric.checked(metric, threshold),
        auc=auc,
        final_epsilon=final_epsilon,
        final_delta=final_delta,
        finalists=finalists,
        repetitions=repetitions,
        rng=np.random.default_rng(seed),
        begin=begin,
    )


def planned_repetitions(*, rows: int, public: float, answers: int, repetitions: int | None) -> int:
    """Return the number of contests that a plan simulates."""
    if repetitions is not None:
        return max(repetitions, 1)
    return usual_repetitions(max(round(rows * public), 1), max(answers, 1))


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
        prepared = self._prepared()
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
        receipt = None if quote.board is None else self.payer.pay(self._prepared())
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

    def _prepared(self) -> Prepared[MaskedAnswer]:
        part = self.labels.split.part(PUBLIC)
        return prepare_masked(self.labels.labels(PUBLIC), epsilon=self.terms.epsilon, part=part)


def prepare_contest(
    name: str,
    labels_file: str | Path,
    *,
    label: str,
    epsilon: Exact,
    id: str = "id",  # noqa: A002 - the name of the flag, as for `label`
    positive: str | None = None,
    metric: str = "auc",
    threshold: float | None = None,
    public: Exact | None = None,
    final_epsilon: Exact | None = None,
    final_delta: Exact = 0,
    per_answer: bool = False,
    title: str | None = None,
    score: str = "score",
    daily_limit: int = 5,
    total_limit: int = 1000,
    finalists: int = 2,
    level: float = 0.95,
    account: str | None = None,
    ledger: LedgerPlace = None,
    also_charge: bool = False,
    out: str | Path = ".",
) -> ReadyContest:
    """Check a contest and read its labels; then `quote` its price or `make` it. See `make_contest`."""
    terms = _draft(
        name=name,
        title=name if title is None else title,
        metric=ContestMetric.checked(metric, threshold),
        mode=Mode.PER_ANSWER if per_answer else Mode.MASKED,
        public_share=_share(public, final_epsilon),
        epsilon=checked_epsilon(epsilon),
        final_epsilon=None if final_epsilon is None else checked_epsilon(final_epsilon),
        final_delta=checked_delta(final_delta),
        id_column=id,
        score_column=score,
        daily_limit=daily_limit,
        total_limit=total_limit,
        finalists=finalists,
        level=level,
    )
    if terms.final_delta and terms.final_mechanism != FinalMechanism.SHAPED:
        raise ParameterError(
            f"`final_delta` is for a final with shaped noise, which {terms.metric.title} cannot have; leave it out"
            if terms.final_epsilon is not None
            else "`final_delta` is for a final; give `final_epsilon` with it"
        )
    if per_answer:
        require_answered(terms.metric)
    folder = ContestFolder(Path(out) / name)
    folder.check_place()
    subject = FileSubject(
        file=Path(labels_file), label=label, positive=positive, details={"contest": "masked labels", "id": id}
    )
    unchecked = Payer(subject=subject, ledger=ledger, account=account, also_charge=also_charge)
    most = max(terms.epsilon, terms.final_epsilon or terms.epsilon)
    purse = Purse(contest=name, id_column=id, epsilon=most, delta=terms.final_delta)
    purse.require(unchecked)
    payer, payer_name, identity = identified(unchecked)
    try:
        labels = read_split(subject, ledger, id_column=id, share=terms.public_share)
    except LabelError as error:
        raise error if positive is not None else purse.explained(error, payer_name, subject) from None
    terms = replace(terms, rows=len(labels.rows.ids), public_rows=int(labels.public.sum()))
    template = Template.of(terms, labels.rows.ids)
    record = HolderRecord(
        terms=terms,
        template=template.digest,
        data=identity,
        label=label,
        positive=positive,
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


@with_parameters_of(prepare_contest)
def make_contest(ready: ReadyContest) -> NewContest:
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
    return ready.make()


@with_parameters_of(prepare_contest)
def quote_contest(ready: ReadyContest) -> ContestQuote:
    """Return the price of a contest without charging it. Takes the parameters of `make_contest`."""
    return ready.quote()


def _draft(**fields: Any) -> ContestTerms:
    """Return terms whose rows are not known yet, to refuse wrong parameters before any row is read."""
    flip = flip_probability(fields["epsilon"]) if fields["mode"] == Mode.MASKED else None
    return ContestTerms(rows=4, public_rows=2, flip=flip, **fields)


def _share(public: Exact | None, final_epsilon: Exact | None) -> Fraction:
    """Return the share of public rows; refuse to keep rows for a final that there is not, and no rows for one."""
    if public is None:
        return Fraction(1, 2) if final_epsilon is not None else Fraction(1)
    share = exact_fraction(public, "`public`")
    if not 0 < share <= 1:
        raise ParameterError(f"`public` must lie above 0 and not above 1, for example 0.5; got {public!r}")
    if (share < 1) != (final_epsilon is not None):
        raise ParameterError(
            "rows that are not public are for the final; give `public` below 1 and `final_epsilon` together, or neither"
        )
    return share


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
