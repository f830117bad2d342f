"""Audited mechanisms: each under every relation that it supports, with neighbours that are hardest for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from confide.audits.curves import curve_targets
from confide.audits.learning import learning_targets, selection_targets
from confide.audits.subject import DELTA, Pair, Queries, Query, Subject, asking, counted, differing
from confide.audits.sums import contest_targets, share_targets
from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.average_precision_sensitivity import smooth_average_precision
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.free_class_sizes import auc_then_sizes
from confide.privacy.mechanisms.local_auc import local_auc
from confide.privacy.mechanisms.local_average_precision import local_average_precision
from confide.privacy.mechanisms.private_counts import cells_above, cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import pareto, published_cauchy, published_laplace, student_t
from confide.privacy.mechanisms.squared_error import squared_error
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import default_mechanism, local_queries
from confide.releases.average_precision import average_precision_bounds, precision_queries
from confide.releases.counting import Counting
from confide.releases.curves import CurveArea, left_for_counts
from confide.releases.smooth_sensitivity import PUBLISHED, calibrate, sizes_query
from confide.releases.terms import Terms, public_rows

GRID = Grid.uniform(2)
THRESHOLD = 0.5

ROWS = 20
"""Number of rows of the larger datasets. Noise that is scaled to it does not depend on it."""

_CALIBRATIONS: dict[str, Callable[..., Any]] = {
    "pareto": pareto,
    "student-t": student_t,
    "published-cauchy": published_cauchy,
    "published-laplace": published_laplace,
}


def targets(epsilon: Fraction) -> tuple[Subject[Any], ...]:
    """Return every mechanism under every relation, at an epsilon."""
    return (
        *_integers(epsilon, "auc/rank-sum", ("auc", "rank-sum"), rank_sum, _RANK_SUM),
        *_local(epsilon, "auc", _LOCAL_AUC, local_queries, (local_auc, auc_then_sizes)),
        *_smooth(epsilon, "auc", _SMOOTH_AUC),
        *_local(epsilon, "average_precision", _LOCAL_AP, precision_queries, (local_average_precision,)),
        *_smooth(epsilon, "average_precision", _SMOOTH_AP),
        *_integers(epsilon, "average_precision/private-counts", ("average_precision", "private-counts"), *_HISTOGRAM),
        *_integers(epsilon, "brier/laplace", ("brier", "laplace"), squared_error, _SQUARED_ERROR),
        *_integers(epsilon, "prevalence/laplace", ("prevalence", "laplace"), class_sizes, _CLASS_SIZES),
        *_integers(epsilon, "confusion/laplace", ("confusion", "laplace"), *_MATRIX),
        *_gaussian(epsilon),
        *curve_targets(epsilon),
        *_symmetric(epsilon),
        *_beside_counts(epsilon),
        *share_targets(epsilon),
        *selection_targets(epsilon),
        *learning_targets(epsilon),
        *contest_targets(epsilon),
    )


def top_and_rest(label: int, rest: int, rows: int = ROWS) -> ScoreCounts:
    """Build rows: one with the highest score, and others of one label below it, all at different scores."""
    return counted([(label, 1.0), *_others(rest, rows)])


def bottom_and_rest(label: int, rest: int, rows: int = ROWS) -> ScoreCounts:
    """Build rows like `top_and_rest`, with the one row at the bottom."""
    return counted([(label, 0.0), *_others(rest, rows)])


def _others(label: int, rows: int) -> list[tuple[int, float]]:
    return [(label, k / rows) for k in range(1, rows)]


# The only positive moves from the top to the bottom, so that 2W changes by 2(N - 1); or the row on top changes its
# class, so that 2W changes by N - 1 and n by 1.
_MOVED = (top_and_rest(1, 0), bottom_and_rest(1, 0))
_FLIPPED = (top_and_rest(1, 0), top_and_rest(0, 0))
_RANK_SUM: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (_MOVED, _FLIPPED),
    Neighbours.LABEL_ONLY: (_FLIPPED,),
}

# With one positive AUC changes by 1 as it moves; otherwise by 1/2, between one positive and two.
_SECOND = (top_and_rest(1, 0), counted([(1, 1.0), *_others(0, ROWS), (1, 0.0)]))
_BOTTOM_FLIPPED = (
    counted([(1, 1.0), *_others(0, ROWS), (0, 0.0)]),
    counted([(1, 1.0), *_others(0, ROWS), (1, 0.0)]),
)
_SMOOTH_AUC: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (_MOVED, _BOTTOM_FLIPPED),
    Neighbours.ADD_REMOVE_ONE: (_SECOND,),
    Neighbours.LABEL_ONLY: (_BOTTOM_FLIPPED,),
}

# Balanced classes, all positives on top: the top row goes to the bottom, changes its class, or goes away. The value is
# cut at 1, and moves by a step of the noise's scale.
_HALVES = [(1, 0.55 + k / 100) for k in range(30)] + [(0, 0.15 + k / 100) for k in range(30)]
# Classes of twenty and sixty rows, half of each at either score: AUC is 1/2, so that an integer follows which tells of
# the class sizes.
_EVEN = [(1, 0.2), (1, 0.8)] * 10 + [(0, 0.2), (0, 0.8)] * 30
_LOCAL_AUC: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (
        differing(_HALVES, [(1, 0.9)], [(1, 0.1)]),
        differing(_HALVES, [(1, 0.1)], [(0, 0.1)]),
        differing(_EVEN, [(1, 0.8)], [(0, 0.2)]),
    ),
    Neighbours.ADD_REMOVE_ONE: (differing(_HALVES, [(0, 0.3), (1, 0.1)], [(0, 0.3)]), differing(_EVEN, [(1, 0.8)], [])),
    Neighbours.LABEL_ONLY: (differing(_HALVES, [(1, 0.1)], [(0, 0.1)]), differing(_EVEN, [(1, 0.8)], [(0, 0.8)])),
}

# Few rows, so that the AUC beside counts is drawn by the rank sum where the number of rows is public: the same row
# strains both. Elsewhere a positive goes, after which an integer follows.
_BESIDE: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: ((top_and_rest(1, 0, 8), bottom_and_rest(1, 0, 8)),),
    Neighbours.ADD_REMOVE_ONE: (differing(_EVEN, [(1, 0.8)], []),),
    Neighbours.LABEL_ONLY: ((top_and_rest(1, 0, 8), top_and_rest(0, 0, 8)),),
}

# Forty positives, enough that none is held up, above as many negatives: the top row goes to the bottom or changes its
# class, or a negative comes above all of them. The value leaves 1 by a step of the noise's scale.
_FORTIES = [(1, 0.5 + k / 100) for k in range(40)] + [(0, 0.05 + k / 100) for k in range(40)]
_ON_TOP = differing(_FORTIES, [(1, 0.95)], [(0, 0.95)])
_LOCAL_AP: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (_ON_TOP, differing(_FORTIES, [(0, 0.01)], [(0, 0.95)])),
    Neighbours.ADD_REMOVE_ONE: (differing(_FORTIES, [], [(0, 0.95)]),),
    Neighbours.LABEL_ONLY: (_ON_TOP,),
}

# The first positive comes, on top of all negatives: average precision goes from 0 to 1.
_FIRST = (counted(_others(0, ROWS)), top_and_rest(1, 0))
_SMOOTH_AP: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (_FLIPPED,),
    Neighbours.ADD_REMOVE_ONE: (_FIRST,),
    Neighbours.LABEL_ONLY: (_FLIPPED,),
}

_FEW = [(1, 0.25), (1, 0.75), (0, 0.25), (0, 0.75)]
_CELLS: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (differing(_FEW, [(1, 0.75)], [(0, 0.25)]),),
    Neighbours.ADD_REMOVE_ONE: (differing(_FEW, [(1, 0.75)], []),),
    Neighbours.LABEL_ONLY: (differing(_FEW, [(1, 0.75)], [(0, 0.75)]),),
}
_CLASS_SIZES = _CELLS
_SQUARED_ERROR: dict[Neighbours, tuple[Pair[ScoreCounts], ...]] = {
    Neighbours.REPLACE_ONE: (differing(_FEW, [(1, 0.0)], [(1, 1.0)]),),
    Neighbours.ADD_REMOVE_ONE: (differing(_FEW, [(1, 0.0)], []),),
    Neighbours.LABEL_ONLY: (differing(_FEW, [(1, 0.0)], [(0, 0.0)]),),
}


def _histogram(counts: ScoreCounts, epsilon: Fraction, neighbours: Neighbours) -> Query:
    return private_counts(cells_on(counts, GRID), epsilon, neighbours)


def _matrix(counts: ScoreCounts, epsilon: Fraction, neighbours: Neighbours) -> Query:
    return private_counts(cells_above(counts, THRESHOLD), epsilon, neighbours)


_HISTOGRAM = (_histogram, _CELLS, private_counts)
_MATRIX = (_matrix, _CELLS, private_counts)


def _integers(
    epsilon: Fraction,
    name: str,
    release: tuple[str, str],
    ask: Callable[[ScoreCounts, Fraction, Neighbours], Query],
    pairs: dict[Neighbours, tuple[Pair[ScoreCounts], ...]],
    proven: Callable[..., Any] | None = None,
) -> Iterator[Subject[ScoreCounts]]:
    """Audit a mechanism that shows the integers of one query."""
    for neighbours, strained in pairs.items():

        def queries(counts: ScoreCounts, neighbours: Neighbours = neighbours) -> tuple[Query, ...]:
            return (ask(counts, epsilon, neighbours),)

        yield asking(name, neighbours, epsilon, Fraction(0), strained, queries, (proven or ask,), release)


def _gaussian(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    rho = rho_for(epsilon, DELTA)
    for neighbours, strained in _CELLS.items():

        def queries(counts: ScoreCounts, neighbours: Neighbours = neighbours) -> tuple[Query, ...]:
            return (concentrated_counts(cells_above(counts, THRESHOLD), rho, neighbours),)

        yield asking(
            "confusion/gaussian",
            neighbours,
            epsilon,
            DELTA,
            strained,
            queries,
            (concentrated_counts,),
            ("confusion", "gaussian"),
        )


def _local(
    epsilon: Fraction,
    metric: str,
    pairs: dict[Neighbours, tuple[Pair[ScoreCounts], ...]],
    ask: Callable[[ScoreCounts, Terms, int | None], tuple[Query, ...]],
    proven: tuple[Callable[..., Any], ...],
) -> Iterator[Subject[ScoreCounts]]:
    """Audit a value with noise at its local scale beside the class sizes."""
    for neighbours, strained in pairs.items():
        terms = Terms.checked(epsilon=epsilon, neighbours=neighbours)

        def queries(counts: ScoreCounts, terms: Terms = terms) -> tuple[Query, ...]:
            return ask(counts, terms, public_rows(counts) if terms.rows_are_public else None)

        name, functions = f"{metric}/local", (*proven, class_sizes)
        yield asking(name, neighbours, epsilon, Fraction(0), strained, queries, functions, (metric, "local"))


def _smooth(
    epsilon: Fraction, metric: str, pairs: dict[Neighbours, tuple[Pair[ScoreCounts], ...]]
) -> Iterator[Subject[ScoreCounts]]:
    """Audit a value by smooth sensitivity beside the class sizes."""
    for mechanism, calibration in _CALIBRATIONS.items():
        delta = DELTA if mechanism == "published-laplace" else Fraction(0)
        ask: Callable[..., Any] = smooth_auc if metric == "auc" else smooth_average_precision
        for neighbours, strained in pairs.items():
            terms = Terms.checked(epsilon=epsilon, delta=delta, neighbours=neighbours)
            queries = smooth_queries(metric, mechanism, terms)
            yield asking(
                f"{metric}/{mechanism}",
                neighbours,
                epsilon,
                delta,
                strained,
                queries,
                (ask, calibration, class_sizes),
                (metric, mechanism),
            )


def _symmetric(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Audit a ROC curve drawn from a private AUC alone."""
    name, release = "curves/symmetric-binormal", ("curves", "symmetric-binormal")
    for neighbours, strained in {**_SMOOTH_AUC, **_RANK_SUM}.items():
        terms = Terms.checked(epsilon=epsilon, neighbours=neighbours)
        queries = _area_queries(terms)
        yield asking(
            name, neighbours, epsilon, Fraction(0), strained, queries, (local_auc, auc_then_sizes, class_sizes), release
        )


