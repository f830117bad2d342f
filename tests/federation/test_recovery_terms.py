"""The threshold of a question: the smallest that is safe, and what follows from it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from confide.errors import FederationError, ParameterError
from confide.federation.modes.private import pooled_terms
from confide.federation.question import Question

NAMES = tuple(f"site-{number:02}" for number in range(12))


def ask(sites: int, mode: str = "private", **given: Any) -> Question:
    usual = {"epsilon": 1} if mode == "private" else {}
    return Question.checked(
        **{"study": "s", "model": "m", "mode": mode, "sites": NAMES[:sites], "grid": "uniform:20", **usual, **given}
    )


def test_the_threshold_is_the_smallest_at_which_no_server_gets_both_secrets() -> None:
    """Honest sites show one share each, colluders both: so many shares must not be enough for two secrets."""
    for sites, colluders, fewest in product(range(3, 13), range(11), range(3, 13)):
        if not colluders < fewest <= sites:
            continue
        question = ask(sites, colluders=colluders, fewest=fewest)
        shown = (sites - colluders) + 2 * colluders
        safe = [t for t in range(1, sites + 1) if shown < 2 * t]
        if question.threshold:
            assert question.threshold == safe[0]
            assert max(fewest, safe[0]) == question.left < sites
            assert question.honest == question.left - colluders > 0
        else:
            assert fewest == sites or not safe or max(fewest, safe[0]) == sites
            assert (question.left, question.honest) == (sites, sites - colluders)


def test_two_sets_of_voters_share_an_honest_one() -> None:
    for sites, colluders in product(range(3, 13), range(11)):
        least = (sites + colluders) // 2 + 1
        if least <= sites and colluders < sites:
            assert 2 * (least - colluders) > sites - colluders


@pytest.mark.parametrize(("sites", "left", "honest"), [(4, 3, 2), (5, 4, 2), (7, 6, 3), (10, 8, 4)])
def test_by_default_fewer_than_half_collude(sites: int, left: int, honest: int) -> None:
    for mode in ("private", "secure-sum"):
        question = ask(sites, mode, fewest=left)
        assert (question.left, question.honest, question.colluders) == (left, honest, (sites - 1) // 2)


def test_without_a_smaller_number_nothing_changes() -> None:
    question = ask(5)
    assert (question.threshold, question.left, question.honest) == (0, 5, 3)
    assert ask(5, "secure-sum").colluders is None
    assert {"threshold", "left"} & set(pooled_terms(question)) == set()
    assert Question.from_dict(question.to_dict()) == question


def test_a_question_keeps_its_threshold_wherever_it_is_read() -> None:
    question = ask(10, colluders=0, fewest=3)
    assert (question.threshold, question.left) == (6, 6)
    seven = question.of(NAMES[:7])
    assert (seven.threshold, seven.left, seven.honest) == (6, 6, 6)
    for one in (question, seven):
        assert Question.from_dict(one.to_dict()) == one
    with pytest.raises(ParameterError, match="threshold"):
        question.of(NAMES[:5])


@pytest.mark.parametrize(("threshold", "safe"), [(4, False), (5, True)])
def test_a_threshold_of_half_of_sites_and_colluders_is_not_enough(threshold: int, safe: bool) -> None:
    plain = {**ask(7, colluders=1, fewest=5).to_dict(), "threshold": threshold}
    if safe:
        assert Question.from_dict(plain).threshold == threshold
        return
    with pytest.raises((ParameterError, FederationError), match="threshold"):
        Question.from_dict(plain)


def test_the_sum_depends_on_all_that_decides_about_dropouts() -> None:
    terms = [pooled_terms(ask(10, colluders=1, fewest=fewest)) for fewest in (3, 6, 7, 10)]
    assert terms[0] == terms[1]
    assert terms[1] != terms[2]
    assert terms[2] != terms[3]


@pytest.mark.parametrize("threshold", [3, 6, -1, True, "4"])
def test_a_coordinator_cannot_sign_an_unsafe_threshold(threshold: Any) -> None:
    plain = {**ask(5, colluders=2, fewest=3).to_dict(), "threshold": threshold}
    with pytest.raises((ParameterError, FederationError), match="threshold"):
        Question.from_dict(plain)


def test_modes_that_do_not_mask_have_no_threshold() -> None:
    assert ask(5, "disclosure-control", fewest=3).threshold is None
    with pytest.raises(ParameterError, match="modes that mask"):
        ask(5, "disclosure-control", threshold=3)


def test_an_exact_sum_holds_two_honest_sites() -> None:
    assert ask(5, "secure-sum", fewest=4, colluders=2).left == 4
    assert ask(5, "secure-sum", fewest=3).colluders == 1
    with pytest.raises(ParameterError, match="can go on with 4 to 5"):
        ask(5, "secure-sum", fewest=3, colluders=2)
