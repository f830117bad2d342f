"""Whole curves that may be published, and an AUC of its own beside them.

The AUC that follows from noisy counts allows for errors of the order within cells. If scores have few values, these
errors are most of its interval. How many values scores have is not public, so this is an option and no default.

The noise of the AUC is independent of that of the counts, and its parameters are public. So epsilons add up to that of
the whole release: see "An AUC beside the counts" in private_counts.proof.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import PrCurve
from confide.curves.roc import roc_curve
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import Exact, stored_fraction
from confide.privacy.mechanisms.strategies import strategy_named
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import NoisePart, NoisyCells, curve_region, pr_band, roc_band, sampling_errors
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.auc import prepare_auc
from confide.releases.confusion import checked_threshold
from confide.releases.counting import COUNTING_MECHANISMS, Counting, rebuilt_cells
from confide.releases.curve_numbers import calibration_bins, curve_numbers, refined_grid, refined_table, rows_intervals
from confide.releases.curves_release import CURVE_METRICS, Bands, CurvesRelease
from confide.releases.grids import check_threshold
from confide.releases.operating import Target
from confide.releases.release import PreparedRelease, Release
from confide.releases.shapes import AS_MEASURED, AUTO, fitting_shape, shaped, whole_rows
from confide.releases.symmetric import SYMMETRIC, prepare_symmetric
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

AREA_SHARE = Fraction(1, 4)
"""Share of epsilon that an AUC beside curves costs.

