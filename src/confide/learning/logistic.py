"""Logistic regression under pure differential privacy, by objective or output perturbation.

Rows are divided by a public length, and longer ones are shortened to it. The loss is the sum over rows, not the mean,
plus `regularization/2 |w|^2` for the weights w of rows so scaled, the intercept's included; so nothing depends on the
number of rows, which may be private. It is that of scikit-learn's LogisticRegression with `C = 1/regularization`.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate, "Differentially private empirical risk minimization", JMLR 12
   (2011), 1069-1109.

"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError, LabelError, ParameterError, did_you_mean
from confide.learning.linear_model import LinearModel
from confide.learning.selection import check_part, feature_guarantee
from confide.privacy.mechanisms.logistic_minimum import MOST_REGULARIZATION, checked_regularization
from confide.privacy.mechanisms.objective_perturbation import TiltedQuery, objective_perturbation
from confide.privacy.mechanisms.output_perturbation import gradient_shift, output_perturbation
from confide.privacy.mechanisms.unit_rows import UnitRows, unit_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise, SphericalQuery
from confide.releases.terms import Terms

KIND = "logistic-regression"

METHODS = ("objective", "output")

_PER_WEIGHT = {"objective": Fraction(1, 12), "output": Fraction(1, 4)}


def prepare_logistic(
    matrix: Any,
    labels: NDArray[np.bool_],
    *,
    epsilon: object,
    method: str = "objective",
    regularization: object = None,
    row_norm: float = 1.0,
    intercept: bool = True,
    neighbours: str = Neighbours.ADD_REMOVE_ONE,
    unit: str = "row",
    rows_per_person: int = 1,
    part: Part | None = None,
    public: Sequence[str] = (),
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[LinearModel]:
    """Check a request to train logistic regression and say its price; the guarantee is pure, without delta.

    The matrix is dense or SciPy's. `row_norm` is the length to which longer rows are shortened; without a
    `regularization` the usual one is taken (see `usual_regularization`). Both, and which features there are, are
    public. `public` names what else is taken to be known.
    """
    terms = Terms.checked(epsilon=epsilon, neighbours=neighbours, unit=unit, rows_per_person=rows_per_person)
    how = _checked_method(method)
    read = _checked_matrix(matrix)
    classes = _checked_labels(labels)
    rows = unit_rows(read, classes, row_norm=row_norm, intercept=bool(intercept))
    strength = (
        usual_regularization(how, terms.epsilon, terms.neighbours, rows.width)
        if regularization is None
        else checked_regularization(regularization)
    )
    if how == "objective":
        objective_perturbation(rows, strength, terms.epsilon, terms.neighbours)  # refuses what cannot be had
    check_part(part, terms)
    guarantee = feature_guarantee(terms, public)
    options = {
        "method": how,
        "regularization": str(strength),
        "row_norm": float(row_norm),
        "intercept": bool(intercept),
    }

    def draw(noise: Noise = noise) -> tuple[LinearModel, ...]:
        weights = _asked(rows, how, strength, terms).draw(noise)
        scaled = [float(weight) * scale for weight, scale in zip(weights, rows.scales, strict=True)]
        width = int(read.shape[1])
        model = LinearModel(
            kind=KIND,
            features=tuple(range(width)),
            weights=tuple(scaled[:width]),
            intercept=scaled[width] if intercept else 0.0,
            width=width,
            guarantee=guarantee,
            options=options,
        )
        return (model,)

    return Prepared(
        guarantee=guarantee,
        request=terms.request("model", KIND, **options, width=int(read.shape[1])),
        draw=draw,
        read=LinearModel.from_dict,
        part=part,
        numbers=2 * int(read.shape[1]),
    )


def usual_regularization(method: str, epsilon: Fraction, neighbours: Neighbours, width: int) -> Fraction:
    """Return the strength that did well on text and on census data: a twelfth of the number of weights, over epsilon.

    A quarter for output perturbation; twice that for replace-one neighbours, whose noise is twice as large. From
    `1/epsilon` on, objective perturbation pays nothing for its change of variables.

    >>> usual_regularization("objective", Fraction(1, 2), Neighbours.ADD_REMOVE_ONE, 60)
    Fraction(10, 1)
    """
    strength = max(Fraction(1), _PER_WEIGHT[method] * width) * gradient_shift(neighbours) / epsilon
    return min(max(strength, Fraction(1, 64)), MOST_REGULARIZATION)


def _asked(rows: UnitRows, method: str, strength: Fraction, terms: Terms) -> SphericalQuery | TiltedQuery:
    ask = objective_perturbation if method == "objective" else output_perturbation
    return ask(rows, strength, terms.epsilon, terms.neighbours)


def _checked_method(method: object) -> str:
    if method not in METHODS:
        raise ParameterError(
            f"method must be one of {', '.join(METHODS)}; got {str(method)[:40]!r}. {did_you_mean(method, METHODS)}"
        )
    return str(method)


def _checked_matrix(matrix: Any) -> Any:
    read = matrix if hasattr(matrix, "tocsr") else np.asarray(matrix)
    if read.ndim != 2 or read.shape[1] == 0:
        raise DataError("features must be a matrix with a row for each person and a column for each feature")
    return read


def _checked_labels(labels: object) -> NDArray[np.bool_]:
    read = np.asarray(labels)
    if read.dtype != np.bool_ or read.ndim != 1:
        raise LabelError("labels must be an array of true and false; compare them with the positive label first")
    return read
