"""Counts that several sites added up under noise of which each drew a share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from confide.errors import ParameterError
from confide.grid import Grid
from confide.intervals.interval import check_level
from confide.privacy.guarantee import Guarantee, shown
from confide.privacy.mechanisms.gaussian_shares import shares_rho
from confide.privacy.mechanisms.strategies import Strategy
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.gaussian_shares import checked_variance
from confide.privacy.noise.integers import checked_scale, checked_values
from confide.privacy.noise.shares import checked_honest
from confide.privacy.noisy_counts import NoisePart
from confide.releases.curve_numbers import rows_intervals
from confide.releases.curves import noisy_counts
from confide.releases.release import Release
from confide.releases.shapes import AUTO

LAPLACE, GAUSSIAN = "laplace", "gaussian"


class ShareNoise(Protocol):
    """Noise of a sum, of which `honest` shares make as much as its guarantee needs."""

    family: ClassVar[str]
    mechanism: ClassVar[str]

    @property
    def honest(self) -> int:
        """Number of shares that make the whole noise."""
        ...

    @property
    def scale(self) -> Fraction | float:
        """Scale, or deviation, of the whole noise."""
        ...

    def require(self, guarantee: Guarantee, levels: int) -> None:
        """Refuse a guarantee that this noise does not give."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceShares:
    """Shares of discrete Laplace noise of a scale."""

    scale: Fraction
    honest: int
    family: ClassVar[str] = LAPLACE
    mechanism: ClassVar[str] = "laplace-shares"

    def __post_init__(self) -> None:
        checked_scale(self.scale)
        checked_honest(self.honest)

    def require(self, guarantee: Guarantee, levels: int) -> None:
        """Refuse an epsilon below what noise of this scale loses."""
        lost = levels / self.scale
        if guarantee.epsilon < lost:
            raise ParameterError(
                f"noise of this scale costs epsilon {shown(lost)}, more than the {shown(guarantee.epsilon)} stated: "
                "take the scale `levels / epsilon` of the query"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShares:
    """Shares of Gaussian noise, each of one variance."""

    variance: Fraction
    honest: int
    family: ClassVar[str] = GAUSSIAN
    mechanism: ClassVar[str] = "gaussian-shares"

    def __post_init__(self) -> None:
        checked_variance(self.variance)
        checked_honest(self.honest)

    @property
    def scale(self) -> float:
        """Deviation of the whole noise."""
        return math.sqrt(self.honest * self.variance)

    def require(self, guarantee: Guarantee, levels: int) -> None:
        """Refuse a guarantee without a delta and a rho, or with a rho below what the shares lose."""
        row = shares_rho(self.variance, self.honest, levels=levels)
        lost = None if row is None else guarantee.rows_per_person**2 * row
        if guarantee.rho is None or not guarantee.delta or lost is None or guarantee.rho < lost:
            raise ParameterError(
                "Gaussian noise of this variance does not give the guarantee that is stated: state the rho of its "
                "shares and a delta"
            )


def pooled_release(
    integers: Sequence[int],
    *,
    grid: Grid,
    strategy: Strategy,
    noise: ShareNoise,
    guarantee: Guarantee,
    participants: int,
    level: float = 0.95,
) -> Release:
    """Make the release "counts" from the integers that were seen: sums over all participants of integer and share.

    They are those of a strategy, first of the positives and then of the negatives. Each participant drew a share of
    which `noise.honest` make the whole noise, so the sum has `participants / honest` of it. `curves_of` gives
    everything else.

    >>> from fractions import Fraction
    >>> from confide.privacy.mechanisms.strategies import FLAT
    >>> from confide.releases.shared_counts import LaplaceShares
    >>> promise = Guarantee(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE_ONE)
    >>> pooled = pooled_release([40, 60, 70, 30], grid=Grid.uniform(2), strategy=FLAT,
    ...     noise=LaplaceShares(scale=Fraction(1), honest=3), guarantee=promise, participants=4)
    >>> pooled.value, round(pooled.options["shares"], 3)
    (200.0, 1.333)
    """
    if guarantee.neighbours != Neighbours.ADD_REMOVE_ONE:
        raise ParameterError(
            "shares of noise are proven for neighbours add-remove-one alone: state the guarantee under that relation"
        )
    noise.require(guarantee, strategy.levels(len(grid)))
    drawn, shares = _checked_integers(integers, grid, strategy), _shares(participants, noise.honest)
    public: dict[str, Any] = {
        "grid": [float(edge) for edge in grid.edges],
        "strategy": strategy.name,
        "shape": AUTO,
        "noise": noise.family,
        "scale": float(noise.scale),
        "rows": None,
        "cell_rows": None,
        "shares": shares,
        "participants": participants,
        "honest": noise.honest,
    }
    noisy = noisy_counts(drawn, public)
    return Release(
        metric="counts",
        value=max(float(noisy.agreed().sum()), 0.0),
        intervals=rows_intervals(noisy, check_level(level)),
        guarantee=guarantee,
        mechanism=noise.mechanism,
        parts={"noisy_integers": drawn},
        options=public,
    )


def combined_release(pooled: Release, own: Sequence[Release], guarantee: Guarantee, *, level: float = 0.95) -> Release:
    """Combine a sum over sites with the noisy counts that every site released for itself: one table with less noise.

    The sites' own counts add up to the same table as the sum does, under other noise. The mean of both, each weighted
    by the inverse of its variance, has the least. Everything in it was seen before, so it costs nothing; its
    guarantee is that of both together, which the caller states.
    """
    if not own:
        return pooled
    options = pooled.options
    if any(each.options[name] != options[name] for each in own for name in ("grid", "strategy", "noise")):
        raise ParameterError(
            "tables on different grids, or with different noise, cannot be combined; release all of them alike"
        )
    gaussian = options["noise"] == GAUSSIAN
    first, second = weighted_parts(
        NoisePart(scale=options["scale"], shares=options.get("shares", 1.0), weight=1.0, gaussian=gaussian),
        NoisePart(scale=own[0].options["scale"], shares=float(len(own)), weight=1.0, gaussian=gaussian),
    )
    sums = np.sum([each.parts["noisy_integers"] for each in own], axis=0, dtype=np.float64)
    mean = first.weight * np.array(pooled.parts["noisy_integers"], dtype=np.float64) + second.weight * sums
    public = {**options, "parts": [asdict(first), asdict(second)]}
    noisy = noisy_counts(mean.tolist(), public)
    return replace(
        pooled,
        value=max(float(noisy.agreed().sum()), 0.0),
        intervals=rows_intervals(noisy, check_level(level)),
        guarantee=guarantee,
        parts={"noisy_integers": mean.tolist()},
        options=public,
    )


def weighted_parts(first: NoisePart, second: NoisePart) -> tuple[NoisePart, NoisePart]:
    """Weights that add up to 1 and make the noise of a mean of two tables smallest."""
    weight = second.variance / (first.variance + second.variance)
    return replace(first, weight=weight), replace(second, weight=1.0 - weight)


def _checked_integers(integers: Sequence[int], grid: Grid, strategy: Strategy) -> list[int]:
    drawn = checked_values(integers)
    expected = 2 * strategy.measure(np.zeros(len(grid), dtype=np.int64)).size
    if len(drawn) != expected:
        raise ParameterError(
            f"integers must have {expected:,} numbers for {len(grid):,} cells and strategy {strategy.name}; "
            f"got {len(drawn):,}: all sites must have used the same grid and strategy"
        )
    return drawn


def _shares(participants: int, honest: int) -> float:
    if isinstance(participants, bool) or not isinstance(participants, int) or participants < honest:
        raise ParameterError(
            f"participants must be a whole number of at least honest, {honest}: fewer shares make less than the whole "
            f"noise; got {participants!r}"
        )
    return participants / honest
