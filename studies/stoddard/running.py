"""Trials on all folds, in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from confide.features import FeatureRows
from studies.folds import fold_of_each
from studies.repeatable_noise import generator_for
from studies.running import Piece, Preparation
from studies.stoddard.data import Dataset
from studies.stoddard.trials import Fold, FoldResult, Trial, run_trials
from studies.store import Arrays

PIECE = 60
"""Trials that are run in one go."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """Data of all trials: the rows of each dataset, the number of folds and the seed."""

    rows: Mapping[str, FeatureRows]
    folds: int
    seed: int

    @classmethod
    def of(cls, datasets: Iterable[Dataset], *, folds: int, seed: int) -> Ground:
        """Take the rows of datasets."""
        return cls(rows={dataset.corpus.key: dataset.rows for dataset in datasets}, folds=folds, seed=seed)

    def fold(self, dataset: str, number: int) -> Fold:
        """Training rows and held-out rows of one fold."""
        rows = self.rows[dataset]
        return Fold.of(rows, fold_of_each(rows.labels, self.folds, generator_for(self.seed, "folds", dataset)), number)


def preparation(ground: Ground) -> Preparation:
    """Give each process the data once."""
    return Preparation(begin=_begin, arguments=(ground,))


def pieces(trials: Sequence[Trial], folds: int) -> tuple[Piece, ...]:
    """Divide trials by dataset and fold, into pieces of like size."""
    return tuple(
        Piece(
            name=f"{dataset}, fold {fold + 1}, trials {start + 1} to {start + len(ours)}",
            work=_run_piece,
            arguments=(dataset, fold, ours),
        )
        for dataset, fold, start, ours in _divided(trials, folds)
    )


def gathered(trials: Sequence[Trial], folds: int, found: Mapping[str, Arrays]) -> dict[Trial, tuple[FoldResult, ...]]:
    """Return the results of each trial in all folds from those of all pieces, in their order."""
    results: dict[Trial, list[FoldResult]] = {}
    for (_, _, _, ours), arrays in zip(_divided(trials, folds), found.values(), strict=True):
        numbers = zip(arrays["values"].tolist(), arrays["features"].tolist(), strict=True)
        for trial, (value, features) in zip(ours, numbers, strict=True):
            results.setdefault(trial, []).append(FoldResult(value=value, features=features))
    return {trial: tuple(each) for trial, each in results.items()}


def _divided(trials: Sequence[Trial], folds: int) -> Iterator[tuple[str, int, int, tuple[Trial, ...]]]:
    for dataset in dict.fromkeys(trial.dataset for trial in trials):
        ours = tuple(trial for trial in trials if trial.dataset == dataset)
        for fold in range(folds):
            for start in range(0, len(ours), PIECE):
                yield dataset, fold, start, ours[start : start + PIECE]


_GROUND: list[Ground] = []  # of a process that runs pieces


def _begin(ground: Ground) -> None:
    _GROUND[:] = [ground]
    _kept_fold.cache_clear()


def _run_piece(dataset: str, fold: int, trials: Sequence[Trial]) -> Arrays:
    (ground,) = _GROUND
    results = run_trials(_kept_fold(dataset, fold), trials, ground.seed)
    return {
        "values": np.array([result.value for result in results]),
        "features": np.array([result.features for result in results], dtype=np.int64),
    }


@lru_cache(maxsize=1)
def _kept_fold(dataset: str, number: int) -> Fold:
    (ground,) = _GROUND
    return ground.fold(dataset, number)
