"""Kernels compiled for a GPU: found where they can be compiled, and checked before they are used."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from confide.device import is_gpu_tensor
from confide.kernels.sums import sum_counts


def device_kernels(array: Any) -> ModuleType | None:
    """Return the kernels of `triton_sums` if the array is a PyTorch tensor on a GPU for which Triton can compile them.

    Elsewhere return None: the functions of the array API standard give the same sums.
    """
    if not is_gpu_tensor(array) or find_spec("triton") is None:
        return None
    return _checked(array.device)


@cache
def _checked(device: Any) -> ModuleType | None:
    """Compile the kernels for a device, and compare their sums of a few rows with the host's."""
    import torch

    try:
        from confide.kernels import triton_sums

        # An old GPU or a missing C compiler, for example, fails in many ways.
        agrees = _agree(triton_sums, lambda values: torch.asarray(values, device=device))
    except Exception:
        return None
    return triton_sums if agrees else None


def _agree(kernels: ModuleType, move: Any) -> bool:
    """Return whether kernels sum rows as the host does: three with each score, so that runs cross strips."""
    distinct = kernels.TILE * kernels.TILES + 5
    row = np.arange(3 * distinct)
    place = row // 3
    labels = (place * 5 + row) % 4 == 0
    positives = np.bincount(place, labels).astype(np.int64)
    expected = sum_counts(positives, 3 - positives)
    ordered, count = kernels.gathered_labels(move(labels[::-1].copy()), move(row[::-1].copy()))
    sums = kernels.sum_strips(move(place.astype(np.float64)), ordered, count)
    return bool(
        sums.twice_wins == expected.twice_wins
        and np.isclose(sums.precision_sum, expected.precision_sum, rtol=1e-12)
        and np.isclose(sums.auc_variance, expected.auc_variance, rtol=1e-12)
    )
