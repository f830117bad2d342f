"""Numbers of a validation, in tables and in words: they are those that were found."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.federation.coordinator.performance import NoLine, Performance
from confide.federation.coordinator.validation import SiteResult, derive
from confide.intervals.interval import Estimate, Interval
from confide.report.validation.pages import (
    hypothesis_words,
    lead_of,
    numbers_table,
    released_table,
    sites_table,
    validation_page,
)
from confide.report.validation.plots import drawings
from tests.federation.outcomes import drawn_sites, outcome_of
from tests.report.validations import SUMS_ALONE, TERMS, made, page, renamed, terminal, words, written


@pytest.mark.few(1)
@pytest.mark.parametrize("case", TERMS)
def test_page_and_terminal_show_the_numbers_that_were_found(case: str) -> None:
    validation, pooled = made(case), made(case).pooled
    expected = written(pooled.auc)
    assert pooled.roc_glm is not None
    expected += [f"{value:.3f}" for value in (pooled.roc_glm.auc, pooled.roc_glm.intercept, pooled.roc_glm.slope)]
    for name in ("average_precision", "brier", "observed_expected", "prevalence", "calibration_slope"):
        if getattr(pooled, name) is not None:
            expected += written(getattr(pooled, name))
    shown, printed = words(page(case)), " ".join(terminal(validation, 100).split())
    assert [text for text in expected if text not in shown] == []
    assert [text for text in expected if text not in printed] == []
    assert {row[0] for row in numbers_table(validation).body} >= {"AUC", "ROC-GLM: AUC"}


def test_where_noise_dominates_the_slope_is_not_given() -> None:
    validation = made("private, sum alone")
    without = replace(validation.pooled, calibration_intercept=None, calibration_slope=None, no_line=NoLine.NOISE)
    noisy = replace(validation, pooled=without)
    for shown in (words(validation_page(noisy)), " ".join(terminal(noisy, 100).split())):
        assert "calibration slope not given: noise dominates" in shown
        assert "Calibration intercept and slope are not given: noise dominates." in shown


@pytest.mark.few(1)
@pytest.mark.parametrize(("case", "then"), [("disclosure-control", "is refused by sites"), ("private", "is paid for")])
def test_advice_on_cells_says_that_they_are_chosen_before_the_first_question(case: str, then: str) -> None:
    validation = made(case)
    ends = replace(validation, pooled=replace(validation.pooled, calibration_slope=None, no_line=NoLine.END_CELLS))
    for shown in (words(validation_page(ends)), " ".join(terminal(ends, 100).split())):
        assert "(--grid logit:64) may give it, but must be chosen before the first question about a model" in shown
        assert f"another question, which {then}" in shown
        assert "`" not in shown


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("case", ["disclosure-control", "private"])
def test_no_line_is_wider_than_the_terminal(case: str, width: int) -> None:
    validation = renamed(made(case))
    lines = terminal(validation, width).splitlines()
    assert max(len(line) for line in lines) <= width
    if width >= 80:
        value, ends = written(validation.pooled.auc)
        assert any(re.search(rf"AUC +{value} +{ends}", line) for line in lines)


def test_whatever_is_missing_is_a_dash() -> None:
    validation = made("disclosure-control")
    nothing = Performance(level=0.95, auc=Estimate(value=math.nan))
    open_ends = Interval(lower=math.nan, upper=math.nan, level=0.95, method="none")
    little = Performance(
        level=0.95,
        auc=Estimate(value=0.7, interval=open_ends),
        observed_expected=Estimate(value=1.2, interval=replace(open_ends, lower=0.0, upper=math.inf)),
        size=Estimate(value=math.nan),
        prevalence=Estimate(value=math.nan),
    )
    results = (nothing, little, None, little)
    sites = tuple(
        SiteResult(report=report, result=result)
        for report, result in zip(validation.outcome.reports[1:5], results, strict=True)
    )
    bare = replace(validation, pooled=nothing, sites=sites, heterogeneity={}, test=None)
    html = validation_page(bare)
    assert "nan" not in words(html).replace("Φ", "")
    assert "AUC is –." in words(html)
    assert "nan" not in terminal(bare, 80)
    assert "1.200 0.000 to ∞" in words(html)
    assert drawings(bare) == {}


def test_the_test_of_the_auc_is_said_in_words() -> None:
    validation = made("secure-sum")
    assert validation.test is not None
    assert validation.test.p_value < 1e-4
    assert hypothesis_words(validation) == (
        "Test of AUC ≤ 0.7, one-sided: p < 0.001. An AUC of 0.7 or less is ruled out at the 5 % level."
    )
    assert hypothesis_words(validation) in words(page("secure-sum"))
    near = replace(validation.test, p_value=0.03, interval_above=False)
    assert "p = 0.030." in hypothesis_words(replace(validation, test=near))
    assert hypothesis_words(replace(validation, test=near)).endswith("though the two-sided interval reaches below it.")
    weak = replace(validation.test, p_value=0.2, interval_above=False)
    assert hypothesis_words(replace(validation, test=weak)).endswith("An AUC of 0.7 or less cannot be ruled out.")


def test_groups_state_between_what_the_auc_lies() -> None:
    bounds = made("disclosure-control").pooled.bounds
    assert bounds is not None
    assert f"their AUC lies between {bounds.lower:.3f} and {bounds.upper:.3f}" in words(page("disclosure-control"))
    assert all("Groups hide the order" not in page(case) for case in (*SUMS_ALONE, "private"))


@pytest.mark.long
def test_a_site_whose_groups_hide_everything_has_bounds_and_no_auc() -> None:
    data = drawn_sites([150, 200, 250], ["first", "second", "third"])
    data["tiny"] = ScoreCounts.from_arrays(np.arange(40) < 7, np.random.default_rng(0).random(40))
    validation = derive(outcome_of(data, "disclosure-control"))
    table = sites_table(validation)
    auc, bounds = (table.head.index(name) for name in ("AUC", "certain bounds"))
    rows = {row[0]: row for row in table.body}
    assert (rows["tiny"][auc], rows["tiny"][auc + 1], rows["tiny"][bounds]) == ("–", "–", "0.000 to 1.000")
    for site in validation.sites:
        if site.result is not None and site.name != "tiny":
            assert site.result.bounds is not None
            assert rows[site.name][bounds] == f"{site.result.bounds.lower:.3f} to {site.result.bounds.upper:.3f}"
    assert (
        "There is no AUC for tiny alone: a class has too few rows for several groups" in numbers_table(validation).note
    )
    assert validation.summarised["auc"] == ("first", "second", "third")
    shown = words(validation_page(validation))
    assert "There is no AUC for tiny alone" in shown
    assert "nan" not in shown


def test_a_calibration_line_that_is_missing_has_its_reason() -> None:
    data = drawn_sites([150, 200, 250], ["first", "second", "third"])
    assert (
        "for calibration intercept and slope" not in numbers_table(derive(outcome_of(data, "secure-sum"))).note.lower()
    )
    assert "cannot be told from others" in numbers_table(derive(outcome_of(data, "disclosure-control"))).note
    data["ends"] = ScoreCounts.from_arrays([0, 1, 1, 0, 1] * 20, np.tile([0.0, 0.0, 0.2, 0.6, 1.0], 20))
    for mode in ("secure-sum", "disclosure-control"):
        table = numbers_table(derive(outcome_of(data, mode)))
        assert "calibration slope" not in [row[0] for row in table.body]
        said = (
            "do not exist"
            if mode == "secure-sum"
            else "depends on the positions of rows within the lowest and highest cell"
        )
        assert said in table.note


def test_intervals_that_leave_everything_open_are_said_to() -> None:
    validation = made("private")
    everything = Interval(lower=0.0, upper=1.0, level=0.95, method="noise")
    wide = Performance(level=0.95, auc=Estimate(value=0.6, interval=everything))
    sites = tuple(replace(site, result=wide) if site.name == "east" else site for site in validation.sites)
    assert "nearly all possible values" not in numbers_table(validation).note
    assert (
        "The interval of AUC for east alone covers nearly all" in numbers_table(replace(validation, sites=sites)).note
    )
    assert (
        "The interval of AUC covers nearly all possible values" in numbers_table(replace(validation, pooled=wide)).note
    )


@pytest.mark.parametrize(
    ("sites", "prediction", "said"), [(4, (0.6, 0.85), True), (3, (0.6, 0.85), False), (9, (0.4, 0.91), False)]
)
def test_a_prediction_is_in_the_first_paragraph_only_where_it_says_something(
    sites: int, prediction: tuple[float, float], said: bool
) -> None:
    validation = made("disclosure-control")
    expected = Interval(lower=prediction[0], upper=prediction[1], level=0.95, method="made up")
    summary = replace(validation.heterogeneity["auc"], sites=sites, prediction=expected)
    assert ("At another such site" in lead_of(replace(validation, heterogeneity={"auc": summary}))) is said


@pytest.mark.parametrize(
    ("auc", "pairs"), [(0.805, 81), (0.8046, 81), (0.8044, 80), (0.845, 85), (0.5, 50), (0.9996, 100)]
)
def test_pairs_of_a_hundred_are_rounded_from_the_auc_that_is_shown(auc: float, pairs: int) -> None:
    validation = made("secure-sum")
    said = lead_of(replace(validation, pooled=replace(validation.pooled, auc=Estimate(value=auc))))
    assert f"AUC is {auc:.3f}: " in said
    assert f"in about {pairs} of 100 such pairs" in said


def test_charges_are_rounded_up_and_what_is_left_is_rounded_down() -> None:
    validation = made("private")
    receipt = {
        "charged": {"epsilon": 1.38924, "delta": 9e-07, "rho": 0.00444384},
        "remaining": {"epsilon": 1.61076, "delta": 1e-07},
        "reused": False,
    }
    sites = tuple(replace(site, report=replace(site.report, receipt=receipt)) for site in validation.sites)
    shown = str(released_table(replace(validation, sites=sites)))
    assert "rho 0.00444384: epsilon 1.39, delta 9e-07 more" in shown
    assert "epsilon 1.61, delta 1e-07" in shown
