"""Labelings that an AUC leaves possible: counted by partitions that fit a box, and drawn.

The partitions of d into at most k parts of at most n - k are counted by the coefficient of q^d in the Gaussian
binomial [n choose k]_q, and [n choose k+1]_q = [n choose k]_q (1 - q^(n-k)) / (1 - q^(k+1)): one subtraction and one
addition for each coefficient lead from one box to the next. Only sums and differences occur, so moduli that are
coprime in pairs give the exact integers back by the Chinese remainder theorem; they need not be prime.

Rows are in groups of equal scores, from the lowest score to the highest. A labeling's cost is the number of misplaced
pairs: for each negative, the positives that have a lower score, in units of `unit` to a pair; with a unit of 2, a
pair that ties costs 1. So a group of g rows, a of them positive, that has p positives below it costs
`unit (g - a) p + unit a (g - a) / 2`.
"""

from __future__ import annotations

from math import ceil, comb, e, gcd, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from confide.kernels.threads import Counts, Labels, Scores, Threads, available_workers, compiled

_LARGEST = 2**63  # sums of two residues fit 64 bits
_WORK_PER_THREAD = 1 << 9


def partition_sums(n: int, low: Counts, high: Counts) -> list[int]:
    """Count, for each k, the partitions of any d from low[k] to high[k] with at most k parts of at most n - k.

    `low` and `high` have an entry for each k from 0 on, to n // 2 at most; where low is larger the sum is 0.
    """
    wanted = np.flatnonzero(low <= high)
    if not wanted.size:
        return [0] * low.size
    last = int(wanted[-1])
    moduli = _coprime(_bits(n, last, int(high.max())))
    with Threads(available_workers(_WORK_PER_THREAD * n * len(moduli))) as threads:
        residues = threads.map(lambda modulus: _sums(n, low[: last + 1], high[: last + 1], np.uint64(modulus)), moduli)
    return _restored(residues, moduli) + [0] * (low.size - last - 1)


def _bits(n: int, k: int, d: int) -> int:
    """Bound the bits of a sum: all subsets of size k, or all partitions of up to d (p(d) < exp(pi sqrt(2 d / 3)))."""
    unbounded = pi * sqrt(2.0 * d / 3.0) * log2(e) + log2(d + 1.0)
    return min(comb(n, k).bit_length(), ceil(unbounded)) + 1


def _coprime(bits: int) -> list[int]:
    """Integers below 2^63, coprime in pairs, whose product has more than so many bits."""
    found: list[int] = []
    product, candidate = 1, _LARGEST
    while product.bit_length() <= bits:
        if gcd(product, candidate) == 1:
            found.append(candidate)
            product *= candidate
        candidate -= 1
    return found


def _restored(residues: list[NDArray[np.uint64]], moduli: list[int]) -> list[int]:
    """Return the integers with these residues (Garner's scheme, one modulus after the other)."""
    values, product = [int(residue) for residue in residues[0]], moduli[0]
    for rests, modulus in zip(residues[1:], moduli[1:], strict=True):
        inverse = pow(product, -1, modulus)
        values = [v + product * ((int(r) - v) * inverse % modulus) for v, r in zip(values, rests, strict=True)]
        product *= modulus
    return values


@compiled
def _sums(n: int, low: Counts, high: Counts, modulus: np.uint64) -> NDArray[np.uint64]:
    most = max(high.max(), 0)
    ways = np.zeros(most + 1, dtype=np.uint64)
    ways[0] = np.uint64(1)
    sums = np.zeros(low.size, dtype=np.uint64)
    for k in range(low.size):
        if k > 0:
            _next_box(ways, n - k + 1, k, min(most, k * (n - k)), modulus)
        total = np.uint64(0)
        for d in range(max(low[k], 0), min(high[k], k * (n - k)) + 1):
            total += ways[d]
            if total >= modulus:
                total -= modulus
        sums[k] = total
    return sums


