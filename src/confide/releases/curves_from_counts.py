"""Curves from a released table of noisy integers: post-processing that costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import PrCurve
from confide.curves.roc import roc_curve
from confide.errors import ParameterError
from confide.grid import Grid
from confide.intervals.private_counts import NoisePart, NoisyCells
from confide.intervals.private_curves import curve_region, pr_band, roc_band, sampling_errors
from confide.privacy.mechanisms.strategies import strategy_named
from confide.releases.counting import rebuilt_cells
from confide.releases.curve_area import released_area
from confide.releases.curve_numbers import calibration_bins, curve_numbers
from confide.releases.curves_release import Bands, CurvesRelease
from confide.releases.release import Release
from confide.releases.shapes import AS_MEASURED, AUTO, fitting_shape, shaped, whole_rows
from confide.releases.within_cells import refined_grid, refined_table

_SEED = 0  # the same release must give the same bands


def curves_of(raw: Release, *, level: float | None = None, shape: str | None = None) -> CurvesRelease:
    """Work out everything from a released table of noisy integers, the release "counts"; it always gives the same."""
    if "noisy_integers" not in raw.parts:
        raise ParameterError("curves follow from the release of metric 'counts'; ask for it, and give that one")
    options = raw.options
    grid = Grid(np.array(options["grid"]))
    noisy = noisy_counts(raw.parts["noisy_integers"], options)
    chosen, wanted = shape or options["shape"], raw.intervals.sample.level if level is None else level
    generator = np.random.default_rng(_SEED)
    agreed, noise = noisy.agreed(), noisy.noise(generator)
    if chosen == AUTO:
        chosen = fitting_shape(noisy, noise)
    table = shaped(noisy, chosen)
    counts = whole_rows(table, grid, rows=noisy.rows, cell_rows=noisy.cell_rows)
    drawn = drawn_counts(table, grid, rows=noisy.rows)
    sampling = sampling_errors(table, noise.shape[0], generator)
    regions = (
        curve_region(agreed, noise, table, wanted),
        curve_region(agreed, noise, table, wanted, sampling=sampling),
    )
    bands = {
        "roc": Bands(sample=roc_band(regions[0]), population=roc_band(regions[1])),
        "pr": Bands(sample=pr_band(regions[0]), population=pr_band(regions[1])),
    }
    known: dict[str, Any] = {"agreed": agreed, "noise": noise, "sampling": sampling, "table": table, "grid": grid}
    follows = options.get("follows_scores", False)
    numbers = curve_numbers(level=wanted, generator=generator, follows_scores=follows, **known)
    area = released_area(raw, wanted)
    bins = calibration_bins(level=wanted, **known)
    return CurvesRelease(
        raw=raw,
        grid=grid,
        strategy=options["strategy"],
        shape=chosen,
        level=wanted,
        counts=counts,
        drawn=drawn,
        roc=roc_curve(drawn),
        pr=drawn_pr(table, grid, support=_support(noise) if chosen in AS_MEASURED else None),
        calibration=bins.bins,
        calibration_ends=bins.ends,
        calibration_edges=bins.edges,
        bands=bands,
        values=numbers.values if area is None else {**numbers.values, "auc": area.value},
        intervals=numbers.intervals if area is None else {**numbers.intervals, "auc": area.intervals},
        area=area,
        noisy=noisy,
        regions=regions,
    )


def drawn_counts(table: FloatArray, grid: Grid, *, rows: int | None = None) -> ScoreCounts:
    """Whole rows in the parts of cells, from which curves are drawn; `rows` is their public number."""
    return whole_rows(refined_table(table, grid), refined_grid(grid), rows=rows)


def drawn_pr(table: FloatArray, grid: Grid, *, support: FloatArray | None = None) -> PrCurve:
    """PR curve of rows in the parts of cells, not rounded: among few rows, rounding would move precision up and down.

    The curve starts where a row lies above the threshold. If a cell's counts are as measured, it starts where
    more rows lie above its lower edge than its `support`: above that, precision is noise.
    """
    above = np.cumsum(refined_table(table, grid)[:, ::-1], axis=1)
    rows, fine = above.sum(axis=0), refined_grid(grid)
    least = np.ones(len(grid)) if support is None else np.maximum(support, 1.0)
    started = np.maximum.accumulate(rows >= np.repeat(least, len(fine) // len(grid))[::-1] - 1e-9)
    started[-1] = True
    kept = started & (np.diff(rows, prepend=0.0) > 0.0)
    kept[-1] = True
    return PrCurve(
        np.minimum(above[0, kept] / above[0, -1], 1.0),
        above[0, kept] / rows[kept],
        fine.representatives[::-1][kept],
        float(above[0, -1] / rows[-1]),
    )


def _support(noise: FloatArray) -> FloatArray:
    """Rows above the lower edge of each cell that noise alone might seem to be: two standard deviations of it."""
    above = np.cumsum(noise.sum(axis=1)[:, ::-1], axis=1)
    deviations: FloatArray = 2.0 * above.std(axis=0)[::-1]
    return deviations


def noisy_counts(integers: Sequence[float], options: Mapping[str, Any]) -> NoisyCells:
    """Noisy counts of cells from the integers that were drawn and the public options of their release."""
    cell_rows = options["cell_rows"]
    return rebuilt_cells(
        np.array(integers, dtype=np.float64),
        cells=len(options["grid"]) - 1,
        strategy=strategy_named(options["strategy"]),
        scale=options["scale"],
        gaussian=options["noise"] == "gaussian",
        rows=options["rows"],
        cell_rows=None if cell_rows is None else np.array(cell_rows, dtype=np.float64),
        shares=options.get("shares", 1.0),
        parts=tuple(NoisePart(**part) for part in options.get("parts", ())),
    )
