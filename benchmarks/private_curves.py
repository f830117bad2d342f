"""How far private ROC curves are from the true ones: ours beside Stoddard, Chen & Machanavajjhala (2014) and others.

The error is theirs, the area between the two curves, here as an exact integral; the median of real
draws. "Theirs" is k-RecursiveMedians with Privelet and isotonic regression, its errata corrected, at their settings:
`k = ceil(log2 N)`, a fifth of epsilon for thresholds, half of the rest for each class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.parallel import in_parallel, output, shown
from benchmarks.real_scores import SIMULATED, HeldOut, held_out
from benchmarks.timing import table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import Curve, area_between, roc_curve
from confide.grid import Grid
from confide.privacy.mechanisms.average_precision_sensitivity import (
    pessimistic_average_precision,
    smooth_average_precision,
)
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.mechanisms.recursive_medians import smooth_medians
from confide.privacy.mechanisms.smooth_sensitivity import published_cauchy
from confide.privacy.mechanisms.strategies import MOST_CELLS, Haar
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.average_precision import middle_average_precision
from confide.releases.counting import Counting, rebuilt_cells
from confide.releases.curves import draw_curves, drawn_counts
from confide.releases.shapes import AUTO, fitting_shape, shaped
from confide.releases.symmetric import release_symmetric_roc
from confide.releases.terms import Terms, public_rows

EPSILONS = ("1", "0.5", "0.25", "0.1")
TARGETS = {"tweets": Fraction(1, 3), "Adult": Fraction(1, 3), "SMS": Fraction(1), SIMULATED: Fraction(1, 3)}
"""The most that our error may be of theirs."""

AP_TARGET = Fraction(1, 2)
PAPER = {"SMS": (0.023, 0.029, 0.054, 0.092), "tweets": (0.055, 0.063, 0.102, 0.203)}
"""Table 1, k-RecursiveMedians with k = 10, at the four epsilons; its Twitter rows are others than these tweets."""

OURS, THEIRS, SYMMETRIC = "ours", "theirs", "symmetric"
OPTIONS: dict[str, dict[str, Any]] = {
    OURS: {},
    "binormal": {"shape": "binormal"},
    "roc-glm": {"shape": "roc-glm"},
    "quantiles:16": {"grid": "quantiles:16"},
    "flat 32": {"grid": "arcsine:32", "strategy": "flat"},
    "flat 256": {"grid": "arcsine:256", "strategy": "flat"},
    "tree 256": {"grid": "arcsine:256", "strategy": "tree"},
    "haar 256": {"grid": "arcsine:256", "strategy": "haar"},
}
"""What is given to `release_curves` beside epsilon and the relation."""

FIXED, POINTS = "fixed-space", "per point"
OTHERS = (FIXED, POINTS, SYMMETRIC, *list(OPTIONS)[1:])

_ADD_REMOVE = Neighbours.ADD_REMOVE_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One method on one test set; theirs counts several times on each of fewer sets of thresholds, which are slow."""

    method: str
    data: HeldOut
    epsilon: str
    draws: int
    grids: int

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.data.name, len(self.data), self.method, self.epsilon


Errors = dict[tuple[str, int, str, str], float]
"""The median area by test set, its rows, method and epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Mean absolute errors of average precision."""

    data: HeldOut
    epsilon: str
    draws: int
    paper: float = math.nan
    replace_one: float = math.nan
    add_remove_one: float = math.nan


