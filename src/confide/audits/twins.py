"""Broken twins: mechanisms with one well-known mistake each, which the same audit must catch.

None of them is private. They are here so that an audit that finds nothing says something.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.audits.curves import curve_twins
from confide.audits.learning import logistic_twins, selection_twins
from confide.audits.subject import REAL_COST, Pair, Queries, Query, Sampler, Subject, asking, counted, drawing
from confide.audits.sums import contest_twins, share_twins
from confide.audits.targets import bottom_and_rest, queries_beside, targets, top_and_rest
from confide.counts import FloatArray, ScoreCounts
from confide.errors import OneClassError
from confide.metrics.ranking import auc_score
from confide.privacy.mechanisms.auc_sensitivity import auc_local_sensitivity, exact_auc
from confide.privacy.mechanisms.class_sizes import class_sizes, counted_rows
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import student_t
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import exact
from confide.privacy.queries import IntegerQuery, RealQuery
from confide.releases.terms import Terms


def twins(epsilon: Fraction) -> tuple[Subject[Any], ...]:
    """Return every broken twin, claiming an epsilon."""
    return (
        *_half_noise(epsilon),
        _float_laplace(epsilon),
        _own_grid(epsilon),
        _own_edges(epsilon),
        _local_laplace(epsilon),
        _local_student_t(epsilon),
        _refuses_one_class(epsilon),
        _answers_one_class(epsilon),
        _exact_size(epsilon),
        _undivided(epsilon),
        *curve_twins(epsilon),
        *share_twins(epsilon),
        *selection_twins(epsilon),
        *logistic_twins(epsilon),
        *contest_twins(epsilon),
    )


_REPLACE = Neighbours.REPLACE_ONE
_FLIPPED = (top_and_rest(1, 0), top_and_rest(0, 0))
_FEW = [(1, 0.9), (0, 0.6), (0, 0.4)]
_SECOND = (counted([*_FEW, (0, 0.1)]), counted([*_FEW, (1, 0.1)]))


def _half_noise(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Halve the scale of Laplace noise in every mechanism that draws integers, where it shows fewest of them.

    Published mechanisms with more noise than needed lose the excess as well; otherwise half of it would still be
    private.
    """
    cheapest: dict[str, Subject[Any]] = {}
    for target in sorted(targets(epsilon), key=lambda target: target.cost):
        cheapest.setdefault(target.name, target)
    for name, target in cheapest.items():
        if target.delta or target.queries is None or not _integers_alone(target.queries, target.pairs[0]):
            continue
        queries = _scarce(target.queries, target.spent / 2)
        wrong = "half of the noise"
        yield replace(target, name=f"{name}-halved", sample=drawing(queries), queries=queries, wrong=wrong)


def _integers_alone(queries: Queries[ScoreCounts], pair: Pair[ScoreCounts]) -> bool:
    return all(isinstance(query, IntegerQuery) for query in queries(pair[0]))


def _scarce(queries: Queries[ScoreCounts], part: Fraction) -> Queries[ScoreCounts]:
    def scarce(counts: ScoreCounts) -> tuple[Query, ...]:
        return tuple(
            replace(query, scales=tuple(scale * part for scale in query.scales))
            for query in queries(counts)
            if isinstance(query, IntegerQuery)
        )

    return scarce


def _twin(
    name: str, epsilon: Fraction, wrong: str, sample: Sampler[ScoreCounts], cost: int, pair: Pair[ScoreCounts] = _SECOND
) -> Subject[ScoreCounts]:
    return Subject(
        name=name, neighbours=_REPLACE, epsilon=epsilon, pairs=(pair,), sample=sample, cost=cost, wrong=wrong
    )


def _float_laplace(epsilon: Fraction) -> Subject[ScoreCounts]:
    """`value + scale * log(u)` in doubles: neighbours reach different floats (Mironov 2012)."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        positives, _ = counted_rows(counts)
        uniform, sign = 1.0 - _RNG.random((times, 1)), _RNG.choice([-1.0, 1.0], (times, 1))
        return positives + sign * float(1 / epsilon) * np.log(uniform)

    pair = (bottom_and_rest(0, 0), bottom_and_rest(1, 0))
    return _twin("prevalence/float-laplace", epsilon, "noise in floating point", sample, 1, pair)


def _own_grid(epsilon: Fraction) -> Subject[ScoreCounts]:
    """AUC with the right noise, but rounded to what the data's class sizes make possible."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        positives, negatives = counted_rows(counts)
        steps = 2 * positives * negatives
        return np.rint(_laplace_auc(counts, float(1 / epsilon), times) * steps) / steps

    return _twin("auc/own-grid", epsilon, "a grid that depends on the data", sample, 1)


