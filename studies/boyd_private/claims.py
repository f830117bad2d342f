"""Sentences of the dissertation and the paper, and the numbers that support or contradict them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from studies.boyd_private.data import METRICS
from studies.boyd_private.error_claims import error_claims, root_claims
from studies.boyd_private.limits import LIMITS, Limits
from studies.boyd_private.mechanisms import LENIENT
from studies.boyd_private.places import (
    FIGURE_4,
    FIGURE_6,
    FIGURE_56,
    MISSING_ROW,
    SENSITIVITY,
    THEOREM_AP,
    THEOREM_AUC,
)
from studies.boyd_private.published import BETAS, DIGITS, DISSERTATION_ROWS, SENSITIVITY_ROWS
from studies.boyd_private.sensitivity import exact_sensitivities, printed_sensitivities, smooth_sensitivities
from studies.boyd_private.study import Study
from studies.claims import Claim, Exceptions, Mean

BIN_NUMBERS = (10, 20, 40)
"""Numbers of bins at which the mode is looked for; the paper's is not said."""

LARGE_BETA, SMALL_BETA = 0.1, 0.001

_CLOSE = 1e-9
_MANY = 10_000  # negatives


def claims(study: Study, limits: Limits = LIMITS) -> tuple[Claim, ...]:
    """Return all claims in the order of the exhibits."""
    return (
        *_missing_row(study, limits),
        *_theorems(study),
        *_smooth(limits),
        *_figure_4(study, limits),
        *error_claims(study, limits),
        *root_claims(study, limits),
        *_adult_histograms(study, limits),
        *_curves(study, limits),
    )


def _counted(agree: Iterable[bool], what: str) -> dict[str, Mean]:
    """Return the number of cases that agree and, as exceptions, of those that do not."""
    found = [bool(each) for each in agree]  # of Python, which JSON can write
    yes, no = sum(found), len(found) - sum(found)
    return {
        **({f"{what} where it is so": Mean.exact(yes)} if yes else {}),
        **({f"{what} where it is not": Exceptions.counted(no)} if no else {}),
    }


def _missing_row(study: Study, limits: Limits) -> Iterator[Claim]:
    attacks = {rows: study.attack(rows) for rows in study.settings.attacked}
    most, first, last = f"{DIGITS[-1]} digits", min(attacks), max(attacks)
    yield Claim(
        where=MISSING_ROW,
        sentence=f"With many digits ({DIGITS[-1]}), the class is recovered with high probability (above "
        f"{limits.high:g}).",
        differences={f"{rows:,} rows": found[most].less(limits.high) for rows, found in attacks.items()},
    )
    yield Claim(
        where=MISSING_ROW,
        sentence="This ability falls as the number of rows increases.",
        differences={
            f"{digits} digits, {first} less {last:,} rows": attacks[first][f"{digits} digits"].less(
                attacks[last][f"{digits} digits"]
            )
            for digits in DIGITS
        },
    )
    yield Claim(
        where=MISSING_ROW,
        sentence="Rounding the AUC to fewer digits reduces the adversary's success.",
        differences={
            f"{DIGITS[-1]} less {digits} digits, {rows:,} rows": found[most].less(found[f"{digits} digits"])
            for rows, found in attacks.items()
            for digits in DIGITS[:-1]
        },
    )


def _theorems(study: Study) -> Iterator[Claim]:
    cases = [
        (int(n), int(m), float(least), float(most), float(precise), rows)
        for rows, found in study.exhausted.items()
        for n, m, least, most, precise in zip(*found.values(), strict=True)
    ]
    yield Claim(
        where=THEOREM_AUC,
        sentence="No row changes AUC by more than 1/min(n, m), and some row of some dataset changes it by as much.",
        differences=_counted((abs(most * min(n, m) - 1.0) < _CLOSE for n, m, _, most, *_ in cases), "class sizes"),
    )
    yield Claim(
        where=THEOREM_AUC,
        sentence="1/min(n, m) is the local sensitivity of every dataset with these class sizes.",
        differences=_counted((abs(least * min(n, m) - 1.0) < _CLOSE for n, m, least, *_ in cases), "class sizes"),
    )
    many = [case for case in cases if case[0] > 1]
    printed = {rows: printed_sensitivities("average_precision", rows) for rows in study.exhausted}
    yield Claim(
        where=THEOREM_AP,
        sentence="No row changes average precision by more than equation 10 (5.20) says.",
        differences=_counted((precise <= printed[rows][n] + _CLOSE for n, *_, precise, rows in many), "class sizes"),
    )
    yield Claim(
        where=THEOREM_AP,
        sentence="Equation 10 (5.20) is the local sensitivity of average precision: some row changes it by as much.",
        differences=_counted((precise >= printed[rows][n] - _CLOSE for n, *_, precise, rows in many), "class sizes"),
    )
    yield Claim(
        where=THEOREM_AP,
        sentence="The local sensitivity of average precision does not depend on the number of negatives.",
        differences=_counted(
            (abs(_average_precision_at(n, 2) - _average_precision_at(n, _MANY)) < _CLOSE for n in range(2, 21)),
            "numbers of positives up to 20",
        ),
    )


def _average_precision_at(positives: int, negatives: int) -> float:
    """Return the exact local sensitivity."""
    return float(exact_sensitivities("average_precision", positives + negatives)[positives])


