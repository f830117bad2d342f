"""Figures 4 and 5 of Boyd, Lantz & Page (2015) on Adult, with ours beside.

Logistic regression is trained on half of the rows; the others are the population. From it n positives and
n negatives are drawn, as the paper has it, and released with the real noise of every mechanism. The DP
error is the mean distance from the drawn rows' exact value, the estimation error that of the exact value
from the population's (with as many positives as negatives, by weights).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.parallel import in_parallel, output, shown
from benchmarks.shared import shared_file
from benchmarks.timing import table
from confide import ScoreCounts, auc_score, average_precision_score
from confide.counts import FloatArray
from confide.privacy.mechanisms.auc_sensitivity import auc_smooth_bounds, smooth_auc
from confide.privacy.mechanisms.average_precision_sensitivity import (
    pessimistic_average_precision,
    smooth_average_precision,
)
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.mechanisms.smooth_sensitivity import published_cauchy, published_laplace
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import auc_of
from confide.releases.average_precision import DEFAULT_GRID, average_precision_bounds, middle_average_precision
from confide.releases.counting import noisy_cells
from confide.releases.smooth_sensitivity import calibrate
from confide.releases.terms import Terms

SIZES = (30, 100, 300, 1_000)
EPSILONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")
DELTAS = ("0", "1e-6", "1e-4", "0.01")
OURS = {"AUC": ("rank-sum", "student-t"), "AP": ("student-t", "private-counts")}
_PAPER_NAMES = {
    "0": "δ = 0 (Cauchy)",
    "1e-6": "δ = 10⁻⁶ (Laplace)",
    "1e-4": "δ = 10⁻⁴ (Laplace)",
    "0.01": "δ = 0.01 (Laplace)",
}
_REPLACE = Neighbours.REPLACE_ONE

Draw = Callable[[ScoreCounts, Fraction, int], FloatArray]
"""Values released independently: of these rows, at an epsilon, so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    size: int
    epsilons: tuple[str, ...]
    positives: FloatArray
    negatives: FloatArray
    draws: int


Errors = dict[tuple[str, str, int, str], float]
"""Mean absolute error by metric, mechanism, size and epsilon."""


