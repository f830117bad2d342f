"""Rank sums of sorted rows on a GPU, by kernels that Triton compiles.

The rows are divided into strips, each of which one program reads tile by tile. A run is a stretch of rows with equal
scores; it may cross strips, and its sums are taken in the strip in which it ends. A first pass counts the positives of
each strip, finds the last start of a run in it and whether it has ties. So each strip knows the positives before it,
and where the run began that reaches into it. A second pass sums wins, precisions, and squares about whole numbers that
are near the strip's own.

Wins are 64-bit integers. There are fewer than 2^31 rows, so twice the product of the class sizes is below 2^62.

Import this module only where Triton is installed.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from confide.kernels.sums import Centre, RankSums, rank_sums

TILE = 512
"""Rows that a program reads at once."""

TILES = 16
"""Tiles of a strip. The place and the rank of a run's start in its strip share 32 bits: a strip is below 2^15 rows."""

WARPS = 4
_WORD = 32
_WORDS = 128
FAR = tl.constexpr(1 << 40)
"""More than twice the rows of any device."""


def strip_size() -> int:
    """Return the rows of a strip."""
    return TILE * TILES


def sum_rows(labels: Any, scores: Any, ends: object) -> RankSums:
    """Return the rank sums of PyTorch tensors on a GPU: boolean labels and floats in any order."""
    ordered, order = scores.sort()
    return sum_strips(ordered, *gathered_labels(labels, order))


def gathered_labels(labels: Any, order: Any) -> tuple[Any, int]:
    """Return boolean labels in a given order, and the number of positives.

    The labels are packed into bits first: the cache of the GPU then holds eight times as many of them.
    """
    import torch

    rows = int(labels.shape[0])
    labels, tiles = labels.contiguous(), triton.cdiv(rows, TILE)
    with torch.cuda.device_of(labels):
        words = torch.empty(triton.cdiv(rows, _WORD * _WORDS) * _WORDS, dtype=torch.int32, device=labels.device)
        _pack[triton.cdiv(rows, _WORD * _WORDS),](labels.view(torch.uint8), words, rows, WORDS=_WORDS)
        ordered = torch.empty_like(labels)
        count = torch.empty(tiles, dtype=torch.int32, device=labels.device)
        _gather[tiles,](words, order, ordered.view(torch.uint8), count, rows, TILE=TILE, num_warps=WARPS)
        return ordered, int(count.sum())


def sum_strips(scores: Any, labels: Any, positives: int) -> RankSums:
    """Return the rank sums of PyTorch tensors on a GPU: scores in ascending order, and their labels as booleans.

    Both classes must be present.
    """
    import torch

    rows = int(scores.shape[0])
    n, m, strips = positives, rows - positives, triton.cdiv(rows, TILE * TILES)
    sizes = {"TILE": TILE, "TILES": TILES, "num_warps": WARPS}

    def new(kind: Any, *shape: int) -> Any:
        return torch.empty((*shape, strips), dtype=kind, device=scores.device)

    with torch.cuda.device_of(scores):
        label = labels.view(torch.uint8)
        count, last = new(torch.int32), new(torch.int32)
        _count_strip[strips,](scores, label, rows, count, last, **sizes)
        before, start, rank = _carried(torch, count, last)
        whole, real = new(torch.int64, 6), new(torch.float64, 3)
        _sum_strip[strips,](scores, label, rows, before, start, rank, last, n, whole, real, strips, **sizes)
        p, q, of_positives, of_negatives, least, most = whole
        first_row = torch.arange(strips, dtype=torch.int64, device=scores.device) * (TILE * TILES)
        centres = 2 * (first_row - before) + least, 2 * (n - before) + most
        return add_strips(torch, (p, q), (of_positives, of_negatives), centres, real, n, m)


def _carried(torch: Any, count: Any, last: Any) -> tuple[Any, Any, Any]:
    """Return the positives before each strip, the last start of a run before it, and the positives before that."""
    before = count.cumsum(0, dtype=torch.int64) - count
    first_row = torch.arange(count.shape[0], dtype=torch.int64, device=count.device) * (TILE * TILES)
    found = last >= 0
    start = torch.where(found, first_row + (last >> 16), -1).cummax(0).values
    rank = torch.where(found, before + (last & 0xFFFF), -1).cummax(0).values
    return before, start.roll(1), rank.roll(1)  # what the first strip gets is never used


