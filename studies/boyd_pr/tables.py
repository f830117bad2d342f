"""Tables of the study of precision-recall, as the terminal and the page both show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from confide.curves.pr import minimum_area
from confide.metrics.precision_recall import aucpr_score
from confide.report.numbers import number
from confide.report.writers.terminal import Table
from studies.boyd_pr.claims import shown
from studies.boyd_pr.kernels import ESTIMATORS as RECOMMENDED
from studies.boyd_pr.region import (
    BETAS,
    F_PREVALENCES,
    IMDB,
    RANGES,
    FoldAverages,
    TaskAreas,
    always_positive_f,
    example_counts,
    implied_prevalence,
)
from studies.boyd_pr.running import ALL_ESTIMATORS, AS_PRINTED
from studies.boyd_pr.scenarios import PAPERS
from studies.boyd_pr.study import ALL_METHODS, Found, Method, Study

MINIMUM_PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.33, 0.5, 0.75, 0.9)


def minimum_table() -> Table:
    """Figure 3.3 in numbers."""
    return Table(
        title="Minimum AUCPR by skew and range of recall (scaled to the range's width)",
        head=("recall", *(f"π {p:g}" for p in MINIMUM_PREVALENCES)),
        body=tuple(
            (
                f"{low:g} to {high:g}",
                *(
                    f"{minimum_area(p, low, high):.3f} ({minimum_area(p, low, high) / (high - low):.3f})"
                    for p in MINIMUM_PREVALENCES
                ),
            )
            for low, high in RANGES
        ),
    )


def imdb_table() -> Table:
    """Table 3.2, with the skew that its two columns imply."""
    return Table(
        title="Table 3.2 as printed, and the skew that both columns imply",
        head=("predicate", "AUCPR", "AUCNPR", "skew implied", "minimum AUCPR"),
        body=tuple(
            (
                name,
                f"{area:.3f}",
                f"{share:.3f}",
                number(implied_prevalence(area, share) if area < 1.0 else None, 2),
                number((area - share) / (1.0 - share) if area < 1.0 else None, 3),
            )
            for name, (area, share) in IMDB.items()
        ),
        note="Scores are means over folds, whose skews may differ. The model's predictions were not published.",
    )


def f_table() -> Table:
    """F-beta of a model that calls every row positive, by skew."""
    return Table(
        title="F of calling every row positive, by skew; the skew-aware F is 0 for all",
        head=("beta", *(f"π {p:g}" for p in F_PREVALENCES)),
        body=tuple((f"{beta:g}", *(f"{always_positive_f(p, beta):.3f}" for p in F_PREVALENCES)) for beta in BETAS),
        note="Recall 1 and precision π, the end of the minimum curve. No model can be worse at recall 1.",
    )


def task_table(tasks: dict[str, TaskAreas]) -> Table:
    """Areas of one scorer at several skews."""
    first = next(iter(tasks.values()))
    return Table(
        title="True AUCPR (AUCNPR) of the same scores at several skews",
        head=("scenario", *(f"π {p:g}" for p in first.prevalences)),
        body=tuple(
            (name, *(f"{a:.3f} ({n:.3f})" for a, n in zip(areas.aucpr, areas.aucnpr, strict=True)))
            for name, areas in tasks.items()
        ),
    )


def fold_table(folds: dict[str, FoldAverages]) -> Table:
    """Averages over folds of different skews."""
    return Table(
        title="Mean over ten folds with skews from 0.02 to 0.5, less the value of all rows together",
        head=("scenario", "AUCPR", "AUCNPR"),
        body=tuple((name, found.aucpr.signed, found.aucnpr.signed) for name, found in folds.items()),
        note="1,000 rows a fold, simulated here: the dissertation names the effect and has no numbers for it.",
    )


def example_table() -> Table:
    """Areas of the data of Table 4.1 by estimator."""
    counts = example_counts()
    return Table(
        title="AUCPR of the data of Table 4.1",
        head=("estimator", "area"),
        body=tuple(
            (shown(name), f"{aucpr_score(counts, estimator=name):.3f}") for name in ALL_ESTIMATORS if name != AS_PRINTED
        ),
    )


def bias_table(study: Study) -> Table:
    """Figure 4.5 in numbers."""
    every = [(name, rows, study.at(name, rows)) for name in PAPERS for rows in study.settings.sizes]
    return _by_estimator(
        "Bias ratio less 1, by rows (prevalence 0.1)",
        tuple(f"{name}, {rows:,}" for name, rows, _ in every),
        tuple(found for _, _, found in every),
    )


def skew_table(study: Study) -> Table:
    """Figure 4.6 in numbers."""
    every = [(name, p, study.at_prevalence(name, p)) for name in PAPERS for p in study.settings.prevalences]
    return _by_estimator(
        "Bias ratio less 1, by prevalence (1,000 rows)",
        tuple(f"{name}, π {p:g}" for name, p, _ in every),
        tuple(found for _, _, found in every),
    )


def _by_estimator(title: str, names: tuple[str, ...], every: tuple[Found, ...]) -> Table:
    errors = [found.bias(estimator).standard_error for found in every for estimator in ALL_ESTIMATORS]
    return Table(
        title=title,
        head=("setting", *map(shown, ALL_ESTIMATORS)),
        body=tuple(
            (name, *(f"{found.bias(estimator).value:+.4f}" for estimator in ALL_ESTIMATORS))
            for name, found in zip(names, every, strict=True)
        ),
        note=f"Standard errors are at most {max(errors):.4f}.",
    )


def error_table(study: Study) -> Table:
    """Root of the mean squared error, which the dissertation has no figure of."""
    every = [(name, rows, study.at(name, rows)) for name in PAPERS for rows in study.settings.sizes]
    return Table(
        title="Root of the mean squared error, by rows (prevalence 0.1)",
        head=("setting", *map(shown, ALL_ESTIMATORS)),
        body=tuple(
            (
                f"{name}, {rows:,}",
                *(f"{found.squared_error(estimator).value ** 0.5:.4f}" for estimator in ALL_ESTIMATORS),
            )
            for name, rows, found in every
        ),
    )


def coverage_table(study: Study) -> Table:
    """Figure 4.7 in numbers, with the scenario in which formulas fail."""
    return Table(
        title="Coverage of 95 % intervals",
        head=("setting", "estimator", *ALL_METHODS),
        body=tuple(_interval_lines(study, lambda found, method, estimator: found.coverage(method, estimator).value)),
        note="Standard errors are at most "
        f"{_largest_error(study):.3f}. cross-validation, t: with Student's t, as confide has it. Few high negatives: "
        "a scenario beside the dissertation's.",
        text_columns=("estimator",),
    )


def width_table(study: Study) -> Table:
    """Figure 4.8 in numbers."""
    return Table(
        title="Mean width over the ideal width",
        head=("setting", "estimator", *ALL_METHODS),
        body=tuple(_interval_lines(study, lambda found, method, estimator: found.width(method, estimator).value)),
        text_columns=("estimator",),
    )


def location_table(study: Study) -> Table:
    """Figure 4.9 in numbers."""
    return Table(
        title="Mean location over the true area, less 1",
        head=("setting", "estimator", *ALL_METHODS),
        body=tuple(_interval_lines(study, lambda found, method, estimator: found.location(method, estimator).value)),
        text_columns=("estimator",),
    )


def _interval_lines(study: Study, value: Callable[[Found, Method, str], float]) -> Iterator[tuple[str, ...]]:
    for found in _with_intervals(study):
        for estimator in RECOMMENDED:
            yield (
                f"{found.setting.scenario.name}, {found.setting.rows:,}",
                shown(estimator),
                *(f"{value(found, method, estimator):.3f}" for method in ALL_METHODS),
            )


def _with_intervals(study: Study) -> Iterator[Found]:
    for name in PAPERS:
        for rows in study.settings.interval_sizes:
            yield study.at(name, rows)
    yield from study.hard


def _largest_error(study: Study) -> float:
    return max(
        found.coverage(method, estimator).standard_error
        for found in _with_intervals(study)
        for estimator in RECOMMENDED
        for method in ALL_METHODS
    )
