"""An audit as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.report.shared.frames import data_frame
from confide.tasks.audit import AuditReport

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    *("metric", "mechanism", "neighbours", "wrong", "epsilon", "delta", "lower_bound"),
    *("verdict", "draws", "error", "event"),
)


def audit_frame(report: AuditReport) -> DataFrame:
    """Return one row for each finding; `wrong` says what is broken in a twin, and is missing elsewhere."""
    rows = ({"metric": finding.mechanism.split("/")[0], **finding.to_dict()} for finding in report.findings)
    return data_frame(rows, COLUMNS)
