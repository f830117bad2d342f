"""Kernels compiled for a GPU: found where they can be compiled, and checked before they are used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
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
    return _checked("triton_sums", array.device) if _compiles(array) else None


def key_kernels(array: Any) -> ModuleType | None:
    """Return the kernels of `triton_keys` under the same condition."""
    return _checked("triton_keys", array.device) if _compiles(array) else None


def _compiles(array: Any) -> bool:
    return is_gpu_tensor(array) and find_spec("triton") is not None


@cache
def _checked(name: str, device: Any) -> ModuleType | None:
    """Compile the kernels of a module for a device, and compare their sums of a few rows with the host's."""
    import torch

    try:
        kernels = import_module(f"confide.kernels.{name}")
        # An old GPU or a missing C compiler, for example, fails in many ways.
        agrees = _agree(kernels, lambda values: torch.asarray(values, device=device))
    except Exception:
        return None
    return kernels if agrees else None


def _agree(kernels: ModuleType, move: Any) -> bool:
    """Return whether kernels sum rows as the host does: three with each score, so that ties cross strips."""
    row = np.arange(3 * (kernels.strip_size() + 5))[::-1]
    place = row // 3
    labels = (place * 5 + row) % 4 == 0
    positives = np.bincount(place, labels).astype(np.int64)
    expected = sum_counts(positives, 3 - positives)
    sums = kernels.sum_rows(move(labels), move(place.astype(np.float64)), (0.0, float(place[0])))
    return bool(
        sums.twice_wins == expected.twice_wins
        and np.isclose(sums.precision_sum, expected.precision_sum, rtol=1e-12)
        and np.isclose(sums.auc_variance, expected.auc_variance, rtol=1e-12)
    )
