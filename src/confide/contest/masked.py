"""Masked labels: each label was flipped once, with a public probability. Everything that is computed from them is
post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError


@dataclass(frozen=True)
class MaskedLabels:
    """Labels after masking, and the probability `flip` (q) with which each was flipped.

    `debiased` is `z = (masked - q) / (1 - 2q)`: independent given the labels, with mean equal to the label and variance
    `noise_variance = q (1 - q) / (1 - 2q)^2`. So a function that is linear in each label is estimated without bias by
    putting z in the labels' place.

    >>> MaskedLabels(np.array([True, False]), Fraction(1, 4)).debiased
    array([ 1.5, -0.5])
    """

    bits: NDArray[np.bool_]
    flip: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.flip < Fraction(1, 2):
            raise ParameterError("the probability of flipped labels must be at least 0 and below 1/2")
        bits = np.array(self.bits, dtype=np.bool_)
        bits.flags.writeable = False
        object.__setattr__(self, "bits", bits)

    def __len__(self) -> int:
        return int(self.bits.size)

    @cached_property
    def debiased(self) -> FloatArray:
        """Return z, one number for each row."""
        q = float(self.flip)
        values: FloatArray = (self.bits.astype(np.float64) - q) / (1.0 - 2.0 * q)
        values.flags.writeable = False
        return values

    @property
    def noise_variance(self) -> float:
        """Return the variance of each z around its label."""
        q = float(self.flip)
        return q * (1.0 - q) / (1.0 - 2.0 * q) ** 2
