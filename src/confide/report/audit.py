"""An audit of guarantees: tables, findings on the terminal, plot, page and data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from confide.audits.run import Finding
from confide.privacy.guarantee import shown
from confide.report.style import COLOURS, drawn_figure, shortened
from confide.report.writers.frames import data_frame
from confide.report.writers.html import bullets, html_table
from confide.report.writers.terminal import Table
from confide.tasks.audit import AuditReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from rich.console import Console


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


def plot_audit(report: AuditReport) -> Figure:
    """Draw the findings, one line each."""
    return drawn_figure([(draw_bounds, report)], size=(7.5, 1.8 + 0.32 * len(report.findings)))


def draw_bounds(ax: Axes, report: AuditReport) -> None:
    """Draw a dot for each lower bound, a cross if it refutes the claim, and a bar for the claim."""
    every = report.findings[::-1]
    for position, finding in enumerate(every):
        look, colour = ("X", COLOURS[1]) if finding.refuted else ("o", COLOURS[0])
        ax.plot([0.0, finding.lower_bound], [position] * 2, color=colour, linewidth=1.2)
        ax.plot([finding.lower_bound], [position], look, color=colour, markersize=6)
        ax.plot([float(finding.epsilon)], [position], "|", color="#000000", markersize=14, markeredgewidth=1.8)
    ax.set_yticks(range(len(every)), [_name(finding) for finding in every])
    ax.set_ylim(-0.6, len(every) - 0.4)
    ax.set_xlabel("Epsilon: claimed (bar), lost at least (dot; cross where the claim is refuted)")
    ax.set_title("Audit")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


def _name(finding: Finding) -> str:
    return f"{finding.mechanism}, {shortened(finding.wrong or finding.neighbours.value)}"


def fragment(report: AuditReport) -> str:
    """Return tables and summary, as a notebook shows them."""
    tables = "".join(html_table(table) for table in audit_tables(report))
    return f"<div>{tables}{bullets(summary(report, draws='draws'))}</div>"


COLUMNS = (
    *("metric", "mechanism", "neighbours", "wrong", "epsilon", "delta", "lower_bound"),
    *("verdict", "draws", "error", "event"),
)


def audit_frame(report: AuditReport) -> DataFrame:
    """Return one row for each finding; `wrong` says what is broken in a twin, and is missing elsewhere."""
    rows = ({"metric": finding.mechanism.split("/")[0], **finding.to_dict()} for finding in report.findings)
    return data_frame(rows, COLUMNS)
