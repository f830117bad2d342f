"""Draw samples, estimate their AUCPR in every way, and find what each interval needs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import recall_levels
from confide.metrics.precision_recall import ESTIMATORS, aucpr_scores
from studies.boyd_pr.kernels import bootstrap_estimates, fold_estimates
from studies.boyd_pr.plan import FOLDS, LEVEL, PIECE, REPLICATES, Setting, Settings
from studies.repeatable_noise import generator_for
from studies.running import Piece
from studies.store import Arrays

AS_PRINTED = "upper_trapezoid_as_printed"
"""Upper trapezoid of equation 4.4, beside the one that its text describes."""

ALL_ESTIMATORS = (*ESTIMATORS, AS_PRINTED)

_TAIL = (1.0 - LEVEL) / 2.0


def simulation_pieces(settings: Settings) -> tuple[Piece, ...]:
    """Return the pieces of the simulation, the first samples of every setting first."""
    return tuple(
        Piece(name=piece_name(setting, first), work=simulate, arguments=(settings, setting, first))
        for first in range(0, settings.repetitions, PIECE)
        for setting in settings.every
    )


def piece_name(setting: Setting, first: int) -> str:
    """Return the name of the piece that begins with a sample."""
    return f"{setting.name}, samples from {first + 1:,}"


def gathered(settings: Settings, found: Mapping[str, Arrays]) -> dict[Setting, Arrays]:
    """Put the pieces of each setting end to end."""
    return {
        setting: _joined([found[piece_name(setting, first)] for first in range(0, settings.repetitions, PIECE)])
        for setting in settings.every
    }


def _joined(parts: list[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def simulate(settings: Settings, setting: Setting, first: int) -> Arrays:
    """Draw samples of a setting and estimate; the first ones are bootstrapped too."""
    samples = range(first, min(first + PIECE, settings.repetitions))
    rng = generator_for(settings.seed, "boyd-pr", piece_name(setting, first))
    estimates, folds, quantiles = [], [], []
    for sample in samples:
        counts = setting.scenario.draw(setting.rows, rng)
        scores = aucpr_scores(counts)
        estimates.append([*(scores[name] for name in ESTIMATORS), equation_4_4(counts)])
        if setting.intervals:
            labels = counts.positives[::-1] > 0
            folds.append(_mean_and_deviation(fold_estimates(labels, FOLDS, rng)))
            if sample < settings.bootstrapped_at(setting.rows):
                replicates = bootstrap_estimates(labels, REPLICATES, rng)
                quantiles.append(np.quantile(replicates, (_TAIL, 0.5, 1.0 - _TAIL), axis=0))
    return {
        "estimates": np.array(estimates),
        "folds": np.array(folds).reshape(len(folds), 2, 3),
        "bootstrap": np.array(quantiles).reshape(len(quantiles), 3, 3),
    }


def _mean_and_deviation(values: FloatArray) -> FloatArray:
    return np.stack((values.mean(axis=0), values.std(axis=0, ddof=1)))


def equation_4_4(counts: ScoreCounts) -> float:
    """Return the upper trapezoid as the dissertation prints it: from a highest to the next lowest precision."""
    levels = recall_levels(counts)
    left = np.concatenate(([1.0], levels.highest[:-1]))
    return float(np.sum(np.diff(levels.recall, prepend=0.0) * (left + levels.lowest) / 2.0))
