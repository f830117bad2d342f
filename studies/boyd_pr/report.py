"""Study of precision-recall as a report: figures and tables of chapters 2 to 4 by their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from confide.report.style import Drawing
from studies.boyd_pr import plots, tables
from studies.boyd_pr.claims import comparisons, example_claims, interval_claims, point_claims, region_claims
from studies.boyd_pr.plan import REPETITIONS, REPLICATES, SIZES
from studies.boyd_pr.region import FoldAverages, TaskAreas, fold_averages
from studies.boyd_pr.scenarios import PAPERS
from studies.boyd_pr.study import Study
from studies.exhibits import Exhibit, Paper, Picture, StudyReport

PAPER = Paper(
    study="boyd-pr",
    title="Precision-recall: the unachievable region, estimators and intervals of Boyd (2014) made anew",
    reference="K. Boyd. Mitigating the risks of thresholdless metrics in machine learning evaluation, chapters 2 to 4 "
    "(dissertation, University of Wisconsin-Madison, 2014), with Boyd, Santos Costa, Davis & Page (2012) and Boyd, "
    "Eng & Page (2013).",
    corrections="precisionrecall",
)

WIDE = (10.4, 4.0)


def boyd_pr_report(study: Study) -> StudyReport:
    """Gather everything that the study says."""
    seed = study.settings.seed
    tasks = {name: TaskAreas.of(name) for name in PAPERS}
    times = 100 if study.settings.repetitions >= REPETITIONS else 10
    folds = {name: fold_averages(name, times, seed) for name in PAPERS}
    return StudyReport(
        paper=PAPER,
        settings=study.settings.to_dict(),
        quick=study.settings.repetitions < REPETITIONS,
        lead=f"{study.settings.repetitions:,} samples of each setting from the dissertation's three pairs of "
        "distributions, whose true areas are known; chapters 2 and 3 exactly, from their formulas and printed tables.",
        warnings=tuple(_warnings(study)),
        exhibits=(*_region_exhibits(seed, tasks, folds), *_example_exhibits(seed), *_simulated_exhibits(study)),
        claims=(
            *region_claims(tasks, folds),
            *example_claims(),
            *point_claims(study),
            *interval_claims(study),
        ),
        comparisons=tuple(comparisons()),
        summary=tuple(_summary(study)),
        corrections=_CORRECTIONS,
        setup=tuple(_setup(study)),
        details=study.to_dict(),
    )


def _warnings(study: Study) -> Iterator[str]:
    if study.settings.repetitions < REPETITIONS:
        fewer = ", and fewer sizes and skews" if study.settings.sizes != SIZES else ""
        yield f"A quick look: {study.settings.repetitions:,} samples instead of {REPETITIONS:,}{fewer}."
    yield (
        "Not repeated, as their data or models cannot be had: Figure 2.3 and Table 2.5 (patients), the predictions "
        "behind Tables 3.2 (IMDB) and 3.3 (UW-CSE). What these tables print is checked against the formulas."
    )


def _region_exhibits(seed: int, tasks: dict[str, TaskAreas], folds: dict[str, FoldAverages]) -> Iterator[Exhibit]:
    yield Exhibit(where="Table 2.4", title="a confusion matrix of skewed data")
    yield Exhibit(
        where="Figure 3.1",
        title="a PR curve with the unachievable region",
        pictures=(
            _one("sample-curve", "A sample of 300 rows from the binormal scenario.", plots.draw_sample_curve, seed),
        ),
    )
    yield Exhibit(where="Table 3.1", title="a valid and an invalid confusion matrix")
    yield Exhibit(
        where="Figure 3.2",
        title="minimum PR curves",
        pictures=(_one("minimum-curves", "No model can be below its skew's curve.", plots.draw_minimum_curves, None),),
    )
    yield Exhibit(
        where="Figure 3.3",
        title="minimum AUCPR over the skew",
        pictures=tuple(
            _one(f"minimum-areas-{scaled}", caption, plots.draw_minimum_areas, scaled)
            for scaled, caption in (
                (False, "Area under the minimum curve, for three ranges of recall."),
                (True, "The same, divided by the largest area of the range."),
            )
        ),
        tables=(tables.minimum_table(),),
    )
    yield Exhibit(where="Table 3.2", title="AUCPR and AUCNPR on IMDB", tables=(tables.imdb_table(),))
    yield Exhibit(where="Table 3.3", title="AUCPR and AUCNPR on UW-CSE by downsampling")
    yield Exhibit(
        where="Figure 3.4",
        title="contours of F1, and F by skew",
        pictures=(
            _one(
                "f-contours",
                "Points A and B have an F1 of 0.4; B lies on the minimum curve.",
                plots.draw_f_contours,
                None,
            ),
        ),
        tables=(tables.f_table(),),
    )
    yield Exhibit(
        where="Section 3.4",
        title="averages over tasks and folds of different skews",
        tables=(tables.task_table(tasks), tables.fold_table(folds)),
    )


def _example_exhibits(seed: int) -> Iterator[Exhibit]:
    yield Exhibit(where="Table 4.1", title="the example's data", tables=(tables.example_table(),))
    yield Exhibit(
        where="Figure 4.1",
        title="the example's PR points",
        pictures=(_one("example-points", "Skew 0.25.", plots.draw_example_points, None),),
    )
    yield Exhibit(
        where="Figure 4.2",
        title="how estimators join the points",
        pictures=(
            Picture(
                name="paths",
                caption="Seven estimators on the data of Table 4.1; the binormal one joins no points. Grey: "
                "unachievable.",
                draw=plots.draw_paths,
                data=None,
                size=(9.0, 8.4),
            ),
        ),
    )
    yield Exhibit(
        where="Figure 4.3",
        title="densities of the simulated scores",
        pictures=tuple(
            Picture(name=f"density-{place}", caption=f"{name}.", draw=plots.draw_density, data=name, size=(4.6, 3.8))
            for place, name in enumerate(PAPERS)
        ),
    )
    yield Exhibit(
        where="Figure 4.4",
        title="true and sampled PR curves",
        pictures=(_wide("true-curves", "Prevalence 0.1.", plots.draw_true_curves, seed),),
    )


def _simulated_exhibits(study: Study) -> Iterator[Exhibit]:
    yield Exhibit(
        where="Figure 4.5",
        title="bias ratio over the number of rows",
        pictures=tuple(_ratios(f"sizes-{place}", plots.size_ratios(study, name)) for place, name in enumerate(PAPERS)),
        tables=(tables.bias_table(study), tables.error_table(study)),
    )
    yield Exhibit(
        where="Figure 4.6",
        title="bias ratio over the skew",
        pictures=tuple(_ratios(f"skews-{place}", plots.skew_ratios(study, name)) for place, name in enumerate(PAPERS)),
        tables=(tables.skew_table(study),),
        notes=("The dissertation does not print the skews of its figure; these are ours.",),
    )
    yield Exhibit(
        where="Figure 4.7",
        title="coverage of intervals",
        pictures=(
            Picture(
                name="coverage",
                caption="As in the dissertation, coverage below 0.75 is drawn at the bottom.",
                draw=plots.draw_coverage,
                data=study,
                size=(9.6, 8.4),
            ),
        ),
        tables=(tables.coverage_table(study),),
    )
    yield Exhibit(
        where="Figure 4.8",
        title="width of intervals",
        pictures=(_one("widths", "Each point is a setting and an estimator.", plots.draw_widths, study),),
        tables=(tables.width_table(study),),
    )
    yield Exhibit(
        where="Figure 4.9",
        title="location of intervals",
        pictures=(
            _wide("locations", "The logit interval lies where the binomial one does.", plots.draw_locations, study),
        ),
        tables=(tables.location_table(study),),
    )


def _one(name: str, caption: str, draw: Drawing, data: object) -> Picture:
    return Picture(name=name, caption=caption, draw=draw, data=data, size=(5.4, 5.4))


def _wide(name: str, caption: str, draw: Drawing, data: object) -> Picture:
    return Picture(name=name, caption=caption, draw=draw, data=data, size=WIDE)


def _ratios(name: str, ratios: plots.Ratios) -> Picture:
    return Picture(
        name=name,
        caption=f"{ratios.title}: the mean estimate divided by the true area.",
        draw=plots.draw_ratios,
        data=ratios,
        size=(6.0, 6.0),
    )


def _summary(study: Study) -> Iterator[str]:
    rows = study.settings.interval_sizes[0]
    shares = ", ".join(
        f"{method} {100 * study.at('binormal', rows).coverage(method, 'average_precision').value:.1f} %"
        for method in ("binomial", "logit", "bootstrap", "cross-validation")
    )
    yield f"Coverage for average precision, binormal scores, {rows:,} rows: {shares}."
    hard = study.hard[0]
    yield (
        f"Where the spread comes from few negatives, formulas with the positives as sample size fail too: in such a "
        f"scenario of {hard.setting.rows:,} rows the binomial interval covers "
        f"{100 * hard.coverage('binomial', 'average_precision').value:.1f} %, the bootstrap "
        f"{100 * hard.coverage('bootstrap', 'average_precision').value:.1f} %."
    )


_CORRECTIONS = (
    "Equation 4.11 has the sign of the mean difference reversed; the binormal estimator here has it right.",
    "Equation 4.4 ends each line at the lowest precision of the next recall; the text describes lines between the "
    "highest ones. Both are shown, and only the second overestimates everywhere.",
    "Equations 4.3 and 4.4 leave out the strip before the first positive; here curves start at recall 0.",
    "Table 4.1's caption says 10 positives and 20 negatives; it has 5 and 15.",
    "Cross-validation is described with a normal approximation; the published widths, above the ideal and below the "
    "binomial ones, are those of Student's quantile.",
    "Averages of AUCPR over folds of different skews are said to be too optimistic at times; with one scorer for all "
    "folds they are too low here, as AUCPR is concave in the skew.",
    "Section 3.4 gives genre, with a skew close to 0.05, the range [0.02, 1.0]; at 0.05 the minimum is 0.025, which "
    "rounds to 0.03. The scores of Table 3.2 imply 0.033, and for gender 0.27 where the text has 0.31.",
)


def _setup(study: Study) -> Iterator[str]:
    settings = study.settings
    shown = ", ".join(f"{settings.bootstrapped_at(rows):,}" for rows in settings.interval_sizes)
    yield (
        f"Each sample has exactly the stated share of positives. Seed {settings.seed}. The true area is integrated "
        "numerically from the distributions (equation 4.2)."
    )
    yield (
        f"Estimators and formula intervals are those of confide; {settings.repetitions:,} samples of each setting. "
        f"The first are bootstrapped ({shown} by number of rows), with {REPLICATES:,} stratified resamples each and "
        "quantiles as ends; the dissertation bootstraps all samples. The ideal width is that between the 2.5 % and "
        "97.5 % quantiles of all estimates."
    )
    yield (
        "Cross-validation deals the rows of each class evenly into ten folds, and its interval is the mean and 1.96 "
        "standard errors of the folds' estimates, as the dissertation says; the column with t takes Student's "
        "quantile."
    )
    yield (
        "Where the dissertation says that a few intervals cover too rarely, at least three settings must. This number "
        "was chosen after first results were seen."
    )
