"""A site's privacy budget: spent and remaining epsilon, by study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.federation.policy import Policy
from confide.federation.site.private_answer import ACCOUNT
from confide.federation.site.site_folder import SiteFolder
from confide.ledger.budget import Budget
from confide.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBudget:
    """Epsilon that was spent, in all and by each study. `cap` is the policy's limit now."""

    spent: Fraction
    cap: Fraction
    studies: Mapping[str, Fraction]

    @property
    def remaining(self) -> Fraction:
        """Epsilon that is left; 0 if the policy's limit was lowered below what was spent."""
        return max(self.cap - self.spent, Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "account": ACCOUNT,
            "spent": _plain(self.spent),
            "remaining": _plain(self.remaining),
            "cap": _plain(self.cap),
            "studies": {study: _plain(spent) for study, spent in self.studies.items()},
        }


def _plain(epsilon: Fraction) -> dict[str, float]:
    return Budget(epsilon=epsilon).to_dict()


def read_budget(folder: SiteFolder) -> SiteBudget | None:
    """Read a site's ledger; None if it has no account yet."""
    with Ledger(folder.ledger) as ledger:
        account = next((one for one in ledger.accounts() if one.name == ACCOUNT), None)
    if account is None:
        return None
    return SiteBudget(
        spent=account.spent.epsilon,
        cap=Policy.load(folder.policy).epsilon_in_all,
        studies={study: amount.epsilon for study, amount in account.spent_by.items()},
    )
