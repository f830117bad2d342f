"""Tables of the study."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from confide.report.writers.terminal import Table
from studies.boyd_private.claims import claims
from studies.boyd_private.curves import METHODS
from studies.boyd_private.data import METRICS, Population
from studies.boyd_private.errors import SHOWN
from studies.boyd_private.histograms import SHOWN as IN_HISTOGRAMS
from studies.boyd_private.limits import LAX, LIMITS, STRICT
from studies.boyd_private.mechanisms import CAUCHY, LENIENT, MECHANISMS, OURS, TRUE_PRICE, Mechanism
from studies.boyd_private.plan import PREVALENCE_EPSILONS
from studies.boyd_private.published import DISSERTATION_ROWS, SIZES
from studies.boyd_private.reidentification import PUBLICATIONS
from studies.boyd_private.sensitivity import exact_sensitivities, printed_sensitivities
from studies.boyd_private.study import Study

SHORT = {"auc": "AUC", "average_precision": "AP"}
NAMES = {"auc": "AUC", "average_precision": "average precision"}
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))

_POSITIVES = (2, 3, 5, 10, 30, 100, 300, 1_000)
_PREVALENCES = (0.01, 0.1, 0.5, 0.9)


def attack_table(study: Study) -> Table:
    """Return the share of right guesses for each size and publication."""
    return Table(
        title="Missing row's class guessed right",
        head=("rows", *PUBLICATIONS),
        body=tuple(
            (f"{rows:,}", *(f"{mean.value:.3f}" for mean in study.attack(rows).values()))
            for rows in study.settings.attacked
        ),
        note=f"{study.settings.trials:,} trials, {study.settings.releases} of releases: standard errors of at most "
        f"{0.5 / study.settings.trials**0.5:.3f} and {0.5 / study.settings.releases**0.5:.3f}.",
    )


def exhaustive_table(study: Study) -> Table:
    """Return the changes of AUC that were found in all datasets of the largest size."""
    rows = study.settings.most_rows
    found = study.exhausted[rows]
    columns = (found[name].tolist() for name in ("positives", "negatives", "most_auc", "least_auc"))
    return Table(
        title=f"Local sensitivity of AUC in all datasets of {rows} rows",
        head=("positives", "negatives", "1/min(n, m)", "greatest found", "least found"),
        body=tuple(
            (f"{n}", f"{m}", f"{1 / min(n, m):.4f}", f"{most:.4f}", f"{least:.4f}")
            for n, m, most, least in zip(*columns, strict=True)
        ),
    )


def precision_table(study: Study) -> Table:
    """Return the published bound on the change of average precision beside the exact one."""
    rows = study.settings.most_rows
    found = study.exhausted[rows]
    searched = dict(zip(found["positives"].tolist(), found["most_average_precision"].tolist(), strict=True))
    body = []
    for n in _POSITIVES:
        printed = float(printed_sensitivities("average_precision", 2 * n)[n])
        exact = float(exact_sensitivities("average_precision", 2 * n)[n])
        many = float(exact_sensitivities("average_precision", 100 * n)[n])
        search = f"{searched[n]:.4f}" if n in searched else "–"
        body.append((f"{n:,}", f"{printed:.4f}", f"{exact:.4f}", f"{many:.4f}", search, f"{printed / exact:.2f}"))
    return Table(
        title="Local sensitivity of average precision",
        head=(
            "positives",
            "equation 10 (5.20)",
            "exact, n = m",
            "exact, m = 99 n",
            f"greatest found in all datasets of {rows} rows",
            "equation 10 over exact",
        ),
        body=tuple(body),
        note="Equation 10 is above 1 for few positives, although average precision lies in [0, 1].",
    )


def error_table(study: Study, population: Population, metric: str, *, root: bool = False) -> Table:
    """Return the errors of every mechanism on test sets of a population."""
    kind = "Root-mean-square error" if root else "Mean absolute error"
    body = []
    for size in SIZES:
        errors = study.errors(population, size)
        of = errors.root_mean_square if root else errors.mean_absolute
        for epsilon in EPSILONS:
            found = {each.key: of(metric, each.key, epsilon) for each in MECHANISMS}
            body.append(
                (
                    f"{size:,}",
                    f"{float(epsilon):g}",
                    *(f"{mean.value:.4f}" for mean in found.values()),
                    *(() if root else (f"{errors.estimation_error(metric).value:.4f}",)),
                )
            )
    return Table(
        title=f"{kind} of {NAMES[metric]}: {population.name}",
        head=(
            "n = m",
            "epsilon",
            *map(_short, MECHANISMS),
            *(() if root else ("test set",)),
        ),
        body=tuple(body),
        note="paper: Cauchy noise if δ = 0, else Laplace noise; true price: its Cauchy noise as published for 3 "
        "epsilon, which costs epsilon." + ("" if root else " test set: the estimation error."),
    )


def _short(mechanism: Mechanism) -> str:
    return "true price, δ = 0" if mechanism is TRUE_PRICE else mechanism.name.partition(" (")[0]


def histogram_table(study: Study, population: Population, sizes: Sequence[int], metrics: Sequence[str]) -> Table:
    """Return errors and cut shares of the histograms."""
    body = []
    for size in sizes:
        for metric in metrics:
            for mechanism in IN_HISTOGRAMS:
                held = study.histogram(population, size, metric, mechanism.key)
                body.append(
                    (
                        f"{size:,}",
                        SHORT[metric],
                        mechanism.name,
                        f"{held.exact:.3f}",
                        f"{held.error.value:.4f}",
                        f"{100 * held.cut.value:.1f} %",
                        f"{100 * held.cut_at_one.value:.1f} %",
                    )
                )
    return Table(
        title=f"{population.name}: private values of one test set, epsilon 1",
        head=("n = m", "metric", "mechanism", "exact", "mean absolute error", "cut to 0 or 1", "cut to 1"),
        body=tuple(body),
        text_columns=("metric", "mechanism"),
    )


def curve_table(study: Study) -> Table:
    """Return the areas between private and exact curves."""
    shown = study.curve_populations
    return Table(
        title="Area between the private ROC curve and the exact one, epsilon 0.1, n = m = 1,000",
        head=("curve", *(each.name for each in shown)),
        body=(
            *((name, *(study.curve(each, method).area.text for each in shown)) for method, name in METHODS.items()),
            ("symmetric without noise", *(f"{study.curve(each, 'published').bias:.4f}" for each in shown)),
        ),
    )


def prevalence_table(study: Study, metric: str) -> Table:
    """Return the errors at some prevalences."""
    body = []
    for rows in DISSERTATION_ROWS:
        for epsilon in PREVALENCE_EPSILONS:
            held = study.prevalence(rows, epsilon)
            for prevalence in _PREVALENCES:
                place = held.positives.index(max(round(rows * prevalence), 1))
                body.append(
                    (
                        f"{rows:,}",
                        f"{float(epsilon):g}",
                        f"{held.positives[place]:,}",
                        *(f"{held.of(metric, each.key)[place].value:.4f}" for each in SHOWN),
                    )
                )
    return Table(
        title=f"Mean absolute error of {NAMES[metric]} over rows and prevalence",
        head=("rows", "epsilon", "positives", *(each.name for each in SHOWN)),
        body=tuple(body),
    )


def summary_table(study: Study) -> Table:
    """Return what the papers' error is, in units of ours."""
    body = []
    for population in study.populations:
        for metric in METRICS:
            for size in (100, 1_000):
                errors = study.errors(population, size)
                for epsilon in EPSILONS:
                    ours = errors.mean_absolute(metric, OURS.key, epsilon)
                    theirs = [errors.mean_absolute(metric, each.key, epsilon) for each in (CAUCHY, LENIENT)]
                    body.append(
                        (
                            population.name,
                            SHORT[metric],
                            f"{size:,}",
                            f"{float(epsilon):g}",
                            f"{ours.value:.4f}",
                            *(f"{each.value:.4f}" for each in theirs),
                            *(f"{each.value / ours.value:.1f}" for each in theirs),
                        )
                    )
    return Table(
        title="Mean absolute error at the same epsilon: the papers' mechanisms and ours",
        head=(
            "data",
            "metric",
            "n = m",
            "epsilon",
            "confide, δ = 0",
            "paper, δ = 0",
            "paper, δ = 0.01",
            "δ = 0: paper's over ours",
            "δ = 0.01: paper's over ours",
        ),
        body=tuple(body),
        text_columns=("metric",),
    )


def limits_table(study: Study) -> Table:
    """Return the verdicts of claims whose words have no number, with stricter and laxer limits than ours."""
    by_limits = [claims(study, limits) for limits in (STRICT, LIMITS, LAX)]
    names = ("stricter", "ours", "laxer")
    body = [
        (
            used.where,
            used.sentence,
            "; ".join(f"{name}: {each.verdict.answer}" for name, each in zip(names, (strict, used, lax), strict=True)),
        )
        for strict, used, lax in zip(*by_limits, strict=True)
        if strict.sentence != used.sentence
    ]
    return Table(
        title="Verdicts that depend on a limit of ours",
        head=("figure", "claim, with our limit", "verdict by limit"),
        body=tuple(body),
        note="The papers' words have no number. These limits were chosen after first trial runs, so a verdict that "
        "changes along a line is to be read as a matter of taste.",
        text_columns=("claim, with our limit", "verdict by limit"),
    )
