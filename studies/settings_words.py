"""Settings of each study in words that a reader of its paper understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SEED = {"seed": "seed {}"}

WORDS: Mapping[str, Mapping[str, str]] = {
    "boyd-pr": {
        "repetitions": "{} samples in each setting",
        "bootstrapped": "{} of them bootstrapped, by the size of samples that have intervals",
        "replicates": "{} bootstrap replicates of a sample",
        "folds": "{} folds of cross-validation",
        "level": "intervals of level {}",
        "sizes": "samples of {} rows",
        "interval_sizes": "intervals at {} rows",
        "prevalences": "prevalences {}",
        **_SEED,
    },
    "boyd-private": {
        **_SEED,
        "epsilons": "epsilon {}",
        "test_sets": "{} test sets of each size",
        "releases_of_each": "{} private numbers of each test set at every epsilon",
        "attacked_rows": "attacks on datasets of {} rows",
        "attack_trials": "{} trials of each attack on exact numbers",
        "attack_releases": "{} trials on private numbers",
        "histogram_draws": "{} private numbers in each histogram",
        "prevalence_draws": "{} private numbers at each prevalence",
        "curve_draws": "{} private ROC curves in each setting",
        "count_tables": "{} private tables of counts",
        "exhaustive_rows": "theorems tried on all datasets of up to {} rows",
    },
    "stoddard": {
        "epsilons": "epsilon {}",
        "folds": "{} folds of cross-validation",
        **_SEED,
        "k": "{} selected words",
        "thresholds": "thresholds of selection {}",
        "shares": "{} of epsilon spent on the selection",
        "row_weights": "rows cut to {} words",
        "datasets": "collections of texts: {}",
    },
    "schalk": {
        "repetitions": "{} simulated studies",
        **_SEED,
        "epsilons": "epsilon {}",
        "deltas": "delta {}",
        "sensitivities": "sensitivity {}",
        "grids": "the private mode with cells {}",
    },
    "whitehill": {
        "tree": "a decision tree for {} rows (Example 2)",
        "truths": "attacked with {} true labelings",
        "denominator": "the conjecture tried on AUCs p/q with q up to {}",
        "contests": "{} attacked contests",
        "boards": "{} simulated contests with a board",
        "board_rows": "boards of {} rows",
        "answers": "{} submissions to each board",
        "teams": "{} teams on it",
        "epsilons": "labels masked at epsilon {}",
        **_SEED,
    },
}
"""Words of each setting, by study and name; {} stands for the value."""


def settings_words(study: str, settings: Mapping[str, Any]) -> str:
    """Return the settings of a run in words.

    >>> settings_words("schalk", {"repetitions": 10000, "seed": 0})
    '10,000 simulated studies; seed 0'
    """
    return "; ".join(WORDS[study][name].format(_value(value)) for name, value in settings.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
