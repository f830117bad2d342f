"""Private selection of features: the methods, and transformers for scikit-learn.

Everything here loads on first use: only the transformers and what adds up a pipeline need scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.lazily import lazy_names

if TYPE_CHECKING:
    from confide.selection.methods import METHODS as METHODS
    from confide.selection.methods import prepare_selection as prepare_selection
    from confide.selection.pipelines import total_guarantee as total_guarantee
    from confide.selection.selection import Selection as Selection
    from confide.selection.transformers import ScoreClusters as ScoreClusters
    from confide.selection.transformers import ScorePerturbation as ScorePerturbation
    from confide.selection.transformers import SparseVector as SparseVector
    from confide.selection.transformers import TopFeatures as TopFeatures

_HOMES = {
    "confide.selection.methods": "METHODS prepare_selection",
    "confide.selection.pipelines": "total_guarantee",
    "confide.selection.selection": "Selection",
    "confide.selection.transformers": "ScoreClusters ScorePerturbation SparseVector TopFeatures",
}

__all__, __getattr__ = lazy_names("confide.selection", _HOMES)


def __dir__() -> list[str]:
    return __all__
