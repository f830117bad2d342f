"""Models that a site runs itself: scikit-learn's, saved with joblib, and ONNX files that are checked first.

An ONNX file can do more than hold weights. It can name other files to read weights from, call operators that a library
brings, loop as often as a row says, and draw random numbers, so that scores depend on earlier rows. So a file is parsed
and checked before it is run:

- All weights are in the file.
- Operators are of the standard, and on a list: their results depend on their inputs alone, and the shapes of their
  results on the shapes of their inputs.
- Inputs that decide a shape, such as how often `Tile` repeats, are computed from constants and shapes, not from rows.
- Whole numbers from a row are divided by positive constants only: dividing the least one by -1 ends the process.

The number of operations is then the same for every row. What was checked is written into an empty folder, and loaded
from there.

A model file is one that the site's administrator put there; none is ever received from elsewhere. Files of joblib and
pickle **run code when they are opened**: take them only from people you would let run programs at the site, or ask for
ONNX, which is checked to be data. Needs `confide[learn]` or `confide[onnx]`.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ConfideError, DataError, FederationError, ParameterError, UsageError
from confide.sources.error_details import replaced_errors

_STANDARD = ("", "ai.onnx")
_LEARNING = "ai.onnx.ml"

_PLAIN = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift BitwiseAnd
    BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Concat Constant Conv ConvInteger ConvTranspose Cos
    Cosh DepthToSpace DequantizeLinear Det Div DynamicQuantizeLinear Einsum Elu Equal Erf Exp EyeLike Flatten
    Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual
    GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization
    LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool Mean
    MeanVarianceNormalization Min Mish Mod Mul Neg Not Or PRelu Pow QLinearConv QLinearMatMul QuantizeLinear
    RMSNormalization Reciprocal Relu Round ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size
    Softmax Softplus Softsign SpaceToDepth Sqrt StringConcat Sub Sum Swish Tan Tanh TfIdfVectorizer ThresholdedRelu
    Transpose Where Xor
"""
_LEARNT = """
    ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder LinearClassifier
    LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier
    TreeEnsembleRegressor ZipMap
"""
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_SHAPED: dict[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Dropout": (2,),
    "Expand": (1,),
    "GRU": (4,),
    "LSTM": (4,),
    "OneHot": (1,),
    "Pad": (1, 3),
    "RNN": (4,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    **{f"Reduce{name}": (1,) for name in _REDUCTIONS},
}
"""Places of inputs that decide the shape of an operator's result, how many steps it takes, or on which axis."""

_OPERATORS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_STANDARD, frozenset((*_PLAIN.split(), *_SHAPED))),
    _LEARNING: frozenset(_LEARNT.split()),
}
"""Operators that a model may have, by domain."""

_NOT_OF_VALUES = ("Shape", "Size")
"""Operators whose results depend on the shape of their input alone."""


_DIVISIONS = ("Div", "Mod")
_FRACTIONS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")


_NO_TELEMETRY = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
"""Settings that keep onnxruntime from telling its makers about models, errors and how many rows were scored."""


