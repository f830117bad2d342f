"""Aneurysmal subarachnoid haemorrhage: values that R's pROC asserts in its own test suite."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide import ScoreCounts

TOLERANCE = 1e-10
MARKERS = ("wfns", "s100b", "ndka")
Columns = dict[str, NDArray[np.float64]]


@pytest.fixture(scope="module")
def patients(shared_data: Path) -> tuple[list[str], Columns]:
    with gzip.open(shared_data / "aSAH.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["outcome"] for row in rows], {name: np.array([float(row[name]) for row in rows]) for name in MARKERS}


@pytest.fixture(scope="module")
def counts(patients: tuple[list[str], Columns]) -> dict[str, ScoreCounts]:
    outcome, markers = patients
    return {name: ScoreCounts.from_arrays(outcome, values, positive="Poor") for name, values in markers.items()}


@pytest.mark.parametrize(
    ("marker", "auc", "variance"),
    [
        ("s100b", 0.731368563685637, 0.00266868245717244),
        ("wfns", 0.823678861788618, 0.00146991470882363),
        ("ndka", 0.611957994579946, 0.0031908105493913),
    ],
)
def test_auc_and_delong_variance(counts: dict[str, ScoreCounts], marker: str, auc: float, variance: float) -> None:
    assert confide.auc_score(counts[marker]) == pytest.approx(auc, abs=TOLERANCE)
    assert confide.intervals.delong_variance(counts[marker]) == pytest.approx(variance, abs=TOLERANCE)
    summary = confide.intervals.rank_summary(counts[marker])
    assert (summary.auc, summary.auc_variance) == pytest.approx((auc, variance), abs=TOLERANCE)


def test_delong_interval_without_transformation(counts: dict[str, ScoreCounts]) -> None:
    interval = confide.delong_interval(counts["ndka"], transform="none")
    assert (interval.lower, interval.upper) == pytest.approx((0.501244999271703, 0.722670989888189), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("first", "second", "z", "p_value", "lower", "upper"),
    [
        ("wfns", "s100b", 2.20898359144091, 0.0271757822291882, 0.0104061769564846, 0.174214419249478),
        ("wfns", "ndka", 2.79777591868904, 0.00514557970691098, 0.0634011709339876, 0.3600405634833566),
        ("ndka", "s100b", -1.39077002573558, 0.164295175223054, -0.2876917446341914, 0.0488706064228094),
    ],
)
def test_paired_comparison(
    patients: tuple[list[str], Columns], first: str, second: str, z: float, p_value: float, lower: float, upper: float
) -> None:
    outcome, markers = patients
    found = confide.compare_auc(outcome, markers[first], markers[second], positive="Poor")
    assert (found.z, found.p_value) == pytest.approx((z, p_value), abs=TOLERANCE)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((lower, upper), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("first", "second", "statistic", "p_value"),
    [
        ("wfns", "s100b", 1.43490640926908, 0.152825378808796),
        ("wfns", "ndka", 3.10125096778969, 0.00220950791756457),
        ("ndka", "s100b", -1.55995743389685, 0.120192832430845),
    ],
)
def test_unpaired_comparison(
    counts: dict[str, ScoreCounts], first: str, second: str, statistic: float, p_value: float
) -> None:
    found = confide.intervals.compare_auc_unpaired(counts[first], counts[second])
    assert (found.z, found.p_value) == pytest.approx((statistic, p_value), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("marker", "between", "area", "corrected"),
    [
        ("wfns", (0.9, 1.0), 0.0334417344173442, 0.649693339038653),
        ("wfns", (0.8, 0.9), 0.0598373983739837, 0.763749402199904),
        ("wfns", (0.0, 0.5), 0.488134475939354, 0.952537903757416),
        ("ndka", (0.9, 1.0), 0.0107046070460705, 0.530024247610897),
        ("ndka", (0.8, 0.9), 0.0277777777777778, 0.575163398692811),
        ("ndka", (0.0, 0.5), 0.416836043360434, 0.667344173441734),
        ("ndka", (0.0, 1.0), 0.611957994579946, 0.611957994579946),
    ],
)
def test_partial_auc_over_specificities(
    counts: dict[str, ScoreCounts], marker: str, between: tuple[float, float], area: float, corrected: float
) -> None:
    found = [
        confide.metrics.partial_auc_score(counts[marker], specificity=between, corrected=flag) for flag in (False, True)
    ]
    assert found == pytest.approx([area, corrected], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("marker", "between", "area", "corrected"),
    [
        ("wfns", (0.9, 1.0), 0.0400999322493225, 0.68473648552275),
        ("wfns", (0.8, 0.9), 0.0609953703703703, 0.770561002178649),
        ("wfns", (0.0, 0.5), 0.483358739837398, 0.933434959349593),
        ("ndka", (0.8, 0.9), 0.0242547425474255, 0.554439662043679),
        ("ndka", (0.0, 0.5), 0.428523035230352, 0.714092140921409),
        ("ndka", (0.0, 1.0), 0.611957994579946, 0.611957994579946),
    ],
)
def test_partial_auc_over_sensitivities(
    counts: dict[str, ScoreCounts], marker: str, between: tuple[float, float], area: float, corrected: float
) -> None:
    found = [
        confide.metrics.partial_auc_score(counts[marker], sensitivity=between, corrected=flag) for flag in (False, True)
    ]
    assert found == pytest.approx([area, corrected], abs=TOLERANCE)


def test_the_default_part_is_specificity_from_nine_tenths(counts: dict[str, ScoreCounts]) -> None:
    assert confide.metrics.partial_auc_score(counts["ndka"]) == pytest.approx(0.0107046070460705, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("marker", "integral", "davis_goadrich"),
    [("s100b", 0.686863128383769, 0.686914224671796), ("ndka", 0.476008686650573, 0.475488313206919)],
)
def test_pr_areas_against_prroc(
    counts: dict[str, ScoreCounts], marker: str, integral: float, davis_goadrich: float
) -> None:
    """pr.curve(s[poor], s[!poor]) of PRROC: auc.integral and auc.davis.goadrich."""
    found = confide.aucpr_score(counts[marker], estimator="interpolated_thresholds")
    assert found == pytest.approx(integral, abs=TOLERANCE)
    assert confide.aucpr_score(counts[marker], estimator="davis_goadrich") == pytest.approx(
        davis_goadrich, abs=TOLERANCE
    )
