"""Trials of each figure, from a few settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from confide.errors import ParameterError
from confide.privacy.guarantee import checked_epsilon
from studies.folds import checked_folds
from studies.repeatable_noise import checked_seed
from studies.stoddard.data import CORPORA, checked_corpora
from studies.stoddard.methods import ALL, ALL_SAMPLED, ENFORCED, HALF, JOINT, METHODS, SAMPLED, Method, Standing
from studies.stoddard.trials import Trial

EPSILONS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))
GRID = (20, 50, 100, 200, 500, 1000)
THRESHOLDS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
SHARES = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
RATES = (1, 2, 3, 5, 7, 10, 15, 20)

FAMILIES = {
    "score perturbation": ("score perturbation TC", "score perturbation DC"),
    "clusters (not private)": ("clusters TC", "clusters DC"),
    "PTT (not private)": ("PTT TC", "PTT DC", "PTT PI"),
    "other sound selection": ("sparse vector TC", "peeling TC", "permute-and-flip TC", "clusters of noisy scores TC"),
}
"""Families of figure 4, and those of their methods that are tried at every epsilon."""

COMPARED = (
    *("PTT TC", "noisycut TC", "score perturbation TC", "clusters TC"),
    *("sparse vector TC", "peeling TC", "permute-and-flip TC", "clusters of noisy scores TC"),
)
"""Methods of figure 3."""

REACHING = "no privacy TC"
"""Method that finds exactly the features that are wanted."""

TUNED = "score perturbation TC"
"""Method of figure 5."""

BY_LOGISTIC = (
    *("score perturbation TC", "score perturbation DC", "score perturbation IG"),
    *("clusters TC", "clusters DC", "PTT TC", "PTT DC", "PTT IG"),
    *("sparse vector TC", "peeling TC", "permute-and-flip TC", "clusters of noisy scores TC"),
)
"""Private methods of figure 2, besides all features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Datasets, epsilons, folds and seed of the study. The largest epsilon is that of all figures but the fourth."""

    datasets: tuple[str, ...] = tuple(CORPORA)
    epsilons: tuple[Fraction, ...] = EPSILONS
    folds: int = 10
    seed: int = 0
    grid: tuple[int, ...] = GRID
    thresholds: tuple[float, ...] = THRESHOLDS
    shares: tuple[Fraction, ...] = SHARES
    rates: tuple[int, ...] = RATES

    @classmethod
    def checked(
        cls,
        *,
        datasets: Sequence[str] | None = None,
        epsilons: Sequence[object] | None = None,
        folds: int | None = None,
        seed: int = 0,
        quick: bool = False,
    ) -> Settings:
        """Check what was asked for; `quick` tries less, in two folds unless more are asked for."""
        usual = _QUICK if quick else cls()
        given = usual.epsilons if epsilons is None else {checked_epsilon(epsilon) for epsilon in epsilons}
        if not given:
            raise ParameterError("epsilon must have at least one number, such as 1, or several as in 1,0.5,0.1")
        return replace(
            usual,
            datasets=tuple(corpus.key for corpus in checked_corpora(datasets)),
            epsilons=tuple(sorted(given, reverse=True)),
            folds=usual.folds if folds is None else checked_folds(folds),
            seed=checked_seed(seed),
        )

    @property
    def epsilon(self) -> Fraction:
        """Return the epsilon of all figures but the fourth."""
        return self.epsilons[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilons": [float(epsilon) for epsilon in self.epsilons],
            "folds": self.folds,
            "seed": self.seed,
            "k": list(self.grid),
            "thresholds": list(self.thresholds),
            "shares": [float(share) for share in self.shares],
            "row_weights": list(self.rates),
        }


_QUICK = Settings(
    epsilons=(Fraction(1), Fraction(1, 10)),
    folds=2,
    grid=(50, 200),
    thresholds=(10.0, 40.0, 160.0),
    shares=(Fraction(1, 5), HALF, Fraction(4, 5)),
    rates=(2, SAMPLED, ENFORCED),
)


def planned(settings: Settings) -> tuple[Trial, ...]:
    """Return every trial of every figure, each once."""
    every = (*_accuracies(settings), *_budgets(settings), *_overlaps(settings), *_tuning(settings))
    return tuple(dict.fromkeys((*every, *_logistic(settings))))


def fits(method: Method, dataset: str) -> bool:
    """Tell whether a method can be asked of a dataset: some need texts of bounded length."""
    return CORPORA[dataset].short or not method.short_only


def _accuracies(settings: Settings) -> Iterator[Trial]:
    """Figure 1: every method on every dataset."""
    for dataset in settings.datasets:
        for method in METHODS.values():
            if fits(method, dataset):
                yield from over_grid(settings, dataset, method, settings.epsilon)


def _budgets(settings: Settings) -> Iterator[Trial]:
    """Figure 4: the families at every epsilon."""
    keys = (ALL_SAMPLED.key, *(key for family in FAMILIES.values() for key in family), JOINT.key)
    for dataset in settings.datasets:
        for epsilon in settings.epsilons:
            for key in keys:
                yield from over_grid(settings, dataset, METHODS[key], epsilon)


def _overlaps(settings: Settings) -> Iterator[Trial]:
    """Figure 3: which features are found, on SMS."""
    for key in (REACHING, *COMPARED) if "sms" in settings.datasets else ():
        for threshold in settings.thresholds:
            yield overlap_trial(settings, key, threshold)


def overlap_trial(settings: Settings, key: str, threshold: float) -> Trial:
    """Return the features that a method finds at a threshold, with all of epsilon and without sampling."""
    epsilon = None if METHODS[key].standing is Standing.EXACT else settings.epsilon
    return Trial(dataset="sms", method=key, epsilon=epsilon, threshold=threshold, worth=ENFORCED, measure="f1")


def _tuning(settings: Settings) -> Iterator[Trial]:
    """Figure 5: how epsilon is divided, without sampling, and how many features of a row count."""
    method = METHODS[TUNED]
    for dataset in settings.datasets:
        for share in settings.shares:
            yield from over_grid(settings, dataset, method, settings.epsilon, share=share, worth=ENFORCED)
        for rate in settings.rates:
            for tuned in (method, ALL_SAMPLED, JOINT):
                yield from over_grid(settings, dataset, tuned, settings.epsilon, worth=rate)


def _logistic(settings: Settings) -> Iterator[Trial]:
    """Figure 2: logistic regression on SMS."""
    if "sms" not in settings.datasets:
        return
    exact = (key for key, method in METHODS.items() if method.standing is Standing.EXACT)
    for key in (*exact, ALL.key, *BY_LOGISTIC):
        for trial in over_grid(settings, "sms", METHODS[key], settings.epsilon):
            yield replace(trial, classifier="logistic regression")


def over_grid(
    settings: Settings,
    dataset: str,
    method: Method,
    epsilon: Fraction,
    *,
    share: Fraction | None = None,
    worth: int | None = None,
) -> Iterator[Trial]:
    """Return a method with every number of features, if it takes one.

    Numbers that are the method's own are left out.
    """
    for k in (None,) if method.selector is None else settings.grid:
        yield Trial(
            dataset=dataset,
            method=method.key,
            epsilon=None if method.standing is Standing.EXACT else epsilon,
            k=k,
            share=None if share == method.share else share,
            worth=None if worth == method.worth else worth,
        )
