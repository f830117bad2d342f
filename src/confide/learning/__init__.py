"""Private classifiers: naive Bayes and logistic regression, and estimators for scikit-learn.

Everything here loads on first use: only the estimators need scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.lazily import lazy_names

if TYPE_CHECKING:
    from confide.learning.linear_model import LinearModel as LinearModel
    from confide.learning.logistic import prepare_logistic as prepare_logistic
    from confide.learning.logistic_estimator import PrivateLogisticRegression as PrivateLogisticRegression
    from confide.learning.naive_bayes import Recipe as Recipe
    from confide.learning.naive_bayes import prepare_naive_bayes as prepare_naive_bayes
    from confide.learning.naive_bayes_estimator import PrivateNaiveBayes as PrivateNaiveBayes

_HOMES = {
    "confide.learning.linear_model": "LinearModel",
    "confide.learning.logistic": "prepare_logistic",
    "confide.learning.logistic_estimator": "PrivateLogisticRegression",
    "confide.learning.naive_bayes": "Recipe prepare_naive_bayes",
    "confide.learning.naive_bayes_estimator": "PrivateNaiveBayes",
}

__all__, __getattr__ = lazy_names("confide.learning", _HOMES)


def __dir__() -> list[str]:
    return __all__
