"""Ledger: records what was spent on which data, and charges before noise is drawn.

A release takes two transactions. The first checks the account, finds answers that are stored already, checks that the
account takes the others and can pay for them, and charges them. Then noise is drawn, and the time until here is padded.
The second stores the answers, and only then are they shown. If the process dies in between, the charge stands. It is
never refunded, but the same request is answered on it at no further cost; `charging` explains why that is safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps, Composition, checked_name
from confide.ledger.charging import (
    STEP_SECONDS,
    Charged,
    Record,
    charge,
    concluded,
    opened,
    padded,
    quoted,
    read_answer,
    written,
)
from confide.ledger.entries import Draft, Kind
from confide.ledger.place import FilePlace
from confide.ledger.question import PublicQuestion, folded_name, same_name
from confide.ledger.reader import LedgerReader, existing
from confide.ledger.receipts import Quote, Receipt
from confide.ledger.requests import Request, check_elsewhere, data_identity, source_digest
from confide.ledger.spending import Budget
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import Exact, checked_delta, checked_epsilon
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import A, Prepared

if TYPE_CHECKING:
    from confide.ledger.transaction import Transaction
    from confide.privacy.queries import Noise

_UNKNOWN = "a file, whose identity needs the ledger's key"


class Ledger(LedgerReader):
    """A ledger at a place: a path, `sqlite:///path` or `postgresql://user@host/database`.

    Without a place, the ledger is the one in the environment's `CONFIDE_LEDGER`, else the user's own. It is created
    when the first account is opened. Many threads and processes may use it at once. To charge and
    to draw takes a whole number of steps of `padding` seconds, so that its duration reveals nothing about the noise;
    give 0 only if nobody can time it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.sqlite") as ledger:
    ...     account = ledger.open_account("heart attacks", epsilon=2, analyst_epsilon="1/2")
    ...     account.remaining("ana").in_words()
    'epsilon 0.5'
    """

    noise: Noise | None = None
    """Source of noise that tests inject. If None, the operating system's generator is used."""

    def __init__(
        self, url: str | Path | FilePlace | None = None, *, padding: float = STEP_SECONDS, noise: Noise | None = None
    ) -> None:
        super().__init__(url)
        self._padding = padding
        if noise is not None:
            from confide.privacy.queries import Noise

            if not isinstance(noise, Noise):
                raise ParameterError(
                    f"`noise` must be a Noise; got {type(noise).__name__}. Leave it out except in tests"
                )
            self.noise = noise

    def open_account(
        self,
        name: str,
        *,
        epsilon: Exact,
        delta: Exact = 0,
        neighbours: str = Neighbours.REPLACE_ONE,
        unit: str = "row",
        rows_per_person: int = 1,
        data: str | Iterable[bytes] | None = None,
        label: str | None = None,
        positive: str | None = None,
        composition: str = Composition.ADDITION,
        analyst_epsilon: Exact | None = None,
        analysts: Mapping[str, Exact] | None = None,
        also_charge: bool = False,
    ) -> Account:
        """Open an account with caps: in all, for each analyst, and for named analysts.

        `data` is the declared name and version of the only data that the account is for, or the bytes of their file;
        `label` and `positive` are the labels that it hides. Both are needed for label-only neighbours. `composition` is
        "addition", or "zcdp" for many small requests, which needs a `delta` (see `privacy.concentration`). Data that
        another account has are refused unless `also_charge` allows the budgets to add up. The terms of an account never
        change; `change_caps` changes its caps.
        """
        total = Budget(epsilon=checked_epsilon(epsilon), delta=checked_delta(delta))
        caps = Caps(total=total).changed(analyst_epsilon=analyst_epsilon, analysts=_each_once(analysts))
        checked_name(name, "account")
        concentrated = Composition.parse(composition) == Composition.ZCDP
        concentration = Concentration.for_account(total.epsilon, total.delta) if concentrated else None
        named, digest = (data, None) if data is None or isinstance(data, str) else (_UNKNOWN, source_digest(data))
        terms = AccountTerms(
            neighbours=Neighbours.parse(neighbours),
            unit=unit,
            rows_per_person=rows_per_person,
            data=named,
            label=label,
            positive=positive,
            concentration=concentration,
        )
        with self._writing() as transaction:
            if digest is not None:
                identity: str | None = data_identity(transaction.key, digest)
            else:
                identity = None if named is None else transaction.known_name(named, name)
            account = Account(name=name, terms=replace(terms, data=identity), caps=caps)
            if transaction.record(name, lock=True).state is not None:
                raise ParameterError(
                    f"account {name!r} exists already; choose another name, or change its caps "
                    f"(`Ledger.change_caps({name!r}, epsilon=E)`)"
                )
            _refuse_similar(name, transaction.accounts())
            if identity is not None:
                check_elsewhere(account, identity, transaction.holders(identity), also_charge=also_charge)
            transaction.write(opened(account, key=transaction.key, at=_now()))
        return account

    def change_caps(
        self,
        name: str,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        analyst_epsilon: Exact | None = None,
        analysts: Mapping[str, Exact] | None = None,
    ) -> Account:
        """Change those caps of an account that are given.

        A cap may lie below the amount spent: then nothing is left.
        """
        if not analysts and all(cap is None for cap in (epsilon, delta, analyst_epsilon)):
            raise ParameterError("say which cap to change (`epsilon=4`); nothing was changed")
        self._require_ledger(name)
        with self._writing() as transaction:
            before = transaction.record(name, lock=True)
            state = existing(transaction, before)
            named = {state.known_analyst(analyst): cap for analyst, cap in _each_once(analysts).items()}
            caps = state.caps.changed(epsilon=epsilon, delta=delta, analyst_epsilon=analyst_epsilon, analysts=named)
            draft = Draft(kind=Kind.CAP, at=_now(), amount=caps.total, request=caps.to_json())
            after = before.extended([draft], transaction.key)
            transaction.write(after)
            return existing(transaction, after)

    def quote(
        self,
        prepared: Prepared[A] | Sequence[Prepared[A]],
        *,
        account: str,
        analyst: str | None = None,
        question: PublicQuestion | None = None,
        also_charge: bool = False,
    ) -> Quote:
        """Return the price of a request, and whether it fits. Nothing is charged or written."""
        several = _several(prepared)
        analyst = _checked_analyst(analyst)
        self._require_ledger(account)
        with self._reading() as transaction:
            requested = _by_identity(_requests(several, question, transaction, account), transaction.key)
            record = self._record(transaction, account, requested, also_charge=also_charge)
            analyst = _known_analyst(existing(transaction, record), analyst)
            return quoted(record, requested, analyst=analyst, key=transaction.key, at=_now())

    def release(
        self,
        prepared: Prepared[A] | Sequence[Prepared[A]],
        *,
        account: str,
        analyst: str | None = None,
        question: PublicQuestion | None = None,
        also_charge: bool = False,
    ) -> Receipt[A]:
        """Charge a request, draw its noise, store and return the answer.

        Several prepared answers are charged together: all or none. A `question` describes the request and its data in
        public facts. With it, a request that was answered before gets the stored answer at no cost, and a request that
        was paid for but not answered is answered on that charge. Without it, every call is a new question, charged and
        drawn anew: the counts are private and must not decide whether two questions are the same (see
        `ledger.question`). Answers that read one part of the rows are charged in full to that part, and the account has
        spent the price of its most expensive parts; see `ledger.spending`. Data of another account of the ledger are
        refused unless `also_charge` allows the budgets to add up.

        Raises BudgetError if the request does not fit, ParameterError if there is no such account or it does not take
        the request, before anything is written.
        """
        several = _several(prepared)
        analyst = _checked_analyst(analyst)
        self._require_ledger(account)
        with padded(self._padding):
            with self._writing() as transaction:
                key = transaction.key
                requests = _requests(several, question, transaction, account)
                requested = _by_identity(requests, key)
                record = self._record(transaction, account, requested, also_charge=also_charge, lock=True)
                analyst = _known_analyst(existing(transaction, record), analyst)
                charged = charge(record, requested, analyst=analyst, key=key, at=_now())
                transaction.write(charged.record)
            drawn, failed = self._drawn(charged, requested)
        after = self._recorded(charged, requested, drawn, failed) if charged.owed else charged.record
        answers = tuple(read_answer(after, request.identity(key), request) for request in requests)
        return _receipt(after, charged, answers, analyst)

    def _record(
        self,
        transaction: Transaction,
        account: str,
        requested: Mapping[str, Request[A]],
        *,
        also_charge: bool,
        lock: bool = False,
    ) -> Record:
        """Read an account for some requests; refuses an unknown one, and data that another account has."""
        record = transaction.record(account, requested, lock=lock)
        state = existing(transaction, record)
        questions = {request.question.rows: request.question for request in requested.values() if request.question}
        for identity in {one for question in questions.values() for one in (question.data, question.rows)}:
            check_elsewhere(state, identity, transaction.holders(identity), also_charge=also_charge)
        return record

    def _drawn(
        self, charged: Charged, requested: Mapping[str, Request[A]]
    ) -> tuple[dict[str, str], dict[str, Exception]]:
        """Draw what is owed. Return the answers as they are stored, and the errors of those that failed."""
        drawn: dict[str, str] = {}
        failed: dict[str, Exception] = {}
        for identity in charged.owed:
            try:
                prepared = requested[identity].prepared
                answers = prepared.draw() if self.noise is None else prepared.draw(self.noise)
                drawn[identity] = written(answers, prepared.numbers)
            except Exception as error:
                failed[identity] = error
        return drawn, failed

    def _recorded(
        self,
        charged: Charged,
        requested: Mapping[str, Request[A]],
        drawn: Mapping[str, str],
        failed: Mapping[str, Exception],
    ) -> Record:
        """Record what came of drawing; what is raised or shown afterwards was recorded.

        The first outcome that is recorded stays. So the time of drawing, which depends on the noise, was padded before:
        otherwise the fastest of equal requests that run at once, and so the smallest noise, would be shown.
        """
        with self._writing() as transaction:
            before = transaction.record(charged.record.account, requested, lock=True, checked=True)
            after = concluded(before, drawn, failed, charged, key=transaction.key, at=_now())
            transaction.write(after)
        stored = after.answers()
        for identity, failure in failed.items():
            if identity not in stored:
                raise failure
        return after

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        from confide.ledger.transaction import Transaction

        with self._store.chains(writing=True) as records:
            yield Transaction(records=records)


