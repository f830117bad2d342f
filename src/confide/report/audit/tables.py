"""Tables of an audit: the claim and the lower bound of each mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from confide.audits.run import Finding
from confide.privacy.guarantee import shown
from confide.report.shared.tables import Table
from confide.tasks.audit import AuditReport


def audit_tables(report: AuditReport) -> list[Table]:
    """Return a table of the mechanisms, and one of the broken twins if they were audited."""
    tables = [("Mechanisms", "neighbours", report.mechanisms)]
    if report.twins:
        tables.append(("Broken twins, which must be caught", "what is wrong", report.twins))
    return [_table(title, second, findings) for title, second, findings in tables]


def _table(title: str, second: str, findings: Sequence[Finding]) -> Table:
    return Table(
        title=title,
        head=("mechanism", second, "claimed epsilon", "delta", "at least", "draws", "verdict"),
        body=tuple(finding_cells(finding) for finding in findings),
        text_columns=(second, "verdict"),
    )


def finding_cells(finding: Finding) -> tuple[str, ...]:
    """Return the line of a finding."""
    return (
        finding.mechanism,
        finding.wrong or finding.neighbours.value,
        shown(finding.epsilon),
        shown(finding.delta) if finding.delta else "",
        f"{finding.lower_bound:.3f}",
        f"{finding.draws:,}",
        finding.verdict,
    )
