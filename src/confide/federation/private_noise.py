"""Noise of private questions, by name: Laplace noise, or Gaussian noise for many questions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from confide.errors import ParameterError, did_you_mean
from confide.federation.gaussian_noise import GaussianNoise
from confide.federation.laplace_noise import LaplaceNoise
from confide.privacy.guarantee import checked_delta, shown
from confide.releases.share_noise import GAUSSIAN, LAPLACE

if TYPE_CHECKING:
    from confide.federation.noise_terms import PrivateNoise
    from confide.federation.question import Question

NOISES = (LAPLACE, GAUSSIAN)

MOST_DELTA = Fraction(1, 1000)
"""Largest delta of a question and of a policy."""


def noise_of(question: Question) -> PrivateNoise:
    """Return the noise of a private question."""
    return GaussianNoise(question) if question.noise == GAUSSIAN else LaplaceNoise(question)


def checked_noise(noise: object, delta: object) -> dict[str, str | None]:
    """Return noise and delta as a question has them; Laplace noise, the default, is not mentioned."""
    if noise not in (None, *NOISES):
        hint = did_you_mean(str(noise), NOISES)
        raise ParameterError(f"`noise` must be one of {', '.join(NOISES)}; got {noise!r}. {hint}".rstrip())
    if noise != GAUSSIAN:
        if delta is not None:
            raise ParameterError("`delta` is for Gaussian noise: ask with `noise=gaussian`, or leave `delta` out")
        return {"noise": None, "delta": None}
    if delta is None:
        raise ParameterError("Gaussian noise needs `delta`, far below 1 / rows, for example 1e-6")
    exact = checked_small_delta(delta)
    if not exact:
        raise ParameterError("Gaussian noise needs a `delta` above 0, for example 1e-6; or ask with `noise=laplace`")
    return {"noise": GAUSSIAN, "delta": str(exact)}


def checked_small_delta(value: object) -> Fraction:
    """Return delta, refusing one above `MOST_DELTA`: a mechanism that shows each row with that chance has it."""
    delta = checked_delta(value)
    if delta > MOST_DELTA:
        raise ParameterError(
            f"delta must be at most {shown(MOST_DELTA)}: delta is the chance that the promise fails; give one far "
            f"below 1 / rows, such as 1e-6. Got {value!r}"
        )
    return delta
