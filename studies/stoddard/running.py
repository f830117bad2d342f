"""Trials on all folds, in as many processes as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context

from confide.features import FeatureRows
from studies.folds import fold_of_each
from studies.repeatable_noise import generator_for
from studies.stoddard.data import Dataset
from studies.stoddard.trials import Fold, FoldResult, Trial, run_trials

PIECE = 60
"""Trials that are run in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some trials on one fold of one dataset."""

    dataset: str
    fold: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """What all trials stand on: the rows of each dataset, the number of folds and the seed."""

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


def pieces(trials: Sequence[Trial], folds: int) -> tuple[Piece, ...]:
    """Divide trials by dataset and fold, into pieces of like size."""
    found = []
    for dataset in dict.fromkeys(trial.dataset for trial in trials):
        ours = [trial for trial in trials if trial.dataset == dataset]
        for fold in range(folds):
            for start in range(0, len(ours), PIECE):
                found.append(Piece(dataset=dataset, fold=fold, trials=tuple(ours[start : start + PIECE])))
    return tuple(found)


def usable_cores() -> int:
    """How many processes this one may run beside each other."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_pieces(
    ground: Ground, every: Sequence[Piece], *, jobs: int = 1, finished: Callable[[Piece], None] = lambda piece: None
) -> dict[Trial, tuple[FoldResult, ...]]:
    """What each trial found on each fold; the same whatever the number of processes."""
    found: dict[Trial, list[FoldResult]] = {}
    for piece, results in zip(every, _results(ground, every, jobs), strict=True):
        for trial, result in zip(piece.trials, results, strict=True):
            found.setdefault(trial, []).append(result)
        finished(piece)
    return {trial: tuple(results) for trial, results in found.items()}


def _results(ground: Ground, every: Sequence[Piece], jobs: int) -> Iterator[list[FoldResult]]:
    if jobs == 1:
        yield from _in_this_process(ground, every)
        return
    context = get_context("spawn")  # the engine that read the files has threads, which must not be forked
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(ground,)) as pool:
        yield from pool.map(_run_piece, every)


def _in_this_process(ground: Ground, every: Iterable[Piece]) -> Iterator[list[FoldResult]]:
    fold = lru_cache(maxsize=1)(ground.fold)
    for piece in every:
        yield run_trials(fold(piece.dataset, piece.fold), piece.trials, ground.seed)


_GROUND: list[Ground] = []  # of a process that runs pieces for another


def _begin(ground: Ground) -> None:
    _GROUND[:] = [ground]


def _run_piece(piece: Piece) -> list[FoldResult]:
    (ground,) = _GROUND
    return run_trials(_kept_fold(piece.dataset, piece.fold), piece.trials, ground.seed)


@lru_cache(maxsize=1)
def _kept_fold(dataset: str, number: int) -> Fold:
    (ground,) = _GROUND
    return ground.fold(dataset, number)
