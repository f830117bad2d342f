"""Models that a site runs itself: scikit-learn's, saved with joblib, and ONNX.

A model file is one that the site's administrator put there; none is ever received from elsewhere. Files of joblib and
pickle **run code when they are opened**: take them only from people you would let run programs at the site, or ask for
ONNX, which is checked to be data (see `onnx_files`). Needs `confide[learn]` or `confide[onnx]`.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ConfideError, DataError, FederationError, ParameterError, UsageError
from confide.federation.site.onnx_files import open_session
from confide.sources.details import replaced_errors


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
