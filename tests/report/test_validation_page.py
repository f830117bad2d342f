"""The page of a validation: it says what was found and released, and nothing from elsewhere harms its reader."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from confide.federation.coordinator.validation import Validation
from confide.federation.modes.noisy_scores import NOT_PRIVATE
from confide.federation.modes.registry import mode_of
from confide.report.validation.pages import (
    NOTHING,
    how_table,
    numbers_table,
    released_table,
    sites_table,
    title_of,
    validation_page,
)
from tests.report.validations import HOSTILE, NAMES, TERMS, made, page, terminal, words


@cache
def budget(epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon, "delta": 0.0}


@pytest.mark.parametrize("case", TERMS)
def test_a_page_needs_nothing_else_and_runs_nothing(case: str) -> None:
    html = page(case)
    assert html.startswith("<!DOCTYPE html>")
    assert html.rstrip().endswith("</html>")
    assert not re.search(r"<(script|img|iframe|link|object)\b", html)
    assert "@import" not in html
    assert not re.search(r"""(src|href)=["'](?!#)""", html)
    assert html.count("<svg ") == html.count("</svg>") >= 1
    names = re.findall(r'\bid="([^"]+)"', html)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("case", TERMS)
def test_the_promise_and_the_mode_are_said(case: str) -> None:
    validation, shown = made(case), words(page(case))
    for sentence in validation.promise():
        assert sentence[1:] in shown
    assert f"mode {validation.question.mode}" in shown
    assert "7 asked, 4 answered" in shown
    assert f"{validation.question.grid}: " in shown
    assert "2, 3.2 s from the first question to the last answer" in shown


def test_the_noisy_scores_page_says_first_that_it_is_not_private() -> None:
    html = page("noisy-scores")
    box = html.index("NOT differentially private.</strong>")
    assert box < html.index("was validated at")
    assert NOT_PRIVATE[1:] in words(html)
    assert dict(zip(*_east("noisy-scores"), strict=True))["what it released"].startswith("a noisy score of every row")
    assert "of the noise alone: no guarantee follows" in words(html)
    for case in TERMS:
        assert case == "noisy-scores" or "NOT differentially private" not in page(case)


@pytest.mark.parametrize("case", TERMS)
def test_what_sites_say_cannot_harm_a_reader(case: str) -> None:
    html, printed = page(case), terminal(made(case), 80)
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    for text in (html, printed):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "[bold]red[/bold]" in " ".join(printed.split())


def test_hostile_names_are_escaped_in_tables_and_pictures() -> None:
    validation = made("disclosure-control")
    old = validation.sites[1]
    sites = tuple(
        replace(site, report=replace(site.report, name=f"--> {HOSTILE[:60]}")) if site is old else site
        for site in validation.sites
    )
    html = validation_page(replace(validation, sites=sites))
    assert "<script" not in html
    assert "--> <" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("case", TERMS)
def test_sites_that_did_not_take_part_are_shown_with_their_reasons(case: str) -> None:
    shown, printed = words(page(case)), " ".join(terminal(made(case), 80).split())
    for text in (shown, printed):
        assert "alps, refused: the study is not allowed here" in text
        assert "coast, silent: it did not reply within 60 s" in text
        assert "valley, failed: its rows cannot be read" in text
    states = {row[0]: row[1] for row in sites_table(made(case)).body}
    assert states == {"alps": "refused", "coast": "silent", "valley": "failed", **dict.fromkeys(NAMES, "answered")}
    released = {row[0]: row[1] for row in released_table(made(case)).body}
    assert all((released[name] == NOTHING) is (name not in NAMES) for name in released)


def test_each_mode_says_what_left_a_site() -> None:
    said = {case: dict(zip(*_east(case), strict=True))["what it released"] for case in TERMS}
    assert said["disclosure-control"] == "groups of at least 5 rows of a class, and two rounded sums over all rows"
    assert said["secure-sum"] == "masked counts, seen only inside the sum"
    assert said["private"] == "noisy counts, epsilon 2, and a share of the sum, epsilon 2"
    assert said["private, sum alone"] == "a share of the noisy sum, epsilon 4"


