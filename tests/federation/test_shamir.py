"""Shares of secrets: against FLINT's polynomials, and what too few of them say."""

from __future__ import annotations

import secrets
from itertools import combinations, product

import pytest
from flint import fmpz_mod_ctx, fmpz_mod_poly_ctx

from confide.errors import FederationError, ParameterError
from confide.federation.crypto import shares as shamir
from confide.federation.crypto.shares import PRIME, combined, split

SECRET = bytes(range(200, 232))


def lagrange(points: dict[int, int], at: int) -> int:
    """The value of the polynomial through some points, by FLINT."""
    field = fmpz_mod_ctx(PRIME)
    ring = fmpz_mod_poly_ctx(field)
    total = ring([0])
    for x, y in points.items():
        term = ring([y])
        for other in points:
            if other != x:
                term = term * ring([-other, 1]) * (field(1) / field(x - other))
        total = total + term
    return int(total(field(at)))


@pytest.mark.parametrize(("shares", "threshold"), [(1, 1), (3, 2), (5, 4), (7, 5)])
def test_any_so_many_shares_give_the_secret(shares: int, threshold: int) -> None:
    parts = split(SECRET, shares=shares, threshold=threshold)
    for points in combinations(range(1, shares + 1), threshold):
        held = {point: parts[point - 1] for point in points}
        assert combined(held, 32) == SECRET
        assert lagrange(held, 0) == int.from_bytes(SECRET, "big")
        assert all(lagrange(held, point) == parts[point - 1] for point in range(1, shares + 1))


def test_fewer_shares_fit_every_secret_equally_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a small field, all draws: each pair of values at two points comes once with every secret."""
    field = range(11)
    monkeypatch.setattr(shamir, "PRIME", 11)
    for secret in range(1, 11):
        seen = []
        for draws in product(field, repeat=2):
            left = list(draws)
            monkeypatch.setattr(secrets, "randbelow", lambda size, left=left: left.pop())
            parts = split(bytes([secret]), shares=5, threshold=3)
            assert not left  # each coefficient has a draw of its own
            seen.append((parts[1], parts[4]))
        assert sorted(seen) == list(product(field, repeat=2))


def test_the_other_coefficients_are_drawn_from_the_whole_field() -> None:
    drawn = [split(SECRET, shares=5, threshold=threshold) for threshold in (2, 3, 4) for _ in range(20)]
    assert len({part for parts in drawn for part in parts}) == 300
    for point in range(5):
        sizes = sorted(parts[point] for parts in drawn)
        assert sizes[0] < PRIME // 4
        assert sizes[-1] > PRIME // 4 * 3


def test_the_field_is_one() -> None:
    assert PRIME == 2**521 - 1
    assert pow(3, PRIME - 1, PRIME) == 1


def test_shares_that_do_not_belong_together_are_noticed_nearly_always() -> None:
    one, other = (split(SECRET, shares=3, threshold=2) for _ in range(2))
    with pytest.raises(FederationError, match="do not belong together"):
        combined({1: one[0], 2: other[1]}, 32)


@pytest.mark.parametrize(
    ("secret", "shares", "threshold"), [(b"", 3, 2), (bytes(65), 3, 2), (b"x", 3, 0), (b"x", 3, 4)]
)
def test_impossible_shares_are_refused(secret: bytes, shares: int, threshold: int) -> None:
    with pytest.raises(ParameterError):
        split(secret, shares=shares, threshold=threshold)
    with pytest.raises(ParameterError):
        combined({}, 32)
