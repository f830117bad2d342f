"""How near each mode's pooled AUC comes to that of all rows in one place, beside the paper's noisy scores.

Private numbers are real draws of every site's share; noisy scores have their noise from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from benchmarks.federated_peer import coordinator_release
from benchmarks.parallel import in_parallel
from benchmarks.timing import table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc_glm import equidistant_thresholds
from confide.errors import DataError
from confide.federation.coordinator.answers import noise_parts
from confide.federation.coordinator.performance import pooled_private
from confide.federation.coordinator.planning import noisy_table
from confide.federation.coordinator.pooling import pooled_from_groups
from confide.federation.modes.exact import DisclosureControl, SecureSum
from confide.federation.modes.noisy_scores import NoisyScores, PlacementSums, analytic_gaussian_scale, validated
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.federation.tables import SiteTable, disclosed
from confide.grid import Grid
from confide.intervals.delong import delong_variance
from confide.metrics.ranking import auc_score
from confide.privacy.noisy_counts import NoisyCells
from confide.releases.curve_numbers import table_auc
from confide.releases.curves import curves_of
from confide.releases.shapes import fitting_shape, shaped

SITES = tuple("abcde")
SIZES = (50, 200, 1_000)
EPSILONS = ("1/2", "1", "2")
SITE_SHARES = ("0", "1/2")
DELTAS = (1e-5, 0.1)
SENSITIVITIES = (1.0, 0.1)
"""What protecting a person takes, whose score can be any; and one as in the paper, estimated from single features."""

STUDIES, PIECE = 400, 50

EXACT = "all rows"
FEWEST = DisclosureControl.minimum_cell

Sites = Sequence[ScoreCounts]
Estimates = dict[str, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some studies of five sites with so many rows each; `check` compares with what a coordinator would be given."""

    rows: int
    seed: int
    studies: int
    check: bool
    epsilons: tuple[str, ...] = EPSILONS


