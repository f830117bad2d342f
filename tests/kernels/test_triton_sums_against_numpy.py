"""Kernels that Triton compiles for GPUs, interpreted by Triton on the host, against sums of counts by NumPy.

Triton decides on import whether it interprets. So the tests run in a process of their own, which one test starts.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from confide.kernels import device_kernels
from confide.kernels.sums import sum_counts

pytestmark = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None,
    reason="PyTorch or Triton is not installed; neither is a dependency",
)
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
inside = pytest.mark.skipif(not INTERPRETED, reason="runs in the process that test_interpreted_kernels starts")


@pytest.mark.processes
@pytest.mark.skipif(INTERPRETED, reason="is running")
def test_interpreted_kernels() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", __file__]
    run = subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the kernels with strips of 64 rows, so that a few rows make many strips."""
    module = importlib.import_module("confide.kernels.triton_sums")
    monkeypatch.setattr(module, "TILE", 16)
    monkeypatch.setattr(module, "TILES", 4)
    return module


def _tensor(values: Any) -> Any:
    return importlib.import_module("torch").asarray(values)


SCORES: dict[str, Any] = {
    "distinct": lambda rng, size: rng.permutation(size) * 0.5,
    "few ties": lambda rng, size: rng.standard_normal(size).round(2),
    "many ties": lambda rng, size: rng.integers(0, 5, size).astype(np.float64),
    "one score": lambda _, size: np.full(size, 0.25),
    "one long run": lambda rng, size: np.where(rng.random(size) < 0.6, 0.0, rng.standard_normal(size)),
    "separated": None,
}


def _rows(kind: str, size: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.random(size) < 0.4
    labels[:2] = True, False
    draw = SCORES[kind]
    return labels, labels + rng.random(size) / 2.0 if draw is None else draw(rng, size)


@inside
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("size", [2, 15, 64, 65, 200])
def test_sums_equal_those_of_counts(kernels: ModuleType, kind: str, size: int) -> None:
    labels, scores = _rows(kind, size, size)
    order = np.argsort(scores, kind="stable")
    sums = kernels.sum_strips(_tensor(scores[order]), _tensor(labels[order]), int(labels.sum()))
    _, place = np.unique(scores, return_inverse=True)
    positives = np.bincount(place, labels).astype(np.int64)
    expected = sum_counts(positives, np.bincount(place) - positives)
    assert sums.twice_wins == expected.twice_wins
    for name in ("precision_sum", "positive_placement_ss", "negative_placement_ss"):
        assert getattr(sums, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=0.0), name


@inside
@pytest.mark.parametrize("size", [1, 31, 33, 4_100])
def test_labels_are_gathered_in_order(kernels: ModuleType, size: int) -> None:
    rng = np.random.default_rng(size)
    labels, order = rng.random(size) < 0.4, rng.permutation(size)
    spaced = _tensor(np.repeat(labels, 2))[::2]  # not contiguous
    ordered, positives = kernels.gathered_labels(spaced, _tensor(order))
    assert np.array_equal(ordered.numpy(), labels[order])
    assert positives == labels.sum()


@inside
def test_a_wrong_kernel_is_not_used(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check before the first use refuses kernels that forget the run which reaches into a strip."""
    carried = kernels._carried

    def forgetful(*given: object) -> tuple[object, ...]:
        before, start, rank = carried(*given)
        return before, start + 1, rank

    assert device_kernels._agree(kernels, _tensor)
    monkeypatch.setattr(kernels, "_carried", forgetful)
    assert not device_kernels._agree(kernels, _tensor)
