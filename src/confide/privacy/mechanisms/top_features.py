"""Selection of the k features with the highest scores, without the scores: by peeling or by permute-and-flip.

Peeling is the exponential mechanism k times, each time among the features left; it is the same as taking the k highest
scores after Gumbel noise. Permute-and-flip (McKenna & Sheldon 2020), k times in the same way, never has a larger
expected loss of score in a turn. Proof: top_features.proof.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from confide.errors import ParameterError, did_you_mean
from confide.features import FeatureRows
from confide.privacy.mechanisms.feature_scores import limited_scores, public_order, sensitivity_for
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import TopQuery

How = Literal["peeling", "permute-and-flip"]
HOWS: tuple[How, ...] = get_args(How)


def top_features(
    rows: FeatureRows,
    score: str,
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    most_features: int | None,
    k: int,
    how: How = "peeling",
) -> TopQuery:
    """Query k features in turn, each with `epsilon/k`, the higher its score the likelier.

    What a choice costs does not depend on how many features a row has, so `most_features` may be None, which lets
    rows count with all of theirs.
    """
    if how not in HOWS:
        raise ParameterError(
            f"how must be one of {', '.join(HOWS)}; got {str(how)[:40]!r}. {did_you_mean(how, HOWS)}".rstrip()
        )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= rows.width:
        raise ParameterError(f"k must be a whole number from 1 to {rows.width:,}, the features there are")
    sensitivity = sensitivity_for(rows, score, neighbours, most_features)
    return TopQuery(
        values=tuple(limited_scores(rows, score, most_features).tolist()),
        order=tuple(public_order(rows.width).tolist()),
        k=int(k),
        rate=epsilon / (int(k) * sensitivity.apart) if sensitivity.apart else Fraction(0),
        how=how,
        noisy=sensitivity.apart > 0,
    )
