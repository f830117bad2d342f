"""Print the findings of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from confide.audits.run import Finding
from confide.report.audit.tables import audit_tables
from confide.report.shared.tables import Table
from confide.tasks.audit import AuditReport

if TYPE_CHECKING:
    from rich.console import Console


def print_audit(report: AuditReport, console: Console) -> None:
    """Print tables of mechanisms and twins, and a summary."""
    for table, findings in zip(audit_tables(report), (report.mechanisms, report.twins), strict=False):
        _print_table(table, findings, console)
    for line in summary(report, draws="--draws"):
        console.print(line, highlight=False, markup=False)


def _print_table(table: Table, findings: Sequence[Finding], console: Console) -> None:
    from rich import box
    from rich.table import Table as Drawn

    drawn = Drawn(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, (name, is_text) in enumerate(zip(table.head, table.aligned_left, strict=True)):
        drawn.add_column(name, justify="left" if is_text else "right", no_wrap=position == 0)
    for finding, cells in zip(findings, table.body, strict=True):
        drawn.add_row(*cells, style=None if finding.as_expected else "bold red")
    console.print(drawn)


def summary(report: AuditReport, *, draws: str) -> Iterator[str]:
    """Yield what the findings say together. `draws` is how the reader asks for more draws."""
    error, bounds = report.findings[0].error, len(report.findings)
    yield (
        f"Each bound is above the epsilon that is really lost with a probability of at most {error:.2g}, "
        f"any of the {bounds} with at most {min(error * bounds, 1.0):.2g}."
    )
    refuted, mechanisms = len(report.refuted), len(report.mechanisms)
    yield f"{refuted} of {mechanisms} REFUTED." if refuted else f"None of {mechanisms} is refuted."
    if report.twins:
        caught = sum(finding.refuted for finding in report.twins)
        more = "" if caught == len(report.twins) else f" The others need more {draws}, or the audit is blind to them."
        yield f"{caught} of {len(report.twins)} broken twins are caught.{more}"
