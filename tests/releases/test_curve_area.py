"""An AUC of its own beside curves: one price for both, one identity, and the intervals of `release_auc`."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.errors import ParameterError
from confide.releases.auc import prepare_auc
from confide.releases.curves import AREA_SHARE, curves_of, draw_curves, prepare_curves, released_area
from confide.releases.registry import prepare
from confide.releases.release import Release
from tests.noises import FORBIDDEN, RELATIONS, SILENT, Deaf, seeded

pytestmark = pytest.mark.usefixtures("few_simulated_tables")  # about form, not about widths

every_relation = pytest.mark.parametrize("relation", RELATIONS)


def few_values(rows: int = 2_000, seed: int = 0) -> ScoreCounts:
    """Rows whose scores have a dozen values."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.25
    return ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(1.5 - np.round(rng.normal(labels * 1.0)))))


COUNTS = few_values()


def drawn(relation: str = "replace-one", seed: int = 3, counts: ScoreCounts = COUNTS, **options: Any) -> Release:
    asked = {"epsilon": 1, "grid": "uniform:10", "neighbours": relation, **options}
    (raw,) = prepare_curves(counts, with_auc=True, noise=seeded(seed), **asked).draw()
    return raw


@every_relation
def test_the_price_is_that_of_the_curves_and_noise_has_the_stated_shares(relation: str) -> None:
    asked: dict[str, Any] = {"grid": "uniform:10", "neighbours": relation}
    both, alone = Deaf(), Deaf()
    prepared = prepare_curves(COUNTS, epsilon=2, with_auc=True, noise=both.noise(), **asked)
    prepared.draw()
    prepare_curves(COUNTS, epsilon=2 * (1 - AREA_SHARE), noise=alone.noise(), **asked).draw()
    prepare_auc(COUNTS, epsilon=2 * AREA_SHARE, neighbours=relation, noise=alone.noise()).draw()
    assert both.heard == alone.heard
    assert prepared.guarantee == prepare_curves(COUNTS, epsilon=2, **asked).guarantee


def test_gaussian_counts_and_the_auc_add_up_in_rho_too() -> None:
    asked: dict[str, Any] = {"delta": "1e-6", "mechanism": "gaussian", "grid": "uniform:10"}
    both = prepare_curves(COUNTS, epsilon=1, with_auc=True, **asked).guarantee
    counts = prepare_curves(COUNTS, epsilon=Fraction(3, 4), **asked).guarantee
    assert both.epsilon == 1
    assert both.delta == Fraction(1, 10**6)
    assert both.rho == (counts.rho or 0) + Fraction(1, 32)


def test_persons_with_several_rows_pay_for_each_of_them() -> None:
    asked: dict[str, Any] = {"grid": "uniform:10", "delta": "1e-6", "mechanism": "gaussian", "with_auc": True}
    one, three = Deaf(), Deaf()
    prepare_curves(COUNTS, epsilon=1, noise=one.noise(), **asked).draw()
    prepared = prepare_curves(COUNTS, epsilon=3, unit="person", rows_per_person=3, noise=three.noise(), **asked)
    (raw,) = prepared.draw()
    assert [heard for heard in one.heard if heard[0] != "gaussian"] == [
        heard for heard in three.heard if heard[0] != "gaussian"
    ]
    assert released_area(raw, 0.95) is not None


@every_relation
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_it_is_the_release_of_auc_at_its_share_at_every_level(relation: str, level: float) -> None:
    raw = drawn(relation)
    area = released_area(raw, level)
    alone = prepare_auc(COUNTS, epsilon=AREA_SHARE, neighbours=relation, level=level)
    assert area is not None
    assert alone.build is not None
    (expected,) = alone.build(raw.parts["area"])
    assert (area.value, area.intervals, area.parts) == (expected.value, expected.intervals, expected.parts)
    assert area.guarantee == raw.guarantee


@every_relation
def test_curve_and_number_show_one_auc_and_come_back_from_their_table(relation: str) -> None:
    raw = drawn(relation)
    curves = curves_of(Release.from_dict(json.loads(json.dumps(raw.to_dict())), raw.guarantee))
    assert curves.area is not None
    assert curves.auc == curves["roc"].value == curves["auc"].value == curves.area.value
    assert curves["roc"].intervals == curves["auc"].intervals == curves.area.intervals
    assert (curves["auc"].mechanism, curves["roc"].mechanism) == ("local", "laplace")
    assert [each.to_dict() for each in curves_of(curves["counts"]).releases()] == [
        each.to_dict() for each in curves.releases()
    ]


def test_without_noise_it_is_the_exact_auc_whatever_the_cells_hide() -> None:
    curves = draw_curves(COUNTS, epsilon=1, grid="uniform:2", with_auc=True, noise=SILENT)
    assert curves.auc == pytest.approx(confide.auc_score(COUNTS), abs=1e-9)
    assert abs(draw_curves(COUNTS, epsilon=1, grid="uniform:2", noise=SILENT).auc - curves.auc) > 0.02


def test_other_wishes_are_the_same_request_and_without_it_another() -> None:
    asked: dict[str, Any] = {"epsilon": 1, "grid": "uniform:10"}
    one = prepare_curves(COUNTS, with_auc=True, **asked)
    other = prepare_curves(COUNTS, with_auc=True, level=0.8, shape="isotonic", metrics=("pr",), **asked)
    plain = prepare_curves(COUNTS, **asked)
    assert dict(one.request) == dict(other.request)
    assert dict(one.request) != dict(plain.request)
    assert "area" not in plain.request
    assert one.guarantee == plain.guarantee


def test_few_rows_take_the_rank_sum() -> None:
    """Too few rows for the local scale at the share: a fact about public numbers."""
    counts = few_values(6)
    assert drawn(counts=counts).options["area"]["mechanism"] == "rank-sum"


@pytest.mark.parametrize(
    ("metrics", "more", "says"),
    [
        ("auc", {}, "ask for roc"),
        ("roc", {"mechanism": "symmetric-binormal"}, "leave out with_auc"),
        ("roc", {"epsilon": 0}, "epsilon"),
    ],
)
def test_wrong_requests_are_refused_before_noise_is_drawn(metrics: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        prepare(metrics, COUNTS, **{"epsilon": 1, "with_auc": True, "noise": FORBIDDEN, **more})


@pytest.mark.statistical
def test_the_interval_covers_and_is_narrow_where_scores_have_few_values() -> None:
    """Of thirty releases at 95 %, fewer than 24 cover once in 1,500 runs. A third of the width covers far fewer."""
    exact, inside, twins, widths = confide.auc_score(COUNTS), 0, 0, []
    for seed in range(30):
        area = released_area(drawn(seed=seed), 0.95)
        assert area is not None
        interval = area.intervals.sample
        inside += exact in interval
        twins += abs(exact - area.value) <= interval.width / 6.0
        widths.append(interval.width)
    assert inside >= 24 > twins
    assert 3.0 * np.median(widths) < draw_curves(COUNTS, epsilon=1, noise=seeded(1)).intervals["auc"].sample.width
