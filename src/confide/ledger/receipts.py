"""Answers of the ledger: quotes, receipts and verifications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from confide.ledger.budget import NOTHING, Budget
from confide.privacy.accounting import total
from confide.privacy.guarantee import Guarantee
from confide.privacy.prepared import A

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Price of a request; nothing was charged or written.

    `price` is what would be added to what is spent; `full_price` is what the requests cost by themselves, which is more
    where one is for a part of the rows and other parts have cost as much (see `ledger.spending`). `remaining` is what
    is left to the one who asks, `remaining_after` what would be left. `refusal` says why the request does not fit, if
    it does not. `answered` says that all answers are stored already. What an earlier run paid for, and died before it
    was answered, costs nothing more.
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Receipt(Generic[A]):
    """Released answers, and what they cost.

    `answers` holds the answers to each request in the order asked. `reused` says that all of them had
    been stored before, so that nothing was charged. Nothing is charged either for
    what an earlier run paid, and died before it was answered. `charged` is what
    was added to what is spent, `full_price` what the requests that were charged cost by themselves: more where one is
    for a part of the rows and other parts had cost as much. `spent` is the account's, `remaining` is what is
    left to the one who asked.
    """

    account: str
    answers: tuple[tuple[A, ...], ...]
    charged: Budget
    full_price: Budget
    spent: Budget
    remaining: Budget
    reused: bool
    analyst: str | None = None

    @property
    def releases(self) -> tuple[A, ...]:
        """All answers in one tuple."""
        return tuple(release for answer in self.answers for release in answer)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all answers together."""
        return total(answer[0].guarantee for answer in self.answers)

    def in_words(self) -> str:
        """Describe the charge."""
        return "nothing: answered before" if self.reused else _price_in_words(self.charged, self.full_price)

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
        from confide.report.release.receipts import plot_receipt

        return plot_receipt(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each released number, with both intervals."""
        from confide.report.release.receipts import receipt_frame

        return receipt_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.release.receipts import receipt_fragment

        return receipt_fragment(self)


def _price_in_words(added: Budget, full: Budget) -> str:
    if full == NOTHING:
        return "nothing: paid before, by a run that was cut short"
    if added == full:
        return added.in_words()
    return f"{added.in_words()} more (by itself {full.in_words()}; parts of the rows count in parallel)"


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
