"""Lists of sites in the register: one for each sum, under every name of its source, with the own keys of its sites."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from confide.errors import RefusedError
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import SiteRecords
from confide.federation.site.register import Register

NAMES = tuple(f"site-{number}" for number in range(7))
MEMBERS = {name: f"key of {name}" for name in NAMES[:5]}
OTHERS = {name: f"key of {name}" for name in NAMES[1:6]}
ANEW = {**MEMBERS, NAMES[0]: "another key"}
SOURCE = "rows.csv:risk"


def ask(mode: str = "secure-sum", model: str = "risk", **given: Any) -> Question:
    terms = {"epsilon": 1} if mode == "private" else {}
    usual = {"study": "s", "sites": NAMES, "fewest": 5, "colluders": 1, "grid": "uniform:20", **terms}
    return Question.checked(mode=mode, model=model, **{**usual, **given})


def refused(lists: Register, question: Question, members: Mapping[str, str], source: str = SOURCE) -> str:
    with pytest.raises(RefusedError) as caught:
        lists.settle(question, members, source=source)
    return str(caught.value)


@pytest.fixture(autouse=True)
def records(tmp_path: Path) -> None:
    SiteRecords(SiteFolder(tmp_path)).begin()


@pytest.mark.parametrize("mode", ["secure-sum", "private"])
def test_one_list_whatever_else_the_question_says(tmp_path: Path, mode: str) -> None:
    lists, question = Register(tmp_path), ask(mode)
    assert lists.settled(question, source=SOURCE) is None
    lists.settle(question, MEMBERS, source=SOURCE)
    same = ask(mode, study="other") if mode == "secure-sum" else ask(mode, bins=7, study="other")
    for one in (question, same):
        lists.settle(one, MEMBERS, source=SOURCE)
        assert lists.settled(one, source=SOURCE) == MEMBERS
        assert "answers it with no others" in refused(lists, one, OTHERS)
        fewer = dict(list(MEMBERS.items())[1:])
        assert "answers it with no others" in refused(lists, one, fewer), "the difference is the first site's answer"
        assert "answers it with no others" in refused(lists, one, {**MEMBERS, NAMES[6]: "key"})
        assert "set up anew" in refused(lists, one, ANEW)
    assert Register(tmp_path).settled(question, source=SOURCE) == MEMBERS


def test_the_same_scores_under_another_name_have_the_same_list(tmp_path: Path) -> None:
    lists = Register(tmp_path)
    lists.settle(ask(), MEMBERS, source=SOURCE)
    assert "answers it with no others" in refused(lists, ask(model="other"), OTHERS)
    assert "answers it with no others" in refused(lists, ask(), OTHERS, source="rows.csv:other")
    lists.settle(ask(model="other"), OTHERS, source="rows.csv:other")


def test_private_sums_have_a_list_for_each_draw_of_noise(tmp_path: Path) -> None:
    lists = Register(tmp_path)
    lists.settle(ask("private"), MEMBERS)
    for other in ({"edition": 2}, {"fewest": 6}, {"epsilon": 2}, {"model": "other"}):
        lists.settle(ask("private", **other), OTHERS)


@pytest.mark.parametrize("mode", ["secure-sum", "private"])
def test_keys_of_all_whom_a_sum_was_answered_with_stay_the_same(tmp_path: Path, mode: str) -> None:
    lists, question = Register(tmp_path), ask(mode)
    lists.check_met(question, ANEW, source=SOURCE)
    lists.meet(question, MEMBERS, source=SOURCE)
    lists.meet(question, OTHERS, source=SOURCE)
    for anew in (ANEW, {NAMES[5]: "another key"}):
        for check in (lists.check_met, lists.meet):
            with pytest.raises(RefusedError, match="set up anew"):
                check(question, anew, source=SOURCE)
    lists.check_met(question, {NAMES[6]: "first seen"}, source=SOURCE)
    if mode == "secure-sum":
        with pytest.raises(RefusedError, match="confide site forget"):
            lists.check_met(ask(model="other"), ANEW, source=SOURCE)
        assert not lists.forget("risk"), "nothing was answered, but the keys are forgotten"
        lists.check_met(question, ANEW, source=SOURCE)