def _several(prepared: Prepared[A] | Sequence[Prepared[A]]) -> tuple[Prepared[A], ...]:
    several = (prepared,) if isinstance(prepared, Prepared) else tuple(prepared)
    if not several:
        raise ParameterError("a request needs at least one prepared release")
    return several


def _requests(
    several: Sequence[Prepared[A]], question: PublicQuestion | None, transaction: Transaction, account: str
) -> tuple[Request[A], ...]:
    """Describe prepared releases. The name of the data is written as the ledger knows it."""
    if question is not None:
        question = replace(question, data=transaction.known_name(question.data, account))
    return tuple(Request.of(one, question) for one in several)


def _refuse_similar(name: str, known: Sequence[str]) -> None:
    """Refuse a new account whose name differs from that of another in nothing but writing."""
    for other in known:
        if same_name(name, other):
            raise ParameterError(
                f"account {other!r} exists already, and {name!r} differs from it in case, spaces or such alone; charge "
                f"{other!r}, or choose another name"
            )


def _by_identity(requests: Sequence[Request[A]], key: bytes) -> dict[str, Request[A]]:
    """Return the requests by identity; equal requests become one."""
    return {request.identity(key): request for request in requests}


def _receipt(after: Record, charged: Charged, answers: tuple[tuple[A, ...], ...], analyst: str | None) -> Receipt[A]:
    state = after.state
    if state is None:
        raise AssertionError  # what was charged has a state
    return Receipt(
        account=after.account,
        answers=answers,
        charged=charged.price,
        full_price=charged.full_price,
        spent=state.spent,
        remaining=state.remaining(analyst),
        reused=not charged.owed,
        analyst=analyst,
        total=state.guarantee,
        released_at=max(entry.at for entry in after.answers().values()),
    )


def _checked_analyst(analyst: str | None) -> str | None:
    return None if analyst is None else checked_name(analyst, "analyst")


def _each_once(analysts: Mapping[str, Exact] | None) -> Mapping[str, Exact]:
    """Refuse caps for two names of analysts that differ in nothing but writing."""
    given = analysts or {}
    names = [checked_name(name, "analyst") for name in given]
    if len(set(map(folded_name, names))) < len(names):
        raise ParameterError("two names of analysts differ in case, spaces or such alone; give each analyst one cap")
    return given


def _known_analyst(state: Account, analyst: str | None) -> str | None:
    return None if analyst is None else state.known_analyst(analyst)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
