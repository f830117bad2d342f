"""What a site validates with: files and models as its configuration names them, counted like any other source."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from confide import ScoreCounts
from confide.errors import (
    ColumnError,
    ConfideError,
    DataError,
    FederationError,
    LabelError,
    ParameterError,
    RefusedError,
    ScoreError,
    UnreadableError,
    UsageError,
)
from confide.federation.site.data import SiteConfig, SiteModel

pytestmark = pytest.mark.slow

SECRET = 31771.25
"""A value in the data that must be in no message."""


def frame(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age, marker = rng.normal(60, 10, rows), rng.normal(size=rows)
    risk = 1 / (1 + np.exp(-(age - 60) / 10 - marker))
    died = np.where(rng.random(rows) < risk, "yes", "no")
    sex = np.where(rng.random(rows) < 0.5, "f", "m")
    return pd.DataFrame(
        {"age": age, "marker": marker, "sex": sex, "risk": risk, "died": died, "event": (died == "yes").astype(int)}
    )


DATA = frame()
BOTH = ["age", "marker"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    DATA.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def config(folder: Path, **model: Any) -> SiteConfig:
    return SiteConfig(
        name="hospital-a", models={"m": SiteModel(**{"data": "rows.csv", "label": "event", **model})}, folder=folder
    )


def counted(scores: Any, labels: Any = DATA["event"]) -> ScoreCounts:
    return ScoreCounts.from_arrays(np.asarray(labels), np.asarray(scores, dtype=np.float64))


def same_rows(found: ScoreCounts, scores: Any, labels: Any = DATA["event"], *, atol: float = 1e-12) -> None:
    """Compare row by row, as scores that are equal in one library may differ in the last digit in another."""
    for counts, label in ((found.positives, 1), (found.negatives, 0)):
        wanted = np.sort(np.asarray(scores)[np.asarray(labels) == label])
        np.testing.assert_allclose(np.repeat(found.scores, counts), wanted, rtol=0, atol=atol)


class TestConfiguration:
    def test_what_is_written_is_read_again(self, tmp_path: Path) -> None:
        whole = SiteConfig(
            name="St. Mary",
            models={
                "by column": SiteModel(data="a b.csv", label='the "label"', positive="ja", score="Größe\\x"),
                "run here": SiteModel(
                    data="/x/y.parquet", label="y", positive=1, features=("a", "b"), text=("b",), model_file="m.onnx"
                ),
            },
            folder=tmp_path,
        )
        whole.write(tmp_path)
        assert SiteConfig.load(tmp_path) == whole
        assert (tmp_path / "site.toml").stat().st_mode & 0o777 == 0o600
        more = whole.with_model("third", SiteModel(data="d.csv", label="y", score="s"))
        more.write(tmp_path)
        assert list(SiteConfig.load(tmp_path).models) == ["by column", "run here", "third"]
        assert [path.name for path in tmp_path.iterdir()] == ["site.toml"]

    def test_another_name_refers_to_an_entry(self, folder: Path) -> None:
        both = config(folder, score="risk").with_alias("n", "m")
        both.write(folder)
        read = SiteConfig.load(folder)
        assert read == both
        assert (read.names, read.model("n"), read.source("n")) == (("m", "n"), read.model("m"), read.source("m"))
        assert read.counts("n") == read.counts("m")
        assert both.with_alias("o", "n").aliases == {"n": "m", "o": "m"}
        assert both.with_model("n", SiteModel(data="rows.csv", label="event", score="marker")).aliases == {}
        assert list(
            both.with_model("o", SiteModel(data="d.csv", label="y", score="s")).with_alias("o", "m").models
        ) == ["m"]
        with pytest.raises(ParameterError, match="said to be the same as 'gone'"):
            SiteConfig(name="a", models=both.models, aliases={"n": "gone"})
        with pytest.raises(ParameterError, match="no key 'data'"):
            SiteConfig.from_toml('[site]\nname = "a"\n[models.x]\nsame_as = "m"\ndata = "d"', folder)

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ({"score": "risk"}, {"score": "risk", "label": "died", "positive": "yes"}, True),
            ({"score": "risk"}, {"score": "risk", "range": (0.0, 2.0)}, True),
            ({"score": "risk"}, {"score": "risk", "data": "sub/../rows.csv"}, True),
            ({"score": "risk"}, {"score": "risk", "data": "absent.csv"}, False),
            ({"score": "risk"}, {"score": "marker"}, False),
            (
                {"features": ("a", "b"), "model_file": "m.onnx"},
                {"features": ("b", "a"), "model_file": "./m.onnx"},
                True,
            ),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"features": ("a",), "model_file": "m.onnx"}, False),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"features": ("a", "b"), "model_file": "n.onnx"}, False),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"score": "risk"}, False),
        ],
    )
    def test_the_same_rows_and_scores_have_one_entry(
        self, folder: Path, one: dict[str, Any], other: dict[str, Any], same: bool
    ) -> None:
        (folder / "sub").mkdir()
        first = config(folder, **one)
        second = SiteModel(**{"data": "rows.csv", "label": "event", **other})
        if not same:
            assert first.with_model("n", second).source("n") != first.source("m")
            return
        with pytest.raises(ParameterError, match=r"'m' and 'n' have the same rows and scores.*same_as = .m."):
            first.with_model("n", second)
        assert SiteConfig(name="a", models={"n": second}, folder=folder).source("n") == first.source("m")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "[site] needs a name"),
            ('[site]\nname = "a/b"', "the name of a site is"),
            ('[site]\nname = "a"\nnmae = 1', "no key 'nmae'. Did you mean 'name'"),
            ('[site]\nname = "a"\n[model.x]\ndata = "d"', "no key 'model'. Did you mean 'models'"),
            ('[site]\nname = "a"\n[models.x]\nlabel = "y"\nscore = "s"', '[models."x"] needs data'),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"', "give either score"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nfeatures = ["f"]', "give either score"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nmodel_file = "f.pkl"', "give either score"),
            (
                '[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = "s"\nmodel_file = "m"',
                "give either score",
            ),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = 3', "score must be a text"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = "s"\npositive = []', "positive must be"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nfeatures = "f"', "features must be a list"),
            ('[site]\nname = "a"\n[models.x]\nscroe = "s"', "no key 'scroe'. Did you mean 'score'"),
            ('[site]\nname = "a"\n[models]\nx = 3', '[models."x"] must be a table'),
            ("[site\n", "not valid TOML in line 1"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, text: str, words: str) -> None:
        (tmp_path / "site.toml").write_text(text)
        with pytest.raises(ParameterError, match=re.escape(words)):
            SiteConfig.load(tmp_path)

    def test_a_folder_without_one_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(FederationError, match=r"no site configuration at .*confide site init"):
            SiteConfig.load(tmp_path)
        with pytest.raises(FederationError, match="cannot be written"):
            SiteConfig(name="a").write(tmp_path / "absent")

    def test_an_unknown_model_is_refused_by_its_name(self, folder: Path) -> None:
        with pytest.raises(RefusedError, match=r"no model 'mm'; ask its administrator"):
            config(folder, score="risk").counts("mm")
        with pytest.raises(RefusedError, match=r"no model .m.; ask"):
            SiteConfig(name="a").counts("m")


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

    @pytest.mark.slow
    def test_a_million_rows_take_seconds(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(3)
        scores, labels = rng.random(1_000_000), rng.integers(0, 2, 1_000_000)
        pd.DataFrame({"event": labels, "risk": scores}).to_parquet(tmp_path / "rows.parquet")
        start = time.process_time()  # of all threads, whatever else the machine does
        found = config(tmp_path, data="rows.parquet", score="risk").counts("m")
        assert time.process_time() - start < 8.0
        assert found.total_positives == labels.sum()


def save(model: Any, path: Path) -> str:
    joblib.dump(model, path)
    return path.name


class TestModelsRunHere:
    """Counts must be those of scikit-learn's own scores."""

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

    def test_without_probabilities_the_decision_function(self, folder: Path) -> None:
        model = RidgeClassifier().fit(DATA[BOTH], DATA["died"])
        own = model.decision_function(DATA[BOTH])
        file = save(model, folder / "m.joblib")
        for label, positive, sign in (("died", "yes", 1), ("died", "no", -1), ("event", None, 1)):
            given = {"label": label, "positive": positive, "features": tuple(BOTH), "model_file": file}
            found = config(folder, range=(-100.0, 100.0), **given).counts("m")
            same_rows(found, sign * own, DATA["event"] if sign == 1 else 1 - DATA["event"])

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
        monkeypatch.setattr("confide.federation.site.feature_frames._BATCH_ROWS", 37)
        same_rows(given.counts("m"), model.predict_proba(DATA[BOTH])[:, 1])


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
