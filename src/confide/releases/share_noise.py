"""Noise of which several sites drew a share each: its law as a reader of the sum knows it, and its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee, shown
from confide.privacy.mechanisms.gaussian_shares import shares_rho
from confide.privacy.noise.gaussian_shares import checked_variance
from confide.privacy.noise.integers import checked_scale
from confide.privacy.noise.shares import checked_honest

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
