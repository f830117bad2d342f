"""Private selection and private classifiers with scikit-learn's estimator interface.

Each call of `fit` draws new noise and spends epsilon. A grid search or a cross-validation spends it once for every fit.
With `ledger` and `account`, each fit is charged before noise is drawn. With `question`, a `PublicQuestion`, a repeated
fit returns the same answer at no further cost. Without it every fit is charged, since the data are private and must not
decide whether two fits are the same. Noise comes from the operating system, so there is no `random_state`.

Each call of `fit` draws new noise and spends epsilon. A grid search or a cross-validation spends it once for every fit.
With `ledger` and `account`, each fit is charged before noise is drawn. With `question`, a repeated fit returns the same
answer at no further cost. Noise comes from the operating system, so there is no `random_state`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import binarize
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.errors import LabelError, ParameterError
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.logistic import prepare_logistic
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.learning.selection import Selection
from confide.learning.selection_methods import prepare_selection
from confide.ledger.payer import DeclaredSubject, Payer
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Receipt
from confide.privacy.guarantee import Exact, exact_fraction
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.prepared import A, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise


def two_classes(labels: NDArray[Any], classes: Sequence[Any] | None) -> NDArray[Any]:
    """Return the two labels, the positive one last: `classes`, or the two that `labels` hold."""
    check_classification_targets(labels)
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if classes is not None and (known.ndim != 1 or known.size != 2 or known[0] == known[1]):
        raise ParameterError("`classes` must be two different labels, the positive one last, for example (0, 1)")
    if known.size > 2:
        raise LabelError(
            f"Only binary classification is supported. The type of the target is {type_of_target(labels)}. Make two "
            "labels of them first"
        )
    if known.size < 2 or not np.isin(labels, known).all():
        raise LabelError(
            "`y` must hold two labels, one for each class; where it may hold one class alone, name both "
            "(classes=(negative, positive))"
        )
    return known


def check_payer(ledger: str | Path | None, account: str | None, question: PublicQuestion | None) -> None:
    """Refuse an account without a ledger, a ledger without an account, and a question without a ledger."""
    if (account is None) != (ledger is None):
        raise ParameterError("give `ledger`, a path or URL, and `account` together")
    if question is not None and ledger is None:
        raise ParameterError("`question` needs a ledger; give `ledger` and `account` as well")


def charge_and_draw(
    prepared: Prepared[A],
    ledger: str | Path | None,
    account: str | None,
    question: PublicQuestion | None,
    **public: Any,
) -> tuple[A, Receipt[A] | None]:
    """Draw the answer. With a ledger, charge it first and return the receipt as well.

    `public` holds the parameters of the estimator that decide how rows are read. They are part of the question.
    """
    if ledger is None or account is None:
        return prepared.draw()[0], None
    if question is not None:
        read = {name: None if value is None else repr(value) for name, value in public.items()}
        question = replace(question, details={**question.details, "read": read})
    receipt = Payer(subject=DeclaredSubject(stated=question), ledger=ledger, account=account).pay(prepared)
    return receipt.answers[0][0], receipt


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