@compiled
def _next_box(ways: NDArray[np.uint64], longer: int, part: int, degree: int, modulus: np.uint64) -> None:
    """Multiply by (1 - q^longer) / (1 - q^part) in place, up to a degree."""
    for d in range(degree, longer - 1, -1):
        value = ways[d] + (modulus - ways[d - longer])
        ways[d] = value - modulus if value >= modulus else value
    for d in range(part, degree + 1):
        value = ways[d] + ways[d - part]
        ways[d] = value - modulus if value >= modulus else value


Table = NDArray[np.float64]


@compiled
def list_labelings(labels: Labels, started: bool, positives: int, low: int, high: int, out: NDArray[np.uint8]) -> int:
    """Write the labelings of untied rows that follow `labels` into `out`; return how many there were.

    Listed are those with so many positives and a cost from low to high, in lexicographic order. All
    costs between the least and the most that a beginning can end with do occur, so no search is in vain.
    """
    n = labels.size
    below = np.zeros(n + 1, dtype=np.int64)
    cost = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        below[i + 1] = below[i] + labels[i]
        cost[i + 1] = cost[i] + (0 if labels[i] else below[i])
    written = 0
    while written < out.shape[0]:
        i = 0
        if started:
            i = n - 1
            while i >= 0 and (
                labels[i] or not _can_end(below[i] + 1, cost[i], n - i - 1, positives - below[i] - 1, low, high)
            ):
                i -= 1
            if i < 0:
                break
            labels[i] = 1
            below[i + 1], cost[i + 1] = below[i] + 1, cost[i]
            i += 1
        elif not _can_end(0, 0, n, positives, low, high):
            break
        while i < n:
            lowest = _can_end(below[i], cost[i] + below[i], n - i - 1, positives - below[i], low, high)
            labels[i] = 0 if lowest else 1
            below[i + 1] = below[i] + labels[i]
            cost[i + 1] = cost[i] + (below[i] if lowest else 0)
            i += 1
        started = True
        out[written] = labels
        written += 1
    return written


@compiled
def _can_end(below: int, cost: int, left: int, positives: int, low: int, high: int) -> bool:
    """Return whether the remaining rows, with so many positives among them, can bring the cost between low and high."""
    if positives < 0 or positives > left:
        return False
    least = cost + (left - positives) * below
    return bool(least <= high and least + (left - positives) * positives >= low)


@compiled
def step_back(later: Table, ways: Scores, unit: int, fewest: int, most: int) -> Table:
    """Weights of states before a group, from those after it: states are (positives below, cost so far).

    `ways[a]` is the weight of having a positives in the group; states have `fewest` to `most` positives below.
    """
    earlier = np.zeros_like(later)
    size, width = ways.size - 1, later.shape[1]
    for p in range(fewest, most + 1):
        for a in range(min(size, later.shape[0] - 1 - p) + 1):
            cost = unit * (size - a) * p + unit * a * (size - a) // 2
            for d in range(width - cost):
                earlier[p, d] += ways[a] * later[p + a, d + cost]
    return earlier


@compiled
def step_on(earlier: Table, ways: Scores, unit: int, fewest: int, most: int) -> Table:
    """Weights of states behind a group, from those before it."""
    later = np.zeros_like(earlier)
    size, width = ways.size - 1, earlier.shape[1]
    for p in range(fewest, most + 1):
        for a in range(min(size, earlier.shape[0] - 1 - p) + 1):
            cost = unit * (size - a) * p + unit * a * (size - a) // 2
            for d in range(width - cost):
                later[p + a, d + cost] += ways[a] * earlier[p, d]
    return later


@compiled
def weights_between(earlier: Table, later: Table, ways: Scores, unit: int, fewest: int, most: int) -> Scores:
    """Return, for each number a of positives in a group, the weight of all labelings that have it."""
    weights = np.zeros(ways.size)
    size, width = ways.size - 1, earlier.shape[1]
    for p in range(fewest, most + 1):
        for a in range(min(size, earlier.shape[0] - 1 - p) + 1):
            cost = unit * (size - a) * p + unit * a * (size - a) // 2
            total = 0.0
            for d in range(width - cost):
                total += earlier[p, d] * later[p + a, d + cost]
            weights[a] += ways[a] * total
    return weights


