"""The eight estimators of AUCPR and PRROC's two, written again from their definitions, on Table 4.1 and others.

Fractions and brute force only; nothing here sorts, accumulates or integrates as the package does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import confide
from confide import ScoreCounts
from confide.curves.pr import interpolated_path, recall_levels
from confide.metrics.registry import metric_score

TOLERANCE = 1e-10

# Table 4.1, outputs 0.95 to 0.00 in steps of 0.05 (its caption says 10 and 20; the table has 5 positives and 15).
TABLE_4_1 = "+--++----+------+---"
PRINTED_RECALL = [0.2, 0.2, 0.2, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 1, 1, 1, 1]
PRINTED_PRECISION = [
    *(1.00, 0.50, 0.33, 0.50, 0.60, 0.50, 0.43, 0.38, 0.33, 0.40),
    *(0.36, 0.33, 0.31, 0.29, 0.27, 0.25, 0.29, 0.28, 0.26, 0.25),
]

Rows = tuple[list[int], list[float]]
Point = tuple[Fraction, Fraction]


def ranking(signs: str) -> Rows:
    """Rows in descending order of their score; `(+-)` are tied."""
    labels, scores, score, tied = [], [], 0.95, False
    for sign in signs:
        if sign in "()":
            tied = sign == "("
            score -= 0.0 if tied else 0.05
            continue
        labels.append(int(sign == "+"))
        scores.append(round(score, 2))
        score -= 0.0 if tied else 0.05
    return labels, scores


def confusion(rows: Rows, threshold: float) -> tuple[int, int]:
    called = [label for label, score in zip(*rows, strict=True) if score >= threshold]
    return sum(called), len(called) - sum(called)


def pr_points(rows: Rows) -> list[Point]:
    n = sum(rows[0])
    found = []
    for threshold in sorted(set(rows[1]), reverse=True):
        tp, fp = confusion(rows, threshold)
        found.append((Fraction(tp, n), Fraction(tp, tp + fp)))
    return found


def levels(rows: Rows) -> dict[Fraction, list[Fraction]]:
    """Every precision at each recall, recall 0 included where a negative stands above every positive."""
    found: dict[Fraction, list[Fraction]] = {}
    for recall, precision in pr_points(rows):
        found.setdefault(recall, []).append(precision)
    return found


def average_precision(rows: Rows) -> float:
    terms = [
        Fraction(confusion(rows, score)[0], sum(confusion(rows, score)))
        for label, score in zip(*rows, strict=True)
        if label
    ]
    return float(sum(terms) / len(terms))


def trapezoids(start: Fraction, pieces: Sequence[tuple[Fraction, Fraction, Fraction]]) -> float:
    """Sum `(left + right) / 2 * step` over (recall, left, right)."""
    area, before = Fraction(0), start
    for recall, left, right in pieces:
        area += (left + right) / 2 * (recall - before)
        before = recall
    return float(area)


def lower_trapezoid(rows: Rows) -> float:
    found = {recall: (min(p), max(p)) for recall, p in levels(rows).items()}
    found.setdefault(Fraction(0), (Fraction(1), Fraction(1)))
    ordered = sorted(found)
    return trapezoids(Fraction(0), [(b, found[a][0], found[b][1]) for a, b in pairwise(ordered)])


def upper_trapezoid(rows: Rows) -> float:
    found = {recall: max(p) for recall, p in levels(rows).items()} | {Fraction(0): Fraction(1)}
    ordered = sorted(found)
    return trapezoids(Fraction(0), [(b, found[a], found[b]) for a, b in pairwise(ordered)])


def interpolated_piece(first: Point, second: Point) -> float:
    """Theorem 4.1's curve, integrated numerically; from recall 0 the line in ROC space is a constant precision."""
    (r1, p1), (r2, p2) = first, second
    if r1 == 0:
        return float(r2 * p2)
    a = 1 + (1 - p2) * r2 / (p2 * (r2 - r1)) - (1 - p1) * r1 / (p1 * (r2 - r1))
    b = (1 - p1) * r1 / p1 - (1 - p2) * r1 * r2 / (p2 * (r2 - r1)) + (1 - p1) * r1**2 / (p1 * (r2 - r1))
    slope, offset = float(a), float(b)
    return float(quad(lambda r: r / (slope * r + offset), float(r1), float(r2), epsabs=1e-13, epsrel=1e-13)[0])


def interpolated(choose: Callable[[list[Fraction]], Fraction]) -> Callable[[Rows], float]:
    def area(rows: Rows) -> float:
        chosen = [(recall, choose(p)) for recall, p in sorted(levels(rows).items()) if recall > 0]
        return math.fsum(interpolated_piece(a, b) for a, b in pairwise([(Fraction(0), Fraction(1)), *chosen]))

    return area


