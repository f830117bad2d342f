"""Base class of the private classifiers with scikit-learn's estimator interface.

Each call of `fit` draws new noise and spends epsilon. A grid search or a cross-validation spends it once for every fit.
With `ledger` and `account`, each fit is charged before noise is drawn. With `question`, a `PublicQuestion`, a repeated
fit returns the same answer at no further cost. Without it every fit is charged, since the data are private and must not
decide whether two fits are the same. Noise comes from the operating system, so there is no `random_state`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.estimators.fitting import charge_and_draw, check_payer, two_classes
from confide.learning.linear_model import LinearModel
from confide.ledger.question import PublicQuestion
from confide.privacy.prepared import Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of two classes whose training spends epsilon."""

    _noise: ClassVar[Noise] = SYSTEM_NOISE

    epsilon: object
    classes: Sequence[Any] | None
    ledger: str | Path | None
    account: str | None
    question: PublicQuestion | None

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Train on the rows X with the labels y. Spends epsilon."""
        read, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        known = two_classes(labels, self.classes)
        check_payer(self.ledger, self.account, self.question)
        prepared = self._prepare(read, labels == known[1])
        self.model_, self.receipt_ = charge_and_draw(
            prepared,
            self.ledger,
            self.account,
            self.question,
            classes=self.classes,
            binarize=getattr(self, "binarize", None),
        )
        self.classes_ = known
        self.guarantee_ = self.model_.guarantee
        self.coef_ = self.model_.all_weights[None, :]
        self.intercept_ = np.array([self.model_.intercept])
        return self

    @abstractmethod
    def _prepare(self, matrix: Any, labels: NDArray[np.bool_]) -> Prepared[LinearModel]:
        """Return the checked request to train."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the log-odds of the positive class for each row."""
        return self._trained().decision(self._read(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the likelier class of each row."""
        positive = self.decision_function(X) > 0.0
        chosen: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each class, in the order of `classes_`, for each row."""
        positive = self._trained().probabilities(self._read(X))
        return np.column_stack((1.0 - positive, positive))

    def _trained(self) -> LinearModel:
        check_is_fitted(self)
        model: LinearModel = self.model_
        return model

    def _read(self, rows: Any) -> Any:
        return validate_data(self, rows, accept_sparse="csr", dtype=np.float64, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        tags.classifier_tags.multi_class = False
        return tags