def _own_edges(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Noisy counts below and above the data's own median score, which is shown with them."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        rows = np.repeat(np.arange(len(counts)), counts.positives + counts.negatives)
        edge = int(rows[rows.size // 2])
        scale = 2 / epsilon
        low, high = int(counts.positives[:edge].sum()), int(counts.positives[edge:].sum())
        return (IntegerQuery(values=(low, high), scales=(scale, scale)),)

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        edge = np.median(np.repeat(counts.scores, counts.positives + counts.negatives))
        return np.hstack((drawing(queries)(counts, times), np.full((times, 1), edge)))

    pair = (counted([(1, 0.2), (0, 0.4), (1, 0.6)]), counted([(1, 0.2), (0, 0.3), (1, 0.6)]))
    return _twin("confusion/own-edges", epsilon, "cells at the data's own quantiles", sample, 2, pair)


def _local_laplace(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Laplace noise scaled to the local sensitivity, which differs between neighbours."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        return _laplace_auc(counts, float(auc_local_sensitivity(*counted_rows(counts)) / epsilon), times)

    return _twin("auc/local-laplace", epsilon, "local instead of smooth sensitivity", sample, 1)


def _local_student_t(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Student-t noise as calibrated, but on the local sensitivity."""
    calibration = student_t(epsilon, epsilon / 100)

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        return (calibration.query(exact_auc(counts), exact(auc_local_sensitivity(*counted_rows(counts)))),)

    # The hardest to catch: it gets more draws than its cost would allow.
    return _twin("auc/local-student-t", epsilon, "local instead of smooth sensitivity", drawing(queries), 2)


def _refuses_one_class(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Return the rank sum, but an error where a class is absent: the error itself tells."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        counts.both_classes()
        return (rank_sum(counts, epsilon, _REPLACE),)

    return _twin("auc/refuses-one-class", epsilon, "an error for data with one class", drawing(queries), 2, _FLIPPED)


def _answers_one_class(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Noise on AUC, but exactly 1/2 where a class is absent."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        try:
            auc_score(counts)
        except OneClassError:
            return np.full((times, 1), 0.5)
        return _laplace_auc(counts, float(1 / epsilon), times)

    return _twin("auc/exact-one-class", epsilon, "no noise for data with one class", sample, 1, _FLIPPED)


def _exact_size(epsilon: Fraction) -> Subject[ScoreCounts]:
    """AUC with noise beside the number of positives without any."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        value = RealQuery(value=exact_auc(counts), scale=exact(1 / epsilon), family="laplace")
        return value, replace(class_sizes(counts, epsilon, _REPLACE), scales=(Fraction(1, 1000),))

    return _twin("auc/exact-size", epsilon, "class sizes shown almost exactly", drawing(queries), REAL_COST + 1)


def _undivided(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Release an AUC beside the counts of a curve, and give each of them all of epsilon."""
    neighbours = Neighbours.LABEL_ONLY
    whole = Terms.checked(epsilon=epsilon, neighbours=neighbours)
    flipped = (top_and_rest(1, 0, 2), top_and_rest(0, 0, 2))
    queries = queries_beside(whole, whole)
    wrong = "all of epsilon for the counts, and again for the AUC"
    return asking("curves/undivided", neighbours, epsilon, Fraction(0), (flipped,), queries, wrong=wrong)


def _laplace_auc(counts: ScoreCounts, scale: float, times: int) -> FloatArray:
    """AUC with Laplace noise in floats, rounded to six digits."""
    return np.round(float(exact_auc(counts)) + _RNG.laplace(scale=scale, size=(times, 1)), 6)


_RNG = np.random.default_rng()  # broken on purpose, and for no release: its bits need no better source
