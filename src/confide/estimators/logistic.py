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
        What a fit spends; "1/3" and fractions are exact.
    method : {"objective", "output"}
        Tilt the loss at random and find its minimum, or find the minimum and add noise. Tilting costs less accuracy.
    regularization : number or None
        The strength of the penalty on weights of rows of length 1, as `1/C` in scikit-learn; None takes one that
        follows from epsilon and the number of features.
    row_norm : float
        A public length: longer rows are shortened to it, and all are divided by it. Scale features by public numbers
        to a like size first, and choose it near the length that most rows then have.
    neighbours, unit, rows_per_person
        What the guarantee hides, as for `release_auc`.
    fit_intercept : bool
        Whether there is an intercept; it is penalised as well.
    classes : (negative, positive) or None
        The two labels, as public facts. Only with them may `y` hold a single label.
    ledger, account : str or None
        Where a fit is charged: a path or URL, and the name of an account that was opened there.
    question : PublicQuestion or None
        What is fitted to which data, in public facts: the same fit then gets the same answer at no further cost.
        Without it every fit is charged anew, as cross-validation needs: its folds are different data.

    Attributes
    ----------
    classes_ : array of two labels
        The positive one last.
    coef_ : array of shape (1, features)
        Weights of the features as they were given.
    intercept_ : array of shape (1,)
        The intercept, 0 if there is none.
    model_ : LinearModel
        All that may be published.
    guarantee_ : Guarantee
        What the fit promises.
    receipt_ : Receipt or None
        What was charged to the ledger.
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

    def _prepared(self, matrix: Any, labels: NDArray[np.bool_]) -> Prepared[LinearModel]:
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
