"""Private classifiers: naive Bayes and logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.learning.linear_model import LinearModel as LinearModel
    from confide.learning.logistic import prepare_logistic as prepare_logistic
    from confide.learning.naive_bayes import Recipe as Recipe
    from confide.learning.naive_bayes import prepare_naive_bayes as prepare_naive_bayes

_HOMES = {
    "confide.learning.linear_model": "LinearModel",
    "confide.learning.logistic": "prepare_logistic",
    "confide.learning.naive_bayes": "Recipe prepare_naive_bayes",
}

__all__, __getattr__ = lazy_names("confide.learning", _HOMES)


def __dir__() -> list[str]:
    return __all__
