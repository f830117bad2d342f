"""Counting and tree tables of the paper, computed exactly, and its conjecture tried on many AUCs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import gcd, isqrt

import numpy as np

from confide.attacks.contest.oracle import Oracle
from confide.attacks.disclosure import Publication, Window
from confide.attacks.from_auc.labeling_count import most_queries, ranking_attack, tree_attack
from confide.attacks.from_auc.labelings import Labelings
from studies.repeatable_noise import generator_for
from studies.store import Arrays
from studies.whitehill.published import (
    CONTEST_NEGATIVES,
    CONTEST_POSITIVES,
    CONTEST_ROWS,
    CONTEST_WINS,
    EXAMPLE,
    GROWTH,
    GROWTH_AUC,
    THOUSAND,
)

LINES = ("1/2", "3/4", "17/20", "9/10", "1387/1440")
"""AUCs of the picture of growth."""
MOST_DRAWN = 400
"""Largest number of rows of that picture."""


def counts() -> Arrays:
    """Count the labelings of the growth table, of Table 1, of four rows, and of the examples in words."""
    rows, auc, positives = EXAMPLE
    large, large_auc, _ = THOUSAND
    digits = Labelings.untied(CONTEST_ROWS, "0.90278")
    cut = Labelings.untied(CONTEST_ROWS, Window.written("0.90277", cut=True))
    return {
        "growth": np.array([Labelings.untied(n, GROWTH_AUC).count() for n in GROWTH]),
        "at_limit": np.array([Labelings.untied(conjecture_limit(1_440), GROWTH_AUC).count()]),
        "growth_sizes": np.array([sorted(Labelings.untied(n, GROWTH_AUC).count_by_positives()) for n in GROWTH]),
        "example": Labelings.untied(rows, auc, positives=positives).listed(),
        "four": Labelings.untied(4, "3/4").listed(),
        "thousand_sizes": np.array(sorted(Labelings.untied(large, large_auc).spans())),
        "thousand_digits": np.array([log10(Labelings.untied(large, large_auc).count())]),
        "rounded": np.array([len(digits.triples())]),
        "cut": np.array([len(cut.triples())]),
        "contest_digits": np.array(
            [
                log10(
                    Labelings.untied(
                        CONTEST_ROWS, Fraction(CONTEST_WINS, CONTEST_NEGATIVES * CONTEST_POSITIVES)
                    ).count()
                )
            ]
        ),
    }


def growth_lines() -> Arrays:
    """Return the number of labelings, as a power of ten, over the number of rows, for several AUCs; NaN for none."""
    rows = np.arange(4, MOST_DRAWN + 1, 4)
    found = {"rows": rows.astype(np.float64)}
    for auc in LINES:
        found[auc] = np.array([_digits(int(n), auc) for n in rows])
    return found


def _digits(rows: int, auc: str) -> float:
    count = Labelings.untied(rows, auc).count()
    return log10(count) if count else float("nan")


def log10(count: int) -> float:
    """Return the decimal logarithm of a whole number of any size.

    >>> round(log10(10**400), 6)
    400.0
    """
    shift = max(count.bit_length() - 60, 0)
    return float(np.log10(count >> shift) + shift * np.log10(2.0))


def swapped(labels: str) -> int:
    """Return the misplaced pairs of labels in ascending order of guesses.

    >>> swapped("0010010111"), swapped("0010100111")  # Figure 1
    (4, 5)
    """
    return sum(a == "1" and b == "0" for place, a in enumerate(labels) for b in labels[place + 1 :])


def every_swap(rows: int) -> Arrays:
    """Try Propositions 3 and 4 and the recursion on all labels of so many rows.

    A left-swap must add one misplaced pair; misplaced pairs must be counted as `Labelings` counts them.
    """
    swaps, wrong = 0, 0
    by_cost: dict[tuple[int, int], int] = {}
    for labels in map("".join, product("01", repeat=rows)):
        cost = swapped(labels)
        by_cost[labels.count("1"), cost] = by_cost.get((labels.count("1"), cost), 0) + 1
        for place in range(1, rows):
            if labels[place - 1 : place + 1] == "01":
                swaps += 1
                wrong += swapped(f"{labels[: place - 1]}10{labels[place + 1 :]}") != cost + 1
    miscounted = 0
    for (positives, cost), count in by_cost.items():
        if 0 < positives < rows:
            auc = 1 - Fraction(cost, positives * (rows - positives))
            miscounted += Labelings.untied(rows, auc, positives=positives).count() != count
    return {"swaps": np.array([swaps]), "wrong": np.array([wrong]), "miscounted": np.array([miscounted])}


def tree(rows: int) -> Arrays:
    """Return the most submissions that Whitehill's tree takes, for his small example and for the large one."""
    small, auc, positives = EXAMPLE
    return {
        "small": np.array([most_queries(Labelings.untied(small, auc, positives=positives))]),
        "large": np.array([most_queries(Labelings.untied(rows, GROWTH_AUC))]),
    }


def attacked(rows: int, truths: int, seed: int) -> Arrays:
    """Run the tree attack and ours on some of the labelings, and count their submissions."""
    listed = Labelings.untied(rows, GROWTH_AUC).listed()
    rng = generator_for(seed, "whitehill", "trees", rows)
    found: dict[str, list[int]] = {"tree": [], "rankings": []}
    wrong = 0
    for index in rng.integers(0, len(listed), truths):
        for name in found:
            oracle = Oracle.of_labels(listed[index], Publication.parse("auc"))
            result = tree_attack(oracle) if name == "tree" else ranking_attack(oracle, generator=rng)
            wrong += not result.complete or bool((result.labels != listed[index]).any())
            found[name].append(result.queries)
    return {**{name: np.array(queries) for name, queries in found.items()}, "wrong": np.array([wrong])}


def conjecture_limit(denominator: int) -> int:
    """Return the least n0 + n1 with n0 n1 = 2q.

    >>> conjecture_limit(1440)
    108
    """
    pairs = 2 * denominator
    return min(a + pairs // a for a in range(1, isqrt(pairs) + 1) if pairs % a == 0)


def conjecture(denominator: int) -> Arrays:
    """Try that w(n, p/q) does not grow with n up to the least n0 + n1 with n0 n1 = 2q, for all AUCs above 1/2.

    Numbers of rows at which no labeling has the AUC are passed over. An AUC counts if at least two are left. Returns
    the number of AUCs tried, and p, q, n, w and the next n, w of each step up, `inside` the limit and `at_limit`.
    """
    tried = 0
    rises: dict[str, list[tuple[int, ...]]] = {"inside": [], "at_limit": []}
    for q in range(2, denominator + 1):
        limit = conjecture_limit(q)
        sizes = [n for n in range(2, limit + 1) if any(a * (n - a) % q == 0 for a in range(1, n))]
        for p in range(q // 2 + 1, q) if len(sizes) > 1 else ():
            if gcd(p, q) == 1:
                tried += 1
                numbers = [(n, Labelings.untied(n, Fraction(p, q)).count()) for n in sizes]
                for before, after in pairwise(numbers):
                    if after[1] > before[1]:
                        rises["at_limit" if after[0] == limit else "inside"].append((p, q, *before, *after))
    return {
        "tried": np.array([tried]),
        **{name: np.array(steps, dtype=np.int64).reshape(len(steps), 6) for name, steps in rises.items()},
    }
