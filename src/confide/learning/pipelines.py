"""Total privacy guarantee of a fitted scikit-learn pipeline.

Steps are fitted to the same rows one after the other, each with the answers of the steps before it. So their prices add
up. A step that pays has the attribute `guarantee_`. A step that does not pay must treat each row by itself, by rules
fixed before the data are seen: two datasets that differ in one row still differ in one row after it. A step that learns
from the rows without paying, even if only their mean, voids the guarantee. It is refused.

scikit-learn's tag `requires_fit` is not enough to tell such steps apart: a function may look across rows, a patch
extractor makes many rows of one, and a Gaussian process can predict without a fit. So allowed steps are listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer
from sklearn.utils.validation import check_is_fitted

from confide.errors import ParameterError, did_you_mean
from confide.privacy.accounting import total
from confide.privacy.guarantee import Guarantee

ROW_BY_ROW = (AdditiveChi2Sampler, Binarizer, FeatureHasher, HashingVectorizer, Normalizer)
"""Transformers of scikit-learn that learn nothing and treat each row by itself."""


def total_guarantee(pipeline: Any, *, vouched: Collection[str] = ()) -> Guarantee:
    """Add up the guarantees of the steps of a fitted pipeline.

    `pipeline` is a Pipeline, a FeatureUnion, a ColumnTransformer, or a single estimator that pays. Free steps are
    "passthrough" and "drop", `ROW_BY_ROW`, and a FunctionTransformer of a NumPy function that treats each number by
    itself, such as `np.log1p`. `vouched` names other steps (nested ones as "outer__inner") that you know to treat each
    row by itself, by rules that do not come from the data. The guarantee lists this assumption among the public facts.
    """
    steps = dict(_steps(pipeline, ""))
    for name in vouched:
        if name not in steps:
            raise ParameterError(f"there is no step {name!r} to vouch for. {did_you_mean(name, steps)}".rstrip())
    paid = [step.guarantee_ for step in steps.values() if _pays(step)]
    for name, step in steps.items():
        if not _pays(step) and name not in vouched:
            _require_row_by_row(name, step)
    if not paid:
        raise ParameterError(
            "no step has paid for what it learnt, so there is no guarantee to add up; add a private one"
        )
    whole = total(paid)
    facts = (
        f"that step {name!r} treats each row by itself, by public rules"
        for name, step in steps.items()
        if name in vouched and not _pays(step)
    )
    return replace(whole, public=(*whole.public, *facts))


def _steps(estimator: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every estimator inside, with its name."""
    parts = _parts(estimator)
    if parts is None:
        yield name or type(estimator).__name__, estimator
        return
    for inner, part in parts:
        yield from _steps(part, f"{name}__{inner}" if name else inner)


def _parts(estimator: Any) -> list[tuple[str, Any]] | None:
    if isinstance(estimator, Pipeline):
        return list(estimator.steps)
    if isinstance(estimator, FeatureUnion):
        return list(estimator.transformer_list)
    if isinstance(estimator, ColumnTransformer):
        if any(callable(columns) for _, _, columns in estimator.transformers):
            raise ParameterError("a ColumnTransformer chose its columns by a function of the data; name them instead")
        _require_fitted("ColumnTransformer", estimator)
        return [(name, part) for name, part, _ in estimator.transformers_]
    return None


def _pays(step: Any) -> bool:
    return isinstance(getattr(step, "guarantee_", None), Guarantee)


def _require_row_by_row(name: str, step: Any) -> None:
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return
    if (type(step) in ROW_BY_ROW and not _calls_out(step)) or _is_elementwise(step):
        return
    _require_fitted(name, step)
    raise ParameterError(
        f"step {name!r} ({type(step).__name__}) may have learnt from the rows without paying, so nothing is promised. "
        "Use a private step, or one that treats each row by itself with public constants, such as HashingVectorizer or "
        "Binarizer; if you know that a step does so, name it in `vouched`"
    )


def _is_elementwise(step: Any) -> bool:
    """Tell whether a step applies no function, or a NumPy function that treats each number by itself."""
    if type(step) is not FunctionTransformer or step.kw_args:
        return False
    func = step.func
    if func is None:
        return True
    numpys = isinstance(func, np.ufunc) and getattr(np, func.__name__, None) is func  # not one made of a function
    return numpys and (func.nin, func.nout, func.signature) == (1, 1, None)


def _calls_out(step: Any) -> bool:
    """Tell whether a step holds a function of the user, which may remember rows."""
    return any(callable(value) and not isinstance(value, type) for value in step.get_params(deep=False).values())


def _require_fitted(name: str, step: Any) -> None:
    try:
        check_is_fitted(step)
    except NotFittedError:
        raise ParameterError(f"step {name!r} is not fitted; fit the pipeline before adding up what it spent") from None
    except TypeError:
        raise ParameterError(
            f"{name!r} is not an estimator of scikit-learn, so what it cost is not known; give a fitted pipeline"
        ) from None
