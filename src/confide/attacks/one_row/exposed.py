"""How many labels a published number tells for certain to somebody who knows everything else, all rows at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import Publication, Window
from confide.attacks.numbers import check_metric, exact_number
from confide.counts import FloatArray, ScoreCounts
from confide.metrics.ranking import twice_wins

Masks: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedRows:
    """How many rows' labels follow for certain from a published number, for somebody who knows everything else."""

    published: str
    rows: int
    positives: int
    negatives: int
    average: float

    @property
    def exposed(self) -> int:
        """Rows of either class."""
        return self.positives + self.negatives

    @property
    def share(self) -> float:
        """The share of all rows."""
        return self.exposed / self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published,
            "rows": self.rows,
            "exposed": self.exposed,
            "positives": self.positives,
            "negatives": self.negatives,
            "share": self.share,
            "average": self.average,
        }


def exposed_rows(counts: ScoreCounts, published: Publication) -> ExposedRows:
    """Count the rows whose label follows for certain from the number, the other rows and the row's own score.

    A label follows if the number with the other label would have been published differently, or would not exist.
    All rows are tried at once, in time proportional to the distinct scores.

    >>> counts = ScoreCounts.from_arrays([0, 1, 1, 0], [0.1, 0.8, 0.4, 0.3])
    >>> exposed_rows(counts, Publication.parse("auc:exact")).exposed  # the ranking stays perfect for 0.3 and 0.4
    2
    """
    check_metric(counts, published.metric)
    exact = exact_number(counts, published.metric)
    window = published.window(exact)
    flipped = _flipped_auc(counts) if published.metric == "auc" else _FLIPPED[published.metric](counts)
    positive, negative = _auc_stays(counts, window) if published.metric == "auc" else map(window.holds, flipped)
    return ExposedRows(
        published=published.spec,
        rows=int(counts.total_positives + counts.total_negatives),
        positives=int(counts.positives[~positive].sum()),
        negatives=int(counts.negatives[~negative].sum()),
        average=_average(counts, flipped, float(exact), published.digits),
    )


def _average(counts: ScoreCounts, flipped: tuple[FloatArray, FloatArray], exact: float, digits: int | None) -> float:
    """The share of labels told if the number lay anywhere, equally likely, between two that it is rounded to.

    Numbers that differ by x are then rounded apart with probability `x 10^digits`, at most 1.
    """
    unit = 1e-12 if digits is None else 10.0**-digits
    chance = [np.where(np.isfinite(each), np.minimum(np.abs(each - exact) / unit, 1.0), 1.0) for each in flipped]
    told = float(chance[0] @ counts.positives + chance[1] @ counts.negatives)
    return told / float(counts.total_positives + counts.total_negatives)


def _auc_stays(counts: ScoreCounts, window: Window) -> Masks:
    """At each score, whether the AUC stays in the window if a positive, or a negative, has the other label."""
    less, more = _flipped_wins(counts)
    return _held(*less, window), _held(*more, window)


def _flipped_wins(counts: ScoreCounts) -> tuple[tuple[NDArray[np.int64], int], tuple[NDArray[np.int64], int]]:
    """Twice the wins, and twice the pairs, if a positive, or a negative, at each score has the other label."""
    ours, theirs = counts.positives, counts.negatives
    positives, negatives = int(counts.total_positives), int(counts.total_negatives)
    below = 2 * np.cumsum(theirs) - theirs
    above = 2 * positives - (2 * np.cumsum(ours) - ours)
    wins = int(twice_wins(counts))
    return (
        (wins - below + above - 1, 2 * (positives - 1) * (negatives + 1)),
        (wins - above + below - 1, 2 * (positives + 1) * (negatives - 1)),
    )


def _flipped_auc(counts: ScoreCounts) -> tuple[FloatArray, FloatArray]:
    less, more = (np.asarray(twice / (whole or np.nan)) for twice, whole in _flipped_wins(counts))
    return less, more


def _held(twice: NDArray[np.int64], whole: int, window: Window) -> NDArray[np.bool_]:
    if not whole:
        return np.zeros(twice.shape, dtype=np.bool_)
    low, high = max(math.ceil(window.lower * whole), -1), min(math.floor(window.upper * whole), whole)
    return np.asarray((twice >= low) & (twice <= high))


def _flipped_sums(change: Callable[[FloatArray], FloatArray], metric: str) -> Callable[..., Any]:
    """A mean over rows with one label changed; `change` is what a positive's turning negative adds to the sum."""

    def flipped(counts: ScoreCounts) -> tuple[FloatArray, FloatArray]:
        mean = float(exact_number(counts, metric))
        step = change(counts.scores) / float(counts.total_positives + counts.total_negatives)
        return mean + step, mean - step

    return flipped


def _flipped_precision(counts: ScoreCounts) -> tuple[FloatArray, FloatArray]:
    """Average precision with one label changed: `sum p TP/C / n`, where TP is one less, or more, from there down."""
    ours = counts.positives[::-1].astype(np.float64)
    called = np.cumsum(ours + counts.negatives[::-1])
    found, each = np.cumsum(ours), ours / called
    shares = each * found
    above, below = np.cumsum(shares) - shares, shares.sum() - np.cumsum(shares)
    lost, total = each.sum() - np.cumsum(each), found[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        less = (above + (ours - 1.0) * (found - 1.0) / called + below - lost) / (total - 1.0)
    more = (above + (ours + 1.0) * (found + 1.0) / called + below + lost) / (total + 1.0)
    return less[::-1], more[::-1]


_FLIPPED: dict[str, Callable[[ScoreCounts], tuple[FloatArray, FloatArray]]] = {
    "accuracy": _flipped_sums(lambda scores: np.where(scores >= 0.5, -1.0, 1.0), "accuracy"),
    "log_loss": _flipped_sums(lambda scores: np.log(scores) - np.log1p(-scores), "log_loss"),
    "brier": _flipped_sums(lambda scores: scores**2 - (1.0 - scores) ** 2, "brier"),
    "average_precision": _flipped_precision,
}
