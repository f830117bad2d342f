"""Try to refute the privacy guarantees of the mechanisms. Needs no data and spends no budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.audits.run import DRAWS, ERROR, SCHEMA, Finding, audit_all
from confide.audits.run import check_audit as check_audit
from confide.audits.run import subjects as subjects
from confide.audits.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Findings of an audit, one for each mechanism and neighbouring relation, and for each broken twin."""

    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"<AuditReport: {len(self.refuted)} of {len(self.mechanisms)} refuted>"

    @property
    def mechanisms(self) -> tuple[Finding, ...]:
        """Findings about our mechanisms."""
        return tuple(finding for finding in self.findings if not finding.twin)

    @property
    def twins(self) -> tuple[Finding, ...]:
        """Findings about broken twins, each of which must be caught."""
        return tuple(finding for finding in self.findings if finding.twin)

    @property
    def refuted(self) -> tuple[Finding, ...]:
        """Mechanisms that lose more than they claim."""
        return tuple(finding for finding in self.mechanisms if finding.refuted)

    @property
    def as_expected(self) -> bool:
        """Tell whether no mechanism is refuted and every broken twin is caught."""
        return all(finding.as_expected for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "mechanisms": [finding.to_dict() for finding in self.mechanisms],
            "twins": [finding.to_dict() for finding in self.twins],
        }

    def plot(self) -> Figure:
        """Draw the lower bound on epsilon of each mechanism, beside its claim."""
        from confide.report.audit import plot_audit

        return plot_audit(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each finding."""
        from confide.report.audit import audit_frame

        return audit_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.audit import fragment

        return fragment(self)


def audit(
    mechanisms: str | Sequence[str] = (),
    *,
    epsilon: object = 1,
    draws: int = DRAWS,
    twins: bool = False,
    error: float = ERROR,
    starting: Callable[[Subject[Any]], None] = lambda subject: None,
) -> AuditReport:
    """Compute a lower bound on the epsilon that each mechanism really loses.

    Parameters
    ----------
    mechanisms
        Names, such as "auc/rank-sum", or "auc" for all of it; all mechanisms by default.
    epsilon
        Epsilon that every release claims.
    draws
        Integers of noise to draw for each mechanism; a release of several numbers is drawn fewer times.
    twins
        Whether to audit the broken twins too, each of which must be caught.
    error
        Probability that a bound is wrong, for each bound.
    starting
        Function that is called with each subject before its turn.

    >>> audit("auc/rank-sum", draws=2_000).as_expected
    True
    """
    names = [mechanisms] if isinstance(mechanisms, str) else mechanisms
    chosen = subjects(names, epsilon=epsilon, broken=twins)
    return AuditReport(findings=audit_all(chosen, draws=draws, error=error, starting=starting))
