"""Study of Schalk and others as a report: its table and figures, claims, and what was found beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confide.federation.modes.noisy_scores import NOT_PRIVATE
from studies.claims import Mean
from studies.exhibits import Exhibit, Paper, Picture, StudyReport
from studies.published import Comparison, Published
from studies.schalk import plots as schalk_plots
from studies.schalk.claims import claims
from studies.schalk.data import SITES
from studies.schalk.plan import ALL_SENSITIVITIES, CELLS, HALF, PERSON
from studies.schalk.plots import Panel, panels, private_panel
from studies.schalk.private_mode import HONEST
from studies.schalk.published import AREA, AREA_QUARTILES, EPSILONS, REPETITIONS, SENSITIVITIES, TABLE_1, written
from studies.schalk.study import Study
from studies.schalk.tables import difference_table, error_table, limit_table, private_table, turned_table

PAPER = Paper(
    study="schalk",
    title="Validation at several sites: the simulation of Schalk and others (2024) made anew",
    reference="D. Schalk, R. Rehms, V. Hoffmann, B. Bischl, U. Mansmann. Distributed non-disclosive validation of "
    "predictive models by a modified ROC-GLM. BMC Medical Research Methodology (2024).",
    corrections="validation-across-sites",
)

STRICT, LENIENT = 1e-5, 0.1


def schalk_report(study: Study) -> StudyReport:
    """Gather everything that the study says."""
    return StudyReport(
        paper=PAPER,
        settings=study.settings.to_dict(),
        quick=study.settings.repetitions < REPETITIONS,
        lead=_lead(study),
        warnings=(*_quick_look(study), f"The paper's noisy scores are {NOT_PRIVATE}."),
        exhibits=(_table_1(study), *_figures_3_and_4(study), _figure_5(study), _figure_6(study)),
        claims=claims(study),
        comparisons=tuple(_comparisons(study)),
        summary=tuple(verdict_lines(study)),
        summary_tables=(error_table(study, STRICT), error_table(study, LENIENT)),
        corrections=tuple(correction_lines(study)),
        setup=tuple(setup_lines(study)),
        details=study.to_dict(),
    )


def _lead(study: Study) -> str:
    return (
        f"{study.settings.repetitions:,} simulated studies of 100 to 2,500 rows at {SITES} sites: the ROC-GLM and the "
        "paper's noisy scores against the empirical AUC of all rows, and confide's private mode in the same studies. "
        "Figures 5 and 6 are claimed as its published code simulates them."
    )


def _quick_look(study: Study) -> Iterator[str]:
    """Return the warning for a study that is smaller than the paper's."""
    if study.settings.repetitions < REPETITIONS:
        yield (
            f"A quick look: with {study.settings.repetitions:,} studies instead of {REPETITIONS:,}, single bins are "
            "within chance."
        )


def _comparisons(study: Study) -> Iterator[Comparison]:
    """Means of Table 1 with the direction of scores chosen by medians, as published, and the area between curves."""
    for ours, theirs in zip(study.table_1(turned=True), TABLE_1, strict=True):
        yield Comparison(
            name=f"mean difference, AUC in {ours.name}",
            ours=Mean(value=ours.mean, standard_error=ours.deviation / max(ours.count, 1) ** 0.5),
            published=Published(
                value=theirs.mean,
                where="Table 1",
                half_unit=0.00005,
                standard_error=theirs.deviation / theirs.count**0.5,
            ),
        )
    yield Comparison(
        name="mean area between the curves",
        ours=study.area(),
        published=Published(value=AREA, where="Figure 4", half_unit=0.0005),
    )


def _table_1(study: Study) -> Exhibit:
    return Exhibit(
        where="Table 1",
        title="the ROC-GLM without noise, by bins of the empirical AUC",
        pictures=(
            Picture(
                name="differences",
                caption="The ROC-GLM's AUC is too low below 0.8 and too high above: the published table comes out "
                "again.",
                draw=schalk_plots.draw_differences,
                data=study,
                size=(6.2, 5.0),
            ),
        ),
        tables=(difference_table(study), turned_table(study)),
        notes=("Published means are compared with the direction of scores chosen by medians, as the paper did.",),
    )


def _figures_3_and_4(study: Study) -> Iterator[Exhibit]:
    for where, title, draw, name, caption in (
        (
            "Figure 3",
            "the empirical AUC and that of the ROC-GLM",
            schalk_plots.draw_densities,
            "densities",
            "Both AUCs over all studies: even from 0.5 to 1.",
        ),
        (
            "Figure 4",
            "the area between the empirical curve and the ROC-GLM",
            schalk_plots.draw_areas,
            "areas",
            "The area between both curves, over all studies.",
        ),
    ):
        picture = Picture(name=name, caption=caption, draw=draw, data=study, size=(6.2, 5.0))
        yield Exhibit(where=where, title=title, pictures=(picture,))