def print_accuracy(*, quick: bool) -> None:
    sizes, studies, piece = ((50,), 2, 2) if quick else (SIZES, STUDIES, PIECE)
    print(
        "\nroot mean squared distance of the pooled AUC from that of all rows in one place, over simulated studies of"
    )
    print(
        f"{len(SITES)} sites ({studies} of them). 'sum alone' has all of epsilon, else half is for sites' own results."
    )
    print("Noisy scores are the paper's, not differentially private; 'none' is how often their fit fails, taken as 0.5")
    tasks = [
        Piece(rows=rows, seed=seed, studies=piece, check=seed == 0, epsilons=EPSILONS[1:2] if quick else EPSILONS)
        for rows in sizes
        for seed in range(studies // piece)
    ]
    pieces = [estimated(task) for task in tasks] if quick else in_parallel(estimated, tasks)
    found = {rows: _together([p for t, p in zip(tasks, pieces, strict=True) if t.rows == rows]) for rows in sizes}
    lines = [(way, *(_distance(found[rows], way) for rows in sizes)) for way in pieces[0] if way != EXACT]
    table(("", *(f"{rows:,} rows a site" for rows in sizes)), lines)


def _together(pieces: Sequence[Estimates]) -> Estimates:
    return {way: [value for piece in pieces for value in piece[way]] for way in pieces[0]}


def _distance(found: Estimates, way: str) -> str:
    values = np.array(found[way])
    failed = np.isnan(values)
    errors = np.where(failed, 0.5, values) - found[EXACT]
    return f"{math.sqrt((errors**2).mean()):.2g}" + (f" ({100 * failed.mean():.0f} % none)" if failed.any() else "")


def estimated(piece: Piece) -> Estimates:
    """The AUC of all rows, and what each way makes of it, NaN if nothing, in each study."""
    rng = np.random.default_rng([7, piece.rows, piece.seed])
    studies = []
    for number in range(piece.studies):
        sites = drawn(piece.rows, rng)
        studies.append(dict(ways(sites, rng, piece.epsilons, check=piece.check and number == 0)))
    return {way: [study[way] for study in studies] for way in studies[0]}


def drawn(rows: int, rng: np.random.Generator) -> Sites:
    """Sites with different patients and a model that knows their risk: about 36 % positives, AUC 0.78."""
    while True:
        sites = [_site(rows, rng) for _ in SITES]
        if min(min(site.total_positives, site.total_negatives) for site in sites) >= FEWEST:
            return sites


def _site(rows: int, rng: np.random.Generator) -> ScoreCounts:
    risk = 1.0 / (1.0 + np.exp(-rng.normal(rng.normal(-0.7, 0.3), 1.2, rows)))
    return ScoreCounts.from_arrays(rng.random(rows) < risk, risk, one_class=True)


def ways(
    sites: Sites, rng: np.random.Generator, epsilons: Sequence[str], *, check: bool
) -> Iterator[tuple[str, float]]:
    every = ScoreCounts.total(sites)
    exact = auc_score(every)
    yield EXACT, exact
    yield "always 0.5", 0.5
    yield "standard error of the AUC itself", exact + math.sqrt(delong_variance(every)) * rng.standard_normal()
    fine, coarse = (Grid.named(mode.grid) for mode in (SecureSum, DisclosureControl))
    first, *others = (SiteTable.of(site, fine) for site in sites)
    yield SecureSum.name, auc_score(sum(others, first).counts())
    yield DisclosureControl.name, pooled_from_groups([disclosed(site, coarse, FEWEST) for site in sites]).auc
    for epsilon in epsilons:
        for share in SITE_SHARES:
            spent = "sum alone" if share == "0" else f"{share} for sites"
            yield f"private, epsilon {epsilon}, {spent}", private_auc(sites, epsilon, share, check=check)
        for delta, sensitivity in product(DELTAS, SENSITIVITIES):
            name = f"noisy scores, epsilon {epsilon}, delta {delta:g}, sensitivity {sensitivity:g}"
            yield name, noisy_auc(sites, float(Fraction(epsilon)), delta, sensitivity, rng)


def private_auc(sites: Sites, epsilon: str, share: str, *, check: bool) -> float:
    """What a coordinator would see, without the intervals that would take most of the time."""
    question = _question(epsilon, share, sum(int(site.total_positives + site.total_negatives) for site in sites))
    release = coordinator_release(question, sites)
    noisy = _noisy(question, np.array(release.parts["noisy_integers"], dtype=np.float64))
    auc = table_auc(shaped(noisy, fitting_shape(noisy, _noise(question))))
    if check:
        derived = pooled_private(curves_of(release))
        assert abs(derived.auc.value - auc) < 1e-9
    return auc


@cache
def _question(epsilon: str, share: str, rows: int) -> Question:
    return Question.checked(
        study="benchmark", model="risk", mode="private", sites=SITES, epsilon=epsilon, site_share=share, rows=rows
    )


def _noisy(question: Question, integers: FloatArray) -> NoisyCells:
    return noisy_table(question, integers, noise_parts(question)[0])


@cache
def _noise(question: Question) -> FloatArray:
    """Plausible noise, which is the same for every table."""
    integers = noise_of(question).strategy.measure(np.zeros((2, len(question.public_grid)), dtype=np.int64))
    return _noisy(question, integers.ravel().astype(np.float64)).noise(np.random.default_rng(0))


def noisy_auc(sites: Sites, epsilon: float, delta: float, sensitivity: float, rng: np.random.Generator) -> float:
    """The paper's two rounds."""
    scale = _scale(epsilon, delta, sensitivity)
    pooled = NoisyScores.pooled([NoisyScores.of(site, scale, normals=rng.standard_normal) for site in sites])
    first, *others = (PlacementSums.of(site, pooled, equidistant_thresholds()) for site in sites)
    try:
        return validated(sum(others, first)).auc.value
    except DataError:
        return math.nan


_scale = cache(analytic_gaussian_scale)
