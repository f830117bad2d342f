"""Plan of the simulation: the number of studies, the paper's grid of noise, and the private mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from confide.errors import ParameterError
from confide.federation.modes.noisy_scores import analytic_gaussian_scale
from studies.repeatable_noise import checked_seed
from studies.schalk.private_mode import PrivateMode
from studies.schalk.published import DELTAS, EPSILONS, REPETITIONS, SENSITIVITIES

PERSON = 1.0
"""Largest change of a score between 0 and 1 when another person takes a row's place: the sensitivity for persons."""

ALL_SENSITIVITIES = (*SENSITIVITIES, PERSON)

CELLS = (24, 8)
"""Default grid of the private mode, and a coarse one, which suits small epsilons."""

HALF = 0.5
"""Default share of epsilon for the sum; the other half pays for each site's own curve."""

QUICK = 500
FEWEST, MOST = 100, 1_000_000
PIECE = 100
"""Simulated studies that are run in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMode:
    """Setting of the paper's noisy scores: what the noise is calibrated to, which is not a guarantee."""

    epsilon: float
    delta: float
    sensitivity: float

    @property
    def scale(self) -> float:
        """Return the deviation of the noise."""
        return analytic_gaussian_scale(self.epsilon, self.delta, self.sensitivity)

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return {"epsilon": self.epsilon, "delta": self.delta, "sensitivity": self.sensitivity, "scale": self.scale}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Number of simulated studies and the seed; the grid is the paper's, with a person's sensitivity added."""

    repetitions: int = REPETITIONS
    seed: int = 0

    @classmethod
    def checked(cls, *, repetitions: int | None = None, seed: int = 0, quick: bool = False) -> Settings:
        """Check the settings; `quick` takes fewer studies unless `repetitions` is given."""
        usual = QUICK if quick else REPETITIONS
        wanted = usual if repetitions is None else repetitions
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not FEWEST <= wanted <= MOST:
            raise ParameterError(
                f"repetitions must be a whole number from {FEWEST} to {MOST:,}, or bins would be empty; got {wanted!r}"
            )
        return cls(repetitions=wanted, seed=checked_seed(seed))

    @cached_property
    def noisy(self) -> tuple[NoisyMode, ...]:
        """Return the paper's 125 settings, and as many pairs of epsilon and delta at a person's sensitivity."""
        return tuple(
            NoisyMode(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
            for sensitivity, epsilon, delta in product(ALL_SENSITIVITIES, EPSILONS, DELTAS)
        )

    @cached_property
    def private(self) -> tuple[PrivateMode, ...]:
        """Return our mode at the same epsilons: all of epsilon for the sum, the default half, and its curve."""
        counts = (
            PrivateMode(epsilon=epsilon, cells=cells, share=share)
            for cells, share, epsilon in product(CELLS, (1.0, HALF), EPSILONS)
        )
        return (*counts, *(PrivateMode(epsilon=epsilon, cells=CELLS[0], concave=True) for epsilon in EPSILONS))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "repetitions": self.repetitions,
            "seed": self.seed,
            "epsilons": list(EPSILONS),
            "deltas": list(DELTAS),
            "sensitivities": list(ALL_SENSITIVITIES),
            "grids": [f"arcsine:{cells}" for cells in CELLS],
        }


def pieces(settings: Settings) -> tuple[int, ...]:
    """Return the number of studies of each piece; the last may have fewer."""
    whole, rest = divmod(settings.repetitions, PIECE)
    return (PIECE,) * whole + ((rest,) if rest else ())
