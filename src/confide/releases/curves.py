"""Whole curves that may be published: one table of noisy counts answers ROC, PR, every threshold and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.guarantee import Exact
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.confusion import checked_threshold
from confide.releases.counting import COUNTING_MECHANISMS, Counting
from confide.releases.curve_area import PreparedArea, left_for_counts, prepare_area
from confide.releases.curve_numbers import rows_intervals
from confide.releases.curves_from_counts import curves_of, noisy_counts
from confide.releases.curves_release import CURVE_METRICS, CurvesRelease
from confide.releases.grids import check_threshold
from confide.releases.operating import Target
from confide.releases.release import PreparedRelease, Release
from confide.releases.symmetric import SYMMETRIC, prepare_symmetric
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

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
