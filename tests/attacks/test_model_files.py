"""A model file that its sender made for an attack: it reads other files, or singles out one person."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper

from confide.counts import ScoreCounts
from confide.errors import ConfideError, ParameterError
from confide.federation.protocol import OFFER
from confide.federation.site.config import SiteConfig, SiteModel
from confide.federation.site.site import Site
from tests.federation.network import MODEL, Network
from tests.federation.site_books import logged

VICTIM, OTHER = 7.0, 8.0
"""The one feature of a person whom the model singles out, and of somebody else."""


def constant(name: str, kind: int, shape: Sequence[int], values: Sequence[float]) -> TensorProto:
    return helper.make_tensor(name, kind, shape, values)


CONSTANTS = (
    constant("victim", TensorProto.FLOAT, [1], [VICTIM]),
    constant("half", TensorProto.FLOAT, [1, 1], [0.5]),
    constant("zero", TensorProto.FLOAT, [1], [0.0]),
    constant("table", TensorProto.FLOAT, [2], [0.0, 0.0]),
    constant("many", TensorProto.INT64, [1], [300_000]),
    constant("one", TensorProto.INT64, [1], [1]),
    constant("none", TensorProto.INT64, [], [0]),
    constant("least", TensorProto.INT64, [], [-(2**63)]),
    constant("scalar", TensorProto.INT64, [], [1]),
)
IS_VICTIM = (
    helper.make_node("Equal", ["x", "victim"], ["equal"]),
    helper.make_node("Cast", ["equal"], ["flag"], to=TensorProto.INT64),
    helper.make_node("Mul", ["flag", "many"], ["number"]),
)


def saved(path: Path, nodes: Sequence[NodeProto], more: Sequence[TensorProto] = (), **model: Any) -> str:
    """Write a model with one feature, `x`, and return the name of its file."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in ("x", "probability")]
    graph = helper.make_graph(list(nodes), "graph", value[:1], value[1:], [*CONSTANTS, *more])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1), helper.make_opsetid("com.microsoft", 1)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9, **model).SerializeToString())
    return path.name


def counted(folder: Path, file: str) -> ScoreCounts:
    model = SiteModel(data="rows.csv", label="outcome", features=("x",), model_file=file)
    return SiteConfig(name="a", models={MODEL: model}, folder=folder).counts(MODEL)


def rows_of(person: float, label: int = 0) -> str:
    return f"outcome,x\n{label},{person}\n" + "".join(f"{i % 2},{i % 5}\n" for i in range(50))


def external(location: str, size: int) -> TensorProto:
    """Return weights whose bytes lie in another file."""
    weights = TensorProto(name="weights", data_type=TensorProto.UINT8, dims=[size])
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(size))):
        weights.external_data.add(key=key, value=value)
    return weights


READING = (
    helper.make_node("Cast", ["weights"], ["bytes"], to=TensorProto.FLOAT),
    helper.make_node("ReduceMean", ["bytes"], ["mean"], keepdims=0),
    helper.make_node("Mul", ["x", "zero"], ["nothing"]),
    helper.make_node("Add", ["nothing", "mean"], ["raw"]),
    helper.make_node("Sin", ["raw"], ["probability"]),
)


@pytest.mark.parametrize("location", ["rows.csv", "site.key", "../rows.csv", "*/_ORT_MEM_ADDR_/*"])
@pytest.mark.parametrize("held", ["initializer", "attribute"])
def test_weights_in_another_file_are_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, held: str
) -> None:
    """With rows for weights one person's label would change everybody's score; with the key its bytes would leave."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    (tmp_path / "site.key").write_bytes(b"a secret key of the site")
    weights = external(location, 14)
    if held == "initializer":
        saved(tmp_path / "m.onnx", READING, [weights])
    else:
        saved(tmp_path / "m.onnx", [helper.make_node("Constant", [], ["weights"], value=weights), *READING])
    with pytest.raises(ParameterError, match="save the model with its weights inside"):
        counted(tmp_path, "m.onnx")


def test_a_runtime_that_does_not_see_the_refusal_finds_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if weights elsewhere were overlooked, the folder from which the model is loaded holds nothing else."""
    from confide.federation.site import local_models as onnx_files

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onnx_files, "_check_inside", lambda _: None)
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    saved(tmp_path / "m.onnx", READING, [external("rows.csv", 14)])
    with pytest.raises(ConfideError, match="the model file cannot be opened"):
        counted(tmp_path, "m.onnx")