def _figure_5(study: Study) -> Exhibit:
    described = (private_panel(study), *panels(study, ALL_SENSITIVITIES, "described"))
    return Exhibit(
        where="Figure 5",
        title="the error of the AUC (question 1)",
        pictures=(
            *_pictures(described, "described", ""),
            *_pictures(panels(study, SENSITIVITIES, "simulated"), "simulated", " As the published code simulates it."),
        ),
        tables=(private_table(study), limit_table(study)),
        notes=(_BOXES, _SIMULATED),
    )


def _figure_6(study: Study) -> Exhibit:
    shown = panels(study, SENSITIVITIES, "described", interval=True)
    return Exhibit(
        where="Figure 6",
        title="the error of the interval (question 2)",
        pictures=tuple(_pictures(shown, "interval", "")),
        notes=(_INTERVALS,),
    )


_BOXES = (
    "Each box is one setting; within it are 20 bins of the empirical AUC, from 0.5 at the bottom to 1 at the top, "
    "coloured by the mean absolute error of the AUC (blue: at most 0.01, as asked for), with the mean over all studies "
    "in numbers. The noisy scores here follow the paper's text: survivor functions of noisy scores, in which each site "
    "places its exact ones."
)
_SIMULATED = (
    "As the published code simulates it, every score gets noise, that of a positive too, and is cut to [0, 1]. Scores "
    "at the cut tie, and a tied positive counts as above: noise alone then has an AUC of 0.75, which is why errors "
    "stop growing at about 0.12."
)
_INTERVALS = (
    "The distance of the lower ends plus that of the upper ends of 95 % intervals: the paper's, around the AUC of the "
    "ROC-GLM with placements in noisy survivor functions, against DeLong's of all rows."
)


def _pictures(shown: Sequence[Panel], name: str, more: str) -> Iterator[Picture]:
    for place, panel in enumerate(shown):
        yield Picture(
            name=f"{name}-{place}",
            caption=f"{panel.title}. From left to right: {_lowered(panel.across_label)}; from bottom to top: "
            f"{_lowered(panel.up_label)}.{more}",
            draw=schalk_plots.draw_panel,
            data=panel,
            size=panel.size,
        )


def _lowered(label: str) -> str:
    return label[0].lower() + label[1:]


def verdict_lines(study: Study) -> Iterator[str]:
    """Yield the settings in which ours has the smaller error, and those in which the paper's has."""
    ours = {epsilon: study.private(epsilon).overall.value for epsilon in EPSILONS}
    total = len(EPSILONS) * len(ALL_SENSITIVITIES)
    for delta in (STRICT, LENIENT):
        nearer = _nearer(study, delta)
        named = "; ".join(f"sensitivity {s:g} at epsilon {', '.join(found)}" for s, found in nearer.items()) or "none"
        yield (
            f"At delta {written(delta)} the paper's noisy scores are nearer to the exact AUC than ours ({CELLS[0]} "
            f"cells, all of epsilon, delta 0) in {sum(map(len, nearer.values()))} of {total} settings: {named}."
        )
    yield (
        "There the noise is small because the model is said to move little when one feature changes, or because a "
        f"delta of {LENIENT:g} lets the promise fail once in ten times. It hides no person: another person can move a "
        f"score by {PERSON:g}, which takes {PERSON / min(SENSITIVITIES):g} times the noise of the smallest "
        "sensitivity. Ours is a guarantee for every person's row in all settings, also if two sites and the "
        "coordinator collude."
    )
    best = min(study.errors("described", max(EPSILONS), LENIENT, s).overall.value for s in SENSITIVITIES)
    yield (
        f"However little noise there is, the ROC-GLM stays {best:.4f} away from the exact AUC, as the curve is not "
        f"binormal; counts reach {ours[max(EPSILONS)]:.4f} at epsilon {max(EPSILONS):g}."
    )
    yield (
        f"At small epsilons fewer cells are better: {study.private(0.5, CELLS[1]).overall.value:.4f} with {CELLS[1]} "
        f"cells at epsilon 0.5, {ours[0.5]:.4f} with {CELLS[0]}. At epsilon 0.1 neither is within 0.01 for studies of "
        "this size; more rows are needed."
    )

    drawn = ", ".join(f"{study.private(e, concave=True).overall.value:.4f} at {e:g}" for e in EPSILONS)
    yield (
        "The AUC here is that of the noisy counts. Read off the concave curve that is drawn through them by default, "
        f"its error is {drawn} (epsilon): smaller where noise is large, and larger where it is small, since a concave "
        "curve runs along the outside of what the rows show."
    )


