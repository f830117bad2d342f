"""Rows with a column of scores: every kind of file is counted alike, and bad data are refused unseen."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from confide import ScoreCounts
from confide.errors import (
    ColumnError,
    ConfideError,
    LabelError,
    ScoreError,
    UnreadableError,
    UsageError,
)
from tests.federation.site_rows import DATA, SECRET, config, counted, save


class TestScoreColumns:
    @pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
    def test_every_kind_of_file_is_counted_alike(self, folder: Path, ending: str) -> None:
        if ending == "parquet":
            DATA.to_parquet(folder / "d.parquet")
        elif ending == "jsonl":
            DATA.to_json(folder / "d.jsonl", orient="records", lines=True, double_precision=15)
        else:
            DATA.to_csv(folder / f"d.{ending}", index=False)
        found = config(folder, data=f"d.{ending}", score="risk").counts("m")
        wanted = counted(DATA["risk"])
        np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-14)
        assert (found.positives == wanted.positives).all()

    def test_labels_may_be_words_and_paths_absolute(self, folder: Path) -> None:
        data = str(folder / "rows.csv")
        found = config(folder / "elsewhere", data=data, label="died", positive="yes", score="risk").counts("m")
        assert found == counted(DATA["risk"])

    def test_that_a_class_is_absent_is_no_error(self, folder: Path) -> None:
        DATA[DATA["event"] == 0].to_csv(folder / "none.csv", index=False)
        found = config(folder, data="none.csv", score="risk").counts("m")
        assert (found.total_positives, found.total_negatives) == (0, (DATA["event"] == 0).sum())

    @pytest.mark.parametrize(
        ("change", "model", "error"),
        [
            ({}, {"data": "absent.csv"}, UsageError),
            ({}, {"score": "riks"}, ColumnError),
            ({}, {"label": "evnt"}, ColumnError),
            ({"risk": [np.nan, SECRET]}, {}, ScoreError),
            ({"event": [SECRET, 2]}, {}, LabelError),
            ({"event": [None, SECRET]}, {}, LabelError),
            ({"risk": ["31771.25x", "y"]}, {}, ScoreError),
        ],
    )
    def test_bad_data_are_refused_without_showing_them(
        self, folder: Path, change: dict[str, list[Any]], model: dict[str, Any], error: type[ConfideError]
    ) -> None:
        bad = DATA.astype(dict.fromkeys(change, object))
        for column, values in change.items():
            bad.loc[:1, column] = values
        bad.to_csv(folder / "rows.csv", index=False)
        with pytest.raises(error) as caught:
            config(folder, **{"score": "risk", **model}).counts("m")
        assert "31771" not in str(caught.value)

    @pytest.mark.parametrize("by", [{"score": "risk"}, {"features": ("age",), "model_file": "m.joblib"}])
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("d.csv", b"age,risk,event\n"),
            ("d.csv.gz", gzip.compress(b"age,risk,event\n", mtime=0)),
            ("d.jsonl", b""),
            ("d.jsonl", b"\n"),
            ("d.jsonl.gz", gzip.compress(b"", mtime=0)),
            ("d.json", b"[]"),
            ("d.parquet", None),
        ],
    )
    def test_that_there_are_no_rows_is_no_error(
        self, folder: Path, by: dict[str, Any], name: str, content: bytes | None
    ) -> None:
        save(LogisticRegression().fit(DATA[["age"]], DATA["event"]), folder / "m.joblib")
        if content is None:
            DATA[:0].to_parquet(folder / name)
        else:
            (folder / name).write_bytes(content)
        assert config(folder, data=name, **by).counts("m") == ScoreCounts.empty()

    def test_a_damaged_file_is_refused(self, folder: Path) -> None:
        (folder / "rows.csv").write_bytes(b"")
        with pytest.raises(UnreadableError, match="empty"):
            config(folder, score="risk").counts("m")

    def test_a_million_rows_take_seconds(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(3)
        scores, labels = rng.random(1_000_000), rng.integers(0, 2, 1_000_000)
        pd.DataFrame({"event": labels, "risk": scores}).to_parquet(tmp_path / "rows.parquet")
        start = time.process_time()  # of all threads, whatever else the machine does
        found = config(tmp_path, data="rows.parquet", score="risk").counts("m")
        assert time.process_time() - start < 8.0
        assert found.total_positives == labels.sum()