class Raising:
    """A model that raises an error for one person, or gives that person two scores."""

    classes_ = (0, 1)

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def predict_proba(self, rows: Any) -> Any:
        if rows[0, 0] == VICTIM:
            if self.error is None:
                return np.full((2, 2), 0.5)
            raise self.error
        return np.full((1, 2), 0.5)


LOOKUP = (*IS_VICTIM, helper.make_node("Gather", ["table", "number"], ["found"]))
"""For the victim, look up a place that the table does not have."""


@pytest.fixture
def site(tmp_path: Path) -> tuple[Site, Network]:
    network = Network.build(tmp_path, {"east": 60, "north": 70, "south": 80})
    return network.sites["east"], network


def reply(site: Site, network: Network, file: str, person: float) -> dict[str, Any]:
    """Return what a coordinator hears in round 1, less what is drawn anew each time, and its signature."""
    model = SiteModel(data="rows.csv", label="outcome", features=("x",), model_file=file)
    site.config = replace(site.config, models={MODEL: model})
    (site.folder.path / "rows.csv").write_text(rows_of(person))
    question = network.question("private", epsilon=1)
    request = {"protocol": question.protocol, "session": "0" * 32, "question": question.to_dict()}
    heard = site.reply(OFFER, request)
    return {key: value for key, value in heard.items() if key not in ("offer", "signature")}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "model",
    [Raising(ValueError("no")), Raising(ParameterError("no")), Raising(RecursionError()), Raising(None), "ONNX"],
    ids=["ValueError", "ours", "RecursionError", "two scores", "ONNX"],
)
def test_a_model_that_fails_for_one_person_does_not_tell_that_he_is_there(
    site: tuple[Site, Network], model: Any
) -> None:
    east, network = site
    if model == "ONNX":
        nodes = (*LOOKUP, helper.make_node("Add", ["found", "half"], ["probability"]))
        file = saved(east.folder.path / "m.onnx", nodes)
    else:
        joblib.dump(model, east.folder.path / (file := "m.joblib"))
    there, away = (reply(east, network, file, person) for person in (VICTIM, OTHER))
    assert there == away
    assert away["state"] == "answered"
    (east.folder.path / "rows.csv").write_text(rows_of(VICTIM))
    counts = counted(east.folder.path, file)
    assert counts.total_positives + counts.total_negatives == 51
    assert (counts.scores.tolist(), (counts.positives + counts.negatives).tolist()) == ([0.0, 0.5], [1, 50])
    lines = [json.dumps(entry) for entry in logged(east.folder)]
    assert ("1 of 51 rows" in lines[0], "1 of 51 rows" in lines[1]) == (True, False)


def test_a_model_that_fails_for_everybody_is_answered_alike_and_logged(site: tuple[Site, Network]) -> None:
    east, network = site
    joblib.dump(Everywhere(), east.folder.path / "m.joblib")
    assert reply(east, network, "m.joblib", OTHER)["state"] == "answered"
    assert "51 of 51 rows (ValueError)" in json.dumps(logged(east.folder))


class Everywhere:
    """A model that was trained with something else."""

    classes_ = (0, 1)

    def predict_proba(self, rows: Any) -> Any:
        raise ValueError(f"cannot score {rows}")


