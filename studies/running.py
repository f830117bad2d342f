"""Run the pieces of a study beside each other, each once, and store those that are finished."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from studies.store import Arrays, Store

Workers = Literal["processes", "threads"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """Part of a study that is computed by itself: a name, unique in the study, and a function of its arguments.

    The result must depend on nothing else; random numbers come from `generator_for` with the seed and the name.
    Processes need a function of a module.
    """

    name: str
    work: Callable[..., Arrays]
    arguments: tuple[Any, ...] = ()

    def run(self) -> Arrays:
        """Compute the piece."""
        return self.work(*self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preparation:
    """What each process does once before its first piece, such as to keep data that all pieces read."""

    begin: Callable[..., None]
    arguments: tuple[Any, ...]


def usable_cores() -> int:
    """Return the number of threads or processes that may run in parallel."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_pieces(
    pieces: Sequence[Piece],
    store: Store | None = None,
    *,
    jobs: int | None = None,
    workers: Workers = "processes",
    prepare: Preparation | None = None,
    finished: Callable[[str], None] = lambda name: None,
) -> dict[str, Arrays]:
    """Return the results of all pieces by name, in their order, from the store where it has them.

    Results do not depend on `jobs` or `workers`. Each piece is stored as soon as it is finished.
    """
    found = {piece.name: None if store is None else store.get(piece.name) for piece in pieces}
    waiting = [piece for piece in pieces if found[piece.name] is None]
    for piece in pieces:
        if found[piece.name] is not None:
            finished(piece.name)
    for name, arrays in _computed(waiting, jobs or usable_cores(), workers, prepare):
        found[name] = arrays
        if store is not None:
            store.put(name, arrays)
        finished(name)
    return {name: arrays for name, arrays in found.items() if arrays is not None}


def _computed(
    pieces: Sequence[Piece], jobs: int, workers: Workers, prepare: Preparation | None
) -> Iterator[tuple[str, Arrays]]:
    if not pieces:
        return
    if jobs == 1:
        if prepare is not None:
            prepare.begin(*prepare.arguments)
        for piece in pieces:
            yield piece.name, piece.run()
        return
    with _pool(jobs, workers, prepare) as pool:
        running: dict[Future[Arrays], str] = {pool.submit(piece.run): piece.name for piece in pieces}
        for future in as_completed(running):
            yield running[future], future.result()


@contextmanager
def _pool(jobs: int, workers: Workers, prepare: Preparation | None) -> Iterator[Executor]:
    """Open a pool; where the caller stops or fails, pieces that have not begun are not run."""
    pool: Executor
    if workers == "threads":
        if prepare is not None:
            prepare.begin(*prepare.arguments)
        pool = ThreadPoolExecutor(jobs)
    else:
        # Libraries that read files have threads, which must not be forked.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_process, initargs=(prepare,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_process(prepare: Preparation | None) -> None:
    """Prepare a process, and let it end with the one that started it, even if that one is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if prepare is not None:
        prepare.begin(*prepare.arguments)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