def roc_pieces(points: Sequence[tuple[Fraction, Fraction]], odds: Fraction) -> float:
    """Integrate precision over recall along ROC points (false-positive rate, recall) joined by lines."""
    area = 0.0
    for (x1, y1), (x2, y2) in pairwise(points):
        if y2 == y1:
            continue

        def precision(r: float, x1: Fraction = x1, y1: Fraction = y1, x2: Fraction = x2, y2: Fraction = y2) -> float:
            x = float(x1) + (r - float(y1)) / float(y2 - y1) * float(x2 - x1)
            return r / (r + float(odds) * x) if r > 0 else float(y2 / (y2 + odds * x2))

        area += quad(precision, float(y1), float(y2), epsabs=1e-13, epsrel=1e-13)[0]
    return area


def roc_points(rows: Rows) -> tuple[list[tuple[Fraction, Fraction]], Fraction]:
    n, m = sum(rows[0]), len(rows[0]) - sum(rows[0])
    found = [(Fraction(0), Fraction(0))]
    for threshold in sorted(set(rows[1]), reverse=True):
        tp, fp = confusion(rows, threshold)
        found.append((Fraction(fp, m), Fraction(tp, n)))
    return found, Fraction(m, n)


def thresholds_joined(rows: Rows) -> float:
    return roc_pieces(*roc_points(rows))


def convex(rows: Rows) -> float:
    """Keep both ends, and the ROC points below no line between two others."""
    points, odds = roc_points(rows)

    def below(point: tuple[Fraction, Fraction]) -> bool:
        x, y = point
        return any(
            x1 <= x <= x2 and x1 < x2 and y < y1 + (x - x1) / (x2 - x1) * (y2 - y1)
            for x1, y1 in points
            for x2, y2 in points
        )

    kept = [points[0], *(point for point in points[1:-1] if not below(point)), points[-1]]
    return roc_pieces(kept, odds)


def binormal(rows: Rows) -> float:
    """Equation 4.11 with the sign of the mean difference put right."""
    y = np.array([score for label, score in zip(*rows, strict=True) if label])
    x = np.array([score for label, score in zip(*rows, strict=True) if not label])
    pi, sx, sy = y.size / (y.size + x.size), np.std(x, ddof=1), np.std(y, ddof=1)

    def integrand(t: float) -> float:
        alarm = norm.cdf((x.mean() - y.mean()) / sx + sy / sx * norm.ppf(t))
        return float(pi * t / (pi * t + (1 - pi) * alarm))

    return float(quad(integrand, 0.0, 1.0, epsabs=1e-12, epsrel=1e-12, limit=400)[0])


def davis_goadrich(rows: Rows) -> float:
    """Trapezoids between whole numbers of true positives, false positives growing in proportion between thresholds."""
    n = sum(rows[0])
    thresholds = sorted(set(rows[1]), reverse=True)
    counted = [(0, 0), *(confusion(rows, threshold) for threshold in thresholds)]
    area = Fraction(0)
    for (tp, fp), (tp_next, fp_next) in pairwise(counted):
        if tp == fp == 0:
            area += Fraction(tp_next, n) * Fraction(tp_next, tp_next + fp_next)
            continue
        at = [
            Fraction(t) / (t + fp + Fraction(fp_next - fp) * (t - tp) / max(tp_next - tp, 1))
            for t in range(tp, tp_next + 1)
        ]
        area += sum(((left + right) / 2 for left, right in pairwise(at)), Fraction(0)) / n
    return float(area)


BY_DEFINITION: dict[str, Callable[[Rows], float]] = {
    "average_precision": average_precision,
    "lower_trapezoid": lower_trapezoid,
    "upper_trapezoid": upper_trapezoid,
    "interpolated_max": interpolated(max),
    "interpolated_mean": interpolated(lambda p: Fraction(sum(p), len(p))),
    "interpolated_median": interpolated(median),
    "interpolated_convex": convex,
    "binormal": binormal,
    "interpolated_thresholds": thresholds_joined,
    "davis_goadrich": davis_goadrich,
}


def test_every_estimator_is_defined_here() -> None:
    assert set(BY_DEFINITION) == {*confide.metrics.ESTIMATORS, *confide.metrics.PRROC_ESTIMATORS}
    assert len(confide.metrics.ESTIMATORS) == 8


def test_table_4_1_has_its_printed_points() -> None:
    rows = ranking(TABLE_4_1)
    assert (sum(rows[0]), len(rows[0])) == (5, 20)
    curve = confide.pr_curve(ScoreCounts.from_arrays(*rows))
    assert curve.recall.tolist() == pytest.approx(PRINTED_RECALL, abs=1e-12)
    assert curve.precision.tolist() == pytest.approx(PRINTED_PRECISION, abs=0.005 + 1e-12)
    assert curve.prevalence == 0.25


