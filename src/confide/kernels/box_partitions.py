"""Numbers of partitions that fit a box, for every box of a given half-perimeter, modulo several integers.

The partitions of d into at most k parts of at most n - k are counted by the coefficient of q^d in the Gaussian
binomial [n choose k]_q, and [n choose k+1]_q = [n choose k]_q (1 - q^(n-k)) / (1 - q^(k+1)): one subtraction and one
addition for each coefficient lead from one box to the next. Only sums and differences occur, so moduli that are
coprime in pairs give the exact integers back by the Chinese remainder theorem; they need not be prime.
"""

from __future__ import annotations

from math import ceil, comb, e, gcd, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from confide.kernels.threads import Counts, Threads, available_workers, compiled

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
