"""Areas under pieces that are straight in ROC space, in closed form and by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from confide.curves.pr import PrPath, hyperbolic_area

TOLERANCE = 1e-12


def by_quadrature(start: float, end: float, g0: float, g1: float) -> float:
    def precision(r: float) -> float:
        g = g0 + (r - start) / (end - start) * (g1 - g0)
        return r / (r + g) if r + g > 0 else end / (end + g1)

    return float(quad(precision, start, end, epsabs=1e-15, epsrel=1e-13)[0])


def area(start: float, end: float, g0: float, g1: float) -> float:
    return float(hyperbolic_area(*(np.array([value]) for value in (start, end, g0, g1)))[0])


@pytest.mark.parametrize(
    ("start", "end", "g0", "g1"),
    [
        (0.0, 0.2, 0.0, 0.0),  # from the origin, precision 1
        (0.0, 0.2, 0.0, 0.5),  # from the origin, constant precision
        (0.0, 1.0, 3.0, 3.0),  # the minimum curve: precision 0 at recall 0
        (0.0, 0.3, 1e-6, 5.0),
        (0.2, 0.4, 0.7, 0.5),  # false positives fall as fast as recall rises: the theorem's a is 0
        (0.2, 0.4, 0.7, 0.5 + 1e-12),
        (0.2, 0.4, 0.7, 0.496),
        (0.2, 0.2 + 1e-9, 0.3, 0.3),
        (0.5, 0.51, 40.0, 40.0),
        (0.01, 1.0, 0.0, 9.0),
        (0.9, 1.0, 2.0, 0.0),
        (0.9, 1.0, 0.0, 0.0),
    ],
)
def test_piece(start: float, end: float, g0: float, g1: float) -> None:
    assert area(start, end, g0, g1) == pytest.approx(by_quadrature(start, end, g0, g1), abs=1e-14, rel=TOLERANCE)


def test_many_random_pieces() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        start, end = np.sort(rng.random(2))
        g0, g1 = rng.gamma(0.5, 2.0, 2) * rng.integers(0, 2, 2)
        assert area(start, end, g0, g1) == pytest.approx(by_quadrature(start, end, g0, g1), rel=1e-11)


def test_both_forms_meet_where_they_change() -> None:
    """The series and the logarithm take over from each other at a relative change of 0.02."""
    for change in (0.02, -0.02):
        inside, outside = (area(0.5, 0.5 + 1e-3, 1.0, 1.0 + 1.5 * x - 1e-3) for x in (change * 0.9999, change * 1.0001))
        assert inside == pytest.approx(outside, rel=1e-5)
        exact = by_quadrature(0.5, 0.5 + 1e-3, 1.0, 1.0 + 1.5 * change * 1.0001 - 1e-3)
        assert outside == pytest.approx(exact, rel=TOLERANCE)


@pytest.mark.parametrize("curved", [True, False])
def test_a_path_agrees_with_its_own_precision(curved: bool) -> None:
    start, end = np.array([0.0, 0.25, 0.5]), np.array([0.25, 0.5, 1.0])
    left, right = np.array([0.0, 0.4, 0.3]), np.array([0.2, 0.5, 0.9])
    path = PrPath(start, end, left, right, curved=curved)
    for low, high in ((0.0, 1.0), (0.1, 0.2), (0.2, 0.8), (0.3, 0.5)):
        expected = quad(
            lambda r: float(path.precision(np.array([r]))[0]), low, high, points=[0.25, 0.5], epsabs=1e-12, limit=200
        )[0]
        assert path.area(low, high) == pytest.approx(expected, abs=1e-9)
