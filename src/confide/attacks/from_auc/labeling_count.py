"""Number of labelings of ranked rows that a published AUC leaves possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confide.attacks.disclosure import SCHEMA
from confide.attacks.from_auc.decision_tree import most_queries
from confide.attacks.from_auc.labelings import MOST_LISTED, Labelings
from confide.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingCount:
    """Labelings that fit an AUC: their number, and the numbers of positives that they have.

    `auc` is the number as it was published. `queries` is the largest number of submissions to a scoring oracle that
    finds the true labeling, if it was computed.
    """

    labelings: Labelings
    auc: str
    positives: tuple[int, ...]
    count: int
    queries: int | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.labelings.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "rows": self.rows,
            "auc": self.auc,
            "positives": list(self.positives),
            "count": self.count,
        }
        return plain if self.queries is None else {**plain, "queries": self.queries}


def count_labelings(labelings: Labelings, auc: str, *, queries: bool = False) -> LabelingCount:
    """Count the labelings. With `queries`, also find how many submissions tell them apart."""
    by_positives = labelings.count_by_positives()
    count = sum(by_positives.values())
    if queries and count > MOST_LISTED:
        raise UsageError(
            "`queries` goes through every labeling, and there are too many; leave it out, or give `positives`"
        )
    most = most_queries(labelings) if queries else None
    return LabelingCount(labelings=labelings, auc=auc, positives=tuple(by_positives), count=count, queries=most)