@pytest.mark.parametrize("case", TERMS)
def test_a_table_promises_costs_only_where_there_are_some(case: str) -> None:
    table = released_table(made(case))
    costs = "what it was charged" in table.head
    assert costs is mode_of(made(case).question).private
    assert table.title == f"What each site released{', and what it cost' if costs else ''}"


def _east(case: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    table = released_table(made(case))
    return table.head, next(row for row in table.body if row[0] == "east")


@pytest.mark.parametrize(
    ("receipt", "charged", "left"),
    [
        ({"charged": budget(4.0), "remaining": budget(1.5), "reused": False}, "epsilon 4", "epsilon 1.5"),
        (
            {"charged": budget(2.0), "remaining": budget(1.5), "reused": False},
            "epsilon 2: the rest was paid before",
            "epsilon 1.5",
        ),
        ({"charged": budget(0.0), "remaining": budget(1.5), "reused": True}, "nothing: answered before", "epsilon 1.5"),
        (
            {"charged": {"epsilon": 0.5, "delta": 0.0}, "remaining": "1/3"},
            "epsilon 0.5: the rest was paid before",
            "1/3",
        ),
        ({"charged": float("nan"), "remaining": [1] * 9}, "–", "–"),
        ({"charged": "x" * 10_000, "remaining": "\x1b[2J"}, "x" * 30 + "…" + "x" * 29, "·[2J"),
        ({}, "–", "–"),
    ],
)
def test_receipts_are_shown_whatever_a_site_sent(receipt: dict[str, Any], charged: str, left: str) -> None:
    validation = made("private")
    sites = tuple(
        replace(site, report=replace(site.report, receipt=receipt)) if site.name == "east" else site
        for site in validation.sites
    )
    table = released_table(replace(validation, sites=sites))
    row = dict(zip(table.head, next(row for row in table.body if row[0] == "east"), strict=True))
    assert (row["what it was charged"], row["left to the study"]) == (charged, left)


def how(validation: Validation) -> dict[str, str]:
    return {row[0]: row[1] for row in how_table(validation).body}


def test_editions_and_stored_answers_are_told_apart_in_words() -> None:
    first = made("private")
    second = replace(first, outcome=replace(first.outcome, question=replace(first.question, edition=2)))
    shown = {number: how(each) for number, each in ((1, first), (2, second))}
    assert shown[1]["edition"].startswith("1: ")
    assert shown[2]["edition"].startswith("2: a new run of the question")
    assert "edition" not in title_of(first)
    assert title_of(second).endswith(", edition 2)")
    assert shown[1]["answers"] == "all made for this run; none was a stored one"
    stored = {"charged": budget(0.0), "remaining": budget(1.5), "reused": True}
    partly = {"charged": budget(2.0), "remaining": budget(1.5), "reused": False}
    before, rest = "as stored by the sites: answered before, no further cost", "at a part of the price: the rest was "
    for receipts, expected in (
        ({"east": stored, "west": stored}, f"2 of 4 {before}"),
        (dict.fromkeys(NAMES, stored), f"all {before}"),
        ({"east": partly, "west": stored}, f"1 of 4 {before}; 1 of 4 {rest}paid before"),
        ({"east": {"charged": "much"}, "west": {"reused": "yes"}}, "all made for this run; none was a stored one"),
    ):
        sites = tuple(
            replace(site, report=replace(site.report, receipt=receipts.get(site.name, site.report.receipt)))
            for site in first.sites
        )
        assert how(replace(first, sites=sites))["answers"] == expected
    assert all(("edition" in how(made(case))) is case.startswith("private") for case in TERMS)


@pytest.mark.parametrize("case", TERMS)
def test_every_column_has_a_head_and_words_stand_at_the_left(case: str) -> None:
    validation = made(case)
    for table in (
        numbers_table(validation),
        sites_table(validation),
        released_table(validation),
        how_table(validation),
    ):
        assert all(table.head)
        for position, head in enumerate(table.head[1:], 1):
            cells = [row[position] for row in table.body if row[position] != "–"]
            is_words = any(re.match(r"[a-z]", cell) for cell in cells)
            assert table.aligned_left[position] is is_words, head
