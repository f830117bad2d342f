"""Nobody's score tells of anybody else's row: other rows are removed, replaced and reordered, and no bit changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_array
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from confide import ScoreCounts
from confide.federation.site.config import SiteConfig, SiteModel
from confide.federation.site.scored_rows import _frame_of_one
from confide.learning.linear_model import LinearModel
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours

ROWS, WIDTH = 300, 37
X = np.random.default_rng(0).normal(size=(ROWS, WIDTH))
WEIGHTS = np.random.default_rng(1).normal(size=WIDTH)
Y = (X @ WEIGHTS + np.random.default_rng(2).normal(size=ROWS) > 0).astype(int)
NAMES = tuple(f"x{k}" for k in range(WIDTH))


def linear_model() -> LinearModel:
    return LinearModel(
        kind="logistic-regression",
        features=tuple(range(WIDTH)),
        weights=tuple(map(float, WEIGHTS)),
        intercept=0.1,
        width=WIDTH,
        guarantee=Guarantee(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE_ONE),
    )


def shuffled_coo(rows: Any) -> Any:
    """Store the entries of a sparse matrix in any order."""
    packed = coo_array(rows)
    order = np.random.default_rng(len(rows)).permutation(packed.nnz)
    return coo_array((packed.data[order], tuple(axis[order] for axis in packed.coords)), shape=packed.shape)


def unsorted_csr(rows: Any) -> Any:
    """Store each row from its last column to its first."""
    packed = csr_array(np.ascontiguousarray(rows[:, ::-1]))
    return csr_array((packed.data, rows.shape[1] - 1 - packed.indices, packed.indptr), shape=rows.shape)


FORMATS: dict[str, Callable[[Any], Any]] = {
    "dense": np.asarray,
    "by column": np.asfortranarray,
    "frame": pd.DataFrame,
    "CSR": csr_array,
    "CSC": csc_array,
    "COO": shuffled_coo,
    "unsorted CSR": unsorted_csr,
}


@pytest.mark.parametrize("stored", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("method", ["decision", "probabilities"])
def test_a_linear_model_scores_each_row_by_itself(stored: Callable[[Any], Any], method: str) -> None:
    score = getattr(linear_model(), method)
    whole = score(stored(X))
    np.testing.assert_allclose(linear_model().decision(stored(X)), X @ WEIGHTS + 0.1, rtol=1e-12, atol=1e-12)
    assert np.array_equal(whole, score(csr_array(X)))
    for size in (1, 2, 3, 7, 8, 64, ROWS - 1):
        for first in range(0, ROWS, max(size, 10)):
            assert np.array_equal(score(stored(X[first : first + size])), whole[first : first + size])
    order = np.random.default_rng(3).permutation(ROWS)
    assert np.array_equal(score(stored(X[order])), whole[order])
    assert np.array_equal(score(stored(X[::2])), whole[::2])


def test_sparse_rows_have_the_scores_of_dense_ones() -> None:
    sparse = np.where(np.random.default_rng(4).random(X.shape) < 0.2, X, 0.0)
    assert np.array_equal(linear_model().decision(sparse), linear_model().decision(csr_array(sparse)))


class Mixing:
    """A model that subtracts the batch's mean, as standardising inside a model does."""

    classes_ = (0, 1)

    def predict_proba(self, rows: Any) -> Any:
        linear = (np.asarray(rows) - np.asarray(rows).mean(axis=0)) @ WEIGHTS + np.asarray(rows)[:, 0]
        risk = 1.0 / (1.0 + np.exp(-linear))
        return np.column_stack((1.0 - risk, risk))


class Placed:
    """A model that looks at what must not matter: a row's index, its types and its place in memory."""

    classes_ = (0, 1)
    feature_names_in_ = NAMES

    def predict_proba(self, rows: Any) -> Any:
        strides = sum(rows.to_numpy().strides) if len(rows) == 1 else 0
        kinds = sum(ord(str(kind)[0]) for kind in rows.dtypes)
        risk = 1.0 / (2.0 + rows.index.to_numpy() + strides + kinds)
        return np.column_stack((1.0 - risk, risk))


def save_onnx(path: Path) -> None:
    """Write a graph that subtracts the batch's mean before it adds up."""
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(WEIGHTS.astype(np.float32).reshape(-1, 1), "weights")
    axes = numpy_helper.from_array(np.array([0], dtype=np.int64), "axes")
    nodes = [
        helper.make_node("ReduceMean", ["rows", "axes"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["rows", "mean"], ["centred"]),
        helper.make_node("Add", ["centred", "rows"], ["both"]),
        helper.make_node("MatMul", ["both", "weights"], ["linear"]),
        helper.make_node("Sigmoid", ["linear"], ["probability"]),
    ]
    given = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, WIDTH])
    found = helper.make_tensor_value_info("probability", TensorProto.FLOAT, [None, 1])
    graph = helper.make_graph(nodes, "mixing", [given], [found], [weights, axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path.write_bytes(model.SerializeToString())


MODELS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression().fit(X, Y),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, Y),
    "forest on threads": lambda: RandomForestClassifier(7, n_jobs=2, random_state=0).fit(X, Y),
    "mixing": Mixing,
    "placed": Placed,
}


