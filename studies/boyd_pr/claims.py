"""Sentences of the dissertation's chapters on precision-recall, and its printed numbers, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from confide.counts import FloatArray
from confide.curves.pr import minimum_area, minimum_precision
from confide.metrics.threshold import ConfusionMatrix
from studies.boyd_pr.kernels import ESTIMATORS as RECOMMENDED
from studies.boyd_pr.region import (
    F_POINTS,
    IMDB,
    IMDB_MEANS,
    SAMPLE_PREVALENCE,
    UW_CSE,
    FoldAverages,
    TaskAreas,
    example_errors,
    normalised,
    spread,
    worst_recall,
)
from studies.boyd_pr.running import AS_PRINTED
from studies.boyd_pr.scenarios import PAPERS
from studies.boyd_pr.study import Method
from studies.claims import Claim, Exceptions, Mean
from studies.published import Comparison, Published

if TYPE_CHECKING:
    from studies.boyd_pr.study import Found, Study

Key: TypeAlias = tuple[str, str, int]
"""Estimator, scenario and number of rows."""

CLOSE = 0.01
"""Bias ratio within which an estimator counts as having reached the true area."""
LEVEL = 0.95
NEAR_IDEAL = 1.05
"""Ratio of widths up to which bootstrap intervals count as right at the ideal width."""
A_FEW = 3
"""Number from which on settings are a few."""
_DIGIT = 0.0005


def region_claims(tasks: Mapping[str, TaskAreas], folds: Mapping[str, FoldAverages]) -> Iterator[Claim]:
    """Yield the claims of chapters 2 and 3."""
    highest = max(folds, key=lambda name: folds[name].aucpr.value)
    rise = minimum_area(0.5) - minimum_area(0.01)
    yield _near(
        "Figure 3.3", "From skew 0.01 to 0.5 the minimum AUCPR rises by about 0.3 (within 0.05).", rise, 0.3, 0.05
    )
    yield _near(
        "Figure 3.3", "At skew 0.1 the minimum AUCPR is about 0.05 (within 0.005).", minimum_area(0.1), 0.05, 0.005
    )
    yield Claim(
        where="Figure 3.3",
        sentence="Scaled to the maximum, the minimum grows when recall is restricted to high values.",
        differences={
            f"above {low:g} less above {lower:g}, skew {p:g}": Mean.exact(
                minimum_area(p, low, 1.0) / (1.0 - low) - minimum_area(p, lower, 1.0) / (1.0 - lower)
            )
            for lower, low in ((0.0, 0.5), (0.5, 0.8))
            for p in (0.1, 0.5)
        },
    )
    yield Claim(
        where="Table 3.1",
        sentence="With 100 positives and 200 negatives, recall 0.6 with precision 0.2 is impossible.",
        differences={"lowest precision at recall 0.6 less 0.2": Mean.exact(minimum_precision(0.6, 1 / 3) - 0.2)},
    )
    yield Claim(
        where="Table 3.2",
        sentence="Averaged over tasks, AUCNPR gives a more conservative estimate than AUCPR.",
        differences={
            "mean AUCPR less mean AUCNPR": Mean.exact(
                sum(aucpr for aucpr, _ in IMDB.values()) / 6 - sum(share for _, share in IMDB.values()) / 6
            )
        },
    )
    yield from _on_downsampling()
    yield Claim(
        where="Section 3.4",
        sentence="AUCNPR varies less than AUCPR when only the skew changes.",
        differences={
            f"{name}: spread of AUCPR less that of AUCNPR": Mean.exact(spread(areas.aucpr) - spread(areas.aucnpr))
            for name, areas in tasks.items()
        },
    )
    yield Claim(
        where="Section 3.4",
        sentence="It does not eliminate the effect of the skew (AUCNPR still varies by more than 0.01).",
        differences={
            f"{name}: spread of AUCNPR less 0.01": Mean.exact(spread(areas.aucnpr) - 0.01)
            for name, areas in tasks.items()
        },
    )
    yield Claim(
        where="Section 3.4",
        sentence="Averaging over folds of different skews is less off with AUCNPR than with AUCPR.",
        differences={name: _size(found.aucpr).less(_size(found.aucnpr)) for name, found in folds.items()},
    )
    yield Claim(
        where="Section 3.4",
        sentence="Averaging AUCPR over folds of different skews can be overly optimistic (above AUCPR of the merged "
        "folds, for one kind of scores at least).",
        differences={f"largest of {len(folds)}, {highest}: mean over folds less merged": folds[highest].aucpr},
    )


def _on_downsampling() -> Iterator[Claim]:
    columns = list(zip(*UW_CSE.values(), strict=True))
    yield Claim(
        where="Table 3.3",
        sentence="On downsampled test sets AUCNPR has less variance than AUCPR.",
        differences={"spread of AUCPR less that of AUCNPR": Mean.exact(spread(columns[0]) - spread(columns[1]))},
    )
    yield Claim(
        where="Table 3.3",
        sentence="At 1:1 even AUCNPR on the downsampled test set is more than twice that on the original one.",
        differences={"ratio less 2": Mean.exact(UW_CSE[1][1] / UW_CSE[1][3] - 2.0)},
    )


def _near(where: str, sentence: str, ours: float, theirs: float, within: float) -> Claim:
    return Claim(
        where=where,
        sentence=sentence,
        differences={f"{within:g} less the distance from it": Mean.exact(within - abs(ours - theirs))},
    )


def example_claims() -> Iterator[Claim]:
    """Yield the claim that the printed points are those of the printed labels."""
    recall, precision = example_errors()
    yield Claim(
        where="Table 4.1",
        sentence="Recall and precision of all 20 rows are those of the labels.",
        differences={
            f"columns that differ, {name}": Exceptions.counted(int(off > 0.005 + 1e-9))
            for name, off in (("recall", recall), ("precision", precision))
        },
    )


def point_claims(study: Study) -> Iterator[Claim]:
    """Yield the claims about the bias of estimators."""
    smallest, largest = study.settings.sizes[0], study.settings.sizes[-1]
    at_end = {name: study.at(name, largest) for name in PAPERS}
    everywhere = {f"{name}, {rows:,} rows": study.at(name, rows) for name in PAPERS for rows in study.settings.sizes}
    most = ("average_precision", "lower_trapezoid", "interpolated_max", "interpolated_mean", "interpolated_median")
    yield Claim(
        where="Figure 4.5",
        sentence=f"Most estimators converge: with the largest samples their bias ratio is within {CLOSE:g} of 1.",
        differences={
            f"{shown(estimator)}, {name}": found.size_of_bias(estimator).below(CLOSE)
            for estimator in most
            for name, found in at_end.items()
        },
    )
    yield Claim(
        where="Figure 4.5",
        sentence=f"The binormal estimator is excellent on binormal data (within {CLOSE:g} of 1, largest samples).",
        differences={f"{CLOSE:g} less the bias": at_end["binormal"].size_of_bias("binormal").below(CLOSE)},
    )
    yield Claim(
        where="Figure 4.5",
        sentence=f"On other data it converges to a wrong value (more than {CLOSE:g} off, largest samples).",
        differences={name: at_end[name].size_of_bias("binormal").less(CLOSE) for name in PAPERS[1:]},
    )
    for estimator, which in (("upper_trapezoid", "as the text describes it"), (AS_PRINTED, "as equation 4.4 has it")):
        yield Claim(
            where="Figure 4.5",
            sentence=f"The upper trapezoid, {which}, consistently overestimates.",
            differences={name: found.bias(estimator) for name, found in everywhere.items()},
        )
    yield Claim(
        where="Figure 4.5",
        sentence="The interpolated convex estimator is always higher than the upper trapezoid.",
        differences={
            name: Mean.of(found.ratios("interpolated_convex") - found.ratios("upper_trapezoid"))
            for name, found in everywhere.items()
        },
    )
    yield Claim(
        where="Figure 4.5",
        sentence="Even with the largest samples the interpolated convex estimator is far from the true area (more "
        f"than {CLOSE:g}).",
        differences={name: found.size_of_bias("interpolated_convex").less(CLOSE) for name, found in at_end.items()},
    )
    yield Claim(
        where="Figure 4.5",
        sentence="With the smallest samples estimators tend to overestimate.",
        differences={
            f"{name}, mean of seven estimators": Mean.of(
                np.mean(
                    [
                        study.at(name, smallest).ratios(estimator) - 1.0
                        for estimator in (*most, "upper_trapezoid", "interpolated_convex")
                    ],
                    axis=0,
                )
            )
            for name in PAPERS
        },
    )
    yield from _on_related(everywhere)
    yield from _on_skew(study)


def _on_related(everywhere: Mapping[str, Found]) -> Iterator[Claim]:
    yield Claim(
        where="Figure 4.5",
        sentence="The lower trapezoid is less biased than the upper trapezoid.",
        differences={
            name: found.more_biased("upper_trapezoid", "lower_trapezoid") for name, found in everywhere.items()
        },
    )
    for worse in ("interpolated_convex", "interpolated_max"):
        yield Claim(
            where="Figure 4.5",
            sentence=f"The mean and median interpolations are less biased than the {shown(worse)}.",
            differences={
                f"{shown(better)}, {name}": found.more_biased(worse, better)
                for better in ("interpolated_mean", "interpolated_median")
                for name, found in everywhere.items()
            },
        )


def _on_skew(study: Study) -> Iterator[Claim]:
    low, high = study.settings.prevalences[0], study.settings.prevalences[-1]
    yield Claim(
        where="Figure 4.6",
        sentence="The bias of the binormal estimator on other data lessens as classes become balanced.",
        differences={
            f"{name}: at {low:g} less at {high:g}": study.at_prevalence(name, low)
            .size_of_bias("binormal")
            .less(study.at_prevalence(name, high).size_of_bias("binormal"))
            for name in PAPERS[1:]
        },
    )
    yield Claim(
        where="Figure 4.6",
        sentence="The recommended estimators are unbiased as the skew grows: within "
        f"{CLOSE:g} of 1 at prevalence {high:g}.",
        differences={
            f"{shown(estimator)}, {name}": study.at_prevalence(name, high).size_of_bias(estimator).below(CLOSE)
            for estimator in RECOMMENDED
            for name in PAPERS
        },
    )


def interval_claims(study: Study) -> Iterator[Claim]:
    """Yield the claims about coverage, width and location of intervals."""
    found = {
        (estimator, name, rows): study.at(name, rows)
        for estimator in RECOMMENDED
        for name in PAPERS
        for rows in study.settings.interval_sizes
    }

    def named(key: Key) -> str:
        return f"{shown(key[0])}, {key[1]}, {key[2]:,} rows"

    formulas: tuple[Method, ...] = ("binomial", "logit")
    for method in formulas:
        yield Claim(
            where="Figure 4.7",
            sentence=f"The {method} intervals cover at least 95 %.",
            differences={named(key): each.coverage(method, key[0]).less(LEVEL) for key, each in found.items()},
        )
    resampling: tuple[Method, ...] = ("bootstrap", "cross-validation")
    for method in resampling:
        yield Claim(
            where="Figure 4.7",
            sentence=f"The {method} intervals tend to cover less than 95 %.",
            differences=_by_rows(found, partial(_uncovered, method)),
        )
    first, last = study.settings.interval_sizes[0], study.settings.interval_sizes[-1]
    for method in resampling:
        yield Claim(
            where="Figure 4.7",
            sentence=f"The coverage of {method} intervals rises towards 95 % as samples grow.",
            differences={
                f"{shown(estimator)}, {name}": found[estimator, name, last]
                .coverage(method, estimator)
                .less(found[estimator, name, first].coverage(method, estimator))
                for estimator in RECOMMENDED
                for name in PAPERS
            },
        )
    lowest = sorted(
        (each.coverage("cross-validation", key[0]) for key, each in found.items()), key=lambda mean: mean.value
    )
    yield Claim(
        where="Figure 4.7",
        sentence="The coverage of a few cross-validation intervals is below 75 % (of at least three settings).",
        differences={"0.75 less the third lowest coverage": lowest[A_FEW - 1].below(0.75)},
    )
    yield from _on_width(found, named)
    yield from _on_location(found)


def _on_width(found: Mapping[Key, Found], named: Callable[[Key], str]) -> Iterator[Claim]:
    yield Claim(
        where="Figure 4.8",
        sentence=f"Bootstrap intervals are as wide as ideal ones or narrower (at most {NEAR_IDEAL:g} times as wide).",
        differences={named(key): each.width("bootstrap", key[0]).below(NEAR_IDEAL) for key, each in found.items()},
    )
    folded: dict[Method, str] = {
        "cross-validation": "with the normal quantile, as the text has it",
        "cross-validation, t": "with Student's quantile",
    }
    for method, which in folded.items():
        yield Claim(
            where="Figure 4.8",
            sentence=f"Cross-validation intervals, {which}, tend to be wider than ideal ones.",
            differences=_by_rows(found, partial(_wider, method)),
        )
        yield Claim(
            where="Figure 4.8",
            sentence=f"Cross-validation intervals, {which}, tend to be narrower than binomial ones.",
            differences=_by_rows(found, partial(_narrower, method)),
        )


def _wider(method: Method, key: Key, found: Found) -> Mean:
    return found.width(method, key[0]).less(1.0)


def _narrower(method: Method, key: Key, found: Found) -> Mean:
    """Return how much wider binomial intervals are, over the true area."""
    return Mean.of((_widths(found, "binomial", key[0]) - _widths(found, method, key[0])) / found.truth)


def _uncovered(method: Method, key: Key, found: Found) -> Mean:
    return found.coverage(method, key[0]).below(LEVEL)


def _displaced(one: Method, other: Method, key: Key, found: Found) -> Mean:
    return found.more_displaced(one, other, key[0])


def _by_rows(found: Mapping[Key, Found], difference: Callable[[Key, Found], Mean]) -> dict[str, Mean]:
    """Average a difference over estimators and scenarios, for each number of rows: a tendency.

    Estimators share samples, so the standard error is that of one estimator.
    """
    averages = {}
    for rows in dict.fromkeys(key[2] for key in found):
        here = [difference(key, each) for key, each in found.items() if key[2] == rows]
        average = Mean.over(here)
        error = average.standard_error * len(RECOMMENDED) ** 0.5
        averages[f"{rows:,} rows"] = Mean(value=average.value, standard_error=error)
    return averages


def _widths(found: Found, method: Method, estimator: str) -> FloatArray:
    ends = found.ends(method, estimator)
    widths: FloatArray = ends[:, 1] - ends[:, 0]
    return widths


def _on_location(found: Mapping[Key, Found]) -> Iterator[Claim]:
    others: tuple[Method, ...] = ("bootstrap", "binomial")
    for other in others:
        yield Claim(
            where="Figure 4.9",
            sentence=f"Cross-validation intervals lie further off the true area than {other} ones.",
            differences=_by_rows(found, partial(_displaced, "cross-validation", other)),
        )
    yield Claim(
        where="Figure 4.9",
        sentence="Bootstrap intervals lie slightly further off than binomial ones (by any amount).",
        differences=_by_rows(found, partial(_displaced, "bootstrap", "binomial")),
    )


def comparisons() -> Iterator[Comparison]:
    """Yield the printed numbers of chapters 2 and 3, with ours."""
    skewed = ConfusionMatrix(true_positives=90, false_positives=990, false_negatives=10, true_negatives=8910)
    for name, ours, value, half in (
        ("false-positive rate", skewed.false_positive_rate, 0.1, 0.05),
        ("true-positive rate", skewed.recall, 0.9, 0.05),
        ("precision", skewed.precision, 0.08, 0.005),
    ):
        yield _printed(name, ours, value, "Table 2.4", half)
    highest = 0.2 * (2 / 3) / ((1 / 3) * 0.8)
    yield _printed("highest recall with precision 0.2", highest, 0.5, "Table 3.1", 0.005)
    yield _printed("lowest AUCPR of gender, skew 0.5", minimum_area(0.5), 0.31, "Table 3.2", 0.005)
    yield _printed("lowest AUCPR of genre, skew 0.05", minimum_area(0.05), 0.02, "Table 3.2", 0.005)
    for place, name in enumerate(("AUCPR", "AUCNPR")):
        mean = sum(values[place] for values in IMDB.values()) / len(IMDB)
        yield _printed(f"mean {name} of its rows", mean, IMDB_MEANS[place], "Table 3.2", _DIGIT + _DIGIT)
    for ratio, (area, share, whole, whole_share) in UW_CSE.items():
        prevalence = 1.0 / (1.0 + ratio)
        yield _of_area(f"AUCNPR of 1:{ratio}, downsampled", area, share, prevalence)
        yield _of_area(f"AUCNPR of 1:{ratio}, original skew", whole, whole_share, 0.04)
    recall = worst_recall(SAMPLE_PREVALENCE, F_POINTS)
    on_curve = minimum_precision(recall, SAMPLE_PREVALENCE)
    yield _printed(
        "F1 of point B, on the minimum curve", 2 * on_curve * recall / (on_curve + recall), F_POINTS, "Figure 3.4", 0.05
    )


def _of_area(name: str, area: float, share: float, prevalence: float) -> Comparison:
    """Compute AUCNPR from a printed AUCPR, whose own rounding widens what counts as agreement."""
    half = _DIGIT + _DIGIT / (1.0 - minimum_area(prevalence))
    return _printed(name, normalised(area, prevalence), share, "Table 3.3", half)


def _printed(name: str, ours: float, value: float, where: str, half_unit: float) -> Comparison:
    published = Published(value=value, where=where, half_unit=half_unit)
    return Comparison(name=name, ours=Mean.exact(ours), published=published)


def shown(estimator: str) -> str:
    """Return the name of an estimator as the dissertation writes it.

    >>> shown("interpolated_median"), shown("upper_trapezoid_as_printed")
    ('interpolated median', 'upper trapezoid, eq. 4.4')
    """
    return estimator.replace("_as_printed", ", eq. 4.4").replace("_", " ")


def _size(mean: Mean) -> Mean:
    return Mean(value=abs(mean.value), standard_error=mean.standard_error)
