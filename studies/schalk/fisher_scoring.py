"""Iterated fit of the ROC-GLM in the paper: distributed Fisher scoring, as a reference for the fit in one round.

In each round every site forms its rows `u_ij`, one for each of its positives and each threshold, and sends the score
vector, the information and the deviance at the current coefficients. The coordinator adds them up and takes a step
(Schalk et al. 2024, equations 6 and 7). It stops by the rule of R's `glm`. The messages of each round carry no noise;
confide fits in one round instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.curves.roc_glm import RocGlm, checked_thresholds, inverse_mills
from confide.errors import DataError, ParameterError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SiteStep:
    """Message of one site in one round; two messages can be added."""

    score: FloatArray
    information: FloatArray
    deviance: float

    def __add__(self, other: SiteStep) -> SiteStep:
        return SiteStep(
            score=self.score + other.score,
            information=self.information + other.information,
            deviance=self.deviance + other.deviance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedFit:
    """Fitted curve, and the number of rounds."""

    curve: RocGlm
    aggregations: int
    deviance: float


def site_step(placements: ArrayLike, thresholds: ArrayLike, coefficients: Sequence[float]) -> SiteStep:
    """Compute a site's part at the current coefficients, row by row.

    `placements` are the placement values of the site's positives, `S0(score)` with the survivor function
    of all sites' negatives; the thresholds may be the site's own.
    """
    from scipy.special import log_ndtr, ndtri

    at = checked_thresholds(thresholds)
    values = np.asarray(placements, dtype=np.float64)
    u = (at[None, :] >= values[:, None]).ravel()
    design = np.column_stack((np.ones(u.size), np.tile(ndtri(at), values.size)))
    linear = design @ np.asarray(coefficients, dtype=np.float64)
    up, down = inverse_mills(linear), inverse_mills(-linear)
    return SiteStep(
        score=design.T @ np.where(u, up, -down),
        information=design.T @ (design * (up * down)[:, None]),
        deviance=-2.0 * float(np.where(u, log_ndtr(linear), log_ndtr(-linear)).sum()),
    )


def distributed_fit(
    sites: Iterable[Callable[[Sequence[float]], SiteStep]], *, tolerance: float = 1e-8, rounds: int = 25
) -> DistributedFit:
    """Ask every site in rounds until the deviance changes by less than `tolerance` of itself.

    Sites are functions from coefficients to their step. The coefficients start at 0. The last answers
    are used for a last step, which costs no round. The rule is `|d - d'| / (|d| + 0.1) < tolerance`
    with R's default; coefficients are then right to about its square root or better.
    """
    asked = list(sites)
    if not asked:
        raise ParameterError("sites must hold one function for each site, at least one")
    line, before = np.zeros(2), np.inf
    for round_number in range(1, rounds + 1):
        total = reduce(SiteStep.__add__, (site(line.tolist()) for site in asked))
        line = line + _step(total)
        if abs(total.deviance - before) / (abs(total.deviance) + 0.1) < tolerance:
            curve = RocGlm(intercept=float(line[0]), slope=float(line[1]))
            return DistributedFit(curve=curve, aggregations=round_number, deviance=total.deviance)
        before = total.deviance
    raise DataError(_NO_MAXIMUM)


_NO_MAXIMUM = (
    "Fisher scoring did not converge: classes are separated as far as the thresholds can see; "
    "give more thresholds, or use the empirical curve"
)


def _step(total: SiteStep) -> FloatArray:
    try:
        found = np.asarray(np.linalg.solve(total.information, total.score), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise DataError(_NO_MAXIMUM) from None
    if not np.isfinite(found).all():
        raise DataError(_NO_MAXIMUM)
    return found
