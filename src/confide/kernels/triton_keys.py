"""Rank sums of unsorted rows on a GPU, by a sort that carries nothing beside its keys.

A key is an integer that holds a score and its label. Scores become integers in the same order: the bits of a float
without its sign are its magnitude, and a negative score has the negative of it, so both zeros are equal. The label is
the lowest bit of the key. A key has as many bits as the score (those of 16 bits have 32), so as integers the scores
must span less than 2^31 (float64: 2^63). They do if all have one sign, or if all are between -2 and 2. For others, a
gap is left out: the magnitudes next to zero, as many as necessary. For float32 scores between -1,000 and 1,000, these
are the ones below 3e-36. If a score lies in the gap, no keys are made.

PyTorch's `unique` sorts the keys and counts equal ones. A distinct score then is one or two adjacent entries: first its
negatives, then its positives. The entries are divided into strips. A first pass counts both classes in each strip, a
second one sums wins, precisions and squares, about whole numbers near the means of the strip.

Counts of both classes share 64 bits, positives in the upper half: there are fewer than 2^31 rows. For the same reason
twice the product of the class sizes is below 2^62.

Import this module only where Triton is installed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from confide.kernels.sums import RankSums, no_sums
from confide.kernels.triton_sums import add_strips

TILE = 512
"""Entries of a strip, all of which a program reads at once."""

WARPS = 4
LOWER = tl.constexpr(0xFFFFFFFF)
_LOWER = 0xFFFFFFFF


def strip_size() -> int:
    """Return the entries of a strip."""
    return TILE


class Fold(NamedTuple):
    """A map of scores to keys: the magnitudes left out next to zero, and the integer that becomes zero."""

    gap: int
    middle: int


def sum_rows(labels: Any, scores: Any, ends: tuple[float, float]) -> RankSums | None:
    """Return the rank sums of PyTorch tensors on a GPU: boolean labels and floats in any order.

    The least and the largest score are given. Return None if keys cannot hold the scores.
    """
    import torch

    with torch.cuda.device_of(scores):
        keys = _keys(torch, labels, scores, ends)
        return None if keys is None else _sum_entries(torch, *torch.unique(keys, return_counts=True))


def fold(ends: tuple[int, int], bits: int) -> Fold:
    """Return the map to keys of so many bits, given the least and the largest score as integers."""
    low, high = ends
    room = 1 << (bits - 1)
    gap = max(0, (high - low - room) // 2 + 1)
    return Fold(gap, (low + high + 1) // 2)


def _keys(torch: Any, labels: Any, scores: Any, ends: tuple[float, float]) -> Any | None:
    """Pack scores and labels into keys. Return None if a score lies in the gap, or if floats have another size."""
    kinds = {2: (torch.int16, torch.int32), 4: (torch.int32, torch.int32), 8: (torch.int64, torch.int64)}
    if scores.element_size() not in kinds:
        return None
    kind, wide = kinds[scores.element_size()]
    largest, rows = torch.iinfo(kind).max, int(scores.shape[0])
    bits = torch.tensor(ends, dtype=scores.dtype, device="cpu").view(kind).tolist()
    low, high = (each if each >= 0 else -(each & largest) for each in bits)
    gap, middle = fold((low, high), torch.iinfo(wide).bits)
    keys = torch.empty(rows, dtype=wide, device=scores.device)
    lost = torch.empty(triton.cdiv(rows, TILE), dtype=torch.int32, device=scores.device)
    label = labels.contiguous().view(torch.uint8)
    _launch(_pack, rows, scores.contiguous().view(kind), label, keys, lost, gap, middle, LARGEST=largest)
    return None if gap and bool(lost.any()) else keys


def _sum_entries(torch: Any, keys: Any, counts: Any) -> RankSums:
    """Return the rank sums of distinct keys in ascending order."""
    entries = int(keys.shape[0])
    strips = triton.cdiv(entries, TILE)

    def new(kind: Any, *shape: int) -> Any:
        return torch.empty((*shape, strips), dtype=kind, device=keys.device)

    total, whole, real = new(torch.int64), new(torch.int64, 4), new(torch.float64, 3)
    _launch(_count_strip, entries, keys, counts, total)
    through = total.cumsum(0)
    _launch(_sum_strip, entries, keys, counts, total, through, whole, real, strips)
    n, m = divmod(int(through[-1]), 1 << 32)
    if n == 0 or m == 0:
        return no_sums(n, m)
    before = through - total
    wins, losses, least, most = whole
    centres = 2 * (before & _LOWER) + least, 2 * (n - (before >> 32)) + most
    return add_strips(torch, (total >> 32, total & _LOWER), (wins, losses), centres, real, n, m)


def _launch(kernel: Any, rows: int, *given: Any, **sizes: int) -> None:
    """Run a kernel on all full strips, where nothing is masked and loads are wide, and on the rest."""
    full = rows // TILE
    if full:
        kernel[full,](0, rows, *given, TILE=TILE, FULL=True, num_warps=WARPS, **sizes)
    if rows % TILE:
        kernel[1,](full, rows, *given, TILE=TILE, FULL=False, num_warps=WARPS, **sizes)


@triton.jit
def _inside(row, rows, TILE: tl.constexpr, FULL: tl.constexpr):
    return tl.full([TILE], 1, tl.int1) if FULL else row < rows


@triton.jit(do_not_specialize=["first", "rows", "gap", "middle"])
def _pack(
    first, rows, scores, labels, keys, lost, gap, middle, LARGEST: tl.constexpr, TILE: tl.constexpr, FULL: tl.constexpr
):
    strip = first + tl.program_id(0)
    row = strip.to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = _inside(row, rows, TILE, FULL)
    bits = tl.load(scores + row, mask=inside, other=0).to(keys.dtype.element_ty)
    label = tl.load(labels + row, mask=inside, other=0) != 0
    magnitude = bits & LARGEST
    beyond = tl.maximum(magnitude - gap, 0)
    score = tl.where(bits < 0, -beyond, beyond)
    tl.store(keys + row, (score - middle) * 2 + label.to(keys.dtype.element_ty), mask=inside)
    tl.store(lost + strip, tl.max(((magnitude > 0) & (magnitude <= gap)).to(tl.int32), 0))


@triton.jit
def _both_counts(key, count):
    return tl.where((key & 1) != 0, count << 32, count)


@triton.jit
def _whole_mean(total, count):
    """Return a whole number near a mean. A division of 64-bit integers would take much longer."""
    return (total.to(tl.float64) / tl.maximum(count, 1).to(tl.float64)).to(tl.int64)


@triton.jit(do_not_specialize=["first", "entries"])
def _count_strip(first, entries, keys, counts, total, TILE: tl.constexpr, FULL: tl.constexpr):
    strip = first + tl.program_id(0)
    entry = strip.to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = _inside(entry, entries, TILE, FULL)
    key = tl.load(keys + entry, mask=inside, other=0)
    count = tl.load(counts + entry, mask=inside, other=0)
    tl.store(total + strip, tl.sum(_both_counts(key, count), 0))


@triton.jit(do_not_specialize=["first", "entries", "strips"])
def _sum_strip(
    first, entries, keys, counts, total, through, whole, real, strips, TILE: tl.constexpr, FULL: tl.constexpr
):
    strip = first + tl.program_id(0)
    entry = strip.to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = _inside(entry, entries, TILE, FULL)
    key = tl.load(keys + entry, mask=inside, other=0)
    count = tl.load(counts + entry, mask=inside, other=0)
    positive = (key & 1) != 0
    # Rows of the other class with the same score are in the entry before the positives, or after the negatives.
    partner = tl.where(positive, entry - 1, entry + 1)
    exists = inside & (partner >= 0) & (partner < entries)
    same = exists & (tl.load(keys + partner, mask=exists, other=0) == (key ^ 1))
    tied = tl.load(counts + partner, mask=same, other=0)
    both = _both_counts(key, count)
    earlier = tl.cumsum(both, 0) - both
    positives, negatives = earlier >> 32, earlier & LOWER  # in the strip, before the entry
    # Twice the negatives below a positive, or minus twice the positives below a negative. Ties are taken off once.
    pairs = tl.where(positive, 2 * negatives, -2 * positives) - tied
    here = tl.load(total + strip)
    n, m = here >> 32, here & LOWER
    wins = tl.sum(tl.where(positive, count * pairs, 0), 0)
    losses = tl.sum(tl.where(positive, 0, count * pairs), 0)
    least, most = _whole_mean(wins, n), _whole_mean(losses, m)
    tl.store(whole + strip, wins - n * least)
    tl.store(whole + strips + strip, losses - m * most)
    tl.store(whole + 2 * strips + strip, least)
    tl.store(whole + 3 * strips + strip, most)
    rest = tl.load(through + strips - 1) - tl.load(through + strip) + here  # both classes from the strip on
    left = (rest >> 32) - positives
    rows_left = tl.maximum(left + (rest & LOWER) - negatives + tied, 1)
    weight = count.to(tl.float64)
    share = left.to(tl.float64) / rows_left.to(tl.float64)
    away = (pairs - tl.where(positive, least, most)).to(tl.float64)
    squares = weight * away * away
    tl.store(real + strip, tl.sum(tl.where(positive, weight * share, 0.0), 0))
    tl.store(real + strips + strip, tl.sum(tl.where(positive, squares, 0.0), 0))
    tl.store(real + 2 * strips + strip, tl.sum(tl.where(positive, 0.0, squares), 0))
