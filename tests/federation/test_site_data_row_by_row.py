"""Rows are read and scored by themselves: another row changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.errors import (
    ParameterError,
)
from confide.federation.site.config import SiteModel
from tests.federation.site_rows import config, save


class TestEachRowByItself:
    """What a model is given for one row, and so its score, does not depend on the other rows."""

    ROWS = ("1,0.2,f,0", "2,0.4,m,1", "1,0.6,f,1", "2,0.1,m,0")

    def seen(self, folder: Path, rows: Sequence[str], **model: Any) -> list[list[Any]]:
        """All rows that the model was given, each by itself, sorted as text."""
        (folder / "codes.csv").write_text("\n".join(["code,risk,sex,event", *rows]) + "\n")
        (folder / "seen.json").unlink(missing_ok=True)
        file = save(Noting(folder / "seen.json"), folder / "m.joblib")
        config(folder, data="codes.csv", features=("code", "risk", "sex"), model_file=file, **model).counts("m")
        found = [json.loads(line) for line in (folder / "seen.json").read_text().splitlines()]
        return sorted(found, key=repr)

    @pytest.mark.parametrize("other", ["A,0.3,f,1", ",0.3,f,1", "1.5,,1,0", "007,1e-1,,0", "true,0.5,#1,1"])
    @pytest.mark.parametrize("text", [(), ("code",)], ids=["numbers", "text"])
    def test_another_row_changes_nothing(self, tmp_path: Path, other: str, text: tuple[str, ...]) -> None:
        plain = self.seen(tmp_path, self.ROWS, text=text)
        more = self.seen(tmp_path, [*self.ROWS, other], text=text)
        assert len(more) == 5
        assert [row for row in more if row in plain] == plain
        assert [row[0] for row in plain] == (["1", "1", "2", "2"] if text else [1.0, 1.0, 2.0, 2.0])

    def test_text_that_is_listed_is_kept(self, tmp_path: Path) -> None:
        rows = self.seen(tmp_path, ["007,0.1,f,0", "1.50,0.1,f,1", ",0.1,f,1"], text=("code",))
        assert [row[0] for row in rows] == ["007", "1.50", None]

    @pytest.mark.parametrize("label", ["1", "0", "2", "yes", "1.0"])
    def test_a_third_label_is_no_error_where_the_positive_one_is_named(self, tmp_path: Path, label: str) -> None:
        for by in ({"score": "risk"}, {"features": ("risk",), "model_file": "m.joblib"}):
            save(Noting(tmp_path / "seen.json"), tmp_path / "m.joblib")
            (tmp_path / "codes.csv").write_text("\n".join(["code,risk,sex,event", *self.ROWS, f"1,0.5,f,{label}"]))
            found = config(tmp_path, data="codes.csv", positive="1", **by).counts("m")
            assert found.total_positives == (3 if label in ("1", "1.0") else 2)
            assert found.total_positives + found.total_negatives == 5

    def test_columns_that_are_listed_as_text_must_be_features(self) -> None:
        with pytest.raises(ParameterError, match="text must name columns that features names too"):
            SiteModel(data="d.csv", label="y", features=("a",), text=("b",), model_file="m.onnx")


class Noting:
    """A model that writes down what it was given; text and numbers stay apart, NaN becomes none."""

    classes_ = (0, 1)

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def predict_proba(self, rows: Any) -> Any:
        (plain,) = [[None if value != value else value for value in row] for row in rows.tolist()]
        with self.notes.open("a") as file:
            file.write(json.dumps(plain) + "\n")
        return np.full((1, 2), 0.5)