@compiled
def tilted_chances(
    sizes: Counts, log_ways: Scores, starts: Counts, unit: int, positives: int, tilt: float
) -> tuple[Table, float]:
    """Return chances for drawing a labeling with weight `exp(-tilt cost)`, and the logarithm of the sum of all weights.

    In the table, row `starts[i] + a` has the chance of at most a positives in group i, by positives below.
    """
    chances = np.ones((log_ways.size, positives + 1))
    log_sum = np.full(positives + 1, -np.inf)
    log_sum[positives] = 0.0
    for i in range(sizes.size - 1, -1, -1):
        size, before = sizes[i], np.full(positives + 1, -np.inf)
        for p in range(positives + 1):
            most = -np.inf
            for a in range(min(size, positives - p) + 1):
                cost = unit * (size - a) * p + unit * a * (size - a) // 2
                most = max(most, log_ways[starts[i] + a] - tilt * cost + log_sum[p + a])
            if most == -np.inf:
                continue
            total = 0.0
            for a in range(min(size, positives - p) + 1):
                cost = unit * (size - a) * p + unit * a * (size - a) // 2
                total += np.exp(log_ways[starts[i] + a] - tilt * cost + log_sum[p + a] - most)
                chances[starts[i] + a, p] = total
            for a in range(min(size, positives - p) + 1):
                chances[starts[i] + a, p] /= total
            before[p] = most + np.log(total)
        log_sum = before
    return chances, log_sum[0]


@compiled
def draw_tilted(
    sizes: Counts,
    starts: Counts,
    chances: Table,
    unit: int,
    low: int,
    high: int,
    tilt: float,
    uniforms: Table,
    out: NDArray[np.int64],
) -> int:
    """Draw as many labelings as there are rows of uniforms; keep those of a cost from low to high.

    One of cost d is kept with probability `exp(-tilt (high - d))`, which makes all equally likely. What is
    written is the positives of each group; returned is how many were kept.
    """
    kept = 0
    drawn = np.empty(sizes.size, dtype=np.int64)
    for attempt in range(uniforms.shape[0]):
        below, cost = 0, 0
        for i in range(sizes.size):
            a = 0
            while a < sizes[i] and uniforms[attempt, i] >= chances[starts[i] + a, below]:
                a += 1
            cost += unit * (sizes[i] - a) * below + unit * a * (sizes[i] - a) // 2
            below += a
            drawn[i] = a
        if low <= cost <= high and np.log(uniforms[attempt, sizes.size]) <= tilt * (cost - high):
            out[kept] = drawn
            kept += 1
    return kept


@compiled
def most_telling(labelings: NDArray[np.uint8], chosen: Counts) -> tuple[int, int]:
    """Return the (first) row whose label splits the chosen labelings most evenly, and how many have it at 1."""
    ones = np.zeros(labelings.shape[1], dtype=np.int64)
    for i in range(chosen.size):
        for j in range(labelings.shape[1]):
            ones[j] += labelings[chosen[i], j]
    best = 0
    for j in range(1, ones.size):
        if abs(2 * ones[j] - chosen.size) < abs(2 * ones[best] - chosen.size):
            best = j
    return best, ones[best]


@compiled
def tree_depths(labelings: NDArray[np.uint8]) -> Counts:
    """Return how many labels must be queried until each labeling is the only one left, the most telling label first."""
    count = labelings.shape[0]
    order = np.arange(count)
    depths = np.zeros(count, dtype=np.int64)
    stack = [(0, count, 0)]
    while len(stack) > 0:
        first, last, depth = stack.pop()
        if last - first == 1:
            depths[order[first]] = depth
            continue
        row, ones = most_telling(labelings, order[first:last])
        part = order[first:last].copy()
        zero, one = first, last - ones
        for index in part:
            if labelings[index, row]:
                order[one] = index
                one += 1
            else:
                order[zero] = index
                zero += 1
        stack.append((first, last - ones, depth + 1))
        stack.append((last - ones, last, depth + 1))
    return depths
