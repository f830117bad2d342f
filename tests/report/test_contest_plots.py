"""Plots of boards and finals: every entry is drawn, nothing leaves the plot, and no name can break out of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.metric import KINDS, ContestMetric
from confide.intervals.interval import Interval
from confide.report.contest_plots import Move, RankedEntry, describe, dot_plot, fitted, moves_words, slope_plot, ticks

SVG = "{http://www.w3.org/2000/svg}"
AUC = ContestMetric.checked("auc")


@dataclass(frozen=True)
class Entry:
    name: str
    value: float
    sample: Interval
    population: Interval
    rank: int = 1
    rank_lowest: int = 1
    rank_highest: int = 1


def entry(name: str, value: float, near: float = 0.01, far: float = 0.02, rank: int = 1) -> Entry:
    def interval(reach: float) -> Interval:
        return Interval(lower=value - reach, upper=value + reach, level=0.95, method="x")

    return Entry(name, value, interval(near), interval(far), rank, rank, rank + 2)


def entries(number: int) -> list[Entry]:
    values = np.sort(np.random.default_rng(number).uniform(0.6, 0.9, number))[::-1]
    return [entry(f"team {place}", float(value), rank=1 + place // 3) for place, value in enumerate(values)]


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own text


def dots(svg: str) -> list[tuple[float, float]]:
    """Return the places of dots, without the legend's."""
    circles = drawn(svg).iter(f"{SVG}circle")
    return [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in circles][1:]


@pytest.mark.parametrize("width", [358, 880, 1000])
@pytest.mark.parametrize("number", [1, 2, 7, 61, 200])
def test_each_entry_has_a_line_inside_the_plot(number: int, width: int) -> None:
    board = entries(number)
    svg = dot_plot(board, AUC, width=width)
    places = dots(svg)
    assert len(places) == number
    root = drawn(svg)
    _, _, wide, high = (float(one) for one in root.attrib["viewBox"].split())
    assert wide == width
    assert all(0 < x < wide and 0 < y < high for x, y in places)
    assert all(below[1] - above[1] >= 18 for above, below in pairwise(places))
    for name in (one.name for one in board):
        assert f">{name}</text>" in svg
    for path in root.iter(f"{SVG}path"):
        horizontal = [float(one) for one in re.findall(r"[MH](-?[\d.]+)", path.attrib["d"])]
        assert all(0 <= x <= wide for x in horizontal)


def test_dots_lie_where_the_values_are() -> None:
    board = entries(20)
    places = dots(dot_plot(board, AUC))
    slope, start = np.polyfit([one.value for one in board], [x for x, _ in places], 1)
    assert slope > 0
    for one, (x, _) in zip(board, places, strict=True):
        assert x == pytest.approx(start + slope * one.value, abs=0.1)


def test_bands_follow_groups_of_ties() -> None:
    board = [entry(f"t{place}", 0.9 - place / 100, rank=rank) for place, rank in enumerate((1, 1, 1, 4, 5, 5, 7))]
    svg = dot_plot(board, AUC)
    bands = [(float(one.attrib["y"]), float(one.attrib["height"])) for one in drawn(svg).iter(f"{SVG}rect")]
    inside = [[place for place, (_, y) in enumerate(dots(svg)) if top < y < top + high] for top, high in bands]
    assert inside == [[0, 1, 2], [4, 5]]


def test_the_reader_s_own_entry_is_named() -> None:
    svg = dot_plot(entries(5), AUC, own="team 3")
    assert svg.count("you: ") == 1
    assert ">you: team 3</text>" in svg


NAMES = st.text(min_size=1, max_size=80)


