"""Values that the Tab key offers for options with a short list of names.

The names stand here a second time, so that pressing Tab loads nothing heavy. A test compares them with the registries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

NEIGHBOURS = ("replace-one", "add-remove-one", "label-only")
UNITS = ("row", "person")
COMPOSITIONS = ("addition", "zcdp")
NOISES = ("laplace", "gaussian")
MODES = ("disclosure-control", "secure-sum", "private", "noisy-scores")
METRICS = ("auc", "average_precision", "brier", "prevalence", "confusion", "curves", "roc", "pr", "calibration",
           "counts", "observed_expected")  # fmt: skip
STRATEGIES = ("auto", "flat", "tree", "haar")
SHAPES = ("concave", "isotonic", "counts", "binormal", "roc-glm")
METHODS = ("score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters")
FEATURE_SCORES = ("total-count", "difference-count", "purity-index", "information-gain")
ENGINES = ("postgresql", "duckdb", "spark")
MODELS = ("naive-bayes", "logistic-regression")


def one_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of several names.

    >>> one_of(UNITS)("p")
    ['person']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def several_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that completes the last of several names with commas.

    >>> several_of(METRICS)("auc,bri")
    ['auc,brier']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in given]

    return complete
