"""Checks of ONNX files: a score may depend on the file and one row, and on nothing else.

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
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confide.errors import ParameterError, UsageError

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
