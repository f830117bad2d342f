"""Models that a site runs itself: scores are those that the libraries give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.federation.site_rows import BOTH, DATA, config, counted, same_rows, save


class TestModelsRunHere:
    """Counts must be those of scikit-learn's own scores."""

    @pytest.mark.few(1)
    @pytest.mark.parametrize("ending", ["joblib", "pkl"])
    @pytest.mark.parametrize("named", [True, False])
    def test_scikit_learn_s_probabilities(self, folder: Path, ending: str, named: bool) -> None:
        rows = DATA[BOTH] if named else DATA[BOTH].to_numpy()
        model = LogisticRegression().fit(rows, DATA["event"])
        listed = ("marker", "age") if named else ("age", "marker")  # by name the order does not matter
        given = config(folder, features=listed, model_file=save(model, folder / f"model.{ending}"))
        same_rows(given.counts("m"), model.predict_proba(rows)[:, 1])

    def test_a_pipeline_of_words_and_numbers(self, folder: Path) -> None:
        steps = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
        model = make_pipeline(steps, RandomForestClassifier(5, random_state=0))
        model.fit(DATA[["sex", "age"]], DATA["event"])
        found = config(folder, features=("sex", "age"), model_file=save(model, folder / "m.joblib")).counts("m")
        assert found == counted(model.predict_proba(DATA[["sex", "age"]])[:, 1])

    @pytest.mark.long
    def test_without_probabilities_the_decision_function(self, folder: Path) -> None:
        model = RidgeClassifier().fit(DATA[BOTH], DATA["died"])
        own = model.decision_function(DATA[BOTH])
        file = save(model, folder / "m.joblib")
        for label, positive, sign in (("died", "yes", 1), ("died", "no", -1), ("event", None, 1)):
            given = {"label": label, "positive": positive, "features": tuple(BOTH), "model_file": file}
            found = config(folder, range=(-100.0, 100.0), **given).counts("m")
            same_rows(found, sign * own, DATA["event"] if sign == 1 else 1 - DATA["event"])

    @pytest.mark.long
    def test_which_class_is_the_positive_one(self, folder: Path) -> None:
        """By the label that is called positive, where the model knows it; else the second class."""
        model = LogisticRegression().fit(DATA[BOTH], DATA["died"])
        file, proba = save(model, folder / "m.joblib"), model.predict_proba(DATA[BOTH])
        assert list(model.classes_) == ["no", "yes"]
        for label, positive, column in (("died", "yes", 1), ("died", "no", 0), ("event", None, 1), ("event", 1, 1)):
            found = config(folder, label=label, positive=positive, features=tuple(BOTH), model_file=file).counts("m")
            same_rows(found, proba[:, column], DATA["event"] if column == 1 else 1 - DATA["event"])

    @pytest.mark.parametrize("maps", [True, False])
    @pytest.mark.parametrize("columns", [True, False])
    def test_onnx(self, folder: Path, maps: bool, columns: bool) -> None:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType

        if columns:  # one input for each column, as exports of pipelines have them
            model = make_pipeline(make_column_transformer(("passthrough", BOTH)), LogisticRegression())
            model.fit(DATA[BOTH], DATA["event"])
            types = [(name, FloatTensorType([None, 1])) for name in BOTH]
        else:
            model = RandomForestClassifier(3, random_state=0).fit(DATA[BOTH].to_numpy(np.float32), DATA["event"])
            types = [("input", FloatTensorType([None, 2]))]
        options = {id(model.steps[-1][1] if columns else model): {"zipmap": maps}}
        exported = convert_sklearn(model, initial_types=types, options=options)
        (folder / "m.onnx").write_bytes(exported.SerializeToString())
        found = config(folder, features=tuple(BOTH), model_file="m.onnx").counts("m")
        given = DATA[BOTH].astype(np.float32)
        wanted = model.predict_proba(given if columns else given.to_numpy())[:, 1]
        same_rows(found, wanted, atol=1e-5)

    def test_onnx_of_words_picks_the_class_by_its_name(self, folder: Path) -> None:
        from skl2onnx import to_onnx

        model = LogisticRegression().fit(DATA[BOTH].to_numpy(np.float32), DATA["died"])
        (folder / "m.onnx").write_bytes(to_onnx(model, DATA[BOTH].to_numpy(np.float32)[:1]).SerializeToString())
        proba = model.predict_proba(DATA[BOTH].to_numpy(np.float32))
        for positive, column in (("yes", 1), ("no", 0)):
            found = config(folder, label="died", positive=positive, features=tuple(BOTH), model_file="m.onnx").counts(
                "m"
            )
            same_rows(found, proba[:, column], DATA["event"] if column == 1 else 1 - DATA["event"], atol=1e-5)

    def test_rows_are_scored_in_batches_in_their_order(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        model = LogisticRegression().fit(DATA[BOTH], DATA["event"])
        given = config(folder, features=tuple(BOTH), model_file=save(model, folder / "m.joblib"))
        monkeypatch.setattr("confide.federation.site.scored_rows._BATCH_ROWS", 37)
        same_rows(given.counts("m"), model.predict_proba(DATA[BOTH])[:, 1])
