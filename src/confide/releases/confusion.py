"""Release of the confusion matrix at a threshold, counted on public cells.

Counts on a grid of the request, or counts above a threshold, need the cell of each row and not its score. An engine can
count these cells, and send one row for each.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.metrics.threshold import MEASURES, ConfusionMatrix
from confide.privacy.accounting import rho_for
from confide.privacy.guarantee import Exact, Guarantee
from confide.privacy.mechanisms.class_sizes import class_sizes
from confide.privacy.mechanisms.private_counts import cells_above, concentrated_counts, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import NoisyCells, PlausibleCounts, count_intervals, plausible_counts
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.counting import noisy_cells
from confide.releases.release import SCHEMA, PreparedRelease, PrivateIntervals, Release, prepare_numbers
from confide.releases.terms import TermOptions, Terms, checked_counts, known_mechanism, public_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def threshold_cells(threshold: float) -> Grid | None:
    """Return two cells, below a threshold and from it on; None at the ends of what numbers can be.

    >>> threshold_cells(0.5).cells([0.1, 0.5, 7.0])
    array([0, 1, 1])
    """
    edges = np.array([np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)])
    return Grid(edges) if np.isfinite(edges).all() else None


def common_cells(prepared: Iterable[PreparedRelease]) -> Grid | None:
    """Return cells that are enough for all parts of a request; None if a part needs scores.

    The edges of all grids together cut every cell of each of them into whole cells, and so the rows beyond its ends.
    """
    grids = [part.cells for part in prepared]
    known = [grid.edges for grid in grids if grid is not None]
    if not known or len(known) < len(grids):
        return None
    return Grid(functools.reduce(np.union1d, known))


MECHANISMS = ("laplace", "gaussian")


CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")

CONFUSION_METRICS = (*CELLS, *MEASURES)
"""Metrics that one private confusion matrix answers."""

_NUMBERS = 50  # each measure is stored with its intervals, guarantee and options: the room of so many numbers
_SIGNED = ("matthews_correlation", "youden")
_UNBOUNDED = (*CELLS, "positive_likelihood_ratio", "negative_likelihood_ratio")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfusionRelease:
    """A private confusion matrix and every measure that follows from it: all of it may be published.

    `value` is the noisy matrix, adjusted to agree with public facts; `release["recall"]` is the
    release of one measure, with its intervals.
    """

    value: ConfusionMatrix
    measures: tuple[Release, ...]
    guarantee: Guarantee
    mechanism: str
    threshold: float
    metric: str = "confusion"

    @property
    def intervals(self) -> dict[str, PrivateIntervals]:
        """Both intervals of each measure."""
        return {release.metric: release.intervals for release in self.measures}

    def __str__(self) -> str:
        cells = ", ".join(f"{cell.replace('_', ' ')} {getattr(self.value, cell):.1f}" for cell in CELLS)
        return f"confusion at {self.threshold:g}: {cells}"

    def __repr__(self) -> str:
        return f"<ConfusionRelease at {self.threshold:g} ({self.guarantee.summary})>"

    def __getitem__(self, measure: str) -> Release:
        return next(release for release in self.measures if release.metric == _known(measure))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "metric": self.metric,
            "value": {cell: float(getattr(self.value, cell)) for cell in CELLS},
            "intervals": {name: pair.to_dict() for name, pair in self.intervals.items()},
            "measures": {release.metric: release.to_dict()["value"] for release in self.measures},
            "guarantee": self.guarantee.to_dict(),
            "mechanism": self.mechanism,
            "options": {"threshold": self.threshold},
        }

    def plot(self) -> Figure:
        """Draw every measure that is a proportion, with both intervals."""
        from confide.report.release_plots import plot_releases

        return plot_releases(self.measures)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each cell and measure, with both intervals."""
        from confide.report.release import release_frame

        return release_frame(self.measures)

    def _repr_html_(self) -> str:
        from confide.report.release import fragment

        return fragment(self.measures)


