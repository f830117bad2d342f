"""Discrete Laplace and discrete Gaussian noise on integers, drawn by OpenDP.

OpenDP samples both exactly, with the rational arithmetic of Canonne, Kamath and Steinke [1]_, from
OpenSSL's generator, which the operating system seeds (and seeds again after a fork).

- The sum is computed in integers of any size and then held within 64 bits: past an end it becomes that end.
  This is post-processing, harmless to privacy; the limits below make it too rare to matter otherwise.
- A draw takes a time that depends on the noise [2]_. Keep the duration of a release from those who
  must not learn the values.
- OpenDP's releases up to early 2026 divided fractions wrongly inside these samplers and drew from other
  distributions than they promised; 0.16 does not. The statistical tests of this package refuse such a sampler.

Proof: integers.proof.md.

References
----------
.. [1] C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
.. [2] J. Jin, E. McMurtry, B. Rubinstein and O. Ohrimenko, "Are we there yet? Timing and floating-point
   attacks on differential privacy systems", IEEE S&P 2022.

"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from confide.errors import ParameterError
from confide.privacy.noise.reals import as_fraction

LARGEST_VALUE = 2**62
# Noise of this scale passes 2^62, where 64 bits end for the largest value, with a probability below 10^-55.
LARGEST_SCALE = 2**55

_FEATURES = threading.Lock()


def discrete_laplace(values: Sequence[int], scale: Fraction) -> list[int]:
    """Add to each value an integer k drawn with probability proportional to `exp(-|k| / scale)`.

    OpenDP takes the scale as a float. It is rounded up, so that noise is never less than requested.

    >>> from fractions import Fraction
    >>> len(discrete_laplace([100, 200, 300], Fraction(2)))
    3
    """
    integers, rounded = checked_values(values), float_at_least(checked_scale(scale))

    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return _noisy(integers, rounded, make_laplace, l1_distance(T="i64"))


def discrete_gaussian(values: Sequence[int], scale: Fraction) -> list[int]:
    """Add to each value an integer k drawn with probability proportional to `exp(-k^2 / (2 scale^2))`.

    OpenDP takes the scale as a float. It is rounded up, so that noise is never less than requested.
    """
    integers, rounded = checked_values(values), float_at_least(checked_scale(scale))

    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return _noisy(integers, rounded, make_gaussian, l2_distance(T="f64"))


def float_at_least(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _noisy(values: list[int], scale: float, make: Callable[..., Any], metric: Any) -> list[int]:
    from opendp.domains import atom_domain, vector_domain

    if not values:
        return []
    with _contributed_features():
        measurement = make(vector_domain(atom_domain(T="i64")), metric, scale=scale)
    noisy: list[int] = measurement(values)
    return noisy


@contextmanager
def _contributed_features() -> Iterator[None]:
    """Switch on OpenDP's "contrib" while a measurement is made, and off again unless the user had it on."""
    from opendp.mod import GLOBAL_FEATURES, disable_features, enable_features

    with _FEATURES:
        if "contrib" in GLOBAL_FEATURES:
            yield
            return
        enable_features("contrib")
        try:
            yield
        finally:
            disable_features("contrib")


def checked_values(values: Sequence[int]) -> list[int]:
    """Return the values as plain integers. They are private, so none is shown."""
    try:
        integers = [operator.index(value) for value in values]
    except TypeError:
        raise ParameterError("values must be a sequence of integers: round or scale them first") from None
    if any(isinstance(value, bool) for value in values):
        raise ParameterError("values must be integers, not true and false: count them first")
    if integers and max(max(integers), -min(integers)) > LARGEST_VALUE:
        raise ParameterError("values must lie within ±2^62, so that 64 bits leave room for noise")
    return integers


def checked_scale(scale: Fraction) -> Fraction:
    """Return a scale as an exact number, refusing one that is no noise or that 64 bits have no room for."""
    scale = as_fraction(scale, "scale")
    if scale <= 0:
        raise ParameterError("scale must be greater than 0: without noise nothing is private")
    if scale > LARGEST_SCALE:
        raise ParameterError("scale must be at most 2^55, so that 64 bits leave room for noise")
    return scale
