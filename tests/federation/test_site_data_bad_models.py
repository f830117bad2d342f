"""Models that cannot be used are refused, and what they say stays with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from confide.errors import (
    ColumnError,
    ConfideError,
    DataError,
    FederationError,
    LabelError,
    ParameterError,
    UsageError,
)
from tests.federation.site_rows import BOTH, DATA, SECRET, config, counted, save


class Talkative:
    """A model that quotes its input when it fails."""

    classes_ = (0, 1)

    def predict_proba(self, rows: Any) -> Any:
        raise ValueError(f"cannot score {rows.tolist()} {SECRET}")


class Wordless:
    classes_ = (0, 1)


class Three:
    classes_ = (0, 1, 2)


class TestBadModels:
    @pytest.mark.parametrize(
        ("model", "error", "words"),
        [
            (Wordless(), ParameterError, "neither predict_proba nor decision_function"),
            (Three(), ParameterError, "does not have two classes"),
        ],
    )
    def test_models_that_cannot_be_used(self, folder: Path, model: Any, error: type[ConfideError], words: str) -> None:
        given = config(folder, features=("age",), model_file=save(model, folder / "m.joblib"))
        with pytest.raises(error, match=words) as caught:
            given.counts("m")
        assert "31771" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_what_a_model_says_when_it_fails_stays_with_it(self, folder: Path) -> None:
        found = config(folder, features=("age",), model_file=save(Talkative(), folder / "m.joblib")).scored("m")
        assert found.counts == counted(np.zeros(len(DATA)))
        assert found.note == (
            "the model gave no score for 400 of 400 rows (ValueError); these rows count as the lower end of the range"
        )
        assert "ValueError" not in repr(found)

    @pytest.mark.parametrize("maps", [True, False])
    def test_an_onnx_model_of_three_classes_is_refused_before_it_gets_rows(self, folder: Path, maps: bool) -> None:
        from skl2onnx import to_onnx

        rows = DATA[BOTH].to_numpy(np.float32)
        model = LogisticRegression().fit(rows, np.arange(len(rows)) % 3)
        exported = to_onnx(model, rows[:1], options={id(model): {"zipmap": maps}})
        (folder / "m.onnx").write_bytes(exported.SerializeToString())
        (folder / "none.csv").write_text("age,marker,event\n")
        with pytest.raises(ParameterError, match="does not have two classes"):
            config(folder, data="none.csv", features=tuple(BOTH), model_file="m.onnx").counts("m")

    def test_other_features_than_those_of_training(self, folder: Path) -> None:
        model = LogisticRegression().fit(DATA[BOTH], DATA["event"])
        file = save(model, folder / "m.joblib")
        with pytest.raises(ParameterError, match="not those that the model was trained with: 'age', 'marker'"):
            config(folder, features=("age", "risk"), model_file=file).counts("m")
        model = LogisticRegression().fit(DATA[BOTH].to_numpy(), DATA["event"])
        save(model, folder / "m.joblib")
        with pytest.raises(ParameterError, match=r"trained with 2 features, but site\.toml names 1"):
            config(folder, features=("age",), model_file=file).counts("m")

    @pytest.mark.parametrize("name", ["m.joblib", "m.onnx"])
    def test_damaged_files(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(b"31771 is no model")
        with pytest.raises(DataError, match="the model file cannot be opened") as caught:
            config(folder, features=("age",), model_file=name).counts("m")
        assert "31771" not in str(caught.value)

    def test_files_that_are_elsewhere_absent_or_of_another_kind(self, folder: Path) -> None:
        inside = folder / "site"
        inside.mkdir()
        model = LogisticRegression().fit(DATA[BOTH], DATA["event"])
        save(model, folder / "m.joblib")
        (inside / "link.joblib").symlink_to(folder / "m.joblib")
        for outside in ("../m.joblib", "link.joblib"):
            with pytest.raises(ParameterError, match="leaves the site's folder"):
                config(inside, data="../rows.csv", features=tuple(BOTH), model_file=outside).counts("m")
        absolute = str(folder / "m.joblib")
        assert config(inside, data="../rows.csv", features=tuple(BOTH), model_file=absolute).counts("m")
        with pytest.raises(UsageError, match="there is no model file"):
            config(folder, features=("age",), model_file="absent.onnx").counts("m")
        with pytest.raises(UsageError, match="the ending of a model file"):
            config(folder, features=("age",), model_file="rows.csv").counts("m")

    def test_a_program_that_everybody_may_change_is_not_run(self, folder: Path) -> None:
        file = save(Wordless(), folder / "m.joblib")
        (folder / file).chmod(0o666)
        with pytest.raises(FederationError, match="everybody may change"):
            config(folder, features=("age",), model_file=file).counts("m")

    def test_missing_labels_and_columns_are_said_as_for_every_source(self, folder: Path) -> None:
        file = save(LogisticRegression().fit(DATA[BOTH], DATA["event"]), folder / "m.joblib")
        rows = [{"age": 1.0, "marker": 2.0, "event": None}, {"age": 3.0, "marker": 1.0, "event": 1}]
        (folder / "d.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        with pytest.raises(LabelError, match="missing"):
            config(folder, data="d.jsonl", features=tuple(BOTH), model_file=file).counts("m")
        with pytest.raises(ColumnError, match="Did you mean 'event'"):
            config(folder, label="evnt", features=tuple(BOTH), model_file=file).counts("m")