def run(*, quick: bool = False) -> None:
    sets = held_out(quick=quick)
    if not sets:
        print("the data are not here: set CONFIDE_SHARED to the folder that holds data/")
        return
    epsilons = EPSILONS[::3] if quick else EPSILONS
    draws, few, grids = (4, 2, 2) if quick else (200, 30, 25)
    tasks = [
        Task(method=method, data=data, epsilon=epsilon, draws=draws if method in (OURS, THEIRS) else few, grids=grids)
        for data in sorted(sets, key=len, reverse=True)
        for method in (THEIRS, OURS, *OTHERS)
        for epsilon in epsilons
    ]
    errors = dict(zip([task.key for task in tasks], in_parallel(median_error, tasks), strict=True))
    print(f"area between the true and the private ROC curve, add-remove-one, median of {draws} draws of real noise")
    print(f"(theirs: {grids} sets of thresholds; half of that and a quarter of the draws for over {MOST_CELLS:,} rows)")
    print("no data: the better of the perfect curve and the diagonal; WORSE where ours is no better than that")
    missed = _print_targets(errors, sets, epsilons)
    print(f"\nother ways, {few} draws; the best of each line has a star:")
    _print_others(errors, sets, epsilons)
    precision = in_parallel(
        precision_errors, [Precision(data=data, epsilon=epsilon, draws=draws) for data in sets for epsilon in epsilons]
    )
    print("\nmean absolute error of average precision: read off our curves, beside the paper's Cauchy noise")
    missed += _print_precision(precision)
    print(f"\ntargets missed in {missed} lines")
    name = "private-curves-quick" if quick else "private-curves"
    drawn = output(f"{name}.svg"), output(f"{name}.png")
    draw_figure(errors, sets, epsilons, drawn)
    print(f"drawn: {', '.join(shown(picture) for picture in drawn)}")


def median_error(task: Task) -> float:
    """The median area between the true curve and private ones."""
    counts = task.data.counts()
    exact = roc_curve(counts)
    true = exact.false_positive_rate, exact.true_positive_rate
    return float(np.median([area_between(true, curve) for curve in _curves(task, counts)]))


