"""The share of epsilon for class sizes depends on public facts alone, and stays within its limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from confide import ScoreCounts
from confide.releases.auc import LEAST_SHARE, MOST_SHARE, local_terms, prepare_auc, sizes_epsilon, sizes_share
from confide.releases.terms import Terms


@pytest.mark.parametrize(
    ("epsilon", "rows", "guess", "share"),
    [
        ("1", 79, None, "0.10"),  # too few rows for a useful interval
        ("1", 80, None, "0.15"),
        ("0.5", 1_000, None, "0.15"),
        ("1", 1_000, None, "0.11"),
        ("1", 10_000, None, "0.10"),
        ("1", 1_000, 0.05, "0.15"),  # epsilon times the smaller class is 50
        ("1", 1_000, 0.85, "0.07"),  # 150
        ("1", 10_000, 0.5, "0.05"),
        ("1", None, None, "0.10"),
    ],
)
def test_shares_follow_epsilon_times_rows(epsilon: str, rows: int | None, guess: float | None, share: str) -> None:
    neighbours = "add-remove-one" if rows is None else "replace-one"
    terms = Terms.checked(epsilon=epsilon, prevalence_guess=guess, neighbours=neighbours)
    assert sizes_share(terms, rows) == Fraction(share)


def test_the_whole_epsilon_is_used_and_no_more() -> None:
    for rows in (50, 100, 900, 5_000):
        terms = Terms.checked(epsilon="0.9")
        parameters = local_terms(terms, rows)
        assert parameters is not None
        assert parameters.epsilon + sizes_epsilon(terms, rows) == terms.epsilon
        assert LEAST_SHARE <= sizes_share(terms, rows) <= MOST_SHARE


def test_data_of_equally_many_rows_have_one_share() -> None:
    """Labels are private: the stated share, and with it the request's identity, is the same for all of them."""
    shares = set()
    for positives in (0, 5, 100, 200):
        counts = ScoreCounts.from_arrays([1] * positives + [0] * (200 - positives), range(200), one_class=True)
        shares.add(prepare_auc(counts, mechanism="local", epsilon=1).draw()[0].options["sizes_share"])
    assert shares == {0.15}
