"""Counts of a model's rows at a site, scored by the model where no column has its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import NoRowsError
from confide.federation.site.feature_frames import feature_frames
from confide.federation.site.local_models import open_model
from confide.federation.site.row_scores import DistinctRows
from confide.federation.site.row_sources import Rows
from confide.sources.private_labels import PrivateLabels
from confide.sources.tables import discreet

if TYPE_CHECKING:
    from confide.federation.site.data import SiteModel


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Counts of a model's rows, and for how many of them the model gave no score, by the reason.

    Both are private. Nothing that leaves the site may depend on `unscored`.
    """

    counts: ScoreCounts = field(repr=False)
    unscored: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def note(self) -> str:
        """Sentence for the administrator about rows without a score; empty if there are none."""
        if not self.unscored:
            return ""
        rows = int(self.counts.total_positives + self.counts.total_negatives)
        without, reasons = sum(self.unscored.values()), ", ".join(self.unscored)
        return (
            f"the model gave no score for {without} of {rows} rows ({reasons}); these rows count as the lower end of "
            "the range"
        )


def score_rows(data: Rows, model_path: Path, model: SiteModel) -> ScoredRows:
    """Score rows one by one, and count them.

    A row without a finite score counts as an end of the range: a model that fails for one person alone would otherwise
    tell whether that person is there.
    """
    scorer = open_model(model_path, model.features, model.positive)
    labels = PrivateLabels(model.label, model.positive)
    rows = DistinctRows()
    with discreet(data, private=True):
        for label, frame in feature_frames(data, model.label, scorer.columns, model.text):
            labels.add(label)
            rows.add(frame)
    if not len(rows):
        raise NoRowsError("the table has no rows; check the file")
    low, high = model.range
    found = rows.scores(scorer)
    finite = np.nan_to_num(found.scores, nan=low, posinf=high, neginf=low)
    counts = ScoreCounts.from_arrays(labels.decided(), finite, one_class=True)
    return ScoredRows(within(counts, low, high), found.unscored)


def within(counts: ScoreCounts, low: float, high: float) -> ScoreCounts:
    """Move scores beyond an end to that end: whether there are such scores must not show."""
    scores, starts = np.unique(np.clip(counts.scores, low, high), return_index=True)
    if not scores.size:
        return counts
    return ScoreCounts(scores, np.add.reduceat(counts.positives, starts), np.add.reduceat(counts.negatives, starts))
