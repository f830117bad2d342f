"""Private naive Bayes with scikit-learn's estimator interface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import binarize

from confide.estimators.classifier import PrivateClassifier
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.ledger.question import PublicQuestion
from confide.privacy.guarantee import Exact, exact_fraction
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.prepared import Prepared


class PrivateNaiveBayes(PrivateClassifier):
    """Naive Bayes for binary features under pure differential privacy. Features are chosen from noisy counts.

    Parameters
    ----------
    epsilon : number
        Price of a fit; "1/3" and fractions are exact.
    row_weight : int
        Number of features that a row counts for at most. A smaller number needs less noise.
    limit : {"spread", "sample"}
        Treatment of a row with more features: "spread" divides its weight over all, "sample" counts a sample of them.
    keep : float
        A feature is kept if its counts differ between the classes by more than this number of standard deviations; 0
        keeps all.
    smoothing : float or None
        Rows added to each feature; None derives the number from the noise.
    calibration : number
        Share of epsilon for turning scores into probabilities; 0 uses the textbook formula.
    mechanism, delta
        Noise on the counts: "laplace", or "gaussian" with a delta, which pays in accounts of composition zcdp.
    neighbours, unit, rows_per_person
        Neighbouring relation of the guarantee, as for `release_auc`.
    binarize : float or None
        Public point above which a value counts as 1; None requires values that are 0 or 1.
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
    coef_, intercept_
        Weights of the features, 0 for those left out, and the intercept.
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
    >>> rows = np.repeat([[1, 0, 1], [0, 1, 1]], 5000, axis=0)
    >>> model = PrivateNaiveBayes(1).fit(rows, np.repeat(["ham", "spam"], 5000))
    >>> model.predict([[0, 1, 0]])
    array(['spam'], dtype='<U4')

    """

    def __init__(
        self,
        epsilon: object,
        *,
        row_weight: int = 3,
        limit: str = "spread",
        keep: float = 0.5,
        smoothing: float | None = None,
        calibration: object = "1/10",
        mechanism: str = "laplace",
        delta: Exact = 0,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        binarize: float | None = None,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.row_weight = row_weight
        self.limit = limit
        self.keep = keep
        self.smoothing = smoothing
        self.calibration = calibration
        self.mechanism = mechanism
        self.delta = delta
        self.neighbours = neighbours
        self.unit = unit
        self.rows_per_person = rows_per_person
        self.binarize = binarize
        self.classes = classes
        self.ledger = ledger
        self.account = account
        self.question = question

    def _prepare(self, matrix: Any, labels: NDArray[np.bool_]) -> Prepared[LinearModel]:
        limit = RowLimit(kind=self.limit, worth=self.row_weight)
        share = exact_fraction(self.calibration, "calibration")
        recipe = Recipe(limit=limit, keep=self.keep, smoothing=self.smoothing, calibration=share)
        return prepare_naive_bayes(
            FeatureRows.from_matrix(self._binary(matrix), labels),
            epsilon=self.epsilon,
            recipe=recipe,
            mechanism=self.mechanism,
            delta=self.delta,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            public=("the two labels",),
            noise=self._noise,
        )

    def _read(self, rows: Any) -> Any:
        return self._binary(super()._read(rows))

    def _binary(self, matrix: Any) -> Any:
        return matrix if self.binarize is None else binarize(matrix, threshold=self.binarize)
