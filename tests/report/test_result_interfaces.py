"""Results in Python: short `repr`, HTML for notebooks, plots, plain data and data frames that agree with each other."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from confide import ScoreCounts, evaluate
from confide.attacks.exposure import attack_counts
from confide.audits.run import Finding
from confide.errors import UsageError
from confide.evaluation.evaluation import Evaluation
from confide.federation.coordinator.validation import Validation, derive
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import release_auc
from confide.releases.confusion import ConfusionRelease, release_confusion
from confide.releases.curves import release_curves
from confide.releases.curves_release import CurvesRelease
from confide.releases.plan import plan
from confide.releases.plan_result import Plan
from confide.releases.registry import prepare
from confide.releases.release import Release
from confide.report.evaluation.text import COLUMNS
from confide.tasks.audit import AuditReport
from tests.federation.outcomes import drawn_sites, outcome_of
from tests.ledger.asking import Book
from tests.noises import seeded
from tests.report.test_evaluation_page import Elements

RNG = np.random.default_rng(3)
LABELS = (RNG.random(400) < 0.4).astype(int)
SCORES = np.clip(RNG.normal(0.4 + 0.2 * LABELS, 0.2), 0.0, 1.0)
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)


@cache
def evaluation() -> Evaluation:
    groups = np.where(np.arange(LABELS.size) % 2, "odd", "even")
    return evaluate(LABELS, {"first": SCORES, "second": SCORES**2}, groups=groups, replicates=0)


@cache
def validation() -> Validation:
    return derive(outcome_of(drawn_sites(200, ("east", "north", "west")), "disclosure-control"))


@cache
def planned() -> Plan:
    return plan("auc", rows=1_000, epsilon=1)


def release() -> Release:
    return release_auc(COUNTS, epsilon=1)


def confusion() -> ConfusionRelease:
    return release_confusion(COUNTS, 0.5, epsilon=1)


@cache
def curves() -> CurvesRelease:
    return release_curves(COUNTS, epsilon=1)


@cache
def attacked() -> Any:
    return attack_counts(
        ScoreCounts.from_arrays(LABELS[:40], SCORES[:40]), ["auc:digits=3", "auc:epsilon=1"], trials=20
    )


@cache
def audited() -> AuditReport:
    claim: dict[str, Any] = {
        "epsilon": Fraction(1),
        "delta": Fraction(0),
        "draws": 1_000,
        "error": 1e-4,
        "event": "sum",
    }
    held = Finding(mechanism="auc/rank-sum", neighbours=Neighbours.REPLACE_ONE, lower_bound=0.9, **claim)
    twin = Finding(mechanism="auc/half", neighbours=Neighbours.REPLACE_ONE, lower_bound=1.9, wrong="<half>", **claim)
    return AuditReport(findings=(held, replace(held, neighbours=Neighbours.LABEL_ONLY), twin))


RESULTS: dict[str, Callable[[], Any]] = {
    "evaluation": evaluation,
    "release": release,
    "confusion": confusion,
    "curves": curves,
    "plan": planned,
    "validation": validation,
    "attack": attacked,
    "audit": audited,
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Begin without figures that other tests left to pyplot, and leave none."""
    plt.close("all")
    yield
    plt.close("all")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RESULTS)
def test_repr_is_one_short_line(name: str) -> None:
    shown = repr(RESULTS[name]())
    assert shown.startswith("<")
    assert shown.endswith(">")
    assert "\n" not in shown
    assert len(shown) < 140


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RESULTS)
def test_html_is_well_formed_and_runs_nothing(name: str) -> None:
    elements = Elements(RESULTS[name]()._repr_html_())
    assert "table" in elements.tags
    assert "script" not in elements.tags


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RESULTS)
def test_plot_returns_a_figure_that_pyplot_does_not_hold(name: str) -> None:
    before = {key: str(value) for key, value in plt.rcParams.items()}
    figure = RESULTS[name]().plot()
    assert isinstance(figure, Figure)
    assert all(ax.get_xlabel() for ax in figure.axes if ax.axison)
    assert plt.get_fignums() == []
    assert {key: str(value) for key, value in plt.rcParams.items()} == before


