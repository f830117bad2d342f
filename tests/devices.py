"""Libraries whose arrays are evaluated where they are, each as a function that brings a NumPy array to its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from confide import device

Move = Callable[[Any], Any]


def _numpy() -> Move:
    return np.asarray


def _strict() -> Move:
    """Imitate a GPU: NumPy cannot read these arrays, and nothing outside the standard exists."""
    import array_api_strict as xp

    return lambda array: xp.asarray(array, device=xp.Device("device1"))


def _torch() -> Move:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; it is no dependency")
    where = "cuda" if torch.cuda.is_available() else "cpu"
    return lambda array: torch.asarray(np.array(array), device=where)


LIBRARIES: dict[str, Callable[[], Move]] = {"numpy": _numpy, "array-api-strict": _strict, "torch": _torch}
"""Libraries on which the kernels are tested."""

DEVICES = ("array-api-strict", "torch")
"""Libraries whose arrays can be elsewhere than in the host's memory."""


def device_library(name: str, monkeypatch: pytest.MonkeyPatch) -> Move:
    """Return the library, with the memory of the host taken for a device where there is no other."""
    move = LIBRARIES[name]()
    monkeypatch.setattr(device, "_HOST", frozenset())
    return move
