"""A site's privacy budget: spent and remaining epsilon, by study, and delta and rho where the ledger adds up rho."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.federation.policy import Policy
from confide.federation.site.site_account import find_account
from confide.federation.site.site_folder import SiteFolder
from confide.ledger.budget import Budget
from confide.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBudget:
    """Epsilon that was spent, in all and by each study. `cap` is the policy's limit now.

    `total` is what was spent with its delta and rho. In an account of composition zcdp the epsilon spent is that of all
    rho together, converted at the delta; what the conversion costs once is no study's.
    """

    account: str
    total: Budget
    cap: Fraction
    studies: Mapping[str, Budget]

    @property
    def spent(self) -> Fraction:
        """Epsilon that was spent."""
        return self.total.epsilon

    @property
    def remaining(self) -> Fraction:
        """Epsilon that is left; 0 if the policy's limit was lowered below what was spent."""
        return max(self.cap - self.spent, Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "account": self.account,
            "spent": self.total.to_dict(),
            "remaining": _plain(self.remaining),
            "cap": _plain(self.cap),
            "studies": {study: spent.to_dict() for study, spent in self.studies.items()},
        }


def _plain(epsilon: Fraction) -> dict[str, float]:
    return Budget(epsilon=epsilon).to_dict()


def read_budget(folder: SiteFolder) -> SiteBudget | None:
    """Read a site's ledger; None if it has no account yet."""
    policy = Policy.load(folder.policy)
    with Ledger(folder.ledger) as ledger:
        account = find_account(ledger, policy)
    if account is None:
        return None
    return SiteBudget(
        account=account.name, total=account.spent, cap=policy.epsilon_in_all, studies=dict(account.spent_by)
    )
