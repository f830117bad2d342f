"""Plot of an audit: the lower bound on epsilon of each mechanism, beside its claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.audits.run import Finding
from confide.report.shared.style import COLOURS, drawn_figure, shortened
from confide.tasks.audit import AuditReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
