"""Score an entry: against masked labels, or by an answer that a ledger pays for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.bundle import ServerBundle
from confide.contest.calibration import calibration_bins
from confide.contest.estimators import score_entry
from confide.counts import FloatArray


@dataclass(frozen=True, kw_only=True, repr=False)
class Scored:
    """Score of an entry.

    `influence` is that of each public row on the value, from which entries are compared in pairs; None if entries
    are answered one by one.
    """

    value: float
    goodness: float
    standard_error: float
    detail: dict[str, Any]
    influence: NDArray[np.float32] | None


Scorer = Callable[[FloatArray], Scored]
"""Function from the scores of all rows of the template to the score of an entry."""


def masked_scorer(bundle: ServerBundle) -> Scorer:
    """Return the scorer of a masked contest. What it computes is post-processing of the masked labels."""
    terms, labels, public = bundle.terms, bundle.masked, bundle.public
    assert labels is not None  # noqa: S101  # a bundle of a masked contest has them

    def score(scores: FloatArray) -> Scored:
        own = scores[public]
        found = score_entry(terms.metric, own, labels, level=terms.level)
        detail: dict[str, Any] = {"sample": found.sample.to_dict(), "population": found.population.to_dict()}
        if terms.metric.kind.probabilities:
            detail["calibration"] = [one.to_dict() for one in calibration_bins(own, labels, level=terms.level)]
        return Scored(
            value=found.value,
            goodness=terms.metric.goodness(found.value),
            standard_error=found.standard_error,
            detail=detail,
            influence=found.influence.astype("<f4"),
        )

    return score
