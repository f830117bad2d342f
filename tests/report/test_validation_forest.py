"""Forest of sites: their own results, the mean over sites, and who is left out of it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import pytest

from confide.federation.coordinator.validation import Validation, derive
from confide.intervals.interval import Estimate, Interval
from confide.privacy import noisy_counts
from confide.releases import curve_numbers
from confide.report.validation.forest import draw_forest, forest_caption, forest_of
from confide.report.validation.pages import sites_table
from tests.federation.outcomes import drawn_sites, outcome_of
from tests.report.validations import NAMES, OWN_RESULTS, SUMS_ALONE, axes_of, made, page, seen, terminal, words, written


@pytest.mark.few(1)
@pytest.mark.parametrize("case", OWN_RESULTS)
def test_sites_own_results_and_their_summary_are_shown(case: str) -> None:
    validation, shown = made(case), words(page(case))
    assert 'id="forest-auc-' in page(case)
    assert 'id="forest-observed_expected-' in page(case)
    for name, result in seen(validation):
        value, ends = written(result.auc)
        assert f"{value} ({ends})" in shown
        assert name in [row[0] for row in sites_table(validation).body]
    summary = validation.heterogeneity["auc"]
    assert summary.prediction is not None
    assert f"{summary.prediction.lower:.3f} to {summary.prediction.upper:.3f}" in shown
    assert summary.i_squared is not None
    assert f"I² = {100 * summary.i_squared:.0f} %" in shown
    assert f"Q = {summary.q:.2f}, p " in shown
    assert ("account for noise and for unknown positions" in shown) is (case == "private")


@pytest.mark.few(1)
@pytest.mark.parametrize("case", SUMS_ALONE)
def test_where_only_sums_are_seen_there_is_no_forest_and_a_reason(case: str) -> None:
    validation, shown = made(case), words(page(case))
    assert "forest-" not in page(case)
    assert "site-calibration" not in page(case)
    assert "There is no forest plot: " in shown
    assert "There is no forest plot: " in terminal(validation, 200)
    assert forest_of(validation, "auc") is None
    assert sites_table(validation).head == ("site", "state")


def test_weights_are_those_of_the_summary_whatever_the_order_of_sites() -> None:
    validation = made("disclosure-control")
    backwards = replace(validation.outcome, sites=dict(reversed(list(validation.outcome.sites.items()))))
    for case in (validation, derive(backwards)):
        summary, forest = case.heterogeneity["auc"], forest_of(case, "auc")
        assert forest is not None
        raw = {}
        for row in forest.sites:
            assert row.estimate is not None
            assert row.estimate.standard_error is not None
            value = row.estimate.value
            raw[row.name] = 1.0 / ((row.estimate.standard_error / (value * (1.0 - value))) ** 2 + summary.tau_squared)
        for row in forest.sites:
            assert row.weight == pytest.approx(raw[row.name] / sum(raw.values()), rel=1e-6)


@cache
def with_a_tiny_site() -> Validation:
    """Three sites and one that is too small for noise: its interval of AUC leaves everything open."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(noisy_counts, "DRAWS", noisy_counts.FEWEST_DRAWS)
        patched.setattr(curve_numbers, "RISEN_DRAWS", 50)
        return derive(outcome_of(drawn_sites((600, 500, 40, 700), NAMES), "private", epsilon=2))


@pytest.mark.long
def test_a_site_that_says_nothing_is_left_out_of_the_mean_by_name() -> None:
    validation = with_a_tiny_site()
    summary, forest = validation.heterogeneity["auc"], forest_of(validation, "auc")
    assert forest is not None
    assert validation.summarised["auc"] == ("east", "north", "west")
    assert {row.name: row.weight for row in forest.sites} == {
        **dict(zip(("east", "north", "west"), summary.weights, strict=True)),
        "south": None,
    }
    sentence = "south was left out of the mean: its interval covers almost all possible values."
    assert sentence in forest_caption(forest)
    assert sentence in " ".join(terminal(validation, 80).split())
    assert "left out of the mean" not in words(page("private"))
    (ax,) = axes_of(draw_forest, forest, forest.size)
    squares = [line for line in ax.lines if line.get_marker() == "s"]
    assert [square.get_markerfacecolor() == "white" for square in squares] == [False, False, True, False]
    shares = [text.get_text() for text in ax.texts if re.fullmatch(r"–|[\d.]+ %", text.get_text())]
    east, north, west = (f"{100 * weight:.1f} %" for weight in summary.weights)
    assert shares == [east, north, "–", west, "100 %"]


@pytest.mark.parametrize(
    ("value", "interval", "reason"),
    [
        (1.0, (0.8, 1.0), "an AUC of 0 or 1 has no log-odds"),
        (0.7, None, "its standard error is not known"),
        (math.nan, None, "it has no value"),
        (0.7, (0.02, 0.99), "its interval covers almost all possible values"),
    ],
)
def test_the_reason_why_a_site_is_left_out_is_said(
    value: float, interval: tuple[float, float] | None, reason: str
) -> None:
    forest = forest_of(made("disclosure-control"), "auc")
    assert forest is not None
    ends = None if interval is None else Interval(lower=interval[0], upper=interval[1], level=0.95, method="made up")
    odd = replace(forest.sites[0], estimate=Estimate(value=value, interval=ends), weight=None)
    caption = forest_caption(replace(forest, sites=(odd, *forest.sites[1:])))
    assert f" east was left out of the mean: {reason}." in caption


def test_several_sites_that_are_left_out_share_a_sentence_for_each_reason() -> None:
    forest = forest_of(made("disclosure-control"), "observed_expected")
    assert forest is not None
    endless = Interval(lower=0.0, upper=math.inf, level=0.95, method="made up")
    rows = [replace(row, estimate=Estimate(value=1.1, interval=endless), weight=None) for row in forest.sites]
    none = replace(rows[2], estimate=Estimate(value=0.0, interval=endless))
    caption = forest_caption(replace(forest, sites=(rows[0], rows[1], none, forest.sites[3])))
    assert "east and north were left out of the mean: their intervals reach 0 or have no end." in caption
    assert "south was left out of the mean: a ratio of 0 has no logarithm." in caption
    assert "4 sites were left out of the mean" in forest_caption(replace(forest, sites=tuple(rows)))
    alone = forest_caption(replace(forest, sites=tuple(rows), summary=None))
    assert "left out" not in alone
    assert "There is no mean over sites" in alone


def test_one_site_has_no_forest_and_two_have_no_prediction() -> None:
    one = derive(outcome_of(drawn_sites(150, ["alone"]), "disclosure-control"))
    assert forest_of(one, "auc") is None
    assert "only one site took part" in terminal(one, 200)
    two = derive(outcome_of(drawn_sites(150, ["first", "second"]), "disclosure-control"))
    forest = forest_of(two, "auc")
    assert forest is not None
    assert "no prediction interval" in forest_caption(forest)
