"""The ledger: what was spent on whose data, charged before noise is drawn.

A release takes two transactions. The first checks the account's whole chain, finds answers that are
stored already, checks the price of the others and charges it. Then noise is drawn. The second stores
the answers, and only then are they shown. Whatever dies in between, the charge stands: it is never given
back, but the same request is answered on it at no further cost; see `charging` for why that is safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from confide.errors import ParameterError
from confide.ledger.account import DEFAULT_DELTA_CAP, DEFAULT_EPSILON_CAP, Account, Caps, checked_name
from confide.ledger.chain import Chain
from confide.ledger.charging import Charged, charge, concluded, opened, quoted, read_answer, written
from confide.ledger.entries import Draft, Entry, Kind
from confide.ledger.key import KeyFile, fresh_key
from confide.ledger.place import find_place
from confide.ledger.receipts import AccountCheck, Quote, Receipt, Verification
from confide.ledger.requests import Request, common_digest, content_digest, data_account
from confide.ledger.spending import covering
from confide.privacy.accounting import tight_epsilon
from confide.privacy.guarantee import Guarantee, checked_delta, checked_epsilon
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.integers import float_at_least
from confide.releases.prepared import A, Prepared

if TYPE_CHECKING:
    from confide.ledger.transaction import Transaction

Number: TypeAlias = int | float | str | Fraction | Decimal


class Ledger:
    """A ledger at a place: a path, `sqlite:///path` or `postgresql://user@host/database`.

    Without a place it is the one that the environment's `CONFIDE_LEDGER` names, else the user's own.
    It is made when something is first written. It may be used by many threads and processes at once.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.sqlite") as ledger:
    ...     account = ledger.open_account("heart attacks", epsilon=2, analyst_epsilon="1/2")
    ...     account.remaining("ana").in_words()
    'epsilon 0.5, delta 1e-05'
    """

    def __init__(self, url: str | Path | None = None) -> None:
        from confide.ledger.store import open_store

        place = find_place(url)
        self.shown = place.shown
        self._store = open_store(place)
        self._key_file = KeyFile.of(place)
        # A key is drawn before it is needed, so that a dry run can name accounts without writing it.
        self._pending_key = fresh_key()
        self._pending_names: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Ledger({self.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def exists(self) -> bool:
        """Whether there is a ledger at the place already."""
        return self._store.exists()

    def close(self) -> None:
        """Let go of the database."""
        self._store.engine.dispose()

    def open_account(
        self,
        name: str,
        *,
        epsilon: Number = DEFAULT_EPSILON_CAP,
        delta: Number = DEFAULT_DELTA_CAP,
        neighbours: str = Neighbours.REPLACE_ONE,
        unit: str = "row",
        analyst_epsilon: Number | None = None,
        analysts: Mapping[str, Number] | None = None,
    ) -> Account:
        """Open an account with caps: in all, for each analyst, and for named analysts.

        Its relation and unit stay as they are; its caps can be changed with `change_caps`.
        """
        caps = Caps().changed(
            epsilon=checked_epsilon(epsilon), delta=delta, analyst_epsilon=analyst_epsilon, analysts=analysts
        )
        account = Account(name=name, neighbours=Neighbours.parse(neighbours), unit=unit, caps=caps)
        with self._writing() as transaction:
            before = transaction.chain(name, lock=True)
            if before.entries:
                raise ParameterError(
                    f"account {name!r} exists already; choose another name, or change its caps "
                    f"(confide ledger new {name} --change)"
                )
            transaction.write(opened(account, key=transaction.key, at=_now()), since=before)
        return account

    def change_caps(
        self,
        name: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        analyst_epsilon: Number | None = None,
        analysts: Mapping[str, Number] | None = None,
    ) -> Account:
        """Change those caps of an account that are given.

        A cap may lie below what was spent: then nothing is left. What was spent stays spent.
        """
        self._require_ledger(name)
        with self._writing() as transaction:
            before = transaction.chain(name, lock=True)
            account = _existing(before)
            caps = account.caps.changed(
                epsilon=epsilon, delta=delta, analyst_epsilon=analyst_epsilon, analysts=analysts
            )
            draft = Draft(kind=Kind.CAP, at=_now(), amount=caps.total, request=caps.to_json())
            after = before.extended([draft], transaction.key)
            transaction.write(after, since=before)
        return Account.fold(after.entries)

    def quote(
        self,
        prepared: Prepared[A] | Sequence[Prepared[A]],
        *,
        account: str | None = None,
        analyst: str | None = None,
    ) -> Quote:
        """Say what a request would cost, and whether it fits. Nothing is charged or written."""
        requests = _requests(prepared)
        analyst = _checked_analyst(analyst)
        if self._store.exists():
            with self._reading() as transaction:
                key = transaction.key
                name = self._account_name(account, requests, key)
                chain = transaction.chain(name)
        else:
            key = self._key_file.load() or self._pending_key
            chain = Chain(account=self._account_name(account, requests, key))
        return quoted(chain, _by_identity(requests, key), analyst=analyst, key=key, at=_now())

    def release(
        self,
        prepared: Prepared[A] | Sequence[Prepared[A]],
        *,
        account: str | None = None,
        analyst: str | None = None,
    ) -> Receipt[A]:
        """Charge a request, draw its noise, store and return the answer.

        Several prepared answers are charged together: all or none. A request that was answered before
        gets the stored answer, at no cost, and one that a run paid for but did not live to answer is answered on
        that charge. Without an account's name it is the account of these data:
        other scores of the same people are then another account, so name it. An account that is new is
        opened with the default caps. Answers that read one part of the rows alone are charged in full to that
        part, and the account has spent what its dearest parts cost; see `ledger.spending`.

        Raises BudgetError if the request does not fit, before anything is written.
        """
        requests = _requests(prepared)
        analyst = _checked_analyst(analyst)
        if account is not None:
            checked_name(account, "account")
        with self._writing() as transaction:
            key = transaction.key
            name = self._account_name(account, requests, key)
            asked = _by_identity(requests, key)
            chain = transaction.chain(name, lock=True)
            opened_now = not chain.entries
            charged = charge(chain, asked, analyst=analyst, key=key, at=_now())
            transaction.write(charged.chain, since=chain)
        after = self._answered(charged, asked) if charged.owed else charged.chain
        state = Account.fold(after.entries)
        return Receipt(
            account=name,
            answers=tuple(read_answer(after, request.identity(key), request) for request in requests),
            charged=charged.price,
            full_price=charged.full_price,
            spent=state.spent,
            remaining=state.remaining(analyst),
            reused=not charged.owed,
            opened=opened_now,
            analyst=analyst,
        )

    def _answered(self, charged: Charged, asked: Mapping[str, Request[A]]) -> Chain:
        """Draw what is owed and record what came of it; what is raised or shown afterwards was recorded."""
        drawn: dict[str, str] = {}
        failed: dict[str, Exception] = {}
        for identity in charged.owed:
            try:
                drawn[identity] = written(asked[identity].prepared.draw())
            except Exception as error:
                failed[identity] = error
        with self._writing() as transaction:
            before = transaction.chain(charged.chain.account, lock=True)
            after = concluded(before, drawn, failed, charged, key=transaction.key, at=_now())
            transaction.write(after, since=before)
        answers = after.answers()
        for identity, failure in failed.items():
            if identity not in answers:
                raise failure
        return after

    def account_for(self, chunks: Iterable[bytes]) -> str:
        """Name the account of some data by a keyed hash of their content, for example of a file's bytes."""
        digest = content_digest(chunks)
        if self._store.exists():
            with self._reading() as transaction:
                return data_account(transaction.key, digest)
        key = self._key_file.load()
        if key is not None:
            return data_account(key, digest)
        name = data_account(self._pending_key, digest)
        self._pending_names[name] = digest
        return name

    def accounts(self) -> tuple[Account, ...]:
        """The state of every account; none if there is no ledger yet."""
        if not self._store.exists():
            return ()
        with self._reading() as transaction:
            return tuple(Account.fold(transaction.chain(name).entries) for name in transaction.accounts())

    def account(self, name: str) -> Account:
        """The state of an account."""
        return Account.fold(self.history(name))

    def history(self, name: str) -> tuple[Entry, ...]:
        """The entries of an account, the oldest first."""
        self._require_ledger(name)
        with self._reading() as transaction:
            chain = transaction.chain(name)
        _existing(chain)
        return chain.entries

    def tight_epsilon(self, name: str, delta: Number) -> float:
        """What an account's charges add up to, at most, if a total delta is granted; see `accounting.tight_epsilon`.

        Where charges concern parts of the rows, what is composed is a list of prices that covers those of any one
        row. It is for information: caps hold for what is spent.
        """
        entries = self.history(name)
        account = Account.fold(entries)
        costs = [account.cost_of(entry) for entry in entries if entry.kind == Kind.CHARGE]
        checked_delta(delta)
        if not costs:
            return 0.0
        prices = [
            Guarantee(epsilon=price.epsilon, delta=price.delta, neighbours=account.neighbours, unit=account.unit)
            for price in covering(costs)
        ]
        return min(tight_epsilon(prices, delta), float_at_least(account.spent.epsilon))

    def verify(self) -> Verification:
        """Check every entry of every account. A missing or wrong key raises LedgerError, as does an unreadable file."""
        if not self._store.exists():
            return Verification(accounts=(), complete=True)
        with self._reading() as transaction:
            found, complete = transaction.breaks()
        checks = tuple(
            AccountCheck(
                account=name,
                entries=entries,
                broken=None if broken is None else broken.sequence,
                problem=None if broken is None else broken.problem,
            )
            for name, (entries, broken) in found.items()
        )
        return Verification(accounts=checks, complete=complete)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        from confide.ledger.transaction import Transaction

        with self._store.transaction(writing=False) as connection:
            yield Transaction.on(connection, self._key_file)

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        from confide.ledger.transaction import Transaction

        if not self._store.exists():
            self._store.create(lambda: self._key_file.settle(self._pending_key))
        with self._store.transaction(writing=True) as connection:
            yield Transaction.on(connection, self._key_file)

    def _require_ledger(self, name: str) -> None:
        checked_name(name, "account")
        if not self._store.exists():
            raise _unknown(name)

    def _account_name(self, account: str | None, requests: Sequence[Request[Any]], key: bytes) -> str:
        if account is None:
            return data_account(key, common_digest(requests))
        if account in self._pending_names:  # named before the ledger was made, perhaps by another process's key
            return data_account(key, self._pending_names[account])
        return checked_name(account, "account")


def _requests(prepared: Prepared[A] | Sequence[Prepared[A]]) -> tuple[Request[A], ...]:
    several = (prepared,) if isinstance(prepared, Prepared) else tuple(prepared)
    if not several:
        raise ParameterError("a request needs at least one prepared release")
    return tuple(Request.of(one) for one in several)


def _by_identity(requests: Sequence[Request[A]], key: bytes) -> dict[str, Request[A]]:
    """The requests by their identity: two that are the same become one."""
    return {request.identity(key): request for request in requests}


def _existing(chain: Chain) -> Account:
    if not chain.entries:
        raise _unknown(chain.account)
    return Account.fold(chain.entries)


def _unknown(name: str) -> ParameterError:
    return ParameterError(
        f"there is no account {name!r}; see `confide ledger show` for those that there are, or open it "
        f"(confide ledger new {name})"
    )


def _checked_analyst(analyst: str | None) -> str | None:
    return None if analyst is None else checked_name(analyst, "analyst")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