def _curves(task: Task, counts: ScoreCounts) -> Iterator[Curve]:
    epsilon, levels = Fraction(task.epsilon), math.ceil(math.log2(len(task.data)))
    if task.method == THEIRS:
        large = len(task.data) > MOST_CELLS
        for _ in range(task.grids // 2 if large else task.grids):
            grid = medians_grid(task.data.scores, levels, epsilon)
            for _ in range(max(task.draws // task.grids // (2 if large else 1), 1)):
                yield _rates(privelet_table(counts, grid, Fraction(4, 5) * epsilon))
    elif task.method == FIXED:
        grid = Grid.uniform(len(task.data))
        for _ in range(task.draws):
            yield _rates(privelet_table(counts, grid, epsilon))
    elif task.method == SYMMETRIC:
        for _ in range(task.draws):
            points = release_symmetric_roc(counts, epsilon=task.epsilon, neighbours=_ADD_REMOVE).curve
            assert points is not None
            yield _from_origin(*(np.array(points.points[f"{name}_positive_rate"]) for name in ("false", "true")))
    else:
        per_point = {"mechanism": "laplace-per-point", "grid": f"uniform:{levels}"}
        options = per_point if task.method == POINTS else OPTIONS[task.method]
        check_released(counts, task.epsilon, _ADD_REMOVE, options)
        for _ in range(task.draws):
            yield _released_curve(*drawn_table(counts, task.epsilon, _ADD_REMOVE, options))


def medians_grid(scores: FloatArray, levels: int, epsilon: Fraction, noise: Noise = SYSTEM_NOISE) -> Grid:
    """The thresholds of k-RecursiveMedians, for a fifth of epsilon."""
    found = smooth_medians(scores, levels=levels, epsilon=epsilon / 5, neighbours=_ADD_REMOVE, noise=noise)
    return Grid(np.array([0.0, *found, 1.0]))


def privelet_table(counts: ScoreCounts, grid: Grid, epsilon: Fraction, noise: Noise = SYSTEM_NOISE) -> FloatArray:
    """Counts of both classes by Privelet, each with half of epsilon, with sums that rise: theirs, for any grid."""
    query = private_counts(cells_on(counts, grid), epsilon / 2, _ADD_REMOVE, Haar())
    noisy = rebuilt_cells(
        np.array(query.draw(noise), dtype=np.float64),
        cells=len(grid),
        strategy=Haar(),
        scale=float(query.scales[0]),
        gaussian=False,
        rows=None,
        cell_rows=None,
    )
    return shaped(noisy, "isotonic")


def drawn_table(
    counts: ScoreCounts, epsilon: str, neighbours: Neighbours, options: dict[str, Any], noise: Noise = SYSTEM_NOISE
) -> tuple[Grid, FloatArray]:
    """What a release draws its curves from, without the bands and intervals that would take most of the time."""
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours)
    counting = Counting.checked(terms, **options)
    grid = counting.find_grid(counts, noise)
    query = counting.ask(counts, grid)
    noisy = rebuilt_cells(
        np.array(query.draw(noise), dtype=np.float64),
        cells=len(grid),
        strategy=counting.chosen_strategy(len(grid)),
        scale=float(query.scales[0]),
        gaussian=False,
        rows=public_rows(counts) if terms.rows_are_public else None,
        cell_rows=None,
    )
    shape = counting.shape
    if shape == AUTO:
        shape = fitting_shape(noisy, noisy.noise(np.random.default_rng(0)))
    return grid, shaped(noisy, shape)


def check_released(counts: ScoreCounts, epsilon: str, neighbours: Neighbours, options: dict[str, Any]) -> None:
    """Assert that for one and the same noise a user gets the same curve and average precision."""
    tape: list[Any] = []
    grid, found = drawn_table(counts, epsilon, neighbours, options, _recorded(tape))
    released = draw_curves(counts, epsilon=epsilon, neighbours=neighbours, noise=_replayed(tape), **options)
    assert released.grid == grid
    rates = released.roc.false_positive_rate, released.roc.true_positive_rate
    ours = _released_curve(grid, found, rows=released.raw.options["rows"])
    assert all(np.array_equal(a, b) for a, b in zip(rates, ours, strict=True))
    assert released.average_precision == middle_average_precision(found[None])[0]


def _recorded(tape: list[Any]) -> Noise:
    """Real noise that is written down."""

    def kept(draw: Callable[..., Any]) -> Callable[..., Any]:
        def record(*given: Any, **options: Any) -> Any:
            tape.append(draw(*given, **options))
            return tape[-1]

        return record

    return Noise(**{each.name: kept(getattr(SYSTEM_NOISE, each.name)) for each in fields(Noise)})


def _replayed(tape: Sequence[Any]) -> Noise:
    """The same noise once more."""
    drawn = iter(tape)

    def replay(*given: Any, **options: Any) -> Any:
        return next(drawn)

    return Noise(**{each.name: replay for each in fields(Noise)})


def _released_curve(grid: Grid, found: FloatArray, *, rows: int | None = None) -> Curve:
    """The curve of whole rows in the parts of cells; `rows` is how many there are, where that is public."""
    curve = roc_curve(drawn_counts(found, grid, rows=rows))
    return curve.false_positive_rate, curve.true_positive_rate


def _rates(found: FloatArray) -> Curve:
    """Rates of counts that need not be whole."""
    sums = np.cumsum(found[:, ::-1], axis=1)
    recall, alarm = sums / sums[:, -1:]
    return _from_origin(alarm, recall)


def _from_origin(alarm: FloatArray, recall: FloatArray) -> Curve:
    ends = np.array([0.0]), np.array([1.0])
    return np.concatenate((ends[0], alarm, ends[1])), np.concatenate((ends[0], recall, ends[1]))


def precision_errors(task: Precision) -> Precision:
    """How far average precision is off, ours under both relations and the paper's."""
    counts = task.data.counts()
    exact = pessimistic_average_precision(counts)
    query = smooth_average_precision(
        counts, published_cauchy(Fraction(task.epsilon)), Neighbours.REPLACE_ONE, published=True
    )
    paper = np.clip([float(value) for value in query.draw_many(10 * task.draws)], 0.0, 1.0)

    def ours(neighbours: Neighbours) -> float:
        check_released(counts, task.epsilon, neighbours, {})
        tables = [drawn_table(counts, task.epsilon, neighbours, {})[1] for _ in range(task.draws)]
        return float(np.mean([abs(middle_average_precision(found[None])[0] - exact) for found in tables]))

    return Precision(
        data=task.data,
        epsilon=task.epsilon,
        draws=task.draws,
        paper=float(np.abs(paper - exact).mean()),
        replace_one=ours(Neighbours.REPLACE_ONE),
        add_remove_one=ours(_ADD_REMOVE),
    )


def constant_error(data: HeldOut) -> float:
    """The error of the better of two curves that need no data, the perfect one and the diagonal.

    Noise that drowns the counts often leaves the perfect curve, so an error near this one says nothing for a method.
    """
    exact = roc_curve(data.counts())
    true = exact.false_positive_rate, exact.true_positive_rate
    ends = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    return min(area_between(true, ends), area_between(true, (ends[0][1:], ends[0][1:])))


def _setting(data: HeldOut, epsilon: str) -> str:
    return f"{data.name}, {len(data):,} rows, epsilon {epsilon}"


def _print_targets(errors: Errors, sets: Sequence[HeldOut], epsilons: Sequence[str]) -> int:
    head = ("", "ours", "theirs", "ours/theirs", "target", "", "their Table 1", "ours/Table 1", "no data", "")
    lines, missed = [], 0
    for data in sets:
        for epsilon in epsilons:
            ours, theirs = (errors[data.name, len(data), method, epsilon] for method in (OURS, THEIRS))
            target = TARGETS[data.name]
            miss = ours / theirs > target
            missed += miss
            paper = PAPER[data.name][EPSILONS.index(epsilon)] if data.name in PAPER else None
            constant = constant_error(data)
            lines.append(
                (
                    _setting(data, epsilon),
                    f"{ours:.4f}",
                    f"{theirs:.4f}",
                    f"{ours / theirs:.2f}",
                    f"{float(target):.2f}",
                    "MISS" if miss else "",
                    "" if paper is None else f"{paper:.3f}",
                    "" if paper is None else f"{ours / paper:.2f}",
                    f"{constant:.4f}",
                    "WORSE" if ours > constant else "",
                )
            )
    table(head, lines)
    return missed


def _print_others(errors: Errors, sets: Sequence[HeldOut], epsilons: Sequence[str]) -> None:
    methods = (OURS, THEIRS, *OTHERS)
    lines = []
    for data in sets:
        for epsilon in epsilons:
            found = [errors[data.name, len(data), method, epsilon] for method in methods]
            shown_errors = [f"{error:.4f}{'*' if error == min(found) else ' '}" for error in found]
            lines.append((_setting(data, epsilon), *shown_errors))
    table(("", *methods), lines)


def _print_precision(found: Sequence[Precision]) -> int:
    lines, missed = [], 0
    for each in found:
        misses = [error / each.paper > AP_TARGET for error in (each.replace_one, each.add_remove_one)]
        missed += any(misses)
        lines.append(
            (
                _setting(each.data, each.epsilon),
                f"{each.paper:.4f}",
                f"{each.replace_one:.4f}",
                f"{each.replace_one / each.paper:.2f}",
                f"{each.add_remove_one:.4f}",
                f"{each.add_remove_one / each.paper:.2f}",
                f"{float(AP_TARGET):.2f}",
                "MISS" if any(misses) else "",
            )
        )
    table(("", "paper", "ours, replace-one", "ratio", "ours, add-remove-one", "ratio", "target", ""), lines)
    return missed


def draw_figure(errors: Errors, sets: Sequence[HeldOut], epsilons: Sequence[str], files: Sequence[Path]) -> None:
    """Error against epsilon, a panel for each test set."""
    from matplotlib.figure import Figure

    from confide.report.style import COLOURS, GREY, house_style

    methods = {
        OURS: "confide, defaults",
        THEIRS: "k-RecursiveMedians",
        FIXED: "α-FixedSpace",
        POINTS: "Laplace per point",
    }
    x = [float(epsilon) for epsilon in epsilons]
    with house_style():
        figure = Figure(figsize=(3.3 * len(sets), 3.9), layout="constrained")
        panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
        for ax, data in zip(panels, sets, strict=True):
            for k, (method, label) in enumerate(methods.items()):
                y = [errors[data.name, len(data), method, epsilon] for epsilon in epsilons]
                ax.plot(x, y, color=COLOURS[k], marker="osD^"[k], markersize=4, linewidth=1.7, label=label)
            theirs = [errors[data.name, len(data), THEIRS, epsilon] for epsilon in epsilons]
            target = [float(TARGETS[data.name]) * error for error in theirs]
            ax.plot(x, target, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label="target")
            if data.name in PAPER:
                printed = [PAPER[data.name][EPSILONS.index(epsilon)] for epsilon in epsilons]
                ax.plot(x, printed, color=GREY, marker="x", markersize=5, linewidth=0.0, label="the paper's Table 1")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xticks(x, epsilons)
            ax.minorticks_off()
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.set_title(f"{data.name}, {len(data):,} rows", fontsize=10)
            ax.set_xlabel("epsilon")
            ax.grid(True)
        panels[0].set_ylabel("Area between private and true ROC curve\n(median, log scale)")
        handles = {
            label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=min(len(handles), 2 * len(sets)))
        for file in files:
            figure.savefig(file, dpi=150)
