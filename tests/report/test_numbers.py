"""Numbers as text: p-values, negative zeros and aligned columns."""

from __future__ import annotations

import pytest

from confide.report.numbers import decimal_aligned, number, p_equation, p_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.02499, "0.025"),
        (0.16429517, "0.164"),
        (0.001, "0.001"),
        (0.00099, "<0.001"),
        (0.0, "<0.001"),
        (1.0, "1.000"),
        (float("nan"), "–"),
        (None, "–"),
    ],
)
def test_p_values_have_three_decimals_and_are_never_zero(value: float | None, text: str) -> None:
    assert p_value(value) == text


def test_p_values_in_sentences() -> None:
    assert p_equation(0.025) == "p = 0.025"
    assert p_equation(1e-9) == "p < 0.001"


def test_a_small_negative_number_is_not_a_negative_zero() -> None:
    assert number(-0.0001) == "0.000"
    assert number(-0.0006) == "-0.001"


def test_columns_of_equal_decimals_are_not_padded() -> None:
    column = ["0.123", "−1.456", "0.759 to 0.844", "<0.001"]
    assert decimal_aligned(column) == column
    assert decimal_aligned(["500", "20"]) == ["500", "20"]
    assert decimal_aligned([]) == []
