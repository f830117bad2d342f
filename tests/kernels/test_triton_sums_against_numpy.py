"""Kernels that Triton compiles for GPUs, interpreted by Triton on the host, against sums of counts by NumPy.

One module sums sorted rows, the other one sorts keys that hold scores and labels.

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

from confide.errors import ScoreError
from confide.kernels import array_rows
from confide.kernels.sums import RankSums, sum_counts
from confide.sources.device_rows import device_sums

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


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the kernels that sort keys with strips of 16 entries. Rows in the host's memory are summed by them too."""
    module = importlib.import_module("confide.kernels.triton_keys")
    monkeypatch.setattr(module, "TILE", 16)
    monkeypatch.setattr(array_rows, "key_kernels", lambda _: module)
    return module


def _tensor(values: Any, kind: str | None = None) -> Any:
    torch = importlib.import_module("torch")
    return torch.asarray(values, dtype=kind and getattr(torch, kind))


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
    _assert_same(sums, _expected(labels, scores))


def _expected(labels: Any, scores: Any) -> RankSums:
    _, place = np.unique(scores, return_inverse=True)
    positives = np.bincount(place, labels).astype(np.int64)
    return sum_counts(positives, np.bincount(place) - positives)


def _assert_same(sums: RankSums | None, expected: RankSums) -> None:
    assert sums is not None
    assert (sums.positives, sums.negatives) == (expected.positives, expected.negatives)
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

    assert array_rows._agree(kernels, _tensor)
    monkeypatch.setattr(kernels, "_carried", forgetful)
    assert not array_rows._agree(kernels, _tensor)


FLOATS = ("float16", "bfloat16", "float32", "float64")


def _by_keys(labels: Any, scores: Any, kind: str) -> tuple[RankSums | None, RankSums]:
    """Return the sums of rows from keys, and those that NumPy gives for the same scores."""
    tensor = _tensor(scores, kind)
    ends = float(tensor.min()), float(tensor.max())
    return array_rows.sum_keys(_tensor(labels), tensor, ends), _expected(labels, tensor.double().numpy())