def _beside_counts(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Audit an AUC of its own beside the counts of a curve: what both reveal of one row adds up to epsilon."""
    options: dict[str, Any] = {"grid": GRID, "strategy": "flat", "with_auc": True}
    for neighbours, strained in _BESIDE.items():
        terms = Terms.checked(epsilon=epsilon, neighbours=neighbours)
        area = Terms.checked(epsilon=CurveArea.of(terms).epsilon, neighbours=neighbours)
        yield asking(
            "curves/laplace-with-auc",
            neighbours,
            epsilon,
            Fraction(0),
            strained,
            queries_beside(left_for_counts(terms), area),
            (private_counts, rank_sum, local_auc, auc_then_sizes, class_sizes),
            ("curves", "laplace"),
            options=options,
        )


def queries_beside(counted: Terms, area: Terms) -> Queries[ScoreCounts]:
    """Return the queries of counts and of an AUC beside them, each with terms of its own."""
    counting = Counting.checked(counted, mechanism="laplace", grid=GRID, strategy="flat")

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        return counting.ask(counts, GRID), *_area_queries(area)(counts)

    return queries


def _area_queries(terms: Terms) -> Queries[ScoreCounts]:
    """Return the query of a release of AUC with the default mechanism."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        rows = public_rows(counts) if terms.rows_are_public else None
        if default_mechanism(terms, rows) == "rank-sum":
            return (rank_sum(counts, terms.epsilon, terms.neighbours),)
        return local_queries(counts, terms, rows)

    return queries


def smooth_queries(metric: str, mechanism: str, terms: Terms) -> Queries[ScoreCounts]:
    """Return the queries of a release by smooth sensitivity: the value, and the class sizes."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        rows = int(counts.total_positives + counts.total_negatives) if terms.rows_are_public else None
        if metric == "auc":
            value = smooth_auc(counts, calibrate(mechanism, terms, auc_smooth_bounds, rows))
        else:
            published = mechanism in PUBLISHED
            bounds = average_precision_bounds(terms, rows, published=published)
            calibration = calibrate(mechanism, terms, bounds, rows)
            value = smooth_average_precision(counts, calibration, terms.neighbours, published=published)
        return value, sizes_query(counts, terms)

    return queries
