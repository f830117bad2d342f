"""An audit as HTML, for notebooks."""

from __future__ import annotations

from confide.report.audit.tables import audit_tables
from confide.report.audit.text import summary
from confide.report.shared.page import bullets, html_table
from confide.tasks.audit import AuditReport


def fragment(report: AuditReport) -> str:
    """Return tables and summary, as a notebook shows them."""
    tables = "".join(html_table(table) for table in audit_tables(report))
    return f"<div>{tables}{bullets(summary(report, draws='draws'))}</div>"
