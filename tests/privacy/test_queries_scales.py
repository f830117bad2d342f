"""A release hands its noise source exactly the scales that its proof is about, drawn once or many times."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from confide.privacy.queries import IntegerQuery, Noise

SCALES = (Fraction(3), Fraction(7, 2), Fraction(3))


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("times", [None, 2])
def test_each_integer_gets_its_own_scale(family: str, times: int | None) -> None:
    asked: list[tuple[int, Fraction]] = []

    def record(values: Sequence[int], scale: Fraction) -> list[int]:
        asked.extend((value, scale) for value in values)
        return [10 * value for value in values]

    query = IntegerQuery(values=(1, 2, 4), scales=SCALES, family="laplace" if family == "laplace" else "gaussian")
    noise = Noise(discrete_laplace=record) if family == "laplace" else Noise(discrete_gaussian=record)
    drawn = [query.draw(noise)] if times is None else query.draw_many(times, noise)
    assert drawn == [(10, 20, 40)] * (times or 1)
    assert sorted(asked) == sorted(list(zip((1, 2, 4), SCALES, strict=True)) * (times or 1))
