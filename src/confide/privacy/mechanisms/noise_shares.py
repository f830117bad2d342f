"""Counts of several sites of which only the sum is seen: each site adds its share of the noise.

Discrete Laplace noise can be divided: `honest` independent shares add up to it exactly. A site that adds its share
to its counts, and lets nobody see them but inside a sum with other sites' counts, needs no coordinator that it
trusts with them. Shares beyond those that are needed make the noise larger, never smaller.

Proof: noise_shares.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from confide.errors import ParameterError
from confide.privacy.mechanisms.private_counts import Cells
from confide.privacy.mechanisms.strategies import FLAT, Strategy
from confide.privacy.noise.reals import ExactReal, upper_bound
from confide.privacy.noise.shares import checked_honest
from confide.privacy.queries import ShareQuery


def shared_counts(cells: Cells, epsilon: Fraction, *, honest: int, strategy: Strategy = FLAT) -> ShareQuery:
    """Query every integer of a strategy with a share of discrete Laplace noise of scale `levels/epsilon`.

    The sum over all sites costs epsilon under add-remove-one as long as `honest` of them keep their shares to
    themselves. The answer of one site alone promises less, as `alone_epsilon` says.
    """
    scale = strategy.levels(cells.shape[1]) / epsilon
    return ShareQuery(values=tuple(strategy.measure(cells).ravel().tolist()), scale=scale, honest=honest)


def alone_epsilon(epsilon: Fraction, honest: int, *, shares: int = 1, levels: int = 1) -> Fraction:
    """Return the epsilon if only so many shares are kept secret: epsilon for `honest` of them, more for fewer.

    With one share: everybody else puts together what they know of a single site's answer. The number is exact but
    for rounding up, and never above `epsilon + levels log(honest / shares)`.

    >>> [round(float(alone_epsilon(Fraction(1), honest)), 4) for honest in (1, 2, 3, 4)]
    [1.0, 1.6751, 2.0826, 2.3728]
    """
    checked_honest(honest)
    if isinstance(shares, bool) or not isinstance(shares, int) or shares < 1:
        raise ParameterError(f"shares must be a whole number of at least 1; got {shares!r}")
    if shares >= honest:
        return epsilon
    shape, exponent = fmpq(shares, honest), fmpq(-epsilon.numerator, epsilon.denominator) / levels
    return upper_bound(ExactReal(lambda: _largest_loss(shape, arb(exponent).exp()))) * levels


def _largest_loss(shape: fmpq, ratio: arb) -> arb:
    """Enclose `log(f(0) / f(1))` for the difference f of two negative binomial variates of a shape below 1."""
    square, r = ratio**2, arb(shape)
    still, moved = square.hypgeom_2f1(r, r, 1), square.hypgeom_2f1(r, r + 1, 2)
    return (still / (r * ratio * moved)).log()
