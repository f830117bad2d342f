"""Classifiers that can be trained privately, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from confide.errors import ParameterError, did_you_mean
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.privacy.mechanisms.row_limits import RowLimit, checked_limit
from confide.privacy.prepared import Prepared

MODELS = ("naive-bayes", "logistic-regression")

LOGISTIC_ROW_WEIGHT = 10
"""Rows with more features than this are scaled down before logistic regression."""

MANY_FEATURES = 300
"""Number of features above which logistic regression is warned of."""

_OPTIONS = {
    "naive-bayes": ("row_weight", "limit", "keep", "calibration", "mechanism", "delta"),
    "logistic-regression": ("row_weight", "regularization", "perturb"),
}


def prepare_model(rows: FeatureRows, name: str, options: Mapping[str, Any], **terms: Any) -> Prepared[LinearModel]:
    """Check a request to train the classifier of a name; options that are None take their usual values."""
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r}. {did_you_mean(name, MODELS)}Choose {' or '.join(MODELS)}")
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in _OPTIONS[name]:
            raise ParameterError(f"{name} takes no `{option}`; leave it out")
    if name == "naive-bayes":
        noise = {option: given[option] for option in ("mechanism", "delta") if option in given}
        return prepare_naive_bayes(rows, recipe=_recipe(given), **noise, **terms)
    if rows.width == 0:
        raise ParameterError(f"{name} needs at least one feature, and none was selected; select again, with more")
    from confide.learning.logistic import prepare_logistic

    worth = checked_limit(given.pop("row_weight", LOGISTIC_ROW_WEIGHT), "row weight")
    if "perturb" in given:
        given["method"] = given.pop("perturb")
    return prepare_logistic(rows.matrix(), rows.labels, row_norm=math.sqrt(worth), **given, **terms)


def width_remark(name: str, width: int) -> tuple[str, ...]:
    """Warn of logistic regression with many features."""
    if name != "logistic-regression" or width <= MANY_FEATURES:
        return ()
    return (
        f"remark: {width:,} features are many for logistic regression, whose noise grows with them; "
        "`confide select` a few dozen first, or train naive-bayes.",
    )


def _recipe(given: Mapping[str, Any]) -> Recipe:
    usual = RowLimit()
    limit = RowLimit(kind=given.get("limit", usual.kind), worth=given.get("row_weight", usual.worth))
    return Recipe(limit=limit, **{name: given[name] for name in ("keep", "calibration") if name in given})
