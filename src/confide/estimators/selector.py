"""Private feature selection with scikit-learn's transformer interface.

Each call of `fit` draws new noise and spends epsilon. A grid search or a cross-validation spends it once for every fit.
With `ledger` and `account`, each fit is charged before noise is drawn. With `question`, a repeated fit returns the same
answer at no further cost. Noise comes from the operating system, so there is no `random_state`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import binarize
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.estimators.fitting import charge_and_draw, check_payer, two_classes
from confide.features import FeatureRows
from confide.ledger.question import PublicQuestion
from confide.privacy.guarantee import Exact
from confide.privacy.prepared import Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.selection.methods import prepare_selection
from confide.selection.selection import Selection


class PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select features under pure differential privacy.

    Parameters
    ----------
    epsilon : number
        Price of a fit; "1/3" and fractions are exact.
    method : {"score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters"}
        Score perturbation adds noise to every score and takes the `k` highest, or all that reach `threshold`. Sparse
        vector tests features one after the other against `threshold` until `k` reach it. Peeling and permute-and-flip
        choose `k` features one after the other, where higher scores are likelier. Clusters groups features with similar
        noisy scores and takes every group whose mean reaches `threshold`.
    k : int or None
        Number of features to take; for sparse vector, the most to take.
    threshold : float or None
        Score that a feature must reach, in rows; for information gain, in rows times nats.
    clusters : int or None
        Number of groups for the method "clusters"; None means 8.
    feature_score : {"total-count", "difference-count", "purity-index", "information-gain"}
        Measure of how well a feature separates the classes. Information gain needs replace-one or label-only
        neighbours.
    most_features : int or None
        Number of features of a row that count. From a row with more, a public hash draws as many. None means 10 where a
        limit reduces the noise, and no limit elsewhere.
    mechanism, delta
        Noise on scores: "laplace", or for "score-perturbation" and "clusters" also "gaussian" with a delta, which pays
        in accounts of composition zcdp.
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
    support_ : array of bool
        Whether each feature was selected.
    selection_ : Selection
        Published result.
    guarantee_ : Guarantee
        Guarantee of the fit.
    receipt_ : Receipt or None
        Receipt of the ledger.
    n_features_in_, feature_names_in_
        As in every scikit-learn transformer.

    Examples
    --------
    >>> rows, labels = [[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]], [0, 1, 1, 0]
    >>> PrivateSelector(1000, k=1).fit(rows, labels).get_support()
    array([ True, False, False])
    >>> PrivateSelector(1000, method="sparse-vector", k=2, threshold=3).fit(rows, labels).get_support()
    array([ True, False, False])

    """

    _noise: ClassVar[Noise] = SYSTEM_NOISE

    def __init__(
        self,
        epsilon: object,
        *,
        method: str = "score-perturbation",
        k: int | None = None,
        threshold: float | None = None,
        clusters: int | None = None,
        feature_score: str = "total-count",
        most_features: int | None = None,
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
        self.method = method
        self.k = k
        self.threshold = threshold
        self.clusters = clusters
        self.feature_score = feature_score
        self.most_features = most_features
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

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Select features of the rows X with the labels y. Spends epsilon."""
        read, labels = validate_data(self, X, y, accept_sparse="csr")
        prepared = self._prepare(self._rows(read, labels))
        self.selection_, self.receipt_ = charge_and_draw(
            prepared, self.ledger, self.account, self.question, classes=self.classes, binarize=self.binarize
        )
        self.guarantee_ = self.selection_.guarantee
        self.support_ = self.selection_.support
        return self

    def _prepare(self, rows: FeatureRows) -> Prepared[Selection]:
        check_payer(self.ledger, self.account, self.question)
        return prepare_selection(
            rows,
            method=self.method,
            k=self.k,
            threshold=self.threshold,
            clusters=self.clusters,
            epsilon=self.epsilon,
            score=self.feature_score,
            most_features=self.most_features,
            mechanism=self.mechanism,
            delta=self.delta,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            noise=self._noise,
        )

    def _rows(self, matrix: Any, labels: NDArray[Any]) -> FeatureRows:
        if self.binarize is not None:
            matrix = binarize(matrix, threshold=self.binarize)
        return FeatureRows.from_matrix(matrix, labels == two_classes(labels, self.classes)[1])

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask: NDArray[np.bool_] = self.support_
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # of the labels: there are two
        return tags
