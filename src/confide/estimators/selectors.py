"""Private selection of features as scikit-learn transformers.

Each call of `fit` draws noise anew and spends epsilon: a grid search or a cross-validation spends it once for every
fit. With a `ledger` and its `account` each fit is charged there before noise is drawn; with a `question` too, which
says in public facts what is fitted to which data, the same fit gets the same answer at no further cost. Noise comes
from the operating system, so there is no `random_state`, and no two fits need be alike.
"""

from __future__ import annotations

from abc import abstractmethod
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

from confide.errors import ParameterError
from confide.estimators.fitting import check_payer, drawn, two_classes
from confide.features import FeatureRows
from confide.ledger.question import PublicQuestion
from confide.privacy.prepared import Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.selection.methods import prepare_selection
from confide.selection.rules import DEFAULT_CLUSTERS
from confide.selection.selection import Selection

WAYS = ("peeling", "permute-and-flip")


class PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What all selectors share: how data are read, charged and remembered.

    Parameters
    ----------
    epsilon : number
        What a fit spends; "1/3" and fractions are exact.
    feature_score : {"total-count", "difference-count", "purity-index", "information-gain"}
        How well a feature tells the classes apart. Information gain needs replace-one or label-only neighbours.
    most_features : int or None
        How many features of a row count: of a row with more, so many are drawn by a public hash. None takes 10 where a
        limit lessens the noise, and else all.
    neighbours, unit, rows_per_person
        What the guarantee hides, as for `release_auc`.
    binarize : float or None
        The public point above which a value counts as 1; None asks for values that are 0 or 1 already.
    classes : (negative, positive) or None
        The two labels, as public facts. Only with them may `y` hold a single label.
    ledger, account : str or None
        Where a fit is charged: a path or URL, and the name of an account that was opened there.
    question : PublicQuestion or None
        What is fitted to which data, in public facts: the same fit then gets the same answer at no further cost.
        Without it every fit is charged anew, as cross-validation needs: its folds are different data.

    Attributes
    ----------
    support_ : array of bool
        Whether each feature was selected.
    selection_ : Selection
        All that may be published.
    guarantee_ : Guarantee
        What the fit promises.
    receipt_ : Receipt or None
        What was charged to the ledger.
    n_features_in_, feature_names_in_
        As in every scikit-learn transformer.

    """

    _noise: ClassVar[Noise] = SYSTEM_NOISE

    def __init__(
        self,
        epsilon: object,
        *,
        feature_score: str = "total-count",
        most_features: int | None = None,
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
        self.feature_score = feature_score
        self.most_features = most_features
        self.neighbours = neighbours
        self.unit = unit
        self.rows_per_person = rows_per_person
        self.binarize = binarize
        self.classes = classes
        self.ledger = ledger
        self.account = account
        self.question = question

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Select features of the rows X with the labels y; spends epsilon."""
        read, labels = validate_data(self, X, y, accept_sparse="csr")
        prepared = self._prepared(self._rows(read, labels))
        self.selection_, self.receipt_ = drawn(
            prepared, self.ledger, self.account, self.question, classes=self.classes, binarize=self.binarize
        )
        self.guarantee_ = self.selection_.guarantee
        self.support_ = self.selection_.support
        return self

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """The method and those of its parameters that only it has."""

    def _prepared(self, rows: FeatureRows) -> Prepared[Selection]:
        check_payer(self.ledger, self.account, self.question)
        return prepare_selection(
            rows,
            epsilon=self.epsilon,
            score=self.feature_score,
            most_features=self.most_features,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.rows_per_person,
            noise=self._noise,
            **self._rule(),
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


class ScorePerturbation(PrivateSelector):
    """Give every feature's score noise, and take the `k` highest or all that reach `threshold`.

    >>> rows, labels = [[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]], [0, 1, 1, 0]
    >>> ScorePerturbation(1000, k=1).fit(rows, labels).get_support()
    array([ True, False, False])

    """

    def __init__(
        self,
        epsilon: object,
        *,
        k: int | None = None,
        threshold: float | None = None,
        feature_score: str = "total-count",
        most_features: int | None = None,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        binarize: float | None = None,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            feature_score=feature_score,
            most_features=most_features,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            binarize=binarize,
            classes=classes,
            ledger=ledger,
            account=account,
            question=question,
        )
        self.k = k
        self.threshold = threshold

    def _rule(self) -> dict[str, Any]:
        return {"method": "score-perturbation", "k": self.k, "threshold": self.threshold}


class SparseVector(PrivateSelector):
    """Ask one feature after the other whether it reaches `threshold`, until `k` do."""

    def __init__(
        self,
        epsilon: object,
        *,
        k: int,
        threshold: float,
        feature_score: str = "total-count",
        most_features: int | None = None,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        binarize: float | None = None,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            feature_score=feature_score,
            most_features=most_features,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            binarize=binarize,
            classes=classes,
            ledger=ledger,
            account=account,
            question=question,
        )
        self.k = k
        self.threshold = threshold

    def _rule(self) -> dict[str, Any]:
        return {"method": "sparse-vector", "k": self.k, "threshold": self.threshold}


class TopFeatures(PrivateSelector):
    """Choose `k` features one after the other, higher scores being likelier, by "peeling" or "permute-and-flip"."""

    def __init__(
        self,
        epsilon: object,
        *,
        k: int,
        how: str = "peeling",
        feature_score: str = "total-count",
        most_features: int | None = None,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        binarize: float | None = None,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            feature_score=feature_score,
            most_features=most_features,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            binarize=binarize,
            classes=classes,
            ledger=ledger,
            account=account,
            question=question,
        )
        self.k = k
        self.how = how

    def _rule(self) -> dict[str, Any]:
        if self.how not in WAYS:
            raise ParameterError(f"how must be one of {', '.join(WAYS)}; got {str(self.how)[:40]!r}")
        return {"method": self.how, "k": self.k}


class ScoreClusters(PrivateSelector):
    """Group features of like noisy scores, and take every group whose mean reaches `threshold`."""

    def __init__(
        self,
        epsilon: object,
        *,
        threshold: float,
        clusters: int = DEFAULT_CLUSTERS,
        feature_score: str = "total-count",
        most_features: int | None = None,
        neighbours: str = "add-remove-one",
        unit: str = "row",
        rows_per_person: int = 1,
        binarize: float | None = None,
        classes: Sequence[Any] | None = None,
        ledger: str | Path | None = None,
        account: str | None = None,
        question: PublicQuestion | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            feature_score=feature_score,
            most_features=most_features,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            binarize=binarize,
            classes=classes,
            ledger=ledger,
            account=account,
            question=question,
        )
        self.threshold = threshold
        self.clusters = clusters

    def _rule(self) -> dict[str, Any]:
        return {"method": "clusters", "threshold": self.threshold, "clusters": self.clusters}