@pytest.fixture(params=[*MODELS, "mixing ONNX"])
def counted(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pd.DataFrame], ScoreCounts]:
    """Return what counts a site's rows with a model."""
    if request.param in MODELS:
        joblib.dump(MODELS[request.param](), tmp_path / "model.joblib")
    else:
        save_onnx(tmp_path / "model.onnx")
    (file,) = tmp_path.glob("model.*")
    model = SiteModel(data="rows.parquet", label="y", features=NAMES, model_file=file.name)
    config = SiteConfig(name="a", models={"m": model}, folder=tmp_path)

    def count(rows: pd.DataFrame) -> ScoreCounts:
        rows.to_parquet(tmp_path / "rows.parquet")
        return config.counts("m")

    return count


def site_rows(count: int = 60) -> pd.DataFrame:
    return pd.DataFrame(X[:count], columns=list(NAMES)).assign(y=Y[:count])


def changed_rows(one: ScoreCounts, other: ScoreCounts) -> int:
    """Count the rows of one that are not among the other's, and the reverse."""
    scores = np.union1d(one.scores, other.scores)
    tables = np.zeros((2, 2, scores.size), dtype=np.int64)
    for table, counts in zip(tables, (one, other), strict=True):
        table[:, np.searchsorted(scores, counts.scores)] = counts.positives, counts.negatives
    return int(np.abs(tables[0] - tables[1]).sum())


@pytest.mark.parametrize("kinds", [float, object])
def test_the_frame_of_one_row_does_not_tell_how_many_rows_there_are(kinds: type) -> None:
    frames = [pd.DataFrame(np.ones((rows, WIDTH)), columns=list(NAMES), dtype=kinds) for rows in (3, 300)]
    few, many = (_frame_of_one(frame, 1) for frame in frames)
    assert few.to_numpy().strides == many.to_numpy().strides
    assert [few[name].to_numpy().strides for name in NAMES] == [many[name].to_numpy().strides for name in NAMES]
    assert list(few.dtypes) == list(many.dtypes)
    assert few.index.equals(many.index)


@pytest.mark.few(1)
def test_at_a_site_one_row_more_or_less_changes_one_count(counted: Callable[[pd.DataFrame], ScoreCounts]) -> None:
    rows = site_rows()
    whole = counted(rows)
    for gone in (0, 17, 59):
        assert changed_rows(whole, counted(rows.drop(index=gone))) == 1
    for size in (1, 2, 8):
        assert changed_rows(whole, counted(rows[:size])) == len(rows) - size


def test_at_a_site_a_replaced_row_changes_its_own_counts(counted: Callable[[pd.DataFrame], ScoreCounts]) -> None:
    rows = site_rows()
    other = rows.copy()
    other.loc[0, list(NAMES)] = 40.0 * X[100]
    assert changed_rows(counted(rows), counted(other)) <= 2


@pytest.mark.few(1)
def test_at_a_site_order_and_repetition_change_no_score(counted: Callable[[pd.DataFrame], ScoreCounts]) -> None:
    rows = site_rows()
    whole = counted(rows)
    assert changed_rows(whole, counted(rows.sample(frac=1.0, random_state=1))) == 0
    twice = counted(pd.concat((rows, rows[::-1])))
    assert twice.scores.tolist() == whole.scores.tolist()
    assert twice.positives.tolist() == (2 * whole.positives).tolist()


def site_counts(folder: Path, model: Any, rows: pd.DataFrame, features: tuple[str, ...]) -> ScoreCounts:
    joblib.dump(model, folder / "m.joblib")
    rows.to_parquet(folder / "rows.parquet")
    held = SiteModel(data="rows.parquet", label="y", features=features, model_file="m.joblib")
    return SiteConfig(name="a", models={"m": held}, folder=folder).counts("m")


def test_a_value_that_another_row_misses_changes_no_type(tmp_path: Path) -> None:
    """Numbers are floats for a model, missing ones too: pandas alone would decide by the other rows."""
    rows = site_rows(20).assign(x0=pd.array(range(20), dtype="Int64"))
    missing = rows.copy()
    missing.loc[3, "x0"] = pd.NA
    found = [site_counts(tmp_path, Placed(), each, NAMES) for each in (rows, missing)]
    assert changed_rows(*found) == 0


class Reciprocal:
    """A model that tells 0 from minus 0."""

    classes_ = (0, 1)

    def predict_proba(self, rows: Any) -> Any:
        risk = np.where(np.signbit(np.asarray(rows)[:, 0]), 0.25, 0.75)
        return np.column_stack((1.0 - risk, risk))


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_minus_zero_is_a_row_of_its_own(tmp_path: Path, first: float) -> None:
    rows = pd.DataFrame({"x": [first, -first], "y": [1, 0]})
    assert site_counts(tmp_path, Reciprocal(), rows, ("x",)).scores.tolist() == [0.25, 0.75]