@pytest.mark.parametrize("name", RESULTS)
def test_plain_data_exist(name: str) -> None:
    assert RESULTS[name]().to_dict()["schema"].startswith("confide.")


@pytest.mark.parametrize("name", RESULTS)
def test_frames_have_one_row_for_each_number(name: str) -> None:
    frame = RESULTS[name]().to_frame()
    assert len(frame) > 0
    assert "metric" in frame.columns
    names = (
        "model",
        "group",
        "site",
        "metric",
        "threshold",
        "mechanism",
        "neighbours",
        "wrong",
        "published",
        "attacker",
    )
    keys = [column for column in names if column in frame]
    assert not frame.duplicated(keys).any()


def test_frame_of_an_evaluation_has_the_evaluated_numbers() -> None:
    frame = evaluation().to_frame()
    assert tuple(frame.columns) == COLUMNS
    model = evaluation().models[1]
    row = frame[(frame.model == "second") & frame.group.isna() & (frame.metric == "auc")].iloc[0]
    interval = model.auc.known_interval
    assert (row.value, row.lower, row.upper, row.level) == (model.auc.value, interval.lower, interval.upper, 0.95)
    recall = frame[(frame.model == "first") & (frame.group == "odd") & (frame.metric == "recall")]
    at_half = recall[recall.threshold == 0.5].value.iloc[0]
    odd = next(group for group in evaluation().groups if group.group == "odd")
    assert at_half == odd.models[0].thresholds[0].matrix.recall
    (difference,) = frame[(frame.metric == "auc_difference") & frame.group.isna()].value
    assert difference == evaluation().comparisons[0].difference


def test_frame_of_a_release_has_both_intervals_and_the_price() -> None:
    made = release()
    (row,) = made.to_frame().to_dict("records")
    assert row["value"] == made.value
    assert row["sample_lower"] == made.intervals.sample.lower
    assert row["population_upper"] == made.intervals.population.upper
    assert (row["epsilon"], row["neighbours"]) == (1.0, "replace-one")
    assert set(confusion().to_frame().threshold) == {0.5}


def test_frame_of_a_validation_has_all_rows_and_each_site() -> None:
    frame = validation().to_frame()
    aucs = frame[frame.metric == "auc"]
    assert aucs[aucs.site.isna()].value.iloc[0] == validation().pooled.auc.value
    assert set(aucs.site.dropna()) == {"east", "north", "west"}
    assert math.isnan(frame[frame.metric == "auc_prediction"].value.iloc[0])


def test_without_pandas_the_error_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        release().to_frame()


def test_a_receipt_shows_its_releases_and_what_they_cost(tmp_path: Path) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare(["auc", "recall"], COUNTS, epsilon=1, noise=seeded(2)), account="trial")
    assert repr(receipt) == "<Receipt of account 'trial': 2 results, cost epsilon 1>"
    text = " ".join(Elements(receipt._repr_html_()).text)
    assert "AUC" in text
    assert "trial" in text
    assert isinstance(receipt.plot(), Figure)
    assert list(receipt.to_frame().metric) == ["auc", "recall"]


def test_frame_of_an_attack_has_the_findings() -> None:
    frame, report = attacked().to_frame(), attacked()
    private = frame[(frame.published == "auc:epsilon=1") & (frame.metric == "success")].iloc[0]
    game = report.exposures[1].insider.game
    assert (private.value, private.lower, private.upper) == (game.success, game.interval.lower, game.interval.upper)
    assert private.bound == game.bound
    rounded = frame[frame.published == "auc:digits=3"].set_index(["attacker", "metric"]).value
    assert rounded["outsider", "certain"] == report.exposures[0].outsider.certain
    assert rounded["insider", "told"] == report.exposures[0].insider.told


def test_frame_and_html_of_an_audit_have_the_findings() -> None:
    frame, report = audited().to_frame(), audited()
    assert frame.mechanism.tolist() == [finding.mechanism for finding in report.findings]
    assert frame.lower_bound.tolist() == [finding.lower_bound for finding in report.findings]
    assert frame.wrong.notna().sum() == len(report.twins) > 0
    shown = report._repr_html_()
    assert all(finding.mechanism in shown for finding in report.findings)
    assert "Broken twins" in shown
