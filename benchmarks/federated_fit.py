"""The ROC-GLM in one round, beside the paper's distributed Fisher scoring and statsmodels' GLM of all rows.

All are given the same five sites, counted on the grid of secure sums, and the same false-positive rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from studies.schalk.fisher_scoring import DistributedFit, SiteStep, distributed_fit, site_step

from benchmarks.timing import best_of, seconds, table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc_glm import equidistant_thresholds, fit_roc_glm, survivor, threshold_counts
from confide.federation.modes.exact import SecureSum
from confide.federation.modes.noisy_scores import share_above
from confide.federation.tables import SiteTable
from confide.grid import Grid

SITES = 5
SIZES = (250, 10_000, 100_000)
"""Positives over all sites: about as many as in the paper's demonstration, and more."""

Line = tuple[float, float]
"""Intercept and slope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A site's scores by class."""

    positives: FloatArray
    negatives: FloatArray

    @property
    def labels(self) -> FloatArray:
        return np.repeat([1, 0], [self.positives.size, self.negatives.size])

    @property
    def scores(self) -> FloatArray:
        return np.concatenate((self.positives, self.negatives))

    @property
    def counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores)


def drawn_sites(positives: int) -> tuple[Rows, ...]:
    """Five sites, with twice as many negatives; scores are middles of cells, so that counting them loses nothing."""
    grid, rng = Grid.named(SecureSum.grid), np.random.default_rng([2024, positives])

    def scores(mean: float, size: int) -> FloatArray:
        risk = 1.0 / (1.0 + np.exp(-rng.normal(mean, 1.0, size)))
        found: FloatArray = grid.representatives[grid.cells(risk)]
        return found

    sizes = [part.size for part in np.array_split(np.arange(positives), SITES)]
    return tuple(Rows(positives=scores(-0.3, size), negatives=scores(-1.2, 2 * size)) for size in sizes)


def print_fits(*, quick: bool) -> None:
    at = equidistant_thresholds()
    print(f"\nfits of the ROC-GLM to {SITES} sites' counted rows at {at.size} false-positive rates. Fisher scoring and")
    print(
        "statsmodels have a row for each positive and rate. 'off' is by how much coefficients differ from one round's"
    )
    lines = []
    for positives in (250,) if quick else SIZES:
        sites = drawn_sites(positives)
        counted, placed = [site.counts for site in sites], placements(sites)
        fitted, iterated, whole = one_round(counted, at), fisher_scoring(placed, at), whole_glm(placed, at)
        ways = (partial(one_round, counted, at), partial(fisher_scoring, placed, at), partial(whole_glm, placed, at))
        ours, scoring, statsmodels = best_of(1 if quick else 3, *ways, turn_seconds=0.0 if quick else 0.3)
        step = (iterated.curve.intercept, iterated.curve.slope)
        lines.append(
            (
                f"{positives:,}",
                seconds(ours),
                "1",
                *_against(ours, scoring, _off(fitted, step)),
                str(iterated.aggregations),
                *_against(ours, statsmodels, _off(fitted, whole)),
            )
        )
    peers = ("Fisher scoring", "ratio", "off", "rounds", "statsmodels", "ratio", "off")
    table(("positives", "one round", "rounds", *peers), lines)


def _against(ours: float, theirs: float, off: float) -> tuple[str, str, str]:
    return seconds(theirs), f"{theirs / ours:.3g}", f"{off:.0e}"


def _off(ours: Line, theirs: Line) -> float:
    found = float(np.abs(np.subtract(ours, theirs)).max())
    assert found < 1e-6
    return found


def one_round(counted: Sequence[ScoreCounts], at: FloatArray) -> Line:
    """Count at each site, add up, fit."""
    grid = Grid.named(SecureSum.grid)
    ours, theirs = np.sum([SiteTable.of(site, grid).cells for site in counted], axis=0)
    fitted = fit_roc_glm(at, threshold_counts(ours, survivor(theirs), at), ours.sum())
    return fitted.intercept, fitted.slope


def placements(sites: Sequence[Rows]) -> list[FloatArray]:
    """The shares of all sites' negatives that are above each site's positives."""
    pooled = np.sort(np.concatenate([site.negatives for site in sites]))
    return [share_above(pooled, site.positives) for site in sites]


def fisher_scoring(placed: Sequence[FloatArray], at: FloatArray) -> DistributedFit:
    """Ask every site for its part until nothing changes."""

    def part(values: FloatArray) -> Callable[[Sequence[float]], SiteStep]:
        return lambda line: site_step(values, at, line)

    return distributed_fit([part(values) for values in placed])


def whole_glm(placed: Sequence[FloatArray], at: FloatArray) -> Line:
    """Fit to all rows in one place."""
    from scipy.special import ndtri
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM

    values = np.concatenate(placed)
    reached = (at[None, :] >= values[:, None]).ravel().astype(np.float64)
    design = np.column_stack((np.ones(reached.size), np.tile(ndtri(at), values.size)))
    intercept, slope = GLM(reached, design, family=Binomial(Probit())).fit(tol=1e-10).params
    return float(intercept), float(slope)