def add_strips(
    torch: Any, rows: tuple[Any, Any], sums: tuple[Any, Any], centres: tuple[Any, Any], real: Any, n: int, m: int
) -> RankSums:
    """Add the sums of strips. Squares are moved from the strip's centre to that of all rows.

    Each pair has one tensor for positives and one for negatives: the rows of each strip, the sums of their distances
    from the strip's centre, and that centre. The tensors of `real` are precisions, and squares of both classes.
    """
    (p, q), (below, above) = rows, centres
    twice_wins = int((sums[0] + p * below).sum())
    centre = Centre(round(twice_wins / n), round(twice_wins / m))
    precision, *squares = real

    def moved(about: Any, distances: Any, weight: Any, far: Any) -> Any:
        away = far.to(torch.float64)
        return (about + away * (2 * distances.to(torch.float64) + weight.to(torch.float64) * away)).sum()

    precision_sum, squares_below, squares_above = torch.stack(
        [
            precision.sum(),
            moved(squares[0], sums[0], p, below - centre.below),
            moved(squares[1], sums[1], q, above - centre.above),
        ]
    ).tolist()
    return rank_sums(
        n,
        m,
        twice_wins,
        precision_sum=precision_sum,
        centre=centre,
        squares_below=squares_below,
        squares_above=squares_above,
    )


@triton.jit
def _larger(left, right):
    return tl.maximum(left, right)


