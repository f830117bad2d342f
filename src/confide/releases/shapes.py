"""Bringing noisy counts into shape: none below 0, rates that only rise, curves that are proper or follow a model.

A table has the positives of each cell in its first row and the negatives in its second, from the lowest scores to the
highest. All of this works on what was released already and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.noisy_counts import NoisyCells, curve_region

AUTO = "auto"

_SURE = 0.99
_FITTED_CELLS = 16
_STEPS = 100

Shape: TypeAlias = Callable[[FloatArray], FloatArray]
"""From a table of counts, none negative, to another."""


def shaped(noisy: NoisyCells, shape: str) -> FloatArray:
    """Estimate counts in a shape: they agree with public facts, none is below 0, each class has a row at least."""
    possible = _both_classes(_possible(noisy, by_sums=shape == "isotonic" or noisy.integers > 0), noisy)
    result = SHAPES[shape](possible)
    if noisy.cell_rows is None:
        return result
    within = _within(result[0], noisy.cell_rows, float(possible[0].sum()))
    return np.stack((within, noisy.cell_rows - within))


def checked_shape(shape: object) -> str:
    """Refuse a shape that does not exist."""
    if shape != AUTO and shape not in SHAPES:
        raise ParameterError(f"shape must be one of {', '.join((AUTO, *SHAPES))}; got {shape!r}")
    return str(shape)


def fitting_shape(noisy: NoisyCells, noise: FloatArray) -> str:
    """Concave, unless the noisy counts contradict that: a curve that leaves their region is drawn as measured.

    Where sums got Laplace noise, in a tree, there are so many rows for so little noise that pooling cells costs more
    than it gains: such curves are drawn as measured too.
    """
    if noisy.integers and not noisy.gaussian:
        return "isotonic"
    region = curve_region(noisy.agreed(), noise, shaped(noisy, "isotonic"), _SURE)
    recall, alarm = _rates(shaped(noisy, "concave"))
    inside = all(
        bool(((ends[0] - 1e-9 <= rate) & (rate <= ends[1] + 1e-9)).all())
        for ends, rate in ((region.recall, recall), (region.alarm, alarm))
    )
    return "concave" if inside else "isotonic"


def whole_rows(
    table: FloatArray, grid: Grid, *, rows: int | None = None, cell_rows: FloatArray | None = None
) -> ScoreCounts:
    """Whole rows at the middle of each cell: sums from the top are rounded, so that none moves by more than half a row.

    What is public is kept: `rows`, the sum of all counts (halves of both classes, or what floats take for halves,
    may not both be rounded up), and `cell_rows`, that of each cell.
    """
    from_top = np.cumsum(table[:, ::-1], axis=1)
    rounded = np.floor(from_top + 0.5)
    if rows is not None:
        left = rows - rounded[0, -1]
        rounded[1] = np.append(np.minimum(rounded[1, :-1], left), left)
    counts = np.diff(rounded, axis=1, prepend=0.0)[:, ::-1].astype(np.int64)
    if cell_rows is not None:
        most = cell_rows.astype(np.int64)
        counts[0] = np.minimum(counts[0], most)  # sums that floats take for halves may round apart by a row too many
        counts[1] = most - counts[0]
    used = counts.sum(axis=0) > 0
    return ScoreCounts(grid.representatives[used], counts[0, used], counts[1, used])


def _both_classes(table: FloatArray, noisy: NoisyCells) -> FloatArray:
    """Ensure one row of each class at least, so that a curve can be drawn whatever the noise was."""
    cells = table.shape[1]
    spare = np.ones((2, cells)) if noisy.cell_rows is None else np.tile(noisy.cell_rows, (2, 1))
    totals = table.sum(axis=1, keepdims=True)
    mixture = spare / spare.sum(axis=1, keepdims=True)
    raised = np.where(totals < 1.0, mixture, table)
    if noisy.cell_rows is not None:
        for one, other in ((0, 1), (1, 0)):
            if totals[one, 0] < 1.0:
                raised[other] = noisy.cell_rows - raised[one]
    elif noisy.rows is not None:
        for one, other in ((0, 1), (1, 0)):
            if totals[one, 0] < 1.0 and totals[other, 0] > 0.0:
                raised[other] = table[other] * (noisy.rows - 1.0) / totals[other, 0]
    return raised


def _possible(noisy: NoisyCells, *, by_sums: bool) -> FloatArray:
    """Counts that are possible: none below 0 and, where the rows of a cell are public, none above them.

    Where noise was added to the counts themselves, the nearest counts with the same totals. Where it was
    added to sums, cells are noisier than sums of many, so the sums from the top are made to rise instead.
    """
    agreed = noisy.agreed()
    if noisy.cell_rows is None:
        return rising(agreed) if by_sums else noisy.adjusted()
    positives = agreed[0]
    if by_sums:
        positives = noisy.cell_rows - rising((noisy.cell_rows - rising(positives[None]))[:1])[0]
    within = _within(positives, noisy.cell_rows, float(np.clip(agreed[0].sum(), 0.0, noisy.cell_rows.sum())))
    return np.stack((within, noisy.cell_rows - within))


def rising(tables: FloatArray) -> FloatArray:
    """Return the nearest rising sums from the top, from 0 to the total: constrained inference (Hay et al. 2010).

    The last axis of the tables has the cells; each line along it is treated by itself.
    """
    from scipy.optimize import isotonic_regression

    sums = np.cumsum(tables[..., ::-1], axis=-1)
    totals = np.maximum(sums[..., -1:], 0.0)
    lines = sums.reshape(-1, sums.shape[-1])
    for place in np.flatnonzero((lines[:, 1:] < lines[:, :-1]).any(axis=1)):
        lines[place] = isotonic_regression(lines[place]).x
    sums = np.clip(lines.reshape(sums.shape), 0.0, totals)
    sums[..., -1:] = totals
    return np.diff(sums, axis=-1, prepend=0.0)[..., ::-1]


def _within(counts: FloatArray, most: FloatArray, total: float) -> FloatArray:
    """Return the nearest counts between 0 and `most` with a given total: all are shifted alike before they are cut."""
    low, high = float((counts - most).min()), float(counts.max())
    for _ in range(100):  # halved until floats end; the total falls as more is taken off
        middle = (low + high) / 2.0
        low, high = (middle, high) if np.clip(counts - middle, 0.0, most).sum() > total else (low, middle)
    return np.clip(counts - (low + high) / 2.0, 0.0, most)


def _concave(table: FloatArray) -> FloatArray:
    """A proper ROC curve: the higher the cell, the larger the positives' share.

    Cells that violate this are pooled (isotonic regression of the share on the cell, weighted by the
    rows), which draws the curve along its convex hull. Every cell keeps its rows, every class its total.
    """
    from scipy.optimize import isotonic_regression

    rows = table.sum(axis=0)
    used = rows > 0.0
    pooled = table.copy()
    share = isotonic_regression(table[0, used] / rows[used], weights=rows[used]).x
    pooled[0, used], pooled[1, used] = share * rows[used], (1.0 - share) * rows[used]
    return pooled


def _roc_glm(table: FloatArray) -> FloatArray:
    """A curve `TPR = Phi(a + b Phi^-1(FPR))` by probit regression on the cells' edges (ROC-GLM).

    At each edge the number of positives above it is regressed on the normal quantile of its
    false-positive rate (Pepe 2000; Schalk et al. 2024, section 3). The negatives stay as they are.
    """
    recall, alarm = _rates(table)
    inside = (alarm > 0.0) & (alarm < 1.0)
    if np.unique(alarm[inside]).size < 2:
        return table
    return _on_line(table, *probit_line(ndtri(alarm[inside]), recall[inside]))


def _on_line(table: FloatArray, intercept: float, slope: float) -> FloatArray:
    """Move the positives on to a binormal curve, at the false-positive rates of the negatives."""
    _, alarm = _rates(table)
    with np.errstate(invalid="ignore"):
        recall = ndtr(intercept + slope * ndtri(alarm))  # from 0 at no alarm to 1 at every alarm
    return np.stack((np.diff(recall)[::-1] * table[0].sum(), table[1]))


def probit_line(z: FloatArray, share: FloatArray) -> tuple[float, float]:
    """Intercept and slope, not below 0, of the probit regression of shares on z, all weighing the same."""
    from scipy.optimize import minimize

    def loss(line: FloatArray) -> float:
        linear = line[0] + line[1] * z
        return -float(np.dot(share, log_ndtr(linear)) + np.dot(1.0 - share, log_ndtr(-linear)))

    result = minimize(loss, np.array([1.0, 1.0]), method="L-BFGS-B", bounds=[(-8.0, 8.0), (0.02, 8.0)])
    return float(result.x[0]), float(result.x[1])


def _binormal(table: FloatArray) -> FloatArray:
    """Fit counts that are normal in both classes after an increasing transformation, by least squares.

    Negatives are standard normal, positives have mean a/b and deviation 1/b, and the cells' edges are unknown points
    between (Dorfman & Alf 1969); cells are put together first where there are many. Noise is as large in
    empty cells as in full ones, which maximum likelihood would not know.
    """
    from scipy.optimize import least_squares

    rows = table.sum(axis=0)
    starts = equal_mass_starts(np.maximum(rows, 1e-9), _FITTED_CELLS)
    counts, totals = np.add.reduceat(table, starts, axis=1), table.sum(axis=1, keepdims=True)
    if starts.size < 3:
        return table

    def apart(parameters: FloatArray) -> FloatArray:
        distances: FloatArray = ((_binormal_shares(parameters) * totals - counts) / totals.sum()).ravel()
        return distances

    start = _binormal_start(counts)
    reach = np.concatenate(([8.0, 3.0], np.full(start.size - 2, 6.0)))
    result = least_squares(apart, np.clip(start, -reach, reach), bounds=(-reach, reach), max_nfev=_STEPS)
    return _on_line(table, float(result.x[0]), float(np.exp(result.x[1])))


def _binormal_start(counts: FloatArray) -> FloatArray:
    """Edges where the negatives have them, a small gap between them at least, and a usual curve."""
    below = np.cumsum(counts[1])[:-1] / counts[1].sum()
    edges = ndtri(np.clip(below, 0.01, 0.99))
    gaps = np.log(np.maximum(np.diff(edges), 0.02))
    return np.concatenate(([1.0, 0.0, edges[0]], gaps))


def _binormal_shares(parameters: FloatArray) -> FloatArray:
    """Shares of cells: parameters are a, log b, the lowest edge and the logarithms of the gaps between edges."""
    a, log_b, first = parameters[:3]
    edges = first + np.concatenate(([0.0], np.cumsum(np.exp(parameters[3:]))))
    below = np.stack((ndtr(np.exp(log_b) * edges - a), ndtr(edges)))
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _rates(table: FloatArray) -> FloatArray:
    """True and false-positive rates at every edge, from the top."""
    sums = np.cumsum(table[:, ::-1], axis=1)
    rates: FloatArray = np.concatenate((np.zeros((2, 1)), sums / sums[:, -1:]), axis=1)
    return rates


def _as_it_is(table: FloatArray) -> FloatArray:
    return table


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "concave": _concave,
        "isotonic": _as_it_is,
        "counts": _as_it_is,
        "binormal": _binormal,
        "roc-glm": _roc_glm,
    }
)
"""Shapes by name: "isotonic" works on the noisy sums themselves, "counts" only cuts at 0."""

AS_MEASURED = ("isotonic", "counts")
"""Shapes in which a cell's share of positives is what its own noisy counts say."""
