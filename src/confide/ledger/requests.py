"""Requests to an account, and the binding of accounts to data."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Generic

from confide.errors import ParameterError, did_you_mean
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms
from confide.ledger.question import PublicQuestion, same_name
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import LONGEST, A, Part, Prepared
from confide.records.chain import canonical_json, seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[A]):
    """A prepared release with the public question that it answers.

    `parameters` is canonical JSON of everything that identifies the request, all of it public. Without a question
    every request is a new one: `unique` then distinguishes it.
    """

    prepared: Prepared[A]
    question: PublicQuestion | None
    parameters: str
    unique: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, prepared: Prepared[A], question: PublicQuestion | None = None) -> Request[A]:
        """Describe a prepared release."""
        plain = {"request": dict(prepared.request), "guarantee": _exact(prepared.guarantee)}
        part = _part(prepared, question)
        if part is not None:
            plain["part"] = part.to_dict()
        if question is not None:
            plain["question"] = question.to_dict()
        return cls(
            prepared=prepared,
            question=question,
            parameters=canonical_json(plain, "request"),
            unique=secrets.token_hex(16) if question is None else None,
        )

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""
        return self.prepared.guarantee

    @property
    def part(self) -> Part | None:
        """Part of the rows that is read, as the account names it."""
        return _part(self.prepared, self.question)

    @property
    def data(self) -> str | None:
        """Identity of the rows that are read, if the question gives it."""
        return None if self.question is None else self.question.rows

    def identity(self, key: bytes) -> str:
        """Return a keyed hash of what identifies the request."""
        return seal(key, "request", self.parameters, self.unique)


def source_digest(chunks: Iterable[bytes]) -> bytes:
    """Hash a whole source piece by piece. Without a key it could be guessed: it must not leave the process."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def data_identity(key: bytes, digest: bytes) -> str:
    """Return the identity of a source: a keyed hash of its digest, which nobody without the key can test guesses on."""
    return "data-" + seal(key, "data", digest)[:32]


def _part(prepared: Prepared[Any], question: PublicQuestion | None) -> Part | None:
    """Return the part, with its rule bound to the rows that the question names.

    The parts of a partition are disjoint within one source. In another version or format of the source a row may lie in
    another part, so parts of different sources add up.
    """
    part = prepared.part
    if part is None or question is None:
        return part
    rule = f"{part.partition}, in {question.rows}"
    if rule.count(", in ") > 1:  # rule and rows could be divided in two ways
        rule = f"a rule with sha256 {sha256(json.dumps([part.partition, question.rows]).encode()).hexdigest()}"
    elif len(rule) > LONGEST:
        rule = f"a rule with sha256 {sha256(rule.encode()).hexdigest()}"
    return replace(part, partition=rule)


def _exact(guarantee: Guarantee) -> dict[str, Any]:
    """Write a guarantee. The rho of persons with several rows follows from the rest, and was not always stated."""
    rho = guarantee.rho if guarantee.rows_per_person == 1 else None
    return {
        "epsilon": str(guarantee.epsilon),
        "delta": str(guarantee.delta),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "rows_per_person": guarantee.rows_per_person,
        "public": list(guarantee.public),
        "rho": None if rho is None else str(rho),
    }


def check_binding(account: Account, request: Request[Any]) -> None:
    """Refuse a request about other data than the account's, or under label-only neighbours about other labels.

    Under label-only neighbours only the labels are hidden. If a request used another column as labels, it could read
    the hidden column as a score or a feature, without noise.
    """
    terms, question = account.terms, request.question
    hides_labels = account.neighbours == request.guarantee.neighbours == Neighbours.LABEL_ONLY
    if question is None:
        if terms.data is not None or hides_labels:
            raise ParameterError(
                f"account {account.name!r} is for {_bound_to(terms)} alone; describe the request in public facts "
                "(`question`: a PublicQuestion with data and label)"
            )
        return
    if terms.data is not None and not same_name(terms.data, question.data if terms.declared else question.rows):
        raise ParameterError(
            f"account {account.name!r} is for {_bound_to(terms)} alone, and the request is about other data; open "
            "another account for these (`Ledger.open_account(NAME, epsilon=E)`), but not for data about the same "
            "people: their budgets would add up unnoticed"
        )
    if hides_labels and (question.label, question.positive) != (terms.label, terms.positive):
        raise ParameterError(
            f"account {account.name!r} hides {_labels(terms.label, terms.positive)} and treats all else as public; a "
            f"request about {_labels(question.label, question.positive)} needs an account of its own, or other "
            "neighbours"
        )