@pytest.mark.parametrize("estimator", BY_DEFINITION)
@pytest.mark.parametrize(
    "signs",
    [
        TABLE_4_1,
        "--+-+--+-",  # negatives on top
        "+++---",
        "---+++",
        "(+-)-+(++--)-",  # ties of both classes, one on top
        "-(+-+)--(+-)",
        "+-+-",
        "(++--)+-",
    ],
)
def test_estimator(estimator: str, signs: str) -> None:
    rows = ranking(signs)
    found = confide.aucpr_score(ScoreCounts.from_arrays(*rows), estimator=estimator)
    assert found == pytest.approx(BY_DEFINITION[estimator](rows), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("estimator", "by_hand"),
    [
        ("average_precision", (1 + 1 / 2 + 3 / 5 + 2 / 5 + 5 / 17) / 5),
        ("lower_trapezoid", (2 + (1 / 3 + 1 / 2) + (1 / 2 + 3 / 5) + (1 / 3 + 2 / 5) + (1 / 4 + 5 / 17)) / 10),
        ("upper_trapezoid", (2 + (1 + 1 / 2) + (1 / 2 + 3 / 5) + (3 / 5 + 2 / 5) + (2 / 5 + 5 / 17)) / 10),
    ],
)
def test_table_4_1_by_hand(estimator: str, by_hand: float) -> None:
    counts = ScoreCounts.from_arrays(*ranking(TABLE_4_1))
    assert confide.aucpr_score(counts, estimator=estimator) == pytest.approx(by_hand, abs=1e-14)
    assert metric_score(counts, estimator) == pytest.approx(by_hand, abs=1e-14)


def test_interpolation_does_not_depend_on_skew() -> None:
    """Theorem 4.1: with every negative ten times, other points result, but the curve through given points is one."""
    levels_of = recall_levels(ScoreCounts.from_arrays(*ranking(TABLE_4_1)))
    path = interpolated_path(levels_of.recall, levels_of.highest)
    pieces = [
        interpolated_piece((Fraction(0), Fraction(1)), (Fraction(1, 5), Fraction(1))),
        interpolated_piece((Fraction(1, 5), Fraction(1)), (Fraction(2, 5), Fraction(1, 2))),
    ]
    assert path.area(0.0, 0.4) == pytest.approx(sum(pieces), abs=TOLERANCE)


# source("PRROC.R"); pr.curve(scores[labels == 1], scores[labels == 0]) gives auc.davis.goadrich and auc.integral.
@pytest.mark.parametrize(
    ("labels", "scores", "davis_goadrich", "integral"),
    [
        (
            [1, 0, 0, 1, 1, 0, 0, 0, 0, 1],
            [95, 90, 85, 80, 75, 70, 65, 60, 55, 50],
            0.5833333333333334,
            0.5865464146302651,
        ),
        (
            [1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1],
            [9, 9, 8, 7, 7, 7, 7, 6, 5, 5, 5, 5],
            0.6251666051035798,
            0.6269141567319024,
        ),
        ([0, 0, 1, 1, 0, 1, 0], [9, 8, 7, 7, 7, 3, 2], 0.3119047619047619, 0.3239626707988883),
        ([0, 1, 1, 1, 0, 0], [9, 8, 8, 8, 8, 7], 0.4246753246753247, 0.4482303914186062),
        ([0, 1, 1, 1, 0, 1], [9, 9, 9, 8, 8, 8], 0.6666666666666666, 0.6666666666666666),
    ],
)
def test_areas_of_prroc(labels: list[int], scores: list[float], davis_goadrich: float, integral: float) -> None:
    counts = ScoreCounts.from_arrays(labels, scores)
    assert metric_score(counts, "davis_goadrich") == pytest.approx(davis_goadrich, abs=1e-14)
    assert metric_score(counts, "interpolated_thresholds") == pytest.approx(integral, abs=1e-14)


def test_without_ties_davis_and_goadrichs_area_is_the_lower_trapezoid() -> None:
    counts = ScoreCounts.from_arrays(*ranking(TABLE_4_1))
    lower = confide.aucpr_score(counts, estimator="lower_trapezoid")
    assert confide.aucpr_score(counts, estimator="davis_goadrich") == pytest.approx(lower, abs=1e-14)
    tied = ScoreCounts.from_arrays(*ranking("-(+-+)--(+-)"))
    assert confide.aucpr_score(tied, estimator="davis_goadrich") != pytest.approx(
        confide.aucpr_score(tied, estimator="lower_trapezoid"), abs=1e-3
    )
