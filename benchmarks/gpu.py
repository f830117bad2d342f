"""Exact AUC, average precision and DeLong's standard error of tensors on a GPU, beside torchmetrics' AUC.

Needs PyTorch and this source tree; torchmetrics if it is there. Without a GPU it runs on the CPU and says so.
On a machine that has PyTorch and NumPy alone, put what else is needed into a folder first:

    pip install --no-deps --target build/gpu-packages array-api-compat torchmetrics lightning-utilities packaging
    PYTHONPATH=src:build/gpu-packages python -m benchmarks.gpu --rows 1e7 1e8 1e9
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.timing import seconds, table

GOALS = "goals on one H200: float64, 10^9 rows in 350 ms; at 10^8 rows twice as fast as torchmetrics; 50 bytes a row"
_CHECKED = 10**6  # rows of the comparison with NumPy
_FREE = 1 << 16


def run(*, quick: bool = False) -> None:
    measure([10**6] if quick else [10**6, 10**7])


def measure(sizes: Sequence[int], *, kinds: Sequence[str] = ("float32", "float64"), repetitions: int = 3) -> None:
    """Print time and memory for each number of rows and kind of scores, on the GPU if there is one."""
    torch = _module("torch")
    if torch is None:
        print("PyTorch is not installed, so nothing was measured here; the numbers are checked on NumPy alone.")
        _check(np.asarray)
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name(0) if device == "cuda" else f"no GPU: the CPU ({platform.machine()})"
    print(f"{where}, PyTorch {torch.__version__}; {GOALS}")
    print(f"command: python -m benchmarks.gpu {' '.join(sys.argv[1:])}".rstrip())
    _check(lambda array: torch.asarray(array, device=device))
    peer = _peer()
    if peer is None:
        print("torchmetrics is not installed: its column is empty")
    lines = [_line(torch, device, rows, kind, peer, repetitions) for rows in sizes for kind in kinds]
    head = (
        "rows and scores",
        "confide: AUC, AP, SE",
        "ns/row",
        "bytes/row",
        "sort alone",
        "torchmetrics: AUC",
        "ratio",
    )
    table(head, lines)


def _line(torch: Any, device: str, rows: int, kind: str, peer: Any, repetitions: int) -> tuple[str, ...]:
    from confide.intervals.delong import summary_of_sums
    from confide.sources.device_rows import device_sums

    labels, scores = _tensors(torch, device, rows, kind)
    ours = _best(torch, device, repetitions, lambda: summary_of_sums(device_sums(labels, scores)))
    held = "–" if device == "cpu" else f"{torch.cuda.max_memory_allocated() / rows:.1f}"
    alone = _best(torch, device, repetitions, lambda: scores.sort())
    try:
        theirs = None if peer is None else _best(torch, device, repetitions, lambda: peer(scores, labels))
    except torch.OutOfMemoryError:
        theirs = None
    return (
        f"{rows:,} {kind}",
        seconds(ours),
        f"{ours / rows * 1e9:.2f}",
        held,
        seconds(alone),
        "–" if theirs is None else seconds(theirs),
        "–" if theirs is None else f"{theirs / ours:.1f}x",
    )


def _tensors(torch: Any, device: str, rows: int, kind: str) -> tuple[Any, Any]:
    """Draw labels, 30 % of them positive, and scores that are probabilities, so that torchmetrics leaves them alone."""
    generator = torch.Generator(device=device).manual_seed(1)
    labels = torch.rand(rows, device=device, generator=generator) < 0.3
    scores = torch.randn(rows, device=device, generator=generator, dtype=getattr(torch, kind))
    scores += labels
    return labels, scores.sigmoid_()


def _best(torch: Any, device: str, repetitions: int, function: Callable[[], object]) -> float:
    """Return the least time of a function, after one call that is not counted."""
    best = float("inf")
    for repetition in range(repetitions + 1):
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        function()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started) if repetition else best
    return best


def _check(move: Callable[[Any], Any]) -> None:
    """Compare the sums with NumPy's integers, with and without ties."""
    from confide.kernels.array_rows import sort_rows, sum_sorted

    rng = np.random.default_rng(0)
    labels = rng.random(_CHECKED) < 0.3
    shifted = rng.standard_normal(_CHECKED) + labels
    for scores in (shifted, shifted.astype(np.float32), shifted.round(3)):
        sums = sum_sorted(sort_rows(move(labels), move(scores)), chunk=_FREE)
        order = np.unique(scores, return_inverse=True)[1]
        positives = np.bincount(order, labels).astype(np.int64)
        negatives = np.bincount(order) - positives
        twice = int(np.dot(positives, 2 * np.cumsum(negatives) - negatives))
        assert sums.twice_wins == twice
        assert Fraction(sums.auc) == Fraction(twice / (2 * sums.positives * sums.negatives))
    print(f"checked at {_CHECKED:,} rows: AUC equals NumPy's integers, with and without ties")


def _peer() -> Any:
    if _module("torchmetrics") is None:
        return None
    return import_module("torchmetrics.functional.classification").binary_auroc


def _module(name: str) -> Any:
    return import_module(name) if importlib.util.find_spec(name) else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e7, 1e8], help="numbers of rows (default: 1e7 1e8)")
    parser.add_argument("--kinds", nargs="+", default=["float32", "float64"], help="kinds of scores")
    parser.add_argument("--repetitions", type=int, default=3, help="timed calls of each, of which the best is shown")
    options = parser.parse_args()
    measure([int(rows) for rows in options.rows], kinds=options.kinds, repetitions=options.repetitions)


if __name__ == "__main__":
    main()