def _smooth(limits: Limits) -> Iterator[Claim]:
    local = printed_sensitivities("auc", SENSITIVITY_ROWS)
    lines = {beta: smooth_sensitivities(local, beta) for beta in BETAS}
    half, tenth = SENSITIVITY_ROWS // 2, SENSITIVITY_ROWS // 10
    yield Claim(
        where=SENSITIVITY,
        sentence="If β is 0, the smooth sensitivity is 1 whatever the prevalence.",
        differences=_counted([bool(np.all(lines[0.0] == 1.0))], "curves"),
    )
    yield Claim(
        where=SENSITIVITY,
        sentence="The advantages of lower sensitivity are more pronounced with higher β.",
        differences={
            f"balanced, β {low:g} less {high:g}": Mean.exact(float(lines[low][half] - lines[high][half]))
            for low, high in pairwise(BETAS)
        },
    )
    yield Claim(
        where=SENSITIVITY,
        sentence="The advantages of lower sensitivity are more pronounced on balanced datasets.",
        differences={
            f"β {beta:g}, prevalence 0.1 less 0.5": Mean.exact(float(lines[beta][tenth] - lines[beta][half]))
            for beta in BETAS[1:]
        },
    )
    least, most = min(DISSERTATION_ROWS), max(DISSERTATION_ROWS)

    def smooth(rows: int, beta: float, positives: int) -> float:
        return float(smooth_sensitivities(printed_sensitivities("auc", rows), beta)[positives])

    yield Claim(
        where=SENSITIVITY,
        sentence=f"Small smooth sensitivity (below {limits.small:g}) needs a large β, a large database, and no "
        "rare class: "
        "without one of these it is not available.",
        differences={
            f"small β ({SMALL_BETA:g}), {most:,} rows": Mean.exact(smooth(most, SMALL_BETA, most // 2) - limits.small),
            f"{least} rows, β {LARGE_BETA:g}": Mean.exact(smooth(least, LARGE_BETA, least // 2) - limits.small),
            f"5 positives of {most:,}, β {LARGE_BETA:g}": Mean.exact(smooth(most, LARGE_BETA, 5) - limits.small),
        },
    )


def _figure_4(study: Study, limits: Limits) -> Iterator[Claim]:
    few, many = (
        {metric: study.histogram(study.stand_in, size, metric, LENIENT.key) for metric in METRICS}
        for size in (100, 1_000)
    )
    yield Claim(
        where=FIGURE_4,
        sentence="With n = m = 1,000 private AUC is clustered tightly around the exact value (error below "
        f"{limits.tight:g}).",
        differences={"below": many["auc"].error.below(limits.tight)},
    )
    yield Claim(
        where=FIGURE_4,
        sentence="With n = m = 100 it is more spread out than with 1,000 (by its mean absolute error).",
        differences={name: few[name].error.less(many[name].error) for name in METRICS},
    )
    yield Claim(
        where=FIGURE_4,
        sentence="If n is small, noise often puts average precision outside [0, 1]: more often with 100 than 1,000.",
        differences={"share cut": few["average_precision"].cut.less(many["average_precision"].cut)},
    )
    yield Claim(
        where=FIGURE_4,
        sentence="The mode of private average precision is 1 with n = m = 100, although the exact value is about 0.75.",
        differences={
            f"{bins} bins, the last less the fullest other": few["average_precision"].mode_less_rest(bins)
            for bins in BIN_NUMBERS
        },
    )


def _adult_histograms(study: Study, limits: Limits) -> Iterator[Claim]:
    def shown(size: int) -> Mean:
        return study.histogram(study.main, size, "average_precision", LENIENT.key).cut

    yield Claim(
        where=FIGURE_56,
        sentence=f"For larger datasets (n = m = 1,000) outputs are clustered around the true average precision "
        f"(error below {limits.reasonable:g}).",
        differences={
            "below": study.histogram(study.main, 1_000, "average_precision", LENIENT.key).error.below(limits.reasonable)
        },
    )
    yield Claim(
        where=FIGURE_56,
        sentence="When n and m are small (10 and 30), most outputs are truncated to 0 or 1.",
        differences={f"n = m = {size}": shown(size).less(0.5) for size in (10, 30)},
    )


def _curves(study: Study, limits: Limits) -> Iterator[Claim]:
    symmetric, *others, main = study.curve_populations
    yield Claim(
        where=FIGURE_6,
        sentence="If both classes are normal with the same spread, symmetric curves are a good approximation, as on "
        f"Adult (area between the exact curve and the symmetric one without noise below {limits.good:g}).",
        differences={
            each.name: Mean.exact(limits.good - study.curve(each, "published").bias) for each in (symmetric, main)
        },
    )
    yield Claim(
        where=FIGURE_6,
        sentence="The method is not flexible to differing variances: there the area is larger than with equal ones.",
        differences={
            each.name: study.curve(each, "published").area.less(study.curve(symmetric, "published").area)
            for each in others
        },
    )
    yield Claim(
        where=FIGURE_6,
        sentence="Curves are smoother than those of Stoddard and others (FixedSpace less symmetric, by two measures).",
        differences={
            f"{each.name}, {measure}": getattr(study.curve(each, "stoddard"), measure).less(
                getattr(study.curve(each, "published"), measure)
            )
            for each in study.curve_populations
            for measure in ("roughness", "turns")
        },
    )
