"""Names of sites in pictures: short, on two lines at most, and different."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from confide.report.numbers import cut, distinct, wrapped
from confide.report.validation.forest import draw_forest, forest_of
from tests.report.validations import NAMES, axes_of, made


def test_names_of_two_hundred_letters_stay_on_two_lines_and_different() -> None:
    validation = made("disclosure-control")
    sites = tuple(
        replace(site, report=replace(site.report, name=f"{'long ' * 20}{site.name}{' name' * 20}"[:200]))
        for site in validation.sites
    )
    forest = forest_of(replace(validation, sites=sites), "observed_expected")
    assert forest is not None
    (ax,) = axes_of(draw_forest, forest, forest.size)
    ticks = [label.get_text() for label in ax.get_yticklabels()][: len(NAMES)]
    assert len(set(ticks)) == len(NAMES)
    assert all(tick.count("\n") == 1 and max(map(len, tick.split("\n"))) <= 26 for tick in ticks)


@given(st.lists(st.text(max_size=200), max_size=8, unique=True))
def test_cut_names_stay_short_and_different(names: list[str]) -> None:
    for most in (26, 48):
        short = distinct(names, most)
        assert all(len(name) <= most for name in short)
        assert len(set(short)) == len(names)
        assert all(letter.isprintable() for name in short for letter in name)


@given(st.text(alphabet="ab -_.", min_size=1, max_size=48))
def test_names_take_two_lines_at_most(name: str) -> None:
    lines = wrapped(name).split("\n")
    assert len(lines) <= 2
    assert all(len(line) <= 26 for line in lines)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")


def test_a_cut_name_keeps_both_ends() -> None:
    assert cut("abcdefghij", 10) == "abcdefghij"
    assert cut("abcdefghijk", 10) == "abcde…hijk"
