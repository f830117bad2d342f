"""Naive Bayes from noisy counts, which also choose the features.

One table of noisy counts serves twice: it chooses features and it gives their weights. So choosing costs nothing. A
small share of epsilon pays for a noisy histogram of the rows' scores by class. A line from scores to probabilities is
fitted to it. The line corrects errors from the independence assumption of naive Bayes and from the limits on rows.

References
----------
.. [1] J. Vaidya, B. Shafiq, A. Basu and Y. Hong, "Differentially private naive Bayes classification", WI-IAT 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.score_line import Weighed, score_line
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import Exact, checked_epsilon, exact_fraction
from confide.privacy.mechanisms.feature_counts import (
    NoisyFeatures,
    concentrated_feature_counts,
    feature_counts,
    read_feature_counts,
)
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.terms import Terms
from confide.selection.feature_terms import check_part, checked_family, feature_guarantee

KIND = "naive-bayes"

_USUAL_LIMIT = RowLimit()
_MOST_UNITS = 2**53  # of a row, over epsilon: noise of that scale, and of twice that, fits 64 bits
_SURELY = 1e-9  # no share is taken to be nearer to 0 or 1
_CERTAIN = 4.0  # deviations of noise above which a feature is sure to be there


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Public parameters that turn noisy counts into a model.

    `keep`: a feature is kept if its two counts differ from the expected ones by more than this number of standard
    deviations of noise and chance; 0 keeps all. `smoothing`: rows added to every feature, divided between the classes
    as the rows are, which shrinks weights towards 0; None derives the number from the noise. `calibration`: share of
    epsilon for the histogram of scores; 0 uses the textbook intercept.
    """

    limit: RowLimit = _USUAL_LIMIT
    keep: float = 0.5
    smoothing: float | None = None
    calibration: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibration", exact_fraction(self.calibration, "calibration"))
        if not 0 <= self.calibration < 1:
            raise ParameterError(f"calibration must be a share of epsilon in [0, 1); got {self.calibration!r}")
        for name, least in (("keep", 0.0), ("smoothing", 1e-9)):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e9:
                raise ParameterError(f"{name} must be a number of at least {least:g}; got {value!r}")
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "limit": self.limit.kind,
            "row_weight": self.limit.worth,
            "keep": self.keep,
            "smoothing": self.smoothing,
            "calibration": str(self.calibration),
        }