Widths of the sample's interval without and with this share, at epsilon 1: 0.25 and 0.054 for 2,000 rows whose scores
have a dozen values, 0.22 and 0.008 for 14,650; but 0.038 and 0.054, and 0.006 and 0.008, if all scores differ. (Half of
epsilon makes it half as wide.) The error of the ROC curve grows by 7 to 29 %. The AUC says little where epsilon times
the rows of the smaller class is below about 100.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveArea:
    """An AUC beside curves: its own epsilon, and the public parameters from which its noise and intervals follow."""

    epsilon: Fraction
    neighbours: Neighbours
    unit: str
    rows_per_person: int
    prevalence_guess: float | None
    mechanism: str = "auto"

    @classmethod
    def of(cls, terms: Terms) -> CurveArea:
        """Return the AUC that is released beside curves of these terms."""
        return cls(
            epsilon=terms.promised[0] * AREA_SHARE,
            neighbours=terms.neighbours,
            unit=terms.unit,
            rows_per_person=terms.rows_per_person,
            prevalence_guess=terms.prevalence_guess,
        )

    @classmethod
    def released_with(cls, counts: Release) -> CurveArea | None:
        """Read the parameters of the AUC that was released beside noisy counts; None if there was none."""
        options: Mapping[str, Any] | None = counts.options.get("area")
        if options is None:
            return None
        guarantee = counts.guarantee
        return cls(
            epsilon=stored_fraction(options["epsilon"]),
            neighbours=guarantee.neighbours,
            unit=guarantee.unit,
            rows_per_person=guarantee.rows_per_person,
            prevalence_guess=options["prevalence_guess"],
            mechanism=options["mechanism"],
        )

    def prepare(self, counts: ScoreCounts, level: float, noise: Noise = SYSTEM_NOISE) -> PreparedRelease:
        """Check the request as `release_auc` does."""
        return prepare_auc(
            counts,
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            level=level,
            prevalence_guess=self.prevalence_guess,
            noise=noise,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedArea:
    """An AUC beside curves whose request was checked; no noise has been drawn."""

    area: CurveArea
    prepared: PreparedRelease

    @property
    def request(self) -> Mapping[str, Any]:
        """Public parameters that the drawn numbers depend on."""
        return {"area": {**self.prepared.request, "epsilon": str(self.area.epsilon)}}

    @property
    def options(self) -> dict[str, Any]:
        """Public parameters from which the release is built again."""
        area = self.area
        how = {"epsilon": str(area.epsilon), "prevalence_guess": area.prevalence_guess}
        return {"area": {"mechanism": self.prepared.request["mechanism"], **how}}

    @property
    def rho(self) -> Fraction:
        """Rho of the AUC for single rows: it is pure."""
        return rho_of_pure(self.area.epsilon / self.area.rows_per_person)

    def draw(self, noise: Noise) -> dict[str, list[float]]:
        """Draw the numbers that the AUC and its intervals follow from."""
        (release,) = self.prepared.draw(noise)
        return {"area": list(release.noisy)}


def prepare_area(counts: ScoreCounts, terms: Terms, noise: Noise) -> PreparedArea:
    """Check the request for an AUC beside curves of these terms."""
    area = CurveArea.of(terms)
    return PreparedArea(area=area, prepared=area.prepare(counts, terms.level, noise))


def left_for_counts(terms: Terms) -> Terms:
    """Return the terms of the counts beside an AUC. What is promised stays: it is the guarantee of both."""
    return replace(terms, epsilon=terms.epsilon * (1 - AREA_SHARE))


def released_area(counts: Release, level: float) -> Release | None:
    """Rebuild the AUC that was released beside noisy counts, with intervals at a level; None if there was none.

    It follows from the drawn numbers and public facts. Rows that are made up, as many as the real ones where that
    number is public, stand for the real ones.
    """
    area = CurveArea.released_with(counts)
    if area is None:
        return None
    build = area.prepare(_made_up(counts.options["rows"]), level).build
    if build is None:
        return None
    (release,) = build(counts.parts["area"])
    return replace(release, guarantee=counts.guarantee)


def _made_up(rows: int | None) -> ScoreCounts:
    """Return so many rows, two by default."""
    return ScoreCounts(np.array([0.0]), np.array([1]), np.array([1 if rows is None else rows - 1]))


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


MECHANISMS = (*COUNTING_MECHANISMS, SYMMETRIC)


def release_curves(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    grid: Grid | str | None = None,
    strategy: str = "auto",
    mechanism: str = "auto",
    shape: str | None = None,
    threshold: float | None = None,
    with_auc: bool = False,
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> CurvesRelease:
    """Release positives and negatives on a grid, once, and all that follows from them.

    Parameters
    ----------
    grid
        Public cells: a `Grid`, or "arcsine:32", "uniform:32", "uniform:32:-4:4", "logit:64"; or "quantiles:16",
        which finds cells with equally many rows for a fifth of epsilon. By default cells on [0, 1] that follow the
        scores, for scores that are probabilities: a twentieth of epsilon buys a coarse table that says how many cells
        are worthwhile and where.
    strategy
        "flat", "tree" (or "tree:8"), "haar", or "auto": the one with the least predicted error for so many cells.
    mechanism
        "laplace" (pure epsilon) or "gaussian" (with `delta`); or a mechanism of the papers, for comparison:
        "laplace-per-point", "fixed-space", "recursive-medians".
    shape
        "concave" (a proper ROC curve), "isotonic", "counts" (only none below 0), "binormal" or "roc-glm"; by
        default concave, unless the noisy counts contradict that, then isotonic. It costs nothing.
    threshold
        Added to the grid as an edge, so that the confusion matrix there is exact but for noise.
    with_auc
        Spend a quarter of epsilon on an AUC of its own, which is then the AUC of the curve. Its interval is far
        narrower if scores have few values; if all scores differ, that of the counts is narrower.

    The other parameters are those of `release_auc`. No ledger is charged: `confide.Ledger` does that.

    >>> counts = ScoreCounts.from_arrays([0, 1] * 500, np.linspace(0, 1, 1000))
    >>> curves = release_curves(counts, epsilon=1, grid="uniform:16", neighbours="add-remove-one")
    >>> curves.strategy, len(curves.grid), curves.roc.true_positive_rate[-1].item()
    ('flat', 16, 1.0)
    """
    return draw_curves(
        counts,
        epsilon=epsilon,
        grid=grid,
        strategy=strategy,
        mechanism=mechanism,
        shape=shape,
        threshold=threshold,
        with_auc=with_auc,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )


def draw_curves(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    shape: str | None = None,
    grid: Grid | str | None = None,
    strategy: str = "auto",
    threshold: float | None = None,
    with_auc: bool = False,
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> CurvesRelease:
    """Release curves as `release_curves` does, with noise from a given source."""
    if mechanism == SYMMETRIC:
        raise ParameterError(f"{SYMMETRIC} draws one curve from a private AUC; use release_symmetric_roc")
    prepared = prepare_curves(
        counts,
        epsilon=epsilon,
        grid=grid,
        strategy=strategy,
        mechanism=mechanism,
        shape=shape,
        threshold=threshold,
        with_auc=with_auc,
        noise=noise,
        **options,
    )
    (raw,) = prepared.draw()
    return curves_of(raw, level=options.get("level", 0.95), shape=shape)


def prepare_curves(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    grid: Grid | str | None = None,
    strategy: str = "auto",
    shape: str | None = None,
    threshold: float | None = None,
    target: Target | None = None,
    with_auc: bool = False,
    metrics: Sequence[str] | None = None,
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for curves and say its price.

    The table of noisy integers is drawn and stored. Curves, shapes, levels, targets and measures at edges follow from
    it: requests that differ only in these share one identity, and cost nothing more. With `with_auc`, the numbers of an
    AUC of its own are drawn and stored beside the table, for a share of the same epsilon.
    """
    terms = Terms.checked(epsilon=epsilon, **options)
    if known_mechanism(mechanism, MECHANISMS, "a curve") == SYMMETRIC:
        _only_roc(
            metrics or ("roc",),
            grid=grid,
            strategy=strategy,
            shape=shape,
            threshold=threshold,
            target=target,
            with_auc=with_auc or None,
        )
        return prepare_symmetric(counts, terms, noise)
    cut = None if threshold is None else checked_threshold(threshold)
    own = left_for_counts(terms) if with_auc else terms
    counting = Counting.checked(own, mechanism=mechanism, grid=grid, strategy=strategy, shape=shape)
    if cut is not None:
        check_threshold(cut, counting.grid, terms.neighbours)
    checked_counts(counts)
    rows = public_rows(counts) if terms.rows_are_public else None
    if terms.neighbours == Neighbours.LABEL_ONLY:
        counting.find_grid(counts, noise)  # takes no noise: what is wrong with public scores shows before the charge
    area = prepare_area(counts, terms, noise) if with_auc else None
    guarantee = terms.guarantee(
        needs_delta=counting.rho is not None,
        public=counting.public(cut),
        rho=_whole_rho(counting, area),
    )

    def draw(noise: Noise = noise) -> tuple[Release, ...]:
        result = counting.find_grid(counts, noise)
        edges = result if cut is None else result.with_edge(cut)
        query = counting.ask(counts, edges)
        drawn = query.draw(noise)
        public: dict[str, Any] = {
            "grid": [float(edge) for edge in edges.edges],
            "strategy": counting.chosen_strategy(len(edges)).name,
            "shape": counting.shape,
            "noise": query.family,
            "scale": float(query.scales[0]),
            "rows": rows,
            "cell_rows": cell_rows(counts, edges) if terms.neighbours == Neighbours.LABEL_ONLY else None,
            "follows_scores": counting.follows_scores,
            **({} if area is None else area.options),
        }
        noisy = noisy_counts(drawn, public)
        return (
            Release(
                metric="counts",
                value=max(float(noisy.agreed().sum()), 0.0),
                intervals=rows_intervals(noisy, terms.level),
                guarantee=guarantee,
                mechanism=counting.mechanism,
                parts={"noisy_integers": list(drawn), **({} if area is None else area.draw(noise))},
                options=public,
            ),
        )

    def derive(raw: Release) -> tuple[Release, ...]:
        return curves_of(raw, level=terms.level, shape=counting.shape).releases(threshold=cut, target=target)

    beside = {} if area is None else area.request
    request = terms.request("curves", counting.mechanism, **counting.request(cut), **beside)
    return PreparedRelease(
        guarantee=guarantee,
        request=request,
        counts=counts,
        draw=draw,
        requested=tuple(CURVE_METRICS if metrics is None else metrics),
        derive=derive,
        numbers=8 * (counting.most_cells + 2),  # edges, rows of cells, at most four integers a cell
        cells=counting.public_cells(cut) if area is None else None,
    )


def _whole_rho(counting: Counting, area: PreparedArea | None) -> Fraction | None:
    """Return the rho of counts and AUC together; None without Gaussian noise."""
    rho = counting.whole_rho
    return rho if rho is None or area is None else rho + area.rho


def cell_rows(counts: ScoreCounts, grid: Grid) -> list[int]:
    """Count the rows of each cell, for public scores."""
    rows = np.zeros(len(grid), dtype=np.int64)
    np.add.at(rows, grid.cells(counts.scores), counts.positives + counts.negatives)
    result: list[int] = rows.tolist()
    return result


def _only_roc(metrics: Sequence[str], **given: Any) -> None:
    """Refuse what a curve drawn from one number cannot answer."""
    others = [name for name in metrics if name != "roc"]
    extra = [name for name, value in given.items() if value not in (None, "auto")]
    if others or extra:
        raise ParameterError(
            f"{SYMMETRIC} draws the ROC curve from a private AUC and nothing else; "
            f"leave out {', '.join([*others, *extra])}, or use mechanism auto"
        )
