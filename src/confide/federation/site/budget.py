"""A site's privacy budget: spent and remaining epsilon, by study, and delta and rho where the ledger adds up rho."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.federation.policy import Policy
from confide.federation.site.site_account import find_account
from confide.federation.site.site_folder import SiteFolder
from confide.federation.site.study_costs import conversion_delta, study_epsilon
from confide.ledger.budget import NOTHING, Budget
from confide.ledger.ledger import Ledger

if TYPE_CHECKING:
    from confide.ledger.account import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBudget:
    """Epsilon of one study by itself (`study_costs`), and what is left to it.

    `cap` is the policy's limit now; `listed` is False if the policy does not name the study, whose questions are then
    refused.
    """

    spent: Budget
    remaining: Fraction
    cap: Fraction
    listed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"spent": self.spent.to_dict(), "remaining": _plain(self.remaining), "cap": _plain(self.cap)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBudget:
    """Epsilon that was spent, in all and by each study. `cap` is the policy's limit now.

    `total` is what was spent with its delta and rho. In an account of composition zcdp (`concentrated`) the epsilon
    spent is that of all rho together, converted at the delta; what the conversion costs once is no study's.
    """

    account: str
    total: Budget
    cap: Fraction
    studies: Mapping[str, StudyBudget]
    concentrated: bool = False

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
            "studies": {study: budget.to_dict() for study, budget in self.studies.items()},
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
        names = dict.fromkeys((*(policy.studies or ()), *account.spent_by))
        studies = {name: _study(ledger, account, name, policy) for name in names}
    return SiteBudget(
        account=account.name,
        total=account.spent,
        cap=policy.epsilon_in_all,
        studies=studies,
        concentrated=policy.concentrated,
    )


def _study(ledger: Ledger, account: Account, name: str, policy: Policy) -> StudyBudget:
    charged, cap = account.spent_by.get(name, NOTHING), policy.epsilon_per_study
    delta = conversion_delta(account) if charged.rho else charged.delta
    spent = replace(charged, epsilon=study_epsilon(ledger, account, name), delta=delta)
    left = min(cap - spent.epsilon, policy.epsilon_in_all - account.spent.epsilon)
    listed = policy.studies is None or name in policy.studies
    return StudyBudget(spent=spent, remaining=max(left, Fraction(0)), cap=cap, listed=listed)