def prepare_naive_bayes(
    rows: FeatureRows,
    *,
    epsilon: object,
    recipe: Recipe | None = None,
    mechanism: str = "laplace",
    delta: Exact = 0,
    neighbours: str = Neighbours.ADD_REMOVE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    part: Part | None = None,
    public: Sequence[str] = (),
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[LinearModel]:
    """Check a request to train naive Bayes and compute its price. The guarantee is pure, without delta.

    With `mechanism` "gaussian" and a `delta` the counts get Gaussian noise, which pays in accounts of composition zcdp;
    the histogram of scores keeps Laplace noise. The list of features is public; `public` names further facts that are
    assumed to be known.
    """
    how = recipe or Recipe()
    terms = Terms.checked(
        epsilon=epsilon, delta=delta, neighbours=neighbours, unit=unit, rows_per_person=rows_per_person
    )
    counting = checked_epsilon(terms.epsilon * (1 - how.calibration))
    if how.calibration:
        checked_epsilon(terms.epsilon * how.calibration)
    rho = rho_for(counting, terms.delta) if checked_family(mechanism, terms) == "gaussian" else None
    if how.limit.units / counting > _MOST_UNITS:
        raise ParameterError("the noise would be too large for whole numbers; take a larger epsilon or less row weight")
    check_part(part, terms)
    whole = None if rho is None else rho + rho_of_pure(terms.epsilon * how.calibration)
    guarantee = feature_guarantee(terms, public, rho=whole)
    request = terms.request("model", KIND, **how.to_dict(), width=rows.width)
    if rho is not None:
        request["noise"] = "gaussian"

    def draw(noise: Noise = noise) -> tuple[LinearModel, ...]:
        query = (
            feature_counts(rows, counting, terms.neighbours, limit=how.limit)
            if rho is None
            else concentrated_feature_counts(rows, rho, terms.neighbours, limit=how.limit)
        )
        noisy = read_feature_counts(query.draw(noise), query, rows, terms.neighbours, limit=how.limit)
        textbook = weigh(noisy, how)
        line = (1.0, 0.0)
        if how.calibration:
            line = score_line(rows, textbook, terms, terms.epsilon * how.calibration, noise)
        model = LinearModel(
            kind=KIND,
            features=textbook.features,
            weights=tuple(line[0] * weight for weight in textbook.weights),
            intercept=line[0] * textbook.intercept + line[1],
            width=rows.width,
            guarantee=guarantee,
            options=how.to_dict(),
            frequencies=textbook.frequencies,
        )
        return (model,)

    return Prepared(
        guarantee=guarantee,
        request=request,
        draw=draw,
        read=LinearModel.from_dict,
        part=part,
        numbers=4 * rows.width,
    )


def weigh(noisy: NoisyFeatures, how: Recipe) -> Weighed:
    """Compute naive Bayes for binary features from noisy counts.

    `score = log(n1/n0) + sum_F log((1-p1)/(1-p0)) + sum over the row's features of log(p1 (1-p0) / (p0 (1-p1)))`.
    """
    ours, theirs = (max(size, 1.0) for size in noisy.sizes)
    share = ours / (ours + theirs)
    kept = _kept(noisy, share, how.keep)
    most = np.array([[ours], [theirs]])
    if noisy.opposed:
        most = np.minimum(most, noisy.features.sum(axis=0)[kept])
    counts = np.clip(noisy.features[:, kept], 0.0, most)
    added = (4.0 if noisy.opposed else 2.0) * noisy.scale if how.smoothing is None else how.smoothing
    p1 = (counts[0] + added * share) / (ours + 2.0 * added * share)
    p0 = (counts[1] + added * (1.0 - share)) / (theirs + 2.0 * added * (1.0 - share))
    p1, p0 = (np.clip(p, _SURELY, 1.0 - _SURELY) for p in (p1, p0))
    absent = np.log1p(-p1) - np.log1p(-p0)
    weights = np.log(p1) - np.log(p0) - absent
    frequencies = _frequencies(noisy)[kept]
    intercept = float(np.log(ours / theirs) + absent.sum())
    return Weighed(
        features=tuple(np.flatnonzero(kept).tolist()),
        weights=tuple(weights.tolist()),
        intercept=intercept,
        middle=intercept + float(weights @ frequencies),
        spread=float(np.sqrt(weights**2 @ frequencies)),
        sizes=(ours, theirs),
        frequencies=tuple((counts.sum(axis=0) / (ours + theirs)).tolist()),
    )


def _frequencies(noisy: NoisyFeatures) -> FloatArray:
    """Return the mean share of a row that each feature has; 0 for features that may be noise alone."""
    every = noisy.features.sum(axis=0)
    least = 0.0 if noisy.opposed else 2.0 * _CERTAIN * noisy.scale
    certain: FloatArray = np.where(every > least, every, 0.0) / max(sum(noisy.sizes), 1.0)
    return certain


def _kept(noisy: NoisyFeatures, share: float, keep: float) -> NDArray[np.bool_]:
    """Return the features whose counts differ between the classes by more than noise and chance explain."""
    if keep == 0.0:
        return np.ones(noisy.features.shape[1], dtype=np.bool_)
    ours, theirs = noisy.features
    excess = ours * (1.0 - share) - theirs * share
    of_noise = 2.0 * noisy.scale**2 * (1.0 if noisy.opposed else (1.0 - share) ** 2 + share**2)
    of_chance = np.clip(ours + theirs, 0.0, None) * share * (1.0 - share)
    kept: NDArray[np.bool_] = (np.abs(excess) > keep * np.sqrt(of_noise + of_chance)) & (ours + theirs > 0.0)
    return kept