def run(*, quick: bool = False) -> None:
    file = shared_file("adult.csv.gz")
    if file is None:
        print("adult.csv.gz is not here: set CONFIDE_SHARED to the folder that holds data/")
        return
    positives, negatives = predictions(file)
    sizes, epsilons = (SIZES[1::2], EPSILONS[::3]) if quick else (SIZES, EPSILONS)
    samples, draws = (4, 50) if quick else (10, 100)
    errors = _dp_errors(sizes, epsilons, positives, negatives, samples, draws)
    estimation = {size: estimation_error(size, positives, negatives, 400) for size in sizes}
    print(f"mean absolute error on Adult, n = m, {samples} data sets of each size with {draws} releases each")
    for metric in OURS:
        _print(metric, errors, estimation, sizes, [epsilons[0], epsilons[len(epsilons) // 2], epsilons[-1]])
    name = "adult-quick" if quick else "adult"
    drawn = output(f"{name}.svg"), output(f"{name}.png")
    draw_figure(errors, estimation, sizes, epsilons, drawn)
    print(f"drawn: {', '.join(shown(picture) for picture in drawn)}")


def predictions(file: Path) -> tuple[FloatArray, FloatArray]:
    """The scores of positives and of negatives that the model was not trained on."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = pd.read_csv(file, keep_default_na=False)
    label = (rows.pop("income") == ">50K").to_numpy()
    rows = rows.drop(columns=["split", "fnlwgt"])
    train = np.random.default_rng(0).random(len(rows)) < 0.5
    columns = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
        ]
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(rows[train], label[train])
    scores = model.predict_proba(rows[~train])[:, 1]
    return scores[label[~train]], scores[~label[~train]]


def _dp_errors(
    sizes: Sequence[int],
    epsilons: tuple[str, ...],
    positives: FloatArray,
    negatives: FloatArray,
    samples: int,
    draws: int,
) -> Errors:
    tasks = [
        Task(size=size, epsilons=epsilons, positives=positives, negatives=negatives, draws=draws)
        for size in sorted(sizes, reverse=True)
        for _ in range(samples)
    ]
    parts = in_parallel(measure, list(enumerate(tasks)))
    found: dict[tuple[str, str, int, str], list[float]] = {}
    for part in parts:
        for key, error in part.items():
            found.setdefault(key, []).append(error)
    return {key: float(np.mean(values)) for key, values in found.items()}


def measure(numbered: tuple[int, Task]) -> Errors:
    """The errors of every mechanism on one data set."""
    number, task = numbered
    counts = draw_rows(task.size, task.positives, task.negatives, np.random.default_rng([task.size, number]))
    exact = {"AUC": auc_score(counts), "AP": pessimistic_average_precision(counts)}
    return {
        (metric, name, task.size, epsilon): float(
            np.abs(draw(counts, Fraction(epsilon), task.draws) - exact[metric]).mean()
        )
        for metric, mechanisms in _mechanisms().items()
        for name, draw in mechanisms.items()
        for epsilon in task.epsilons
    }


def draw_rows(size: int, positives: FloatArray, negatives: FloatArray, rng: np.random.Generator) -> ScoreCounts:
    """As many positives as negatives, with replacement: the predictions stand for a population."""
    scores = np.concatenate((rng.choice(positives, size), rng.choice(negatives, size)))
    return ScoreCounts.from_arrays(np.arange(2 * size) < size, scores)


def estimation_error(size: int, positives: FloatArray, negatives: FloatArray, times: int) -> dict[str, float]:
    """How far the exact values are from the population's."""
    scores = np.concatenate((positives, negatives))
    ours = np.arange(scores.size) < positives.size
    population = ScoreCounts.from_arrays(ours, scores, np.where(ours, negatives.size / positives.size, 1.0))
    truth = {"AUC": auc_score(population), "AP": average_precision_score(population)}
    rng = np.random.default_rng(size)
    drawn = [draw_rows(size, positives, negatives, rng) for _ in range(times)]
    values = {
        "AUC": [auc_score(counts) for counts in drawn],
        "AP": [pessimistic_average_precision(counts) for counts in drawn],
    }
    return {metric: float(np.abs(np.array(values[metric]) - truth[metric]).mean()) for metric in truth}


def _mechanisms() -> dict[str, dict[str, Draw]]:
    return {
        "AUC": {
            **{delta: _published(delta, smooth_auc) for delta in DELTAS},
            "rank-sum": _rank_sum,
            "student-t": _student_t_auc,
        },
        "AP": {
            **{delta: _published(delta, _published_ap) for delta in DELTAS},
            "student-t": _student_t_ap,
            "private-counts": _counts_ap,
        },
    }


def _published_ap(counts: ScoreCounts, calibration: Any) -> Any:
    return smooth_average_precision(counts, calibration, _REPLACE, published=True)


def _published(delta: str, query: Callable[[ScoreCounts, Any], Any]) -> Draw:
    """The paper's mechanism at the whole of epsilon, cut to [0, 1] as there."""

    def draw(counts: ScoreCounts, epsilon: Fraction, times: int) -> FloatArray:
        calibration = published_cauchy(epsilon) if delta == "0" else published_laplace(epsilon, Fraction(delta))
        return _cut(query(counts, calibration).draw_many(times))

    return draw


def _rank_sum(counts: ScoreCounts, epsilon: Fraction, times: int) -> FloatArray:
    drawn = np.array(rank_sum(counts, epsilon, _REPLACE).draw_many(times))
    return auc_of(drawn[:, 0], drawn[:, 1], _rows(counts))


def _student_t_auc(counts: ScoreCounts, epsilon: Fraction, times: int) -> FloatArray:
    calibration = calibrate("student-t", Terms.checked(epsilon=epsilon), auc_smooth_bounds, _rows(counts))
    return _cut(smooth_auc(counts, calibration).draw_many(times))


def _student_t_ap(counts: ScoreCounts, epsilon: Fraction, times: int) -> FloatArray:
    terms = Terms.checked(epsilon=epsilon)
    bounds = average_precision_bounds(terms, _rows(counts), published=False)
    calibration = calibrate("student-t", terms, bounds, _rows(counts))
    return _cut(smooth_average_precision(counts, calibration, _REPLACE).draw_many(times))


def _counts_ap(counts: ScoreCounts, epsilon: Fraction, times: int) -> FloatArray:
    cells = cells_on(counts, DEFAULT_GRID)
    query = private_counts(cells, epsilon, _REPLACE)
    tables = [noisy_cells(one, query, cells, _REPLACE, _rows(counts)).adjusted() for one in query.draw_many(times)]
    return middle_average_precision(np.stack(tables))


def _rows(counts: ScoreCounts) -> int:
    return int(counts.total_positives + counts.total_negatives)


def _cut(values: Sequence[Fraction]) -> FloatArray:
    return np.array([min(max(float(value), 0.0), 1.0) for value in values])


def _print(
    metric: str,
    errors: Errors,
    estimation: dict[int, dict[str, float]],
    sizes: Sequence[int],
    epsilons: Sequence[str],
) -> None:
    names = (*DELTAS, *OURS[metric])
    head = (
        f"{metric}: n = m, epsilon",
        "paper, delta 0",
        *(f"delta {delta}" for delta in DELTAS[1:]),
        *(f"our {name}" for name in OURS[metric]),
        "estimation",
        "paper/ours, delta 0",
    )
    lines = []
    for size in sizes:
        for epsilon in epsilons:
            found = [errors[metric, name, size, epsilon] for name in names]
            best = min(errors[metric, name, size, epsilon] for name in OURS[metric])
            lines.append(
                (
                    f"{size:,}, {epsilon}",
                    *(f"{error:.4f}" for error in found),
                    f"{estimation[size][metric]:.4f}",
                    f"{found[0] / best:.1f}x",
                )
            )
    table(head, lines)


def draw_figure(
    errors: Errors,
    estimation: dict[int, dict[str, float]],
    sizes: Sequence[int],
    epsilons: Sequence[str],
    files: Sequence[Path],
) -> None:
    """Figure 5 with a column for ours: DP errors solid, estimation errors dashed, a colour for each size."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from confide.report.shared.style import COLOURS, GREY, house_style

    markers = "osD^"
    places = [(SIZES.index(size), size) for size in sizes]  # a size looks the same in every figure
    x = [float(epsilon) for epsilon in epsilons]
    with house_style():
        figure = Figure(figsize=(13.0, 6.4), layout="constrained")
        axes = figure.subplots(2, 5, sharex=True, sharey="row", squeeze=False)
        for row, metric in enumerate(OURS):
            for column, name in enumerate((*DELTAS, OURS[metric][0])):
                ax = axes[row][column]
                for k, size in places:
                    y = [errors[metric, name, size, epsilon] for epsilon in epsilons]
                    ax.axhline(estimation[size][metric], color=COLOURS[k], linewidth=1.0, linestyle=(0, (4, 3)))
                    ax.plot(x, y, color=COLOURS[k], marker=markers[k], markersize=3.5, linewidth=1.7)
                ours = column == len(DELTAS)
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
                ax.set_xlim(0.0, 1.04)
                ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
                ax.grid(True)
                ax.set_axisbelow(True)
                if ours:
                    ax.set_facecolor("#f3f7fb")
                ax.set_title(f"confide, δ = 0 ({name})" if ours else f"paper, {_PAPER_NAMES[name]}", fontsize=10)
                if row == 1:
                    ax.set_xlabel("epsilon")
            axes[row][0].set_ylabel(f"Mean absolute error of {metric}\n(log scale)")
        handles = [
            Line2D([], [], color=COLOURS[k], marker=markers[k], markersize=4, label=f"n = m = {size:,}")
            for k, size in places
        ]
        handles += [
            Line2D([], [], color=GREY, label="DP error"),
            Line2D([], [], color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label="estimation error"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        figure.suptitle(
            "Adult, logistic regression: what privacy costs beside what sampling costs anyway",
            x=0.01,
            ha="left",
            fontsize=12,
            fontweight="bold",
        )
        for file in files:
            figure.savefig(file, dpi=150)