@inside
@pytest.mark.parametrize("float_kind", FLOATS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("size", [2, 16, 17, 100])
def test_sums_of_keys_equal_those_of_counts(keys: ModuleType, kind: str, size: int, float_kind: str) -> None:
    labels, scores = _rows(kind, size, size)
    _assert_same(*_by_keys(labels, scores - 0.25, float_kind))


@inside
@pytest.mark.parametrize("float_kind", FLOATS)
def test_zeros_are_equal_and_subnormals_are_not(keys: ModuleType, float_kind: str) -> None:
    torch = importlib.import_module("torch")
    least = torch.finfo(getattr(torch, float_kind)).smallest_normal / 8
    rng = np.random.default_rng(3)
    scores = rng.choice([-1.0, -2 * least, -least, -0.0, 0.0, least, 2 * least, 1.0], 200)
    labels = rng.random(200) < 0.4
    assert len(np.unique(_tensor(scores, float_kind).double().numpy())) == 7
    _assert_same(*_by_keys(labels, scores, float_kind))


@inside
def test_rows_need_not_be_contiguous(keys: ModuleType) -> None:
    labels, scores = _rows("few ties", 100, 5)
    pairs = _tensor(np.stack([-scores, scores], axis=1))
    sums = device_sums(_tensor(np.repeat(labels, 2))[::2], pairs[:, 1])
    _assert_same(sums, _expected(labels, scores))


@inside
@pytest.mark.parametrize("float_kind", ["float32", "float64"])
@pytest.mark.parametrize(
    ("ends", "small", "fits"),
    [
        ((-0.0, "max"), 1, True),
        (("-max", -0.0), -1, True),
        ((-2.0, "2"), 1, True),  # as integers, one less than a power of two apart: no gap is needed
        ((-2.0, 2.0), 1, False),  # one more: the gap is the least number above zero, and the one below
        ((-2.0, 2.0), -1, False),
        ((-2.0, 2.0), 2, True),
        ((-2.0, 2.0), -2, True),
        ((-5.0, 1000.0), 1, False),
        ((-5.0, 1000.0), 0, True),
        (("-max", "max"), 0, True),
    ],
)
def test_scores_fit_unless_one_lies_in_the_gap(
    keys: ModuleType, float_kind: str, ends: tuple[Any, Any], small: int, fits: bool
) -> None:
    """Put some scores at the ends, and others at the least numbers above or below zero."""
    kind = np.dtype(float_kind)
    names = {"max": float(np.finfo(kind).max), "2": float(np.nextafter(kind.type(2), kind.type(0)))}
    names |= {f"-{name}": -value for name, value in names.items()}
    low, high = (names.get(each, each) for each in ends)
    step = float(np.finfo(kind).smallest_subnormal)
    rng = np.random.default_rng(8)
    labels = rng.random(60) < 0.4
    scores = np.concatenate([[low, low, high, high], rng.choice([low, high, 0.0, small * step], 56)])
    sums, expected = _by_keys(labels, scores, float_kind)
    assert (sums is not None) == fits
    _assert_same(device_sums(_tensor(labels), _tensor(scores, float_kind)), expected)


@inside
def test_scores_in_the_gap_would_be_lost(keys: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its check, two scores in the gap would count as equal."""
    labels = np.arange(40) % 2 == 0
    scores = np.where(labels, 1e-45, 0.0)
    scores[:4] = -3.0, -3.0, 3.0, 3.0
    sums, expected = _by_keys(labels, scores, "float32")
    assert sums is None
    monkeypatch.setattr(importlib.import_module("torch").Tensor, "any", lambda _: False)
    sums, _ = _by_keys(labels, scores, "float32")
    assert sums is not None
    assert sums.twice_wins != expected.twice_wins


@inside
@pytest.mark.parametrize("bits", [32, 64])
def test_folded_scores_have_room(keys: ModuleType, bits: int) -> None:
    largest = (1 << (bits - 1)) - 1
    half = 1 << (bits - 2)
    for low, high in [(0, 0), (0, largest), (-largest, 0), (1 - half, half), (-half, half), (-largest, largest)]:
        gap, middle = keys.fold((low, high), bits)
        assert (gap > 0) == (high - low > largest)
        assert -largest - 1 <= 2 * (low + gap - middle)
        assert 2 * (high - gap - middle) + 1 <= largest


@inside
@pytest.mark.parametrize("positive", [True, False])
def test_one_class_has_no_sums(keys: ModuleType, positive: bool) -> None:
    sums, expected = _by_keys(np.full(50, positive), np.arange(50) / 50, "float32")
    assert sums == expected


@inside
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(keys: ModuleType, bad: float) -> None:
    labels, scores = _rows("distinct", 50, 1)
    scores[7] = bad
    with pytest.raises(ScoreError, match="must be finite"):
        device_sums(_tensor(labels), _tensor(scores))


COUNTS = {
    "balanced": ([7 * 10**8] * 2, [3 * 10**8] * 2),
    "separated": ([0, 0, 10**9, 1], [10**9, 1, 0, 0]),
    "nearly separated": ([1, 0, 10**9, 5 * 10**8], [10**9, 3, 1, 0]),
    "reversed": ([10**9, 2, 0, 1], [0, 1, 3, 10**9]),
}


@inside
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("first", [-15, 0, 15])
def test_long_ties_fit_64_bits_and_keep_their_digits(keys: ModuleType, name: str, first: int) -> None:
    """Put few entries with up to 10^9 rows each behind others, so that they also cross strips."""
    positives, negatives = (np.array([1, 2] * (15 + first) + each, dtype=np.int64) for each in COUNTS[name])
    counts = np.stack([negatives, positives], axis=1).ravel()
    present = counts > 0
    key = np.arange(counts.size, dtype=np.int64)[present]
    torch = importlib.import_module("torch")
    sums = keys._sum_entries(torch, _tensor(key), _tensor(counts[present]))
    _assert_same(sums, sum_counts(positives, negatives))


@inside
def test_wrong_kernels_of_keys_are_not_used(keys: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check before the first use refuses kernels that take each key for one row, or forget earlier strips."""
    torch = importlib.import_module("torch")
    summed, added = keys._sum_entries, keys.add_strips
    assert array_rows._agree(keys, _tensor)
    with monkeypatch.context() as patch:
        patch.setattr(keys, "_sum_entries", lambda xp, key, counts: summed(xp, key, torch.ones_like(counts)))
        assert not array_rows._agree(keys, _tensor)
    with monkeypatch.context() as patch:
        patch.setattr(keys, "add_strips", lambda xp, rows, sums, _, *more: added(xp, rows, sums, sums, *more))
        assert not array_rows._agree(keys, _tensor)