def _nearer(study: Study, delta: float) -> dict[float, list[str]]:
    """Return the epsilons, by sensitivity, at which the paper's mode has the smaller error."""
    found: dict[float, list[str]] = {}
    for sensitivity in ALL_SENSITIVITIES:
        for epsilon in EPSILONS:
            theirs = study.errors("described", epsilon, delta, sensitivity).overall
            known = 2 * theirs.count >= study.settings.repetitions
            if known and theirs.value < study.private(epsilon).overall.value:
                found.setdefault(sensitivity, []).append(f"{epsilon:g}")
    return found


def correction_lines(study: Study) -> Iterator[str]:
    """Yield the differences between the paper, its published code and its results."""
    turned, plain = study.table_1(turned=True), study.table_1()
    yield (
        "Labels drawn by a coin: the paper says that their share is uniform on [0.5, 1]. With a share g the AUC is 1 − "
        "g/2 on average, so none would be far above 0.75. Table 1 and Figure 3 take shares on [0, 1], as its code has "
        "them, and as is done here."
    )
    yield (
        "Table 1's lowest bins: the AUC was computed without saying which way scores point, so an AUC below 0.5 counts "
        "as 1 less itself while the ROC-GLM's stays below 0.5. That makes differences of up to 0.16 and the mean "
        f"{TABLE_1[0].mean:.4f} of the first bin; done so, {turned[0].mean:.4f} comes out here, and without it "
        f"{plain[0].mean:.4f}. In higher bins it changes next to nothing."
    )
    first = study.errors("simulated", 0.5, 0.1, 0.1)
    yield (
        "Figure 5: blue is said to be an error of at most 0.01, but the published code changes colour at 0.05. What "
        "the text calls reliable fits 0.05 only: with sensitivity 0.1, epsilon 0.5 and delta 0.1 the mean error is "
        f"{first.overall.value:.3f}, and {first.within(0.01)} of 20 bins are within 0.01, {first.within(0.05)} within "
        "0.05."
    )
    yield (
        "Figures 5 and 6: the code puts noise on the positives' scores too and cuts all to [0, 1], where scores tie in "
        "the positives' favour: noise alone has an AUC of 0.75. The method as described does neither; with much noise "
        "all positives then have about the same placement, and most studies have no finite fit."
    )
    setting = (5.0, 0.01, 0.2)
    widths, ends = study.interval_errors("simulated", *setting), study.interval_errors("described", *setting)
    yield (
        "Figure 6: the code puts the exact AUC in the middle of both intervals, so that only widths are compared. "
        f"That gives {widths.overall.value:.3f} with sensitivity 0.2, epsilon 5 and delta 0.01; with each method's own "
        f"AUC in the middle, and as described, it is {ends.overall.value:.3f}."
    )
    yield (
        "The method is not simulated at several sites; as only sums leave a site, that changes nothing but for the "
        "noise, which must be drawn anew at every site."
    )


def setup_lines(study: Study) -> Iterator[str]:
    """Describe how the paper's setup was followed."""
    yield (
        "A study has 100, 200, ... or 2,500 rows with uniform scores; rows with a score of 0.5 and above are positive; "
        "of a uniform share of all rows the label is then drawn by a coin. Seed "
        f"{study.settings.seed}; every setting sees the same studies and, but for its scale, the same noise."
    )
    yield (
        "The ROC-GLM is fitted to the counts at 28 equidistant false-positive rates inside (0, 1), as in the published "
        "code. The area between curves is measured at 2,000 rates. Published: mean 0.032, quartiles "
        f"{AREA_QUARTILES[0]} and {AREA_QUARTILES[1]}; here {study.area().value:.4f}."
    )
    yield (
        "Noise on scores is calibrated by the analytic Gaussian mechanism (Balle & Wang 2018) to the stated "
        "sensitivity, which in practice is estimated from data; "
        f"{PERSON:g} is added to the paper's {len(SENSITIVITIES)} sensitivities."
    )
    yield (
        f"The private mode counts positives and negatives in cells of a public grid (arcsine). Each of {SITES} sites "
        f"adds a share of discrete Laplace noise, of which {HONEST} make the whole, so that two colluding sites take "
        "nothing away from the guarantee; neighbours differ by one row more or less. The AUC is that of the noisy "
        "counts, made possible (none below 0, totals kept), ties in a cell counting half. By default the sum has "
        f"{HALF:g} of epsilon."
    )
