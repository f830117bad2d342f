"""Mechanisms of the figures: noise in floats, from a seed, with the scales of the papers' theorems and of releases.

A mechanism gives each metric a `Law` for an epsilon and a test set: value, scale and family of the noise. Scales come
from `confide`: the published calibrations, and the queries that releases draw from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.mechanisms.local_auc import local_auc
from confide.privacy.mechanisms.local_average_precision import local_average_precision
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import Calibration, published_cauchy, published_laplace
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import as_real, lower_bound
from confide.privacy.queries import CutQuery
from confide.releases.auc import auc_of, local_terms
from confide.releases.average_precision import precision_terms
from confide.releases.smooth_sensitivity import noise_of
from confide.releases.terms import Terms
from studies.boyd_private.data import exact_values
from studies.boyd_private.published import DELTAS
from studies.boyd_private.sensitivity import printed_sensitivities, smooth_sensitivity
from studies.repeatable_noise import repeatable_noise

Draw: TypeAlias = Callable[[int, np.random.Generator], FloatArray]
"""Values released independently, so many times."""

_REPLACE = Neighbours.REPLACE_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """Mechanism by name; `delta` is that of its guarantee at the epsilon that a figure shows."""

    key: str
    name: str
    delta: Fraction
    prepare: Callable[[str, ScoreCounts, Fraction], Draw]


def _written(delta: Fraction) -> str:
    return {Fraction(1, 10**6): "10⁻⁶", Fraction(1, 10**4): "10⁻⁴"}.get(delta, f"{float(delta):g}")


def _published(delta: Fraction, times: int = 1) -> Callable[[str, ScoreCounts, Fraction], Draw]:
    """Return the papers' mechanism at so many times epsilon, cut to [0, 1] as there."""

    def prepare(metric: str, counts: ScoreCounts, epsilon: Fraction) -> Draw:
        asked = times * epsilon
        calibration = published_laplace(asked, delta) if delta else published_cauchy(asked)
        value, scale = exact_values(counts)[metric], published_scale(metric, counts, calibration)

        def draw(size: int, generator: np.random.Generator) -> FloatArray:
            standard = generator.laplace(size=size) if delta else generator.standard_cauchy(size)
            return np.clip(value + scale * standard, 0.0, 1.0)

        return draw

    return prepare


def published_scale(metric: str, counts: ScoreCounts, calibration: Calibration) -> float:
    """Return the scale of the papers' noise: theorems 4 and 6, with the sensitivities as they are printed."""
    positives, negatives = counted_rows(counts)
    local = printed_sensitivities(metric, positives + negatives)
    return float(calibration.multiplier) * smooth_sensitivity(local, positives, float(calibration.beta))


def _ours(metric: str, counts: ScoreCounts, epsilon: Fraction) -> Draw:
    """Return what `release_auc` and `release_average_precision` draw by default, for all of epsilon."""
    terms, rows = Terms.checked(epsilon=epsilon), sum(counted_rows(counts))
    if metric == "average_precision":
        return _cut(local_average_precision(counts, precision_terms(terms, rows)))
    parameters = local_terms(terms, rows)
    return _rank_sum(counts, epsilon, rows) if parameters is None else _cut(local_auc(counts, parameters))


def _cut(query: CutQuery) -> Draw:
    law, value, scale = noise_of(query.shape), float(query.value), float(lower_bound(as_real(query.scale)))

    def draw(size: int, generator: np.random.Generator) -> FloatArray:
        return np.clip(value + scale * law.quantile(generator.random(size)), 0.0, 1.0)

    return draw


def _rank_sum(counts: ScoreCounts, epsilon: Fraction, rows: int) -> Draw:
    query = rank_sum(counts, epsilon, _REPLACE)

    def draw(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = np.array(query.draw_many(size, repeatable_noise(generator)))
        return auc_of(drawn[:, 0], drawn[:, 1], rows)

    return draw


PUBLISHED = tuple(
    Mechanism(
        key=f"published-{float(delta):g}",
        name=f"paper, δ = {_written(delta)} ({'Laplace' if delta else 'Cauchy'})",
        delta=delta,
        prepare=_published(delta),
    )
    for delta in DELTAS
)
CAUCHY = PUBLISHED[0]
LENIENT = PUBLISHED[-1]
TRUE_PRICE = Mechanism(
    key="true-price",
    name="paper's Cauchy at its true price, δ = 0",
    delta=Fraction(0),
    prepare=_published(Fraction(0), times=3),
)
"""Cauchy noise as published for 3 epsilon. It costs epsilon: `1/sigma + beta = 3 epsilon/6 + 3 epsilon/6`."""

OURS = Mechanism(key="ours", name="confide, δ = 0", delta=Fraction(0), prepare=_ours)
MECHANISMS = (*PUBLISHED, TRUE_PRICE, OURS)