@pytest.mark.few(1)
@pytest.mark.parametrize("file", [None, "m.joblib"])
def test_a_table_without_rows_is_answered_like_one_with_a_row(site: tuple[Site, Network], file: str | None) -> None:
    east, network = site
    joblib.dump(Raising(None), east.folder.path / "m.joblib")
    by: dict[str, Any] = {"score": "x"} if file is None else {"features": ("x",), "model_file": file}
    east.config = replace(east.config, models={MODEL: SiteModel(data="rows.csv", label="outcome", **by)})
    heard: list[list[str]] = []
    for rows in ("outcome,x\n", "outcome,x\n1,0.5\n"):
        (east.folder.path / "rows.csv").write_text(rows)
        question = network.question("private", epsilon="1/4", edition=1 + len(heard))
        outcome = network.run(question)
        heard.append([report.state for report in outcome.reports])
    assert heard[0] == heard[1] == ["answered"] * 3
    assert network.spent("east") == 0.5


def body() -> GraphProto:
    """Return a step of a loop that adds 0."""
    value = helper.make_tensor_value_info
    return helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["v", "zero"], ["w"])],
        "body",
        [
            value("step", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("v", TensorProto.FLOAT, [1, 1]),
        ],
        [value("on", TensorProto.BOOL, []), value("w", TensorProto.FLOAT, [1, 1])],
    )


def branch(name: str) -> GraphProto:
    node = helper.make_node("Identity", ["half"], [name])
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1])])


node = helper.make_node
SCALAR = node("ReduceMax", ["number"], ["n"], keepdims=0)
SUM = node("ReduceSum", ["long"], ["sum"], keepdims=1)
END = node("Add", ["sum", "half"], ["probability"])
SLOW: dict[str, tuple[NodeProto, ...]] = {
    "Loop": (SCALAR, node("Loop", ["n", "", "half"], ["probability"], body=body())),
    "If": (
        node("ReduceMax", ["flag"], ["f"], keepdims=0),
        node("Cast", ["f"], ["b"], to=TensorProto.BOOL),
        node("If", ["b"], ["probability"], then_branch=branch("yes"), else_branch=branch("no")),
    ),
    "Range": (
        SCALAR,
        node("Range", ["none", "n", "scalar"], ["integers"]),
        node("Cast", ["integers"], ["long"], to=TensorProto.FLOAT),
        SUM,
        END,
    ),
    "Tile": (
        node("Add", ["number", "one"], ["times"]),
        node("Reshape", ["times", "one"], ["flat"]),
        node("Tile", ["zero", "flat"], ["long"]),
        SUM,
        END,
    ),
    "ConstantOfShape": (
        node("Reshape", ["number", "one"], ["flat"]),
        node("ConstantOfShape", ["flat"], ["long"]),
        SUM,
        END,
    ),
    "NonZero": (
        node("NonZero", ["x"], ["places"]),
        node("Cast", ["places"], ["long"], to=TensorProto.FLOAT),
        SUM,
        END,
    ),
    "CumSum": (SCALAR, node("CumSum", ["x", "n"], ["probability"])),
    "Div": (
        node("Sub", ["none", "flag"], ["minus"]),
        node("Div", ["least", "minus"], ["integer"]),
        node("Cast", ["integer"], ["probability"], to=TensorProto.FLOAT),
    ),
    "Mod": (
        node("Sub", ["none", "flag"], ["minus"]),
        node("Mod", ["least", "minus"], ["integer"]),
        node("Cast", ["integer"], ["probability"], to=TensorProto.FLOAT),
    ),
    "RandomUniformLike": (node("RandomUniformLike", ["x"], ["probability"]),),
    "Dropout": (
        node("Constant", [], ["on"], value=helper.make_tensor("on", TensorProto.BOOL, [], [True])),
        node("Dropout", ["x", "", "on"], ["probability"]),
    ),
}