def question_about(
    account: Account, *, source: str, label: str, positive: str | None, details: Mapping[str, Any]
) -> PublicQuestion:
    """Describe a question about a file, known by what `Ledger.identify` returned for it, in an account's terms."""
    declared = account.terms.data if account.terms.declared else None
    return PublicQuestion(
        data=declared or source,
        source=source if declared else None,
        label=label,
        positive=positive,
        details=details,
    )


def check_elsewhere(account: Account, data: str, holders: Mapping[str, Account], *, also_charge: bool) -> None:
    """Refuse data that other accounts of the ledger have and this one has not, unless `also_charge` allows it.

    `holders` are the accounts that have the data, however they write the name. Earlier versions compared names letter
    by letter, so two accounts may have the same data under two spellings without anybody having allowed it. Such data
    need `also_charge` for every request.

    An account of label-only neighbours treats everything but its labels as public. So the same data never belong to
    such an account and to another one that hides more or other labels: the one could reveal what the other hides.
    """
    name, others = account.name, {other: state for other, state in sorted(holders.items()) if other != account.name}
    for other, state in others.items():
        if _hidden(state.terms) != _hidden(account.terms):
            raise ParameterError(
                f"the ledger knows these data under account {other!r}, which hides {_hidden_in_words(state.terms)}; "
                f"account {name!r} hides {_hidden_in_words(account.terms)}: one of them treats as public what the "
                f"other hides. {_way_out(name, other, data, holders)}"
            )
    own = holders[name].names_of(data) if name in holders else frozenset()
    first = next((other for other, state in others.items() if not own & state.names_of(data)), None)
    if first is not None and not also_charge:
        raise ParameterError(
            f"the ledger knows these data under account {first!r}{_written_there(data, others[first])}; charged to "
            f"{name!r} as well, their budgets would add up. Charge {first!r}, or allow it (`also_charge`)"
        )


def _written_there(data: str, other: Account) -> str:
    """Quote the name of data in another account, if it is written in another way there."""
    known = other.names_of(data)
    return "" if data in known else f", as {min(known)!r}"


def _way_out(name: str, other: str, data: str, holders: Mapping[str, Account]) -> str:
    if name not in holders:
        return f"Charge {other!r}"
    here, there = (min(holders[one].names_of(data)) for one in (name, other))
    return (
        f"Both have them, under names that differ in case, spaces or such alone ({here!r}, {there!r}), so neither is "
        "charged. If the data are others, declare another name and version, and open an account for it"
    )


def _hidden(terms: AccountTerms) -> tuple[str | None, str | None] | None:
    """Return the hidden labels of a label-only account; None if whole rows are hidden."""
    return (terms.label, terms.positive) if terms.neighbours == Neighbours.LABEL_ONLY else None


def _hidden_in_words(terms: AccountTerms) -> str:
    return "whole rows" if _hidden(terms) is None else f"{_labels(terms.label, terms.positive)} alone"


def unknown_account(name: str, known: Sequence[str]) -> ParameterError:
    """Return the error for an account that does not exist."""
    return ParameterError(
        f"there is no account {name!r}. {did_you_mean(name, known)}{_listed(known)}; name one of these, or open it "
        f"with its cap (`Ledger.open_account({name!r}, epsilon=E)`)"
    )


def unnamed_account(holders: Sequence[str], known: Sequence[str]) -> ParameterError:
    """Return the error for a request without an account's name, where not just one account knows its data."""
    if holders:
        return ParameterError(
            f"these data are known under accounts {', '.join(holders)}; name the one to charge (`account`)"
        )
    return ParameterError(
        f"name the account to charge (`account`): the ledger has none that knows these data. {_listed(known)}; open "
        "one with its cap (`Ledger.open_account(NAME, epsilon=E)`)"
    )


def _listed(known: Sequence[str]) -> str:
    """Name the first accounts of a ledger."""
    if not known:
        return "The ledger has no account"
    return f"The ledger's accounts are {', '.join(known[:5])}{' and others' if len(known) > 5 else ''}"


def _bound_to(terms: AccountTerms) -> str:
    return f"the data {terms.data!r}"


def _labels(label: str | None, positive: str | None) -> str:
    named = "labels without a name" if label is None else f"the labels in {label!r}"
    return named if positive is None else f"{named} with the positive value {positive!r}"