def open_session(path: Path) -> Any:
    """Check an ONNX file and return a session of onnxruntime that runs it on one thread."""
    os.environ.update(dict.fromkeys(_NO_TELEMETRY, "1"))  # read when onnxruntime is imported
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise UsageError("ONNX models need onnx and onnxruntime; install confide[onnx]") from None
    onnxruntime.disable_telemetry_events()
    model = onnx.load_model_from_string(path.read_bytes())
    model.DiscardUnknownFields()  # what this version of onnx cannot check is not run
    for field in (
        "metadata_props",
        "training_info",
    ):  # neither is needed for scores, and onnxruntime reads settings there
        model.ClearField(field)
    _check_inside(model)
    _check_operators(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # threads may add up in any order
    options.log_severity_level = 4  # messages may quote rows
    with tempfile.TemporaryDirectory(prefix="confide-model-") as empty:
        alone = Path(empty) / "model.onnx"
        alone.write_bytes(model.SerializeToString())
        return onnxruntime.InferenceSession(str(alone), options, providers=["CPUExecutionProvider"])


def _check_inside(model: Any) -> None:
    """Refuse weights that lie in other files: any file at the site could be one, its rows and keys included."""
    for tensor in _tensors(model):
        if tensor.data_location == tensor.EXTERNAL or tensor.external_data:
            raise ParameterError(
                "the ONNX model takes weights from another file; save the model with its weights inside: "
                "onnx.save(onnx.load(FILE), NEW)"
            )


def _tensors(message: Any) -> Iterator[Any]:
    """Yield all tensors in a message of protobuf, however deep."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in (value,) if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(part)


def _check_operators(model: Any) -> None:
    """Refuse operators whose work or result may depend on more than the row and its shape."""
    if model.functions:
        raise ParameterError(
            "the ONNX model has functions of its own; save it without: onnx.save("
            "onnx.inliner.inline_local_functions(onnx.load(FILE)), NEW)"
        )
    graph = model.graph
    for node in graph.node:
        _check_operator(node)
    fractions = _fractions(model)
    fixed = {"", *(tensor.name for tensor in graph.initializer)}
    fixed |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        for place in _shape_places(node):
            if node.input[place] not in fixed:
                raise _refused(node, "does an amount of work that depends on a row's values")
        if all(name in fixed for name in node.input) or node.op_type in _NOT_OF_VALUES:
            fixed.update(node.output)
            continue
        fixed.difference_update(node.output)
        if node.op_type in _DIVISIONS and not (fractions.issuperset(node.input) or _by_positive(node, graph)):
            raise _refused(node, "divides whole numbers, which can end the process for a single row")


def _by_positive(division: Any, graph: Any) -> bool:
    """Return whether a division is by positive weights, which no row changes."""
    from onnx import numpy_helper

    weights = [tensor for tensor in graph.initializer if tensor.name == division.input[1]]
    return any(bool((numpy_helper.to_array(tensor) > 0).all()) for tensor in weights)


def _fractions(model: Any) -> set[str]:
    """Return the names of values that are floating-point numbers, by the types of inputs and weights alone."""
    from onnx import TensorProto, shape_inference

    kinds = {getattr(TensorProto, name) for name in _FRACTIONS}
    model.graph.ClearField("value_info")  # what a file says about types is not needed, and may be wrong
    graph = shape_inference.infer_shapes(model).graph
    values = (*graph.input, *graph.value_info)
    found = {value.name for value in values if value.type.tensor_type.elem_type in kinds}
    return found | {tensor.name for tensor in graph.initializer if tensor.data_type in kinds}


def _check_operator(node: Any) -> None:
    """Refuse an operator that is not on the list, or that holds a graph of its own."""
    known = _OPERATORS.get(node.domain, frozenset())
    if node.op_type not in known or any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
        raise _refused(node, "is not among those that are known to do the same work for every row")
    if node.op_type == "Dropout" and any(node.input[2:]):
        raise _refused(node, "draws random numbers, as in training")


def _shape_places(node: Any) -> Iterator[int]:
    places = _SHAPED.get(node.op_type, ()) if node.domain in _STANDARD else ()
    return (place for place in places if place < len(node.input))


def _refused(node: Any, why: str) -> ParameterError:
    name = node.op_type if node.domain in _STANDARD else f"{node.domain}.{node.op_type}"
    return ParameterError(
        f"the ONNX model's operator {name} {why}: one person's row could show in the time that the model takes, or in "
        "other rows' scores. Export the model without it, or score the rows beforehand and name the column (`score`)"
    )


@dataclass(frozen=True, slots=True)
class Scorer:
    """A model ready to score: `score` takes a dataframe of `columns`, in this order, and returns a score a row."""

    columns: tuple[str, ...]
    score: Callable[[Any], FloatArray]


PICKLED = (".joblib", ".pkl", ".pickle")
ONNX = ".onnx"

_KINDS: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def open_model(path: Path, features: Sequence[str], positive: object = None) -> Scorer:
    """Open a model's file; `positive` says which class the scores are of, else it is the second one (1 of 0 and 1)."""
    if not path.is_file():
        raise UsageError(f"there is no model file {path}; check model_file in site.toml")
    if path.suffix.lower() in PICKLED:
        return _sklearn_scorer(_unpickled(path), tuple(features), positive)
    if path.suffix.lower() == ONNX:
        return _onnx_scorer(path, tuple(features), positive)
    raise UsageError(f"{path}: the ending of a model file must be one of {', '.join((*PICKLED, ONNX))}")


def _unpickled(path: Path) -> Any:
    if path.stat().st_mode & stat.S_IWOTH:
        raise FederationError(
            f"everybody may change {path}, which runs as a program. Take that away: chmod o-w '{path}'"
        )
    try:
        import joblib
    except ImportError:
        raise UsageError("models of scikit-learn need joblib; install confide[learn]") from None
    with _discreet("the model file cannot be opened", "save it with the versions of Python and scikit-learn used here"):
        return joblib.load(path)


def _sklearn_scorer(model: Any, features: tuple[str, ...], positive: object) -> Scorer:
    """Return a scorer by the probabilities of the positive class, or by the decision function if there are none."""
    columns = _trained_order(model, features)
    classes = [_native(value) for value in getattr(model, "classes_", (0, 1))]
    if len(classes) != 2:
        raise ParameterError("the model does not have two classes; give a binary classifier in model_file")
    place = _place(classes, positive)
    if hasattr(model, "predict_proba"):
        return Scorer(columns, lambda frame: _column(model.predict_proba(_given(model, frame)), place))
    if hasattr(model, "decision_function"):
        sign = 1.0 if place == 1 else -1.0
        return Scorer(
            columns, lambda frame: sign * np.asarray(model.decision_function(_given(model, frame)), dtype=float)
        )
    raise ParameterError(
        "the model has neither predict_proba nor decision_function; give a classifier of scikit-learn in model_file"
    )


def _trained_order(model: Any, features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the features in the order that the model was trained with, if it knows their names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        if getattr(model, "n_features_in_", len(features)) != len(features):
            raise ParameterError(
                f"the model was trained with {model.n_features_in_} features, but site.toml names {len(features)}; "
                "list those, in the order of training"
            )
        return features
    if sorted(names) != sorted(features):
        listed = ", ".join(repr(str(name)) for name in names[:20])
        raise ParameterError(f"the features in site.toml are not those that the model was trained with: {listed}")
    return tuple(str(name) for name in names)


def _given(model: Any, frame: Any) -> Any:
    return frame if hasattr(model, "feature_names_in_") else frame.to_numpy()


def _onnx_scorer(path: Path, features: tuple[str, ...], positive: object) -> Scorer:
    """Return a scorer by the probability output of an ONNX model: a map for each row, or one or two columns."""
    with _discreet("the model file cannot be opened", "check that it is complete ONNX, with its weights inside"):
        session = open_session(path)
    inputs, output = session.get_inputs(), _probabilities_of(session.get_outputs())
    kinds = [_KINDS.get(one.type) for one in inputs]
    by_column = {one.name for one in inputs} == set(features) and (len(inputs) > 1 or len(features) == 1)
    if None in kinds or not (by_column or len(inputs) == 1):
        raise ParameterError(
            "the ONNX model must take one tensor with a column for each feature, or inputs named like the features"
        )

    def score(frame: Any) -> FloatArray:
        if by_column:
            feed = {
                one.name: frame[one.name].to_numpy(dtype=kind).reshape(-1, 1)
                for one, kind in zip(inputs, kinds, strict=True)
            }
        else:
            feed = {inputs[0].name: frame.to_numpy(dtype=kinds[0])}
        (found,) = session.run([output], feed)
        return _from_maps(found, positive) if isinstance(found, list) else _column(found, _place([0, 1], positive))

    texts = {one.name for one, kind in zip(inputs, kinds, strict=True) if kind is np.object_}
    words = texts if by_column else set(features) if texts else set()
    _try_out(score, {name: "" if name in words else 0.0 for name in features})
    return Scorer(features, score)


def _try_out(score: Callable[[Any], FloatArray], made_up: Mapping[str, object]) -> None:
    """Score a made-up row, to refuse a model that does not have two classes before it gets private rows.

    A model may have no score for such a row, so other errors are passed over.
    """
    import pandas as pd

    try:
        score(pd.DataFrame([made_up]))
    except (ConfideError, MemoryError):
        raise
    except Exception:  # noqa: S110 - see above
        pass


def _probabilities_of(outputs: Sequence[Any]) -> str:
    """Return the output that holds probabilities: by its name, else the last that holds numbers or maps."""
    fitting = [one.name for one in outputs if one.type in ("tensor(float)", "tensor(double)") or "map" in one.type]
    named = [name for name in fitting if "prob" in name.lower()]
    if not fitting:
        raise ParameterError("the ONNX model has no output of probabilities; export it with them")
    return str((named or fitting)[-1])


def _from_maps(rows: list[Any], positive: object) -> FloatArray:
    classes = list(rows[0])
    if len(classes) != 2:
        raise ParameterError("the model does not have two classes; give a binary classifier in model_file")
    chosen = classes[_place(classes, positive)]
    return np.array([row[chosen] for row in rows], dtype=np.float64)


def _column(found: object, place: int) -> FloatArray:
    """Return the scores of the positive class from one column or two."""
    scores: NDArray[np.float64] = np.asarray(found, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, place]
    if scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1):
        return scores.ravel() if place == 1 else 1.0 - scores.ravel()
    raise ParameterError("the model does not have two classes; give a binary classifier in model_file")


def _place(classes: Sequence[object], positive: object) -> int:
    """Return the place of the positive class: the one with that label, else the second."""
    return 0 if positive is not None and _alike(classes[0], positive) and not _alike(classes[1], positive) else 1


def _alike(one: object, other: object) -> bool:
    try:
        return str(one) == str(other) or float(one) == float(other)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _native(value: Any) -> object:
    return value.item() if hasattr(value, "item") else value


@contextmanager
def _discreet(what: str, then: str) -> Iterator[None]:
    """Replace the message of an error, which may hold values of rows."""
    with replaced_errors(lambda error: DataError(f"{what} ({type(error).__name__}); {then}")):
        yield
