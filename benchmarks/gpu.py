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
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.timing import seconds

GOALS = "goals on one H200: float64, 10^9 rows in 140 ms; at 10^8 rows twice as fast as torchmetrics; 50 bytes a row"
_CHECKED = 10**6  # rows of the comparison with NumPy
_CHUNK = 1 << 16


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
    cupy = _module("cupy") if device == "cuda" else None
    if cupy is not None:
        _check(cupy.asarray)
    print(f"kernels: {_kernels(torch, device)}")
    peer = _peer()
    if peer is None:
        print("torchmetrics is not installed: its column is empty")
    print("confide: AUC, average precision and standard error; torchmetrics: AUC alone")
    print("sorted: keys of scores and labels, or pairs of scores and row numbers; pair sort: PyTorch's, alone")
    head = (
        "rows and scores",
        "AUC, AP, SE",
        "ns/row",
        "bytes/row",
        "sorted",
        "with curves",
        "pair sort",
        "torchmetrics",
        "ratio",
    )
    _print(head)
    for rows in sizes:
        for kind in kinds:
            _print(_line(torch, device, rows, kind, peer, repetitions))


def _print(cells: Sequence[str]) -> None:
    """Print a line of the table at once: a measurement that is cut short keeps what it has."""
    first, *others = cells
    print(f"  {first:<22}", *(f"{cell:>12}" for cell in others), flush=True)


def _line(torch: Any, device: str, size: int, kind: str, peer: Any, repetitions: int) -> tuple[str, ...]:
    from confide.device import least_and_largest, namespace_of
    from confide.intervals.delong import summary_of_sums
    from confide.kernels.array_rows import sum_keys, sum_sorted
    from confide.sources.device_rows import device_rows, device_sums, thinned_counts

    def with_curves() -> object:
        rows = device_rows(labels, scores)
        return sum_sorted(rows), thinned_counts(rows, (0.5,))

    labels, scores = _tensors(torch, device, size, kind)
    ours = _best(torch, device, repetitions, lambda: summary_of_sums(device_sums(labels, scores)))
    held = "–" if device == "cpu" else f"{torch.cuda.max_memory_allocated() / size:.1f}"
    ends = least_and_largest(namespace_of(scores), scores)
    path = "pairs" if sum_keys(labels, scores, ends) is None else "keys"
    curves = _best(torch, device, repetitions, with_curves)
    alone = _best(torch, device, repetitions, lambda: scores.sort())
    try:
        theirs = None if peer is None else _best(torch, device, repetitions, lambda: peer(scores, labels))
    except torch.cuda.OutOfMemoryError:
        theirs = None
    return (
        f"{size:,} {kind}",
        seconds(ours),
        f"{ours / size * 1e9:.2f}",
        held,
        path,
        seconds(curves),
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
    """Compare sums, counts and cells with NumPy's, with and without ties, and the public functions with both."""
    from confide.device import on_device
    from confide.intervals.delong import rank_summary
    from confide.kernels.array_rows import sum_sorted
    from confide.kernels.sums import sum_counts
    from confide.metrics.ranking import auc_score
    from confide.sources.device_rows import counts_of, device_rows, thinned_counts

    rng = np.random.default_rng(0)
    labels = rng.random(_CHECKED) < 0.3
    shifted = rng.standard_normal(_CHECKED) + labels
    probabilities = 1.0 / (1.0 + np.exp(-shifted))
    wide = np.where(np.arange(_CHECKED) % 2, shifted, shifted * 1e-40).astype(np.float32)  # keys cannot hold these
    for scores in (shifted, shifted.astype(np.float32), shifted.round(3), probabilities, wide):
        values, place = np.unique(scores.astype(np.float64), return_inverse=True)
        positives = np.bincount(place, labels).astype(np.int64)
        expected = sum_counts(positives, np.bincount(place) - positives)
        rows = device_rows(move(labels), move(scores))
        for chunk in (_CHUNK, None):  # by the functions of the standard, and by compiled kernels where there are any
            sums = sum_sorted(rows, chunk=chunk)
            assert sums.twice_wins == expected.twice_wins
            for name in ("precision_sum", "positive_placement_ss", "negative_placement_ss"):
                assert abs(getattr(sums, name) / getattr(expected, name) - 1.0) < 1e-12, name
        counts = counts_of(rows)
        assert np.array_equal(counts.scores, values)
        assert np.array_equal(counts.positives, positives)
        thinned, _ = thinned_counts(rows, (0.5,))
        assert thinned.total_positives == sums.positives
        assert thinned.positives[thinned.scores >= 0.5].sum() == positives[values >= 0.5].sum()
        if not on_device(move(scores)):  # the public functions would take the compiled kernels of the host
            continue
        summary = rank_summary(move(labels), move(scores))
        assert summary.auc == auc_score(move(labels), move(scores)) == sums.auc
        assert abs(summary.auc_variance / expected.auc_variance - 1.0) < 1e-12
    library = type(move(labels)).__module__
    print(f"{library}, {_CHECKED:,} rows: AUC equals NumPy's integers, other sums agree to 12 digits, also with ties")


def _kernels(torch: Any, device: str) -> str:
    from confide.kernels.array_rows import device_kernels

    triton = device_kernels(torch.empty(0, device=device))
    return "PyTorch's own" if triton is None else f"Triton {import_module('triton').__version__}"


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
