"""Private logistic regression with scikit-learn's estimator interface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.estimators.classifier import PrivateClassifier
from confide.learning.linear_model import LinearModel
from confide.learning.logistic import prepare_logistic
from confide.ledger.question import PublicQuestion
from confide.privacy.prepared import Prepared


class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression of two classes under pure differential privacy.

    Parameters
    ----------
    epsilon : number
        Price of a fit; "1/3" and fractions are exact.
    method : {"objective", "output"}
        Objective perturbation adds a random linear term to the loss and finds the minimum. Output perturbation finds
        the minimum and adds noise. Objective perturbation is more accurate.
    regularization : number or None
        Strength of the penalty on the weights of rows of length 1, as `1/C` in scikit-learn. None derives it from
        epsilon and the number of features.
    row_norm : float
        Public length. Longer rows are shortened to it, and all rows are divided by it. First scale features by public
        numbers to a similar size, then choose it near the length of most rows.
    neighbours, unit, rows_per_person
        Neighbouring relation of the guarantee, as for `release_auc`.
    fit_intercept : bool
        Whether to fit an intercept, which is penalised too.
    classes : (negative, positive) or None
        The two labels, as public facts. Without them, `y` must hold both labels.
    ledger, account : str or None
        Path or URL of the ledger that a fit is charged to, and the name of an open account in it.
    question : PublicQuestion or None
        Public description of the fit and its data. A repeated fit then returns the same answer at no further cost.
        Without it every fit is charged, as cross-validation needs: its folds are different data.

    Attributes
    ----------
    classes_ : array of two labels
        The positive one last.
    coef_ : array of shape (1, features)
        Weights of the features as they were given.
    intercept_ : array of shape (1,)
        Intercept, 0 if there is none.
    model_ : LinearModel
        Published result.
    guarantee_ : Guarantee
        Guarantee of the fit.
    receipt_ : Receipt or None
        Receipt of the ledger.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> rows = np.repeat([[0.5, 0.1], [-0.5, 0.2]], 5000, axis=0)
    >>> model = PrivateLogisticRegression(1).fit(rows, np.repeat(["ham", "spam"], 5000))
    >>> model.predict([[-0.4, 0.0]])
    array(['spam'], dtype='<U4')

    """

    def __init__(
        self,
        epsilon: object = 1.0,
        *,
        method: str = "objective",
        regularization: object = None,
        row_norm: float = 1.0,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        fit_intercept: bool = True,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.method = method
        self.regularization = regularization
        self.row_norm = row_norm
        self.neighbours = neighbours
        self.unit = unit
        self.rows_per_person = rows_per_person
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.ledger = ledger
        self.account = account
        self.question = question

    def _prepare(self, matrix: Any, labels: NDArray[np.bool_]) -> Prepared[LinearModel]:
        return prepare_logistic(
            matrix,
            labels,
            epsilon=self.epsilon,
            method=self.method,
            regularization=self.regularization,
            row_norm=self.row_norm,
            intercept=self.fit_intercept,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            public=("the two labels",),
            noise=self._noise,
        )