def release_confusion(
    counts: ScoreCounts,
    threshold: float,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> ConfusionRelease:
    """Release the confusion matrix at `score >= threshold` and the measures that follow, all from the same noise.

    Together they cost epsilon once. "laplace" is pure epsilon; "gaussian" needs `delta`. The other parameters are
    those of `release_auc`. A measure that does not exist for the noisy counts is NaN.
    """
    prepared = prepare_confusion(
        counts,
        threshold=threshold,
        epsilon=epsilon,
        mechanism=mechanism,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )
    measures = prepared.draw()
    first = measures[0]
    return ConfusionRelease(
        value=ConfusionMatrix(**first.parts),
        measures=measures,
        guarantee=first.guarantee,
        mechanism=first.mechanism,
        threshold=float(threshold),
    )


def prepare_confusion(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    threshold: float = 0.5,
    mechanism: str = "auto",
    measures: Sequence[str] = CONFUSION_METRICS,
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for a confusion matrix and say its price.

    All measures are drawn, whichever were requested. So requests for different measures of one matrix are the same
    request, and cost nothing more.
    """
    terms = Terms.checked(epsilon=epsilon, **options)
    cut = checked_threshold(threshold)
    for measure in measures:
        _known(measure)
    chosen = known_mechanism(mechanism, MECHANISMS, "a confusion matrix") or "laplace"
    checked_counts(counts)
    rows = public_rows(counts) if terms.rows_are_public else None
    cells = cells_above(counts, cut)
    rho = rho_for(terms.epsilon, terms.delta) if chosen == "gaussian" else None
    query = (
        private_counts(cells, terms.epsilon, terms.neighbours)
        if rho is None
        else concentrated_counts(cells, rho, terms.neighbours)
    )
    guarantee = terms.guarantee(needs_delta=rho is not None, public=("threshold",), rho=rho)

    def build(drawn: Sequence[float]) -> tuple[Release, ...]:
        noisy = noisy_cells(tuple(int(number) for number in drawn), query, cells, terms.neighbours, rows)
        every = confusion_releases(noisy, guarantee, chosen, cut, terms.level)
        return tuple(every[measure] for measure in dict.fromkeys((*measures, *CONFUSION_METRICS)))

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("confusion", chosen, threshold=cut),
        counts=counts,
        level=terms.level,
        drawn=query.draw,
        build=build,
        noise=noise,
        requested=tuple(measures),
        numbers=_NUMBERS * len(CONFUSION_METRICS),
        cells=threshold_cells(cut),
    )


def confusion_releases(
    noisy: NoisyCells, guarantee: Guarantee, mechanism: str, threshold: float, level: float
) -> dict[str, Release]:
    """Return every measure of noisy counts `[[fn, tp], [tn, fp]]` by name."""
    matrix, plausible = _confusion(noisy.adjusted()), plausible_counts(noisy)
    parts = {cell: float(getattr(matrix, cell)) for cell in CELLS}
    return {
        measure: Release(
            metric=measure,
            value=_within(float(getattr(matrix, measure)), measure),
            intervals=confusion_intervals(plausible, measure, level),
            guarantee=guarantee,
            mechanism=mechanism,
            parts=parts,
            options={"threshold": threshold},
        )
        for measure in CONFUSION_METRICS
    }


def release_prevalence(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    level: float = 0.95,
    prevalence_guess: float | None = None,
) -> Release:
    """Release the positives' share under differential privacy; parameters as for `release_auc`."""
    prepared = prepare_prevalence(
        counts,
        epsilon=epsilon,
        mechanism=mechanism,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        rows_per_person=rows_per_person,
        level=level,
        prevalence_guess=prevalence_guess,
    )
    return prepared.draw()[0]


def prepare_prevalence(
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    noise: Noise = SYSTEM_NOISE,
    **options: Unpack[TermOptions],
) -> PreparedRelease:
    """Check a request for the prevalence and say its price."""
    terms = Terms.checked(epsilon=epsilon, **options)
    chosen = known_mechanism(mechanism, ("laplace",), "prevalence") or "laplace"
    checked_counts(counts)
    rows = public_rows(counts) if terms.rows_are_public else None
    query = class_sizes(counts, terms.epsilon, terms.neighbours)
    guarantee = terms.guarantee()

    def build(numbers: Sequence[float]) -> tuple[Release, ...]:
        drawn = np.array(numbers, dtype=np.float64)
        scale = float(query.scales[0])
        if rows is None:
            noisy = NoisyCells(cells=drawn.reshape(2, 1), scale=scale)
        else:
            noisy = NoisyCells(cells=drawn.reshape(1, 1), scale=scale, cell_rows=np.array([float(rows)]))
        table = noisy.adjusted()
        sample, population = count_intervals(
            plausible_counts(noisy), _prevalence, _prevalence, possible=(0.0, 1.0), level=terms.level
        )
        return (
            Release(
                metric="prevalence",
                value=float(_prevalence(table[None])[0]),
                intervals=PrivateIntervals.nested(sample, population),
                guarantee=guarantee,
                mechanism=chosen,
                parts={"positives": float(table[0, 0]), "negatives": float(table[1, 0])},
            ),
        )

    return prepare_numbers(
        guarantee=guarantee,
        request=terms.request("prevalence", chosen),
        counts=counts,
        level=terms.level,
        drawn=query.draw,
        build=build,
        noise=noise,
        cells=Grid.uniform(1),
    )


def checked_threshold(threshold: object) -> float:
    """Refuse a threshold that is no finite number."""
    try:
        if isinstance(threshold, int | float) and not isinstance(threshold, bool) and math.isfinite(threshold):
            return float(threshold)
    except OverflowError:
        pass
    raise ParameterError(f"threshold must be a finite number, got {str(threshold)[:40]!r}")


def _possible(measure: str) -> tuple[float, float]:
    return -1.0 if measure in _SIGNED else 0.0, math.inf if measure in _UNBOUNDED else 1.0


def _within(value: float, measure: str) -> float:
    """Clip a value that rounding carried out of its range."""
    low, high = _possible(measure)
    return value if math.isnan(value) else min(max(value, low), high)


def _known(measure: str) -> str:
    if measure not in CONFUSION_METRICS:
        raise ParameterError(
            f"a confusion matrix has no measure {measure!r}; choose from {', '.join(CONFUSION_METRICS)}"
        )
    return measure


def _prevalence(tables: FloatArray) -> FloatArray:
    positives, total = tables[:, 0, 0], tables.sum(axis=(1, 2))
    share: FloatArray = np.divide(positives, total, out=np.full_like(total, np.nan), where=total > 0.0)
    return share


def _measured(measure: str) -> Callable[[FloatArray], FloatArray]:
    """A measure of many confusion matrices at once."""

    def measured(tables: FloatArray) -> FloatArray:
        result: FloatArray = getattr(_confusion(tables), measure)
        return result

    return measured


def _confusion(tables: FloatArray) -> ConfusionMatrix:
    """Tables `[[fn, tp], [tn, fp]]`, one or many, as a confusion matrix of numbers or of arrays."""
    cells: Any = np.moveaxis(tables, (-2, -1), (0, 1))
    return ConfusionMatrix(
        true_positives=cells[0, 1], false_positives=cells[1, 1], false_negatives=cells[0, 0], true_negatives=cells[1, 0]
    )


def confusion_intervals(plausible: PlausibleCounts, measure: str, level: float) -> PrivateIntervals:
    """Compute both intervals of a measure from plausible confusion matrices."""
    measured = _measured(measure)
    sample, population = count_intervals(plausible, measured, measured, possible=_possible(measure), level=level)
    return PrivateIntervals.nested(sample, population)
