"""Scores and labels for the comparison with other federated curves: laws with a known AUC, and census rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta, norm

from benchmarks.real_scores import adult_scores
from benchmarks.shared import shared_file
from confide.counts import FloatArray

Rows = tuple[NDArray[np.bool_], FloatArray]
"""Labels and scores."""

ADULT = "Adult"
RISKS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "calibrated": (-1.0, 1.4),
        "rare, 5 %": (-3.7, 1.2),
        "rare, 1 %": (-5.5, 1.3),
        "sharp": (-1.5, 4.0),
    }
)
"""Laws in which the score is the risk: mean and deviation of its log-odds, which are normal."""

BETA = "beta"
_BETA_SHARE, _BETA_SHAPES = 0.4, ((4.0, 2.0), (2.0, 4.0))
LAWS = ("calibrated", BETA, "rare, 5 %", "rare, 1 %", "sharp")

_PLACES = 200_001


def drawn(law: str, rows: int, rng: np.random.Generator) -> Rows:
    """Draw rows of a law; of the census rows, without replacement."""
    if law == ADULT:
        labels, scores = census()
        kept = rng.permutation(labels.size)[:rows]
        return labels[kept], scores[kept]
    if law == BETA:
        labels = rng.random(rows) < _BETA_SHARE
        return labels, np.where(labels, *(rng.beta(*shape, rows) for shape in _BETA_SHAPES))
    risk = expit(rng.normal(*RISKS[law], rows))
    return rng.random(rows) < risk, risk


@cache
def population_auc(law: str) -> float | None:
    """The AUC of a law by quadrature; None for the census rows."""
    if law == ADULT:
        return None
    if law == BETA:
        at = (np.arange(_PLACES) + 0.5) / _PLACES
        ours, theirs = (beta.pdf(at, *shape) for shape in _BETA_SHAPES)
    else:
        mean, deviation = RISKS[law]
        latent = mean + deviation * np.linspace(-9.0, 9.0, _PLACES)
        weight, risk = norm.pdf(latent, mean, deviation), expit(latent)
        ours, theirs = weight * risk, weight * (1.0 - risk)
    below = np.cumsum(theirs) - theirs / 2.0
    return float((ours * below).sum() / (ours.sum() * theirs.sum()))


@cache
def census() -> Rows:
    """Logistic regression's scores for all census rows, those that it was fitted to among them."""
    found = adult_scores()
    if found is None:
        raise FileNotFoundError("adult.csv.gz is not here: set CONFIDE_SHARED to the folder that holds data/")
    return found.labels, found.scores


def sizes(law: str) -> tuple[int, ...]:
    """How many rows are tried; there are 48,842 census rows."""
    return (2_000, 20_000, 48_842 if law == ADULT else 100_000)


LEAST = 2_000
"""Least number of rows, and least product of rows and epsilon, that is compared with a peer."""


def compared_settings(epsilons: Sequence[str], *, quick: bool) -> Iterator[tuple[str, int, str]]:
    """Every law, number of rows and epsilon at which private curves are compared with a peer's."""
    with_adult = not quick and shared_file("adult.csv.gz") is not None
    for law in (*LAWS, ADULT) if with_adult else LAWS:
        for rows in sizes(law):
            for epsilon in epsilons:
                if Fraction(epsilon) * rows >= LEAST and (not quick or (rows == LEAST and epsilon == "1")):
                    yield law, rows, epsilon
