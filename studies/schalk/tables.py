"""Tables of the simulated validation studies, as the terminal and the page both show them."""

from __future__ import annotations

from collections.abc import Sequence

from confide.report.numbers import number
from confide.report.writers.terminal import Table
from studies.schalk.errors import Errors
from studies.schalk.plan import ALL_SENSITIVITIES, CELLS, HALF, PERSON
from studies.schalk.published import (
    BINS,
    DELTAS,
    EPSILONS,
    SENSITIVITIES,
    TABLE_1,
    BinSummary,
    bin_name,
    written,
)
from studies.schalk.study import Study


def error_table(study: Study, delta: float) -> Table:
    """Build the deciding table: the mean absolute error of the AUC, ours beside the paper's mode."""
    ours = tuple((cells, share) for share in (1.0, HALF) for cells in CELLS)
    return Table(
        title=f"Mean absolute error of the AUC: private mode (delta 0), and noisy scores (delta {written(delta)}, Δ)",
        head=(
            "epsilon",
            *(f"{cells} cells" if share == 1.0 else f"{cells}, half" for cells, share in ours),
            *(f"Δ {sensitivity:g}" for sensitivity in ALL_SENSITIVITIES),
        ),
        body=tuple(
            (
                f"{epsilon:g}",
                *(shown_error(study, study.private(epsilon, cells, share)) for cells, share in ours),
                *(
                    shown_error(study, study.errors("described", epsilon, delta, sensitivity))
                    for sensitivity in ALL_SENSITIVITIES
                ),
            )
            for epsilon in EPSILONS
        ),
        note="Cells: ours, private counts on so many cells, epsilon being for every person's row; half: half of "
        "epsilon for the sum over sites, as by default, the rest for each site's own curve. Δ: the paper's noisy "
        f"scores, not private, with noise for that sensitivity; {PERSON:g} is how far another person can move a score. "
        "– where most studies have no fit. Without any noise the ROC-GLM is off by "
        f"{study.model_error().overall.value:.4f}.",
    )


def shown_error(study: Study, errors: Errors) -> str:
    """Return an error, unless most studies have none."""
    return number(errors.overall.value, 4) if 2 * errors.overall.count >= study.settings.repetitions else "–"


def difference_table(study: Study) -> Table:
    """Table 1, with what was published."""
    names = ("lowest", "first", "median", "mean", "third", "highest", "deviation")
    return Table(
        title="Table 1: empirical AUC less that of the ROC-GLM, times 10,000 (published in brackets)",
        head=("AUC", "min", "1st quartile", "median", "mean", "3rd quartile", "max", "sd", "count"),
        body=_beside(study.table_1(), names),
        note=f"By bins of the empirical AUC. {study.without_fit} studies have no finite fit, as classes are separated "
        f"where the ROC-GLM looks, and {int((study.plain.auc <= 0.5).sum())} have an AUC of 0.5 or below; both are "
        "left out.",
    )


def turned_table(study: Study) -> Table:
    """Return the lowest bins with the direction of scores chosen by medians."""
    return Table(
        title="Table 1's lowest bins if the direction of scores is chosen by medians (published in brackets)",
        head=("AUC", "1st quartile", "median", "mean", "3rd quartile", "max", "sd", "count"),
        body=_beside(study.table_1(turned=True)[:4], ("first", "median", "mean", "third", "highest", "deviation")),
    )


def _beside(rows: Sequence[BinSummary], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Rows of Table 1 with the published ones in brackets, in units of 0.0001."""
    return tuple(
        (
            ours.name,
            *(f"{_units(getattr(ours, name))} ({_units(getattr(theirs, name))})" for name in names),
            f"{ours.count} ({theirs.count})",
        )
        for ours, theirs in zip(rows, TABLE_1[: len(rows)], strict=True)
    )


def _units(value: float) -> str:
    return number(1e4 * value, 0).replace("-0", "0") if abs(value) < 5e-5 else number(1e4 * value, 0)


def limit_table(study: Study) -> Table:
    """Count the bins in which the error keeps the limit, in the paper's mode as simulated and as described."""
    return Table(
        title="Bins of 20 in which the mean error of the AUC is at most 0.01, and at most 0.05",
        head=("sensitivity, epsilon", *(f"delta {written(delta)}" for delta in DELTAS)),
        body=tuple(
            (f"{sensitivity:g}, {epsilon:g}", *(_bins(study, epsilon, delta, sensitivity) for delta in DELTAS))
            for sensitivity in SENSITIVITIES
            for epsilon in EPSILONS
        ),
        note="Noise on every score, cut to [0, 1], as in the code published with the paper. Its Figure 5 is drawn from "
        "the second number, although its legend and text speak of the first.",
    )


def _bins(study: Study, epsilon: float, delta: float, sensitivity: float) -> str:
    errors = study.errors("simulated", epsilon, delta, sensitivity)
    return f"{errors.within(0.01)}, {errors.within(0.05)}"


def private_table(study: Study) -> Table:
    """Return the private mode by bin."""
    ours = study.private
    return Table(
        title=f"Private mode: mean absolute error of the AUC by bin, {CELLS[0]} cells ({CELLS[1]} cells)",
        head=("AUC", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)),
        body=tuple(
            (
                bin_name(place),
                *(
                    f"{number(ours(epsilon).bin(place).value, 4)} "
                    f"({number(ours(epsilon, CELLS[1]).bin(place).value, 4)})"
                    for epsilon in EPSILONS
                ),
            )
            for place in range(BINS)
        ),
    )