@pytest.mark.parametrize("operator", SLOW)
def test_operators_whose_work_or_result_may_depend_on_more_than_the_row_s_shape_are_refused(
    tmp_path: Path, operator: str
) -> None:
    """A loop for one person alone tells in seconds that the person is there; random numbers depend on other rows.

    The least whole number divided by -1 ends the process, which then is silent.
    """
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    saved(tmp_path / "m.onnx", (*IS_VICTIM, *SLOW[operator]))
    with pytest.raises(ParameterError, match=rf"operator {operator}\b"):
        counted(tmp_path, "m.onnx")


def test_the_same_operators_are_allowed_where_they_do_the_same_for_every_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    nodes = (
        node("Shape", ["x"], ["shape"]),
        node("Mul", ["shape", "one"], ["times"]),
        node("ConstantOfShape", ["times"], ["zeros"]),
        node("Tile", ["zeros", "times"], ["long"]),
        node("ReduceSum", ["long", "one"], ["sum"], keepdims=1),
        node("Add", ["sum", "half"], ["fixed"]),
        node("Mul", ["x", "zero"], ["nothing"]),
        node("Dropout", ["nothing"], ["kept"]),
        node("Add", ["fixed", "kept"], ["sums"]),
        node("Div", ["one", "one"], ["integer"]),
        node("Cast", ["integer"], ["divisor"], to=TensorProto.FLOAT),
        node("Div", ["sums", "divisor"], ["quotient"]),
        node("Cast", ["nothing"], ["zero_of_row"], to=TensorProto.INT64),
        node("Div", ["zero_of_row", "many"], ["still_zero"]),
        node("CastLike", ["still_zero", "x"], ["fraction"]),
        node("Add", ["quotient", "fraction"], ["probability"]),
    )
    saved(tmp_path / "m.onnx", nodes)
    assert counted(tmp_path, "m.onnx").scores.tolist() == [0.5]


@pytest.mark.parametrize("domain", ["com.microsoft", "own", "ai.onnx.preview.training"])
def test_operators_that_the_standard_does_not_define_are_refused(tmp_path: Path, domain: str) -> None:
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    saved(tmp_path / "m.onnx", [node("Gelu", ["x"], ["probability"], domain=domain)])
    with pytest.raises(ParameterError, match=rf"operator {domain}\.Gelu"):
        counted(tmp_path, "m.onnx")


def test_functions_that_a_model_brings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(rows_of(OTHER))
    loop = node("Loop", ["n", "", "v"], ["w"], body=body())
    own = helper.make_function("own", "Slow", ["n", "v"], ["w"], [loop], [helper.make_opsetid("", 18)])
    nodes = (*IS_VICTIM, SCALAR, node("Slow", ["n", "half"], ["probability"], domain="own"))
    saved(tmp_path / "m.onnx", nodes, functions=[own])
    with pytest.raises(ParameterError, match="functions of its own"):
        counted(tmp_path, "m.onnx")


def test_every_operator_on_the_list_is_one_of_the_standard() -> None:
    from onnx import defs

    from confide.federation.site.local_models import _OPERATORS

    standard = {(schema.domain, schema.name) for schema in defs.get_all_schemas()}
    for domain in ("", "ai.onnx.ml"):
        assert {(domain, name) for name in _OPERATORS[domain]} <= standard


@pytest.mark.processes
def test_onnxruntime_keeps_no_identifier_and_sends_nothing(tmp_path: Path) -> None:
    """Its telemetry would tell its makers, among others, how many rows were scored."""
    saved(tmp_path / "m.onnx", [node("Sigmoid", ["x"], ["probability"])])
    home = tmp_path / "home"
    home.mkdir()
    program = (
        "import pathlib, sys; from confide.federation.site.local_models import open_session; import numpy as np;"
        "open_session(pathlib.Path(sys.argv[1])).run(None, {'x': np.zeros((1, 1), np.float32)})"
    )
    left_out = ("CI", "TF_BUILD", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_DATA_HOME")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", *left_out))}
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m.onnx")], env={**environment, "HOME": str(home)}, check=True
    )
    assert not list(home.rglob("*"))
