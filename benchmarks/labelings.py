"""Labels from an AUC: counting against the published recursion and FLINT, and what finding all labels takes."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import flint
import numpy as np

from benchmarks.timing import best_of, seconds, table
from confide.attacks.contest.oracle import Oracle
from confide.attacks.disclosure import Publication
from confide.attacks.from_auc.labeling_count import ranking_attack, tree_attack
from confide.attacks.from_auc.labelings import Labelings
from confide.attacks.from_auc.posterior import label_posterior, sample_labelings

WHITEHILLS = (106, "1387/1440")
TARGETS = {"count": 2.0, "attack": 30.0, "gigabytes": 2.0}

Result = TypeVar("Result")


def run(*, quick: bool = False) -> None:
    _counting(quick=quick)
    _finding(quick=quick)
    _believing(quick=quick)


def _counting(*, quick: bool) -> None:
    """One class size by three roads; then all class sizes of 1,000 rows."""
    lines = []
    for rows, cost in ((40, 100), (80, 400)) if quick else ((40, 100), (80, 400), (160, 1_600)):
        half = rows // 2
        exact = Labelings.untied(rows, 1 - Fraction(cost, half * half), positives=half)
        expected = exact.count()
        if not expected == recursion(half, half, cost) == by_flint(half, half, cost):
            raise AssertionError("three roads lead to different numbers")
        ours, theirs, products = best_of(
            1 if quick else 3,
            exact.count,
            lambda half=half, cost=cost: recursion(half, half, cost),  # type: ignore[misc]
            lambda half=half, cost=cost: by_flint(half, half, cost),  # type: ignore[misc]
        )
        lines.append((f"{rows} rows, cost {cost:,}", seconds(ours), f"{theirs / ours:.3g}", f"{products / ours:.3g}"))
    table(("labelings of one class size", "ours", "recursion / ours", "FLINT / ours"), lines)
    rows = 300 if quick else 1_000
    whole = Labelings.untied(rows, "4/5")
    most = max(high for _, high in whole.spans().values())
    _, took = timed(whole.count)
    _, took = timed(whole.count)  # compiled by now
    print(
        f"  w({rows:,}, 4/5), {len(whole.spans())} class sizes, cost to {most:,}: {seconds(took)}{_mark(took, 'count')}"
    )


def _finding(*, quick: bool) -> None:
    """Whitehill's example: list everything, then ask."""
    rows, auc = (11, "17/24") if quick else WHITEHILLS
    labelings = Labelings.untied(rows, auc)
    listed, listing = timed(labelings.listed)
    rng = np.random.default_rng(0)
    lines = [("two for each label", f"{2 * rows}", f"{2 * rows}", "")]
    for name, attack in (("tree (Whitehill)", tree_attack), ("rankings", ranking_attack)):
        queries, times = [], []
        for index in rng.integers(0, len(listed), 2 if quick else 20):
            oracle = Oracle.of_labels(listed[index], Publication.parse("auc"))
            found, took = timed(lambda attack=attack, oracle=oracle: attack(oracle))  # type: ignore[misc]
            if not found.complete or (found.labels != listed[index]).any():
                raise AssertionError("an attack was wrong")
            queries.append(found.queries)
            times.append(took)
        lines.append(
            (name, f"{np.mean(queries):.1f}", f"{max(queries)}", f"{seconds(max(times))}{_mark(max(times), 'attack')}")
        )
    print(f"  {rows} rows, AUC {auc}: {len(listed):,} labelings, listed in {seconds(listing)}")
    table(("submissions for all labels", "mean", "most", "slowest, with listing"), lines)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  memory of this process: {used:.2f} GB{_mark(used, 'gigabytes')}")


def _believing(*, quick: bool) -> None:
    lines = []
    for rows, auc in ((60, "0.85"),) if quick else ((106, "0.9632"), (250, "0.85"), (400, "0.900")):
        labelings = Labelings.untied(rows, auc)
        posterior, exact = timed(lambda labelings=labelings: label_posterior(labelings, work=10**10))  # type: ignore[misc]
        drawn, drawing = timed(lambda labelings=labelings: sample_labelings(labelings, 200, np.random.default_rng(0)))  # type: ignore[misc]
        apart = float(np.abs(drawn.mean(axis=0) - posterior.probability).max())
        lines.append(
            (f"{rows} rows, AUC {auc}", seconds(exact), f"{posterior.known()}", seconds(drawing), f"{apart:.3f}")
        )
    table(("each label's probability", "exact", "known > 0.9", "200 drawn", "largest difference"), lines)


def recursion(negatives: int, positives: int, cost: int) -> int:
    """Whitehill's recursion, v(n0, n1, d) = sum over k of v(k, n1 - 1, d - k), by dynamic programming.

    The table of one n1 has an entry for each n0 and d; a running sum over k makes an entry one addition.
    """
    ways = [[1] + [0] * cost for _ in range(negatives + 1)]
    for _ in range(positives):
        further = []
        above = [0] * (cost + 1)
        for most in range(negatives + 1):
            shifted = [0] * min(most, cost + 1) + ways[most][: max(cost + 1 - most, 0)]
            above = [a + b for a, b in zip(above, shifted, strict=True)]
            further.append(above)
        ways = further
    return ways[negatives][cost]


def by_flint(negatives: int, positives: int, cost: int) -> int:
    """The Gaussian binomial as a product of cyclotomic polynomials, by FLINT."""
    rows, product = negatives + positives, flint.fmpz_poly([1])
    for k in range(2, rows + 1):
        if rows // k - negatives // k - positives // k:
            product = product.mul_low(flint.fmpz_poly.cyclotomic(k), cost + 1)
    return int(product[cost])


def timed(function: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    found = function()
    return found, time.perf_counter() - started


def _mark(value: float, target: str) -> str:
    return f" (target {TARGETS[target]:g}{', MISSED' if value > TARGETS[target] else ''})"
