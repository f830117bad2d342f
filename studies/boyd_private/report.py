"""Study of private evaluation as a report: figures, claims, and what was found beside them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from confide.privacy.adversary import success_bound
from studies.boyd_private import plots
from studies.boyd_private.claims import claims
from studies.boyd_private.curves import METHODS
from studies.boyd_private.data import ADULT, METRICS
from studies.boyd_private.places import (
    ERRORS,
    FIGURE_4,
    FIGURE_6,
    FIGURE_54,
    FIGURE_55,
    FIGURE_56,
    MISSING_ROW,
    NEIGHBOURS,
    PREVALENCE,
    SENSITIVITY,
    THEOREM_AP,
    THEOREM_AUC,
)
from studies.boyd_private.plan import ADULT_HISTOGRAM_SIZES, PREVALENCE_EPSILONS
from studies.boyd_private.published import (
    DISSERTATION_ROWS,
    HISTOGRAM_SIZES,
    LEAST_AVERAGE_PRECISION,
    NEIGHBOUR_AUCS,
)
from studies.boyd_private.reidentification import PUBLICATIONS, neighbours
from studies.boyd_private.study import Study
from studies.boyd_private.tables import (
    NAMES,
    attack_table,
    curve_table,
    error_table,
    exhaustive_table,
    histogram_table,
    limits_table,
    precision_table,
    prevalence_table,
    summary_table,
)
from studies.boyd_private.words import correction_lines, setup_lines, summary_lines
from studies.claims import Mean
from studies.exhibits import Exhibit, Paper, Picture, StudyReport
from studies.published import Comparison, Published

PAPER = Paper(
    study="boyd-private",
    title="Private evaluation: the figures of Boyd (2014, chapter 5) and Boyd, Lantz and Page (2015) made anew",
    reference="K. Boyd. Mitigating the risks of thresholdless metrics in machine learning evaluation (dissertation, "
    "University of Wisconsin–Madison, 2014), chapter 5. K. Boyd, E. Lantz, D. Page. Differential privacy for "
    "classifier evaluation. AISec (2015). Numbers in brackets are the dissertation's.",
    corrections="private-numbers-and-curves",
    files=(ADULT,),
)

NOT_PRIVATE = (
    "Not private: an AUC that is rounded to few digits, which the papers try as a heuristic. Their Cauchy and Laplace "
    "mechanisms keep their promise at the epsilons of the figures (at most 1) if noise is drawn without floats; for a "
    "large epsilon their Laplace noise does not."
)


def boyd_private_report(study: Study, state: str) -> StudyReport:
    """Gather everything that the study says; `state` is that of the file."""
    return StudyReport(
        paper=PAPER,
        settings=study.settings.to_dict(),
        quick=study.settings.quick,
        lead=_lead(study),
        warnings=tuple(_warnings(study, state)),
        exhibits=tuple(_exhibits(study)),
        claims=claims(study),
        comparisons=tuple(_comparisons(study)),
        summary=tuple(summary_lines(study)),
        summary_tables=(summary_table(study), limits_table(study)),
        corrections=tuple(correction_lines(study)),
        setup=tuple(setup_lines(study)),
        details=study.to_dict(),
    )


def _lead(study: Study) -> str:
    names = " and ".join(population.name for population in study.populations)
    return (
        f"Private AUC and average precision on test sets of {names} by the papers' mechanisms, and at the same epsilon "
        "by confide's default ones (pure epsilon, class sizes included in the price). N is public, and neighbours "
        "differ in one row that is replaced."
    )


def _warnings(study: Study, state: str) -> Iterator[str]:
    if study.settings.quick:
        yield (
            f"A quick look: {study.settings.sets} test sets of each size, {study.settings.trials} trials of the attack "
            "and few epsilons. Verdicts may differ from those of a full run."
        )
    if not study.has_adult:
        yield (
            f"{ADULT.name} was not found, so simulated scores take the place of Adult in every figure; give the folder "
            "that has it with --data."
        )
    elif state != "as published":
        yield f"{ADULT.name} is another version than the one whose results are published here."
    yield (
        "The papers' diabetes data (a Kaggle competition of Practice Fusion, 2012) could not be had. In their "
        "place stand simulated normal scores with the average precision of about 0.75 that the paper prints."
    )
    yield NOT_PRIVATE


def _exhibits(study: Study) -> Iterator[Exhibit]:
    yield Exhibit(
        where=NEIGHBOURS,
        title="ROC curves of two neighbouring databases",
        pictures=(
            Picture(
                name="neighbours",
                caption="Two datasets with the printed sizes and AUCs that differ in one row.",
                draw=plots.draw_neighbours,
                data=neighbours(study.settings.seed),
            ),
        ),
        notes=(
            "The papers do not print the scores. With 15 rows of each class only 179/225 is written 0.796, and with 16 "
            "and 14 only 173/224 is written 0.772. Scores were drawn until one changed row leads from one to the "
            "other. "
            "The change of 0.023 is a third of the greatest possible one, 1/15.",
        ),
    )
    yield _attack(study)
    yield Exhibit(
        where=THEOREM_AUC,
        title="Local sensitivity of AUC",
        tables=(exhaustive_table(study),),
        notes=(
            f"All datasets of 3 to {study.settings.most_rows} rows with all their neighbours were tried. "
            "1/min(n, m) is "
            "the greatest change at given class sizes. The local sensitivity of a single dataset can be half of it, so "
            "theorem 4 (5.2) is an upper bound, which is all that privacy needs, and not the smooth sensitivity "
            "itself.",
        ),
    )
    yield Exhibit(
        where=THEOREM_AP,
        title="Local sensitivity of average precision",
        tables=(precision_table(study),),
        notes=("confide uses the exact sensitivity.",),
    )
    yield _sensitivities()
    yield Exhibit(
        where=FIGURE_4,
        title="Distribution of private values (diabetes stand-in)",
        pictures=(
            Picture(
                name="histograms",
                caption="Private values of one test set, epsilon 1: the paper's Laplace noise (filled), "
                "confide's (line).",
                draw=plots.draw_histograms,
                data=(study, study.stand_in, HISTOGRAM_SIZES, METRICS),
                size=(5.6, 4.8),
            ),
        ),
        tables=(histogram_table(study, study.stand_in, HISTOGRAM_SIZES, METRICS),),
    )
    yield from _errors(study)
    yield Exhibit(
        where=FIGURE_56,
        title=f"Distribution of private average precision ({study.main.name})",
        pictures=(
            Picture(
                name="adult-histograms",
                caption="Private average precision of one test set, epsilon 1.",
                draw=plots.draw_histograms,
                data=(study, study.main, ADULT_HISTOGRAM_SIZES[::-1], ("average_precision",)),
                size=(5.2, 6.6),
            ),
        ),
        tables=(histogram_table(study, study.main, ADULT_HISTOGRAM_SIZES, ("average_precision",)),),
        notes=("The dissertation's text does not name the sizes of its histograms.",),
    )
    yield _curves(study)
    yield _prevalence(study)


def _attack(study: Study) -> Exhibit:
    released = {rows: study.attack(rows)[PUBLICATIONS[-1]] for rows in study.settings.attacked}
    highest = max(released.values(), key=lambda mean: mean.value)
    return Exhibit(
        where=MISSING_ROW,
        title=f"Class of a missing row from the AUC of all rows ({study.main.name})",
        pictures=(
            Picture(
                name="attack",
                caption="Share of missing rows whose class is guessed right. Grey: from a release with epsilon 1, with "
                "two standard errors; no attack can exceed the dashed bound.",
                draw=plots.draw_attack,
                data=study,
                size=(5.8, 4.6),
            ),
        ),
        tables=(attack_table(study),),
        notes=(
            "As published, the test set has as many positives as negatives, so the known rows are one short of the "
            "missing row's class. For releases a coin decides the class instead. From releases with epsilon 1 the "
            f"attack is right at most {highest.text} of the time; the bound is {success_bound(1.0):.3f}.",
        ),
    )


def _sensitivities() -> Exhibit:
    return Exhibit(
        where=SENSITIVITY,
        title="Smooth sensitivity over prevalence and rows",
        pictures=(
            Picture(
                name="sensitivity-auc",
                caption="AUC, 1,000 rows, as in Figure 3.",
                draw=plots.draw_sensitivity,
                data="auc",
            ),
            Picture(
                name="sensitivity-rows",
                caption="AUC, database sizes of Figure 5.3. Its text does not name its β; these are those of Figure 3.",
                draw=plots.draw_database_sizes,
                data=DISSERTATION_ROWS,
                size=(5.2, 6.4),
            ),
            Picture(
                name="sensitivity-average-precision",
                caption="Average precision, 1,000 rows: equation 10 (5.20), and as thin lines the exact "
                "sensitivity for "
                "β of 0.01 and above. The papers have no such picture. Values above 1 are cut off.",
                draw=plots.draw_sensitivity,
                data="average_precision",
            ),
        ),
    )


def _errors(study: Study) -> Iterator[Exhibit]:
    def pictures(metric: str, *, root: bool) -> tuple[Picture, ...]:
        return tuple(
            Picture(
                name=f"{'rmse' if root else 'mae'}-{metric}-{population.key}",
                caption=f"{population.name}: {NAMES[metric]}"
                + ("." if root else ", log scale; dashed: estimation error."),
                draw=plots.draw_errors,
                data=(study, population, metric, root),
                size=(5.4, 6.6),
            )
            for population in study.populations
        )

    yield Exhibit(
        where=ERRORS,
        title="Mean absolute error over epsilon",
        pictures=tuple(picture for metric in METRICS for picture in pictures(metric, root=False)),
        tables=tuple(error_table(study, each, metric) for metric in METRICS for each in study.populations),
        notes=(
            "Cauchy at its true price: the published calibration for epsilon costs only a third of epsilon (its "
            "loss is "
            "1/σ + β), so the same noise as published for three times epsilon is private at epsilon.",
        ),
    )
    for where, metric in ((FIGURE_54, "auc"), (FIGURE_55, "average_precision")):
        yield Exhibit(
            where=where,
            title=f"Root-mean-square error of {NAMES[metric]} over epsilon",
            pictures=pictures(metric, root=True),
            tables=tuple(error_table(study, each, metric, root=True) for each in study.populations),
        )


def _curves(study: Study) -> Exhibit:
    return Exhibit(
        where=FIGURE_6,
        title="Private ROC curves",
        pictures=tuple(
            Picture(
                name=f"curves-{method}",
                caption=f"{name}; epsilon 0.1, n = m = 1,000.",
                draw=plots.draw_curves,
                data=(study, method),
                size=(5.4, 6.2),
            )
            for method, name in METHODS.items()
        ),
        tables=(curve_table(study),),
        notes=(
            "Private counts need no assumption on the shape. At an epsilon of 0.1 they pay for that with noise, except "
            "where the shape is wrong.",
        ),
    )


def _prevalence(study: Study) -> Exhibit:
    return Exhibit(
        where=PREVALENCE,
        title="Error over prevalence and rows",
        pictures=tuple(
            Picture(
                name=f"prevalence-{metric}-{float(epsilon):g}",
                caption=f"{NAMES[metric][0].upper()}{NAMES[metric][1:]}, normal scores with AUC 0.8, "
                f"epsilon {float(epsilon):g}.",
                draw=plots.draw_prevalence,
                data=(study, metric, epsilon, DISSERTATION_ROWS),
                size=(5.2, 7.0),
            )
            for metric in METRICS
            for epsilon in PREVALENCE_EPSILONS
        ),
        tables=tuple(prevalence_table(study, metric) for metric in METRICS),
        notes=("The papers draw the sensitivity over prevalence but no error; this is the error that follows.",),
    )


def _comparisons(study: Study) -> Iterator[Comparison]:
    for name, ours, value in zip(
        ("AUC of D, by construction", "AUC of D′, by construction"),
        neighbours(study.settings.seed).aucs,
        NEIGHBOUR_AUCS,
        strict=True,
    ):
        published = Published(value=value, where=NEIGHBOURS, half_unit=0.0005)
        yield Comparison(name=name, ours=Mean.exact(ours), published=published)
    each = 1_000
    least = float((np.arange(1, each + 1) / (np.arange(1, each + 1) + each)).mean())
    yield Comparison(
        name="smallest average precision, n = m = 1,000",
        ours=Mean.exact(least),
        published=Published(value=LEAST_AVERAGE_PRECISION, where=THEOREM_AP, half_unit=0.05),
    )
