"""Private learning: selection of features, classifiers, and both as scikit-learn estimators.

Import names from `confide.learning`; they load on first use. The estimators need scikit-learn:
`pip install 'confide[learn]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.learning.estimators import PrivateLogisticRegression as PrivateLogisticRegression
    from confide.learning.estimators import PrivateNaiveBayes as PrivateNaiveBayes
    from confide.learning.estimators import PrivateSelector as PrivateSelector
    from confide.learning.linear_model import LinearModel as LinearModel
    from confide.learning.logistic import prepare_logistic as prepare_logistic
    from confide.learning.naive_bayes import Recipe as Recipe
    from confide.learning.naive_bayes import prepare_naive_bayes as prepare_naive_bayes
    from confide.learning.pipelines import total_guarantee as total_guarantee
    from confide.learning.selection import Selection as Selection
    from confide.learning.selection_methods import METHODS as METHODS
    from confide.learning.selection_methods import prepare_selection as prepare_selection

_HOMES = {
    "confide.learning.estimators": "PrivateLogisticRegression PrivateNaiveBayes PrivateSelector",
    "confide.learning.linear_model": "LinearModel",
    "confide.learning.logistic": "prepare_logistic",
    "confide.learning.naive_bayes": "Recipe prepare_naive_bayes",
    "confide.learning.pipelines": "total_guarantee",
    "confide.learning.selection": "Selection",
    "confide.learning.selection_methods": "METHODS prepare_selection",
}

__all__, __getattr__ = lazy_names("confide.learning", _HOMES)


def __dir__() -> list[str]:
    return __all__
