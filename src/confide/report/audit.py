"""Print the findings of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from confide.audits.run import Finding
from confide.privacy.guarantee import shown
from confide.tasks.audit import AuditReport

if TYPE_CHECKING:
    from rich.console import Console


def print_audit(report: AuditReport, console: Console) -> None:
    """Print tables of mechanisms and twins, and a summary."""
    _print_table("Mechanisms", report.mechanisms, console)
    if report.twins:
        _print_table("Broken twins, which must be caught", report.twins, console)
    for line in _summary(report):
        console.print(line, highlight=False, markup=False)


def _print_table(title: str, findings: Sequence[Finding], console: Console) -> None:
    from rich import box
    from rich.table import Table

    twins = any(finding.twin for finding in findings)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", no_wrap=True)
    table.add_column("what is wrong" if twins else "neighbours")
    for name in ("claimed epsilon", "delta", "at least", "draws"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for finding in findings:
        table.add_row(
            finding.mechanism,
            finding.wrong or finding.neighbours.value,
            shown(finding.epsilon),
            shown(finding.delta) if finding.delta else "",
            f"{finding.lower_bound:.3f}",
            f"{finding.draws:,}",
            finding.verdict,
            style=None if finding.as_expected else "bold red",
        )
    console.print(table)


def _summary(report: AuditReport) -> Iterator[str]:
    error, bounds = report.findings[0].error, len(report.findings)
    yield (
        f"Each bound is above the epsilon that is really lost with a probability of at most {error:.2g}, "
        f"any of the {bounds} with at most {min(error * bounds, 1.0):.2g}."
    )
    refuted, mechanisms = len(report.refuted), len(report.mechanisms)
    yield f"{refuted} of {mechanisms} REFUTED." if refuted else f"None of {mechanisms} is refuted."
    if report.twins:
        caught = sum(finding.refuted for finding in report.twins)
        more = "" if caught == len(report.twins) else " The others need more --draws, or the audit is blind to them."
        yield f"{caught} of {len(report.twins)} broken twins are caught.{more}"