@given(names=st.lists(NAMES, min_size=1, max_size=5), narrow=st.booleans())
def test_no_name_breaks_out(names: list[str], narrow: bool) -> None:
    nasty = [*names, '"/><script>alert(1)</script>', "\x00\x1b\u202e]]>", "&lt;"]
    board = [entry(name, 0.5) for name in nasty]
    root = drawn(dot_plot(board, AUC, width=358 if narrow else 880, own=names[0]))
    allowed = {f"{SVG}{tag}" for tag in ("svg", "title", "desc", "rect", "path", "g", "text", "circle")}
    assert {one.tag for one in root.iter()} <= allowed
    moves = [Move(name=name, before=1, before_span=(1, 2), after=2, after_span=(1, 2)) for name in nasty]
    assert {one.tag for one in drawn(slope_plot(moves)).iter()} <= allowed


@pytest.mark.parametrize("name", KINDS)
def test_every_metric_says_what_is_better(name: str) -> None:
    metric = ContestMetric.checked(name)
    svg = dot_plot([entry("a", 0.02), entry("b", -0.01)], metric)
    assert re.search(r"\((higher is better|lower is better|zero is best)\)", svg)
    assert metric.title in describe(entries(2), metric).replace(metric.title.capitalize(), metric.title)


@pytest.mark.parametrize("far", [math.inf, 0.0, 1e-12])
def test_odd_intervals_are_drawn(far: float) -> None:
    svg = dot_plot([entry("a", 0.7, near=0.0, far=far)], AUC)
    assert "nan" not in svg
    assert "inf" not in svg.split("</desc>")[1]
    assert len(dots(svg)) == 1


def test_nothing_is_drawn_from_nothing() -> None:
    none: list[RankedEntry] = []
    assert dot_plot(none, AUC) == ""
    assert slope_plot([]) == ""


def test_plots_hold_no_styles_that_the_policy_of_pages_forbids() -> None:
    move = Move(name="a", before=1, before_span=(1, 1), after=2, after_span=(2, 2))
    for svg in (dot_plot(entries(3), AUC), slope_plot([move])):
        assert "style=" not in svg
        assert "<style" not in svg
        assert "href" not in svg


@given(
    low=st.floats(-2, 2),
    length=st.floats(1e-4, 100),
    most=st.integers(2, 10),
)
def test_ticks_are_few_round_and_inside(low: float, length: float, most: int) -> None:
    places = ticks(low, low + length, most)
    assert len(places) <= most
    assert all(low - 1e-6 <= place <= low + length + 1e-6 for place in places)
    if len(places) > 1:
        steps = [after - before for before, after in pairwise(places)]
        assert max(steps) - min(steps) < 1e-9
        digit = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
        assert min(abs(digit - one) for one in (1, 2, 5)) < 1e-6
        assert len(places) * 3 >= most - 1  # no needless gaps


@given(name=st.text(min_size=1, max_size=100), room=st.floats(30, 300))
def test_shortened_names_fit(name: str, room: float) -> None:
    short = fitted(name, room)
    assert short == name or (short.endswith("…") and name.startswith(short[:-1]))
    assert fitted(short, room) == short


@pytest.mark.parametrize(
    ("move", "words", "clear"),
    [
        (((3, (2, 4)), (1, (1, 2))), "up 2, within chance", False),
        (((1, (1, 2)), (4, (3, 5))), "down 3", True),
        (((5, (4, 6)), (1, (1, 3))), "up 4", True),
        (((2, (1, 3)), (2, (2, 2))), "same rank", False),
    ],
)
def test_moves_within_chance_are_called_so(
    move: tuple[tuple[int, tuple[int, int]], tuple[int, tuple[int, int]]], words: str, clear: bool
) -> None:
    (before, before_span), (after, after_span) = move
    one = Move(name="a", before=before, before_span=before_span, after=after, after_span=after_span)
    assert (one.words(), one.clear) == (words, clear)
    svg = slope_plot([one])
    assert ("stroke-dasharray" in svg) is (one.change != 0 and not clear)
    assert ("One finalist moved" if clear else "No finalist moved") in moves_words([one])


def test_ranks_among_different_numbers_are_not_compared() -> None:
    one = Move(name="a", before=1, before_span=(1, 1), after=4, after_span=(4, 4), comparable=False)
    assert not one.clear
    assert one.words() == "down 3"
    assert "means little" in moves_words([one])
