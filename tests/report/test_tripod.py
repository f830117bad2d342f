"""The TRIPOD+AI checklist says of each item where the report fills it, and what is left to the author."""

from __future__ import annotations

import re

import numpy as np
import pytest

import confide
from confide.report.evaluation.tables import evaluation_tables
from confide.report.evaluation.tripod import Filled, TripodItem, tripod_items, tripod_section, tripod_table
from tests.report.test_evaluation_page import Elements

RNG = np.random.default_rng(3)
LABELS = RNG.random(90) < 0.4
RISK = 1 / (1 + np.exp(-(RNG.standard_normal(90) + LABELS)))
SEX = np.where(RNG.random(90) < 0.5, "f", "m")

# The 27 items of TRIPOD+AI with their letters.
LETTERS = {3: "abc", 5: "ab", 6: "abc", 8: "abc", 9: "abc", 12: "abcdefg", 18: "abcdef", 20: "abc", 23: "ab", 27: "abc"}
NUMBERS = [f"{n}{letter}" for n in range(1, 28) for letter in LETTERS.get(n, ("",))]

GROUPED = confide.evaluate(LABELS, {"a": RISK, "b": RISK**2}, groups=SEX, thresholds=[0.2, 0.5], replicates=0)
PLAIN = confide.evaluate(LABELS, 10 * RISK, replicates=0)


def by_number(evaluation: confide.Evaluation) -> dict[str, TripodItem]:
    return {item.number: item for item in tripod_items(evaluation)}


@pytest.mark.parametrize("evaluation", [GROUPED, PLAIN])
def test_items_are_those_of_the_checklist_in_its_order(evaluation: confide.Evaluation) -> None:
    listed = [item.number for item in tripod_items(evaluation)]
    assert listed == sorted(set(listed), key=NUMBERS.index)
    assert {"12e", "15", "21", "23a", "23b"} <= set(listed) <= set(NUMBERS)
    assert all(item.shown or item.missing for item in tripod_items(evaluation))


def test_groups_fill_what_asks_for_subgroups() -> None:
    with_groups, without = by_number(GROUPED), by_number(PLAIN)
    assert (with_groups["23a"].filled, without["23a"].filled) == (Filled.REPORT, Filled.BOTH)
    assert (with_groups["23b"].filled, without["23b"].filled) == (Filled.REPORT, Filled.AUTHOR)
    assert (with_groups["14"].filled, without["14"].filled) == (Filled.BOTH, Filled.AUTHOR)
    assert "--group" in without["14"].missing


def test_measures_that_were_not_computed_are_not_claimed() -> None:
    said = by_number(GROUPED)["12e"].shown
    assert all(words in said for words in ("calibration", "net benefit", "comparison"))
    assert not any(words in by_number(PLAIN)["12e"].shown for words in ("calibration", "net benefit", "comparison"))
    assert "thresholds 0.2 and 0.5" in by_number(GROUPED)["15"].shown
    assert "thresholds" not in by_number(PLAIN)["15"].shown


def test_the_report_has_the_places_that_are_named() -> None:
    titles = {table.title for table in evaluation_tables(GROUPED)}
    named = {place for item in tripod_items(GROUPED) for place in re.findall(r"\(([A-Z][^)]*)\)", item.shown)}
    assert named
    assert named <= titles


def test_sizes_are_those_of_the_evaluation() -> None:
    said = by_number(GROUPED)["21"].shown
    assert f"90 rows, {int(LABELS.sum())} with and {int((~LABELS).sum())} without the outcome" in said


def test_page_and_table_say_the_same() -> None:
    text = " ".join(Elements("".join(tripod_section(GROUPED))).text)
    for row in tripod_table(GROUPED).body:
        assert all(cell in text for cell in row)


def test_a_weighted_evaluation_has_a_checklist_too() -> None:
    weighted = confide.evaluate(LABELS, RISK, weights=np.full(90, 0.5), replicates=0)
    assert "rows are weighted" in by_number(weighted)["21"].missing
