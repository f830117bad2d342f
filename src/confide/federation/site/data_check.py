"""Check of a model's rows, made when the site's administrator sets the model up.

Findings and errors are for the administrator, who has the data. A running site replies alike whether or not there are
rows, and whether or not the model can score them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from confide.counts import ScoreCounts
from confide.errors import DataError
from confide.federation.policy import Policy
from confide.federation.site.data import SiteConfig, SiteModel
from confide.federation.site.same_rows import ANYWHERE
from confide.federation.site.scored_rows import ScoredRows
from confide.sources.details import errors_shown

FEATURE_ADVICE = "check that the features are those it was trained with, and that features of text are listed in `text`"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCheck:
    """Findings about a model's rows: private, for the site's administrator alone.

    Parameters
    ----------
    counts
        The rows by score, wherever the scores lie.
    seconds
        Time that reading and scoring took.
    unscored
        A sentence about rows without a score; empty if there are none.
    score_range, beyond_range
        The range that the administrator stated, and whether a score lies outside it.
    small_class
        Whether a class has fewer rows than the policy's `smallest_class`.
    """

    counts: ScoreCounts = field(repr=False)
    seconds: float
    unscored: str = field(repr=False)
    score_range: tuple[float, float]
    beyond_range: bool = field(repr=False)
    small_class: bool = field(repr=False)


def check_data(model_name: str, model: SiteModel, policy: Policy) -> DataCheck:
    """Read, score and count a model's rows once; write nothing of them.

    Raises DataError for a table without rows and for a model that can score none of them.
    """
    started = time.perf_counter()
    with errors_shown():
        config = SiteConfig(name="this site", models={model_name: replace(model, range=ANYWHERE)})
        scored = config.scored(model_name)
    _require_scores(scored)
    counts = scored.counts
    return DataCheck(
        counts=counts,
        seconds=time.perf_counter() - started,
        unscored=scored.note,
        score_range=model.range,
        beyond_range=_beyond(scored, *model.range),
        small_class=min(counts.total_positives, counts.total_negatives) < policy.smallest_class,
    )


def _require_scores(scored: ScoredRows) -> None:
    rows = scored.counts.total_positives + scored.counts.total_negatives
    if not rows:
        raise DataError("the table has no rows; check the file")
    if sum(scored.unscored.values()) == rows:
        raise DataError(f"the model could not score any of the rows ({', '.join(scored.unscored)}); {FEATURE_ADVICE}")


def _beyond(scored: ScoredRows, low: float, high: float) -> bool:
    """Return whether a score lies outside the range. Rows without a score are counted at the lowest end."""
    scores = scored.counts.scores
    if scored.unscored:
        scores = scores[scores > ANYWHERE[0]]
    return not (low <= scores.min() and scores.max() <= high)
