"""scikit-learn estimators for private feature selection and private classifiers.

Names load on first use. They need scikit-learn: `pip install 'confide[learn]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.estimators.logistic import PrivateLogisticRegression as PrivateLogisticRegression
    from confide.estimators.naive_bayes import PrivateNaiveBayes as PrivateNaiveBayes
    from confide.estimators.pipelines import total_guarantee as total_guarantee
    from confide.estimators.selector import PrivateSelector as PrivateSelector

_HOMES = {
    "confide.estimators.logistic": "PrivateLogisticRegression",
    "confide.estimators.naive_bayes": "PrivateNaiveBayes",
    "confide.estimators.pipelines": "total_guarantee",
    "confide.estimators.selector": "PrivateSelector",
}

__all__, __getattr__ = lazy_names("confide.estimators", _HOMES)


def __dir__() -> list[str]:
    return __all__
