"""How narrow can an interval on AUC at the local scale be, given AUC and one noisy class size?

An interval reaches h to both sides of the released AUC, where h depends on the noisy number of positives. It must cover
whatever the size q of the smaller class is: the mean of `P(|Z| > epsilon q h)` over the noise of the size is at most
5 % for every q. This is convex in h, so multipliers of these constraints give the least mean width at one q. The free
integer that follows AUC is left out: for balanced classes it tells next to nothing. An interval of all of [0, 1] always
covers. Widths are over that of Laplace noise at the local sensitivity with all of epsilon and the sizes known.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from benchmarks.timing import table
from confide.counts import FloatArray
from confide.privacy.mechanisms.local_auc import local_parameters
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import scale_of

REACHES = (100, 200)
"""Epsilon times the number of rows; the classes are balanced."""

SHARES = (Fraction(1, 10), Fraction(3, 20), Fraction(1, 5))

_EPSILON, _MISSED = Fraction(1, 20), 0.05


def run(*, quick: bool = False) -> None:
    print("least width over the ideal, replace-one, balanced classes, by the share of epsilon for the class sizes")
    lines = [
        (f"{reach / 2:g}", f"{100 * float(share):.0f} %", f"{known:.2f}", f"{least:.2f}", f"{missed:.3f}")
        for reach in (REACHES[:1] if quick else REACHES)
        for share in (SHARES[1:2] if quick else SHARES)
        for known, least, missed in [least_width(reach, share, 60 if quick else 300)]
    ]
    table(("epsilon min(n, m)", "share", "sizes known", "least width", "missed at most"), lines)


def least_width(reach: int, share: Fraction, steps: int) -> tuple[float, float, float]:
    """Return the width with sizes known, the least one with the noisy size, and the largest chance to miss."""
    parameters = local_parameters(_EPSILON * (1 - share), Neighbours.REPLACE_ONE, int(reach / _EPSILON))
    assert parameters is not None
    noise, rest, scale = scale_of(parameters).noise, 1.0 - float(share), 1.0 / float(share)
    half = reach / 2.0
    sizes = np.concatenate((np.geomspace(1.0, 0.3 * reach, 40), np.linspace(0.3 * reach, half, 40)[1:]))
    noisy = np.linspace(-8.0 * scale, half, 500)  # on either side of the middle: the mirror image tells the same
    chance = np.exp(-np.abs(noisy - sizes[:, None]) / scale) + np.exp(-np.abs(reach - noisy - sizes[:, None]) / scale)
    chance /= chance.sum(axis=1, keepdims=True)
    widths = np.concatenate((np.linspace(0.0, 18.0 / reach, 400)[1:], np.linspace(18.0 / reach, 0.5, 60)[1:]))
    missed = 2.0 * (1.0 - noise.cdf(rest * sizes[:, None] * widths))
    missed[:, -1] = 0.0
    chosen, largest = _solved(chance, widths, missed, steps)
    ideal = math.log(1.0 / _MISSED)
    known = float(noise.quantile(np.array([1.0 - _MISSED / 2.0]))[0]) / rest / ideal
    return known, float(chance[-1] @ widths[chosen]) * half / ideal, largest


def _solved(chance: FloatArray, widths: FloatArray, missed: FloatArray, steps: int) -> tuple[np.ndarray, float]:
    """Return which width is best for each noisy size, and the largest chance to miss."""
    price = chance[-1] + 1e-4 * chance.mean(axis=0)
    multipliers = np.full(chance.shape[0], 0.02)
    for _ in range(steps):
        chosen = ((multipliers[:, None] * chance).T @ missed + price[:, None] * widths).argmin(axis=1)
        seen = (chance * missed[:, chosen]).sum(axis=1)
        multipliers *= np.clip(seen / _MISSED, 0.3, 2.5) ** 0.4
    return chosen, float(seen.max())
