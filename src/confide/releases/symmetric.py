"""Release of a ROC curve that follows from a private AUC alone: two normal distributions with equal spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from confide.counts import FloatArray, ScoreCounts
from confide.privacy.guarantee import Exact
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.auc import prepare_auc
from confide.releases.release import PreparedRelease, Release, ReleasedCurve
from confide.releases.terms import Terms

SYMMETRIC = "symmetric-binormal"
POINTS = 201


def release_symmetric_roc(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> Release:
    """Release AUC, and draw the ROC curve `TPR = Phi(a + Phi^-1(FPR))` with `a = sqrt(2) Phi^-1(AUC)`.

    One number determines the curve, so it has the least noise of all. But its shape is an assumption: its bands, the
    curves of the AUC intervals' ends, hold only if the assumption does. Parameters as for `release_auc`.
    """
    terms = Terms.checked(
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )
    return prepare_symmetric(counts, terms).draw()[0]


def prepare_symmetric(counts: ScoreCounts, terms: Terms, noise: Noise = SYSTEM_NOISE) -> PreparedRelease:
    """Check the request and say its price: that of the AUC."""
    area = prepare_auc(
        counts,
        noise=noise,
        epsilon=terms.promised[0],
        delta=terms.promised[1],
        neighbours=terms.neighbours,
        unit=terms.unit,
        rows_per_person=terms.rows_per_person,
        level=terms.level,
        prevalence_guess=terms.prevalence_guess,
    )

    def draw(noise: Noise = noise) -> tuple[Release, ...]:
        (drawn,) = area.draw(noise)
        return (_roc(drawn),)

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        return tuple(_roc(built) for built in area.build(numbers)) if area.build else ()

    request = {**area.request, "metric": "roc", "mechanism": SYMMETRIC, "area": area.request["mechanism"]}
    return PreparedRelease(
        guarantee=area.guarantee,
        request=request,
        counts=counts,
        draw=draw,
        requested=("roc",),
        build=build,
        level=terms.level,
        numbers=8 * POINTS,  # the curve's two coordinates, and two bands with three each
    )


def symmetric_recall(area: float, alarm: FloatArray) -> FloatArray:
    """True-positive rates at false-positive rates of the symmetric binormal curve with an area.

    >>> symmetric_recall(0.76, np.array([0.5])).round(3)  # a = 1, nearly: Phi(1)
    array([0.841])
    """
    inside = min(max(area, 1e-9), 1.0 - 1e-9)
    recall: FloatArray = ndtr(np.sqrt(2.0) * ndtri(inside) + ndtri(alarm))
    return recall


def _roc(area: Release) -> Release:
    alarm = np.sin(np.pi / 2.0 * np.linspace(0.0, 1.0, POINTS)) ** 2
    bands = {
        name: {
            "false_positive_rate": alarm,
            "lower": symmetric_recall(interval.lower, alarm),
            "upper": symmetric_recall(interval.upper, alarm),
        }
        for name, interval in (("sample", area.intervals.sample), ("population", area.intervals.population))
    }
    points = {"false_positive_rate": alarm, "true_positive_rate": symmetric_recall(area.value, alarm)}
    return Release(
        metric="roc",
        value=area.value,
        intervals=area.intervals,
        guarantee=area.guarantee,
        mechanism=SYMMETRIC,
        parts=area.parts,
        options={"area": area.mechanism, "assumed": "normal scores with equal spread in both classes"},
        curve=ReleasedCurve.of(points=points, bands=bands),
        noisy=area.noisy,
    )
