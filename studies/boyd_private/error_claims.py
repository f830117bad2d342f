"""Claims about errors over epsilon: Figures 5, 5.4 and 5.5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

import numpy as np

from studies.boyd_private.data import Population
from studies.boyd_private.limits import Limits
from studies.boyd_private.mechanisms import CAUCHY, LENIENT, PUBLISHED
from studies.boyd_private.places import ERRORS, FIGURE_54, FIGURE_55
from studies.boyd_private.published import SIZES
from studies.boyd_private.study import Study
from studies.claims import Claim, Mean

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))


def _ratio(error: Mean, other: Mean) -> Mean:
    """Return the ratio of two independent means."""
    value = error.value / other.value
    spread = np.hypot(error.standard_error / error.value, other.standard_error / other.value)
    return Mean(value=value, standard_error=float(value * spread))


def _cases(study: Study) -> Iterator[tuple[str, Population, int, Fraction]]:
    for population in study.populations:
        for size in SIZES:
            for epsilon in EPSILONS:
                yield f"{population.name}, n = {size:,}, ε {float(epsilon):g}", population, size, epsilon


def _dp_less(study: Study, metric: str, mechanism: str, times: float) -> dict[str, Mean]:
    """Return the DP error less so many times the estimation error."""
    found = {}
    for name, population, size, epsilon in _cases(study):
        errors = study.errors(population, size)
        estimation = errors.estimation_error(metric)
        scaled = Mean(value=times * estimation.value, standard_error=times * estimation.standard_error)
        found[name] = errors.mean_absolute(metric, mechanism, epsilon).less(scaled)
    return found


def _negative(differences: Mapping[str, Mean]) -> dict[str, Mean]:
    return {name: Mean.exact(0.0).less(each) for name, each in differences.items()}


def error_claims(study: Study, limits: Limits) -> Iterator[Claim]:
    """Return the claims about mean absolute errors: Figure 5."""
    cauchy = _dp_less(study, "auc", CAUCHY.key, 1.0)
    yield Claim(
        where=ERRORS,
        sentence='As printed: "the Cauchy noise when δ = 0 causes the estimation error to be considerably larger than '
        'the DP error" (here: larger by any amount).',
        differences=_negative(cauchy),
    )
    yield Claim(
        where=ERRORS,
        sentence="As it must be meant: with Cauchy noise the DP error is larger than the estimation error (by any "
        "amount).",
        differences=cauchy,
    )
    yield Claim(
        where=ERRORS,
        sentence=f"With δ > 0 the DP error of AUC is similar to the estimation error (up to {limits.similar:g} "
        "times) or smaller.",
        differences={
            f"δ {float(mechanism.delta):g}, {name}": each
            for mechanism in PUBLISHED[1:]
            for name, each in _negative(_dp_less(study, "auc", mechanism.key, limits.similar)).items()
        },
    )
    yield Claim(
        where=ERRORS,
        sentence="As the dataset grows, the DP error of AUC decreases relative to the estimation error (ε 1).",
        differences=dict(_relative_falls(study)),
    )
    yield Claim(
        where=ERRORS,
        sentence="The DP error of average precision is much higher than its estimation error "
        f"(more than {limits.much:g} times).",
        differences={
            f"δ {float(mechanism.delta):g}, {name}": each
            for mechanism in PUBLISHED
            for name, each in _dp_less(study, "average_precision", mechanism.key, limits.much).items()
        },
    )
    yield Claim(
        where=ERRORS,
        sentence="DP error over estimation error is larger for average precision than for AUC, so equality needs "
        "larger datasets or ε.",
        differences={
            f"δ {float(mechanism.delta):g}, {population.name}, n = {size:,}": _relative(
                study, population, size, "average_precision", mechanism.key
            ).less(_relative(study, population, size, "auc", mechanism.key))
            for mechanism in PUBLISHED
            for population in study.populations
            for size in SIZES
        },
    )


def _relative(study: Study, population: Population, size: int, metric: str, mechanism: str) -> Mean:
    errors = study.errors(population, size)
    return _ratio(errors.mean_absolute(metric, mechanism, Fraction(1)), errors.estimation_error(metric))


def _relative_falls(study: Study) -> Iterator[tuple[str, Mean]]:
    for mechanism in PUBLISHED:
        for population in study.populations:
            ratios = [_relative(study, population, size, "auc", mechanism.key) for size in SIZES]
            for fewer, more, one, other in zip(SIZES, SIZES[1:], ratios, ratios[1:], strict=False):
                name = f"δ {float(mechanism.delta):g}, {population.name}, n = {fewer:,} less {more:,}"
                yield name, one.less(other)


def _root(study: Study, population: Population, size: int, metric: str, mechanism: str, epsilon: Fraction) -> Mean:
    return study.errors(population, size).root_mean_square(metric, mechanism, epsilon)


def root_claims(study: Study, limits: Limits) -> Iterator[Claim]:
    """Return the claims about root-mean-square errors: Figures 5.4 and 5.5."""
    above = Fraction(3, 10)
    yield Claim(
        where=FIGURE_54,
        sentence=f"With 1,000 rows of each class AUC is reasonably accurate (RMSE below {limits.reasonable:g}) "
        "for ε > 0.25; "
        f"here at {float(above):g}.",
        differences={
            f"{mechanism.name}, {population.name}": _root(study, population, 1_000, "auc", mechanism.key, above).below(
                limits.reasonable
            )
            for mechanism in PUBLISHED
            for population in study.populations
        },
    )
    yield Claim(
        where=FIGURE_54,
        sentence="With Cauchy noise RMSE approaches 0 more slowly than with Laplace noise (δ = 0.01): it is larger at "
        "every ε.",
        differences={
            name: _root(study, population, size, "auc", CAUCHY.key, epsilon).less(
                _root(study, population, size, "auc", LENIENT.key, epsilon)
            )
            for name, population, size, epsilon in _cases(study)
        },
    )
    for where, metric in ((FIGURE_54, "auc"), (FIGURE_55, "average_precision")):
        yield Claim(
            where=where,
            sentence="RMSE falls as the dataset grows or ε increases.",
            differences=dict(_improvements(study, metric)),
        )
    yield Claim(
        where=FIGURE_55,
        sentence=f"The error of average precision is much higher than that of AUC (more than {limits.much:g} times).",
        differences={
            f"δ {float(mechanism.delta):g}, {name}": _ratio(
                _root(study, population, size, "average_precision", mechanism.key, epsilon),
                _root(study, population, size, "auc", mechanism.key, epsilon),
            ).less(limits.much)
            for mechanism in PUBLISHED
            for name, population, size, epsilon in _cases(study)
        },
    )
    yield Claim(
        where=FIGURE_55,
        sentence="The error of average precision decays more slowly as ε increases (RMSE at ε 1 over that at 0.1).",
        differences={
            f"δ {float(mechanism.delta):g}, {population.name}, n = {size:,}": _decay(
                study, population, size, "average_precision", mechanism.key
            ).less(_decay(study, population, size, "auc", mechanism.key))
            for mechanism in PUBLISHED
            for population in study.populations
            for size in SIZES
        },
    )


def _decay(study: Study, population: Population, size: int, metric: str, mechanism: str) -> Mean:
    last, first = (_root(study, population, size, metric, mechanism, at) for at in (EPSILONS[-1], EPSILONS[0]))
    return _ratio(last, first)


def _improvements(study: Study, metric: str) -> Iterator[tuple[str, Mean]]:
    for mechanism in PUBLISHED:
        for population in study.populations:
            held = {
                (size, epsilon): _root(study, population, size, metric, mechanism.key, epsilon)
                for size in SIZES
                for epsilon in EPSILONS
            }
            start = f"δ {float(mechanism.delta):g}, {population.name}"
            for fewer, more in pairwise(SIZES):
                yield (
                    f"{start}, ε 1, n = {fewer:,} less {more:,}",
                    held[fewer, EPSILONS[-1]].less(held[more, EPSILONS[-1]]),
                )
            for low, high in pairwise(EPSILONS):
                name = f"{start}, n = 1,000, ε {float(low):g} less {float(high):g}"
                yield name, held[1_000, low].less(held[1_000, high])
