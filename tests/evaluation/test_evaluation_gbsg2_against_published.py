"""Published values on the five servers' scores of the German Breast Cancer Study demo."""

from __future__ import annotations

from pathlib import Path

import pytest

import confide


def test_pooled_values(shared_data: Path) -> None:
    file = shared_data / "gbsg2_federated_scores.csv.gz"
    counts = confide.ScoreCounts.from_table(file, label="label", score="score")
    assert confide.auc_score(counts) == pytest.approx(0.679393481182796, abs=1e-12)
    assert confide.brier_score(counts) == pytest.approx(0.184339869255296, abs=1e-12)
    interval = confide.delong_interval(counts)
    assert (interval.lower, interval.upper) == pytest.approx((0.598171, 0.751031), abs=5e-7)


def test_servers_add_up_to_the_whole(shared_data: Path) -> None:
    import polars as pl

    frame = pl.read_csv(shared_data / "gbsg2_federated_scores.csv.gz")
    whole = confide.ScoreCounts.from_frame(frame, label="label", score="score")
    parts = [
        confide.ScoreCounts.from_frame(part, label="label", score="score") for part in frame.partition_by("server")
    ]
    assert len(parts) == 5
    assert confide.ScoreCounts.total(parts) == whole