@triton.jit
def _pack(labels, words, rows, WORDS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * WORDS * 32 + tl.arange(0, WORDS * 32)
    label = tl.load(labels + row, mask=row < rows, other=0).to(tl.int32)
    bits = tl.reshape(label, [WORDS, 32]) << tl.arange(0, 32)[None, :]
    tl.store(words + tl.program_id(0) * WORDS + tl.arange(0, WORDS), tl.sum(bits, 1))


@triton.jit
def _gather(words, order, ordered, count, rows, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = row < rows
    place = tl.load(order + row, mask=inside, other=0)
    word = tl.load(words + (place >> 5), mask=inside, other=0)
    label = (word >> (place & 31).to(tl.int32)) & 1
    tl.store(ordered + row, label.to(tl.uint8), mask=inside)
    tl.store(count + tl.program_id(0), tl.sum(label, 0))


@triton.jit
def _count_strip(scores, labels, rows, count, last, TILE: tl.constexpr, TILES: tl.constexpr):
    """Store the positives of a strip, and the last start of a run in it: -1 if none, -2 if all rows are single runs."""
    strip = tl.program_id(0)
    first_row = strip.to(tl.int64) * TILE * TILES
    lane = tl.arange(0, TILE)
    positives = tl.zeros([TILE], tl.int32)
    latest = tl.full([TILE], -1, tl.int32)
    starts_seen = tl.zeros([TILE], tl.int32)
    for tile in range(TILES):
        place = tile * TILE + lane
        row = first_row + place
        inside = row < rows
        score = tl.load(scores + row, mask=inside)
        previous = tl.load(scores + row - 1, mask=inside & (row > 0))
        positives += tl.load(labels + row, mask=inside, other=0)
        starts = inside & ((row == 0) | (score != previous))
        latest = tl.where(starts, place, latest)
        starts_seen += starts.to(tl.int32)
    tl.store(count + strip, tl.sum(positives, 0))
    after = tl.minimum(first_row + TILE * TILES, rows)
    divided = (after == rows) | (tl.load(scores + after - 1) != tl.load(scores + after, mask=after < rows))
    place = tl.max(latest, 0)
    tied = (tl.sum(starts_seen, 0) < after - first_row) | (divided == 0)
    packed = tl.where(tied, -1, -2)
    if tied & (place >= 0):
        rank = tl.zeros([TILE], tl.int32)
        for tile in range(TILES):
            earlier = tile * TILE + lane
            rank += tl.load(labels + first_row + earlier, mask=earlier < place, other=0)
        packed = (place << 16) | tl.sum(rank, 0)
    tl.store(last + strip, packed)


@triton.jit
def _sum_tied(
    scores, labels, rows, before, start, rank, positives, whole, real, strips, TILE: tl.constexpr, TILES: tl.constexpr
):
    """Sum the runs that end in a strip, of which some have several rows or began before the strip."""
    strip = tl.program_id(0)
    first_row, positives_before = strip.to(tl.int64) * TILE * TILES, tl.load(before + strip)
    start_before, rank_before = tl.load(start + strip) - first_row, tl.load(rank + strip) - positives_before
    lane = tl.arange(0, TILE)
    carried = tl.full([], -1, tl.int32)
    done = tl.zeros([], tl.int32)
    least = tl.full([], FAR, tl.int64)
    most = tl.full([], FAR, tl.int64)
    n, m = tl.zeros([TILE], tl.int64), tl.zeros([TILE], tl.int64)
    wins, losses = tl.zeros([TILE], tl.int64), tl.zeros([TILE], tl.int64)
    precision, under, above = tl.zeros([TILE], tl.float64), tl.zeros([TILE], tl.float64), tl.zeros([TILE], tl.float64)
    for tile in range(TILES):
        place = tile * TILE + lane
        row = first_row + place
        inside = row < rows
        score = tl.load(scores + row, mask=inside)
        previous = tl.load(scores + row - 1, mask=inside & (row > 0))
        following = tl.load(scores + row + 1, mask=row + 1 < rows)
        label = tl.load(labels + row, mask=inside, other=0).to(tl.int32)
        through = done + tl.cumsum(label, 0)
        starts = inside & ((row == 0) | (score != previous))
        ends = (row == rows - 1) | (inside & (score != following))
        packed = tl.where(starts, (place << 16) | (through - label), -1)
        latest = tl.maximum(tl.associative_scan(packed, 0, _larger), carried)
        begun = latest >= 0
        # The run's first row and the positives before it, both less what is before the strip.
        first = tl.where(begun, (latest >> 16).to(tl.int64), start_before)
        below = tl.where(begun, (latest & 0xFFFF).to(tl.int64), rank_before)
        p = tl.where(ends, through - below, 0)
        q = tl.where(ends, place + 1 - first - p, 0)
        low, high = 2 * (first - below) + q, -2 * below - p
        if least == FAR:
            least = tl.min(tl.where(ends, low, FAR), 0)
            most = tl.max(tl.where(ends, high, -FAR), 0)
        left, rows_left = positives - positives_before - below, tl.maximum(rows - first_row - first, 1)
        precision += p.to(tl.float64) * (left.to(tl.float64) / rows_left.to(tl.float64))
        low, high = low - least, high - most
        n, m, wins, losses = n + p, m + q, wins + p * low, losses + q * high
        under += p.to(tl.float64) * low.to(tl.float64) * low.to(tl.float64)
        above += q.to(tl.float64) * high.to(tl.float64) * high.to(tl.float64)
        carried = tl.maximum(carried, tl.max(packed, 0))
        done += tl.sum(label, 0)
    none = least == FAR  # no run ends here
    tl.store(whole + strip, tl.sum(n, 0))
    tl.store(whole + strips + strip, tl.sum(m, 0))
    tl.store(whole + 2 * strips + strip, tl.sum(wins, 0))
    tl.store(whole + 3 * strips + strip, tl.sum(losses, 0))
    tl.store(whole + 4 * strips + strip, tl.where(none, 0, least))
    tl.store(whole + 5 * strips + strip, tl.where(none, 0, most))
    _store_real(precision, under, above, real, strips)


@triton.jit
def _store_real(precision, under, above, real, strips):
    strip = tl.program_id(0)
    tl.store(real + strip, tl.sum(precision, 0))
    tl.store(real + strips + strip, tl.sum(under, 0))
    tl.store(real + 2 * strips + strip, tl.sum(above, 0))


@triton.jit
def _sum_single(labels, rows, before, positives, whole, real, strips, TILE: tl.constexpr, TILES: tl.constexpr):
    """Sum a strip in which every row is a run of its own: whole numbers stay below 2^31."""
    strip = tl.program_id(0)
    first_row, lane = strip.to(tl.int64) * TILE * TILES, tl.arange(0, TILE)
    left = (positives - tl.load(before + strip)).to(tl.float64)
    rows_left = (rows - first_row).to(tl.float64)
    done = tl.zeros([], tl.int32)
    wins = tl.zeros([TILE], tl.int32)
    precision, under, above = tl.zeros([TILE], tl.float64), tl.zeros([TILE], tl.float64), tl.zeros([TILE], tl.float64)
    for tile in range(TILES):
        place = tile * TILE + lane
        inside = first_row + place < rows
        label = tl.load(labels + first_row + place, mask=inside, other=0).to(tl.int32)
        below = done + tl.cumsum(label, 0) - label
        low = place - below
        wins += label * low
        far = tl.where(label != 0, low, 0).to(tl.float64)
        under += far * far
        far = tl.where(inside & (label == 0), below, 0).to(tl.float64)
        above += far * far
        share = (left - below.to(tl.float64)) / tl.maximum(rows_left - place.to(tl.float64), 1.0)
        precision += tl.where(label != 0, share, 0.0)
        done += tl.sum(label, 0)
    p, q = done.to(tl.int64), tl.minimum(rows - first_row, TILE * TILES) - done
    won = tl.sum(wins, 0).to(tl.int64)
    tl.store(whole + strip, p)
    tl.store(whole + strips + strip, q)
    tl.store(whole + 2 * strips + strip, 2 * won)
    tl.store(whole + 3 * strips + strip, 2 * (won - p * q))
    tl.store(whole + 4 * strips + strip, 0)
    tl.store(whole + 5 * strips + strip, 0)
    _store_real(precision, 4 * under, 4 * above, real, strips)


@triton.jit
def _sum_strip(
    scores, labels, rows, before, start, rank, last, positives, whole, real, strips,
    TILE: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    if tl.load(last + tl.program_id(0)) == -2:
        _sum_single(labels, rows, before, positives, whole, real, strips, TILE, TILES)
    else:
        _sum_tied(scores, labels, rows, before, start, rank, positives, whole, real, strips, TILE, TILES)
