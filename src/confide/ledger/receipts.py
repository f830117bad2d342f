"""Answers of the ledger: quotes, receipts and verifications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from confide.ledger.spending import NOTHING, Budget
from confide.privacy.accounting import total
from confide.privacy.guarantee import Guarantee
from confide.privacy.prepared import A

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

QUOTE_SCHEMA = "confide.quote/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Price of a request; nothing was charged or written.

    `price` would be added to the amount spent. `full_price` is the price of the requests by themselves: more if one is
    for a part of the rows and other parts have cost as much (see `ledger.spending`). `remaining` is left to the analyst
    now, `remaining_after` would be left. `refusal` is the reason if the request does not fit. `answered` means that all
    answers are stored already. In a concentrated account `full_price` may be in rho, and `price` is what its conversion
    adds to epsilon and delta (see `privacy.concentration`). A request that an earlier run paid for, without getting its
    answer, costs nothing more.
    """

    account: str
    price: Budget
    full_price: Budget
    spent: Budget
    remaining: Budget
    remaining_after: Budget
    answered: bool
    refusal: str | None = None

    @property
    def fits(self) -> bool:
        """True if the request would be granted."""
        return self.refusal is None

    def in_words(self) -> str:
        """Describe the price."""
        return "nothing: answered before" if self.answered else _price_in_words(self.price, self.full_price)

    def in_a_cell(self) -> tuple[str, str]:
        """Describe the price for the cell of a table, and in a note what the cell has no room for."""
        words = "nothing: answered before" if self.answered else _amount_in_words(self.price, self.full_price)
        return words, _price_note(self.price, self.full_price)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "account": self.account,
            "price": self.price.to_dict(),
            "full_price": self.full_price.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining.to_dict(),
            "remaining_after": self.remaining_after.to_dict(),
            "answered": self.answered,
            "fits": self.fits,
            "refusal": self.refusal,
        }


def quote_document(quote: Quote, parts: Sequence[tuple[Sequence[str], Guarantee]]) -> dict[str, Any]:
    """Return a quote as plain data in the published schema, with the names that share each noise and its price."""
    return {"schema": QUOTE_SCHEMA, **quote.to_dict(), "split": split_document(parts)}


def split_document(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> list[dict[str, Any]]:
    """Return the price of each noise, and the metrics that share it, as plain data."""
    return [
        {"metrics": list(names), "epsilon": float(part.epsilon), "delta": float(part.delta)} for names, part in parts
    ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Receipt(Generic[A]):
    """Released answers, and what they cost.

    `answers` holds the answers to each request, in the order of the requests. `reused` means that all of them had been
    stored before, so that nothing was charged. Requests that an earlier run paid for, without their answer, cost
    nothing more either. `charged` was added to the amount spent; `full_price` is the price of the charged requests by
    themselves: more if one is for a part of the rows and other parts had cost as much. `spent` is the account's
    total, `remaining` is left to the analyst. `total` is the guarantee of everything that the account paid for so far,
    in its own terms. `released_at` is when the last of the answers was drawn, in ISO 8601.
    """

    account: str
    answers: tuple[tuple[A, ...], ...]
    charged: Budget
    full_price: Budget
    spent: Budget
    remaining: Budget
    reused: bool
    analyst: str | None = None
    total: Guarantee | None = None
    released_at: str | None = None

    @property
    def releases(self) -> tuple[A, ...]:
        """All answers in one tuple."""
        return tuple(release for answer in self.answers for release in answer)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all answers together."""
        return total(answer[0].guarantee for answer in self.answers)

    def in_words(self) -> str:
        """Describe the charge."""
        return "nothing: answered before" if self.reused else _price_in_words(self.charged, self.full_price)

    def in_a_cell(self) -> tuple[str, str]:
        """Describe the charge for the cell of a table, and in a note what the cell has no room for."""
        words = "nothing: answered before" if self.reused else _amount_in_words(self.charged, self.full_price)
        return words, _price_note(self.charged, self.full_price)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what was paid, without the releases."""
        return {
            "account": self.account,
            "charged": self.charged.to_dict(),
            "full_price": self.full_price.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining.to_dict(),
            "reused": self.reused,
        }

    def __repr__(self) -> str:
        return f"<Receipt of account {self.account!r}: {len(self.releases)} results, cost {self.in_words()}>"

    def plot(self) -> Figure:
        """Draw the released curves, or the released numbers with both intervals."""
        from confide.report.release import plot_receipt

        return plot_receipt(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each released number, with both intervals."""
        from confide.report.release import receipt_frame

        return receipt_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.release import receipt_fragment

        return receipt_fragment(self)


def _amount_in_words(added: Budget, full: Budget) -> str:
    if full == NOTHING:
        return "nothing: paid before, by a run that was cut short"
    return (replace(added, rho=NOTHING.rho) if full.rho and added != full else added).in_words()


def _price_note(added: Budget, full: Budget) -> str:
    if full in (NOTHING, added):
        return ""
    parallel = "; parts of the rows count in parallel" if not full.rho or added.rho < full.rho else ""
    return f"By itself it costs {full.in_words()}{parallel}."


def _price_in_words(added: Budget, full: Budget) -> str:
    amount = _amount_in_words(added, full)
    if full in (NOTHING, added):
        return amount
    if full.rho:
        parallel = "; parts of the rows count in parallel" if added.rho < full.rho else ""
        return f"{full.in_words()}, which adds {amount} to the total{parallel}"
    return f"{amount} more (by itself {full.in_words()}; parts of the rows count in parallel)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCheck:
    """Check of one account: whether it is whole; if not, the first broken entry and the problem."""

    account: str
    entries: int
    broken: int | None = None
    problem: str | None = None

    @property
    def whole(self) -> bool:
        """True if every entry is as it was written."""
        return self.broken is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "account": self.account,
            "entries": self.entries,
            "whole": self.whole,
            "broken": self.broken,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Check of a ledger, account by account; `complete` means that no account was removed, added or set back."""

    accounts: tuple[AccountCheck, ...]
    complete: bool

    @property
    def whole(self) -> bool:
        """True if nothing was changed except by the ledger."""
        return self.complete and all(account.whole for account in self.accounts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "whole": self.whole,
            "complete": self.complete,
            "accounts": [account.to_dict() for account in self.accounts],
        }
