"""Arrays on a device give the host's numbers, and the host's refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import confide
from confide import device
from confide.errors import ConfideError
from confide.intervals import delong_interval, delong_variance, rank_summary
from tests.devices import DEVICES, Move, device_library

RNG = np.random.default_rng(3)
SIZE = 3_000
LABELS = RNG.random(SIZE) < 0.3
SCORES = (RNG.standard_normal(SIZE) + LABELS).round(2)

OF_LABELS: dict[str, tuple[Any, object]] = {
    "booleans": (LABELS, None),
    "bytes": (LABELS.astype(np.uint8), None),
    "integers": (LABELS.astype(np.int64), None),
    "floats": (LABELS.astype(np.float32), None),
    "minus and plus one": (2 * LABELS.astype(np.int8) - 1, None),
    "other numbers": (np.where(LABELS, 5, 9), 5),
    "a positive given as text": (np.where(LABELS, 5, 9), "5"),
    "false is positive": (~LABELS, False),
}
OF_SCORES: dict[str, Any] = {
    "double": SCORES,
    "single": SCORES.astype(np.float32),
    "integers": (SCORES * 100).astype(np.int32),
    "small integers": np.abs(SCORES * 10).astype(np.uint8),
    "booleans": SCORES > 0.5,
}


@pytest.fixture(params=DEVICES)
def move(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Move:
    return device_library(request.param, monkeypatch)


@pytest.mark.parametrize("kind", OF_LABELS)
def test_labels_of_any_kind(move: Move, kind: str) -> None:
    labels, positive = OF_LABELS[kind]
    found = rank_summary(move(labels), move(SCORES), positive=positive)
    expected = rank_summary(LABELS, SCORES)
    assert (found.positives, found.negatives, found.auc) == (expected.positives, expected.negatives, expected.auc)
    assert found.auc_variance == pytest.approx(expected.auc_variance, rel=1e-12)
    assert found.average_precision == pytest.approx(expected.average_precision, rel=1e-12)


@pytest.mark.parametrize("kind", OF_SCORES)
def test_scores_of_any_kind(move: Move, kind: str) -> None:
    scores = OF_SCORES[kind]
    assert confide.auc_score(move(LABELS), move(scores)) == confide.auc_score(LABELS, scores)
    counts = confide.ScoreCounts.from_arrays(move(LABELS), move(scores))
    assert counts == confide.ScoreCounts.from_arrays(LABELS, scores)


def test_half_precision_as_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models compute in these kinds on a GPU; the standard does not have them."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; it is no dependency")
    move = device_library("torch", monkeypatch)
    for kind in (torch.float16, torch.bfloat16):
        rounded = move(SCORES).to(kind)
        expected = confide.auc_score(LABELS, rounded.cpu().double().numpy())
        assert confide.auc_score(move(LABELS), rounded) == expected
        assert confide.auc_score(LABELS, device.to_host(rounded)) == expected


def test_a_gradient_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed; it is no dependency")
    expected = confide.auc_score(LABELS, SCORES)
    on_host = device_library("torch", monkeypatch)(SCORES).cpu().requires_grad_()
    assert confide.auc_score(LABELS, on_host) == expected
    monkeypatch.undo()
    assert confide.auc_score(LABELS, on_host) == expected


def test_functions_of_labels_and_scores(move: Move) -> None:
    labels, scores = move(LABELS), move(SCORES)
    assert confide.average_precision_score(labels, scores) == pytest.approx(
        confide.average_precision_score(LABELS, SCORES), rel=1e-12
    )
    assert delong_variance(labels, scores) == pytest.approx(delong_variance(LABELS, SCORES), rel=1e-12)
    found, expected = (delong_interval(*rows, level=0.9) for rows in ((labels, scores), (LABELS, SCORES)))
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), rel=1e-12)
    assert confide.roc_curve(labels, scores).area == confide.roc_curve(LABELS, SCORES).area
    named = confide.auc_score(move(np.where(LABELS, 2, 3)), scores, pos_label=2)
    assert named == confide.auc_score(LABELS, SCORES)


def test_labels_of_the_host_beside_scores_on_a_device(move: Move) -> None:
    expected = confide.auc_score(LABELS, SCORES)
    assert confide.auc_score(LABELS.tolist(), move(SCORES)) == expected
    assert confide.auc_score(np.where(LABELS, "yes", "no"), move(SCORES), pos_label="yes") == expected
    assert confide.auc_score(move(LABELS), SCORES) == expected


def test_weights_are_read_on_the_host(move: Move) -> None:
    weights = RNG.integers(0, 4, SIZE)
    found = confide.auc_score(move(LABELS), move(SCORES), sample_weight=move(weights))
    assert found == confide.auc_score(LABELS, SCORES, sample_weight=weights)
    assert rank_summary(move(LABELS), move(SCORES), move(weights + 1)) == rank_summary(LABELS, SCORES, weights + 1)


def test_private_rows_are_read_on_the_host(move: Move) -> None:
    counts = confide.ScoreCounts.from_arrays(move(LABELS[:5] * 0), move(SCORES[:5]), one_class=True)
    assert counts.total_positives == 0


def replaced(index: int, value: float) -> Any:
    scores = SCORES.copy()
    scores[index] = value
    return scores


BAD: dict[str, tuple[Any, Any]] = {
    "NaN": (LABELS, replaced(7, np.nan)),
    "infinite": (LABELS, replaced(7, np.inf)),
    "minus infinity": (LABELS, replaced(7, -np.inf)),
    "lengths": (LABELS[1:], SCORES),
    "two columns": (LABELS, np.stack([SCORES, SCORES], axis=1)),
    "one class": (np.ones(SIZE, dtype=int), SCORES),
    "one class of booleans": (np.ones(SIZE, dtype=bool), SCORES),
    "three labels": (np.arange(SIZE) % 3, SCORES),
    "three labels that are not whole": (np.arange(SIZE) % 3 / 2, SCORES),
    "missing label": (np.where(LABELS, np.nan, 1.0), SCORES),
    "unknown labels": (np.where(LABELS, 5, 9), SCORES),
    "complex scores": (LABELS, SCORES * 1j),
    "no rows": (LABELS[:0], SCORES[:0]),
}


def refusal(call: Callable[[], object]) -> tuple[type[BaseException], str]:
    with pytest.raises(ConfideError) as caught:
        call()
    return caught.type, str(caught.value)


@pytest.mark.parametrize("rows", BAD)
@pytest.mark.parametrize("function", [confide.auc_score, rank_summary, confide.ScoreCounts.from_arrays])
def test_refusals_are_the_hosts(move: Move, rows: str, function: Callable[..., object]) -> None:
    labels, scores = BAD[rows]
    found = refusal(lambda: function(move(labels), move(scores)))
    assert found == refusal(lambda: function(labels, scores))


def test_one_row_of_a_class_has_no_variance(move: Move) -> None:
    labels = np.arange(SIZE) == 4
    assert refusal(lambda: rank_summary(move(labels), move(SCORES))) == refusal(lambda: rank_summary(labels, SCORES))
    assert confide.auc_score(move(labels), move(SCORES)) == confide.auc_score(labels, SCORES)


def test_only_sums_leave_the_device(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def watched(values: Any) -> Any:
        host = original(values)
        sizes.append(np.size(host))
        return host

    original = device.to_host
    monkeypatch.setattr("confide.kernels.array_rows.to_host", watched)
    monkeypatch.setattr("confide.sources.labels.to_host", watched)
    rank_summary(move(LABELS), move(SCORES))
    assert sizes
    assert max(sizes) < 10


def test_a_device_without_double_precision_is_read_on_the_host() -> None:
    import array_api_strict as xp

    for name in ("no_float64", "no_x64"):
        scores = xp.asarray(SCORES.astype(np.float32), dtype=xp.float32, device=xp.Device(name))
        assert not device.on_device(scores)
        assert confide.auc_score(LABELS, scores) == confide.auc_score(LABELS, SCORES.astype(np.float32))


def test_arrays_of_the_host_are_not_on_a_device() -> None:
    import array_api_strict as xp

    assert not any(map(device.on_device, (SCORES, [0.1], "text", None, 3.0, SCORES[0], xp.asarray(SCORES))))
    assert device.on_device(xp.asarray(SCORES, device=xp.Device("device1")))


@pytest.mark.processes
def test_the_kernels_need_neither_a_compiler_nor_an_engine() -> None:
    """A machine with a GPU may have little more than PyTorch."""
    heavy = "numba", "ibis", "duckdb", "pyarrow", "pandas", "narwhals", "scipy", "matplotlib", "opendp", "torch"
    code = (
        "import sys, numpy, array_api_strict as xp\n"
        "from confide.intervals.delong import rank_summary\n"
        "there = xp.Device('device1')\n"
        "labels = xp.asarray([False, True, False, True], device=there)\n"
        "assert rank_summary(labels, xp.asarray([0.1, 0.2, 0.3, 0.4], device=there)).auc == 0.75\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_jax_with_64_bits_as_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed; it is no dependency")
    monkeypatch.setattr(device, "_HOST", frozenset())
    single = SCORES.astype(np.float32)
    assert confide.auc_score(LABELS, jax.numpy.asarray(single)) == confide.auc_score(LABELS, single)
    jax.config.update("jax_enable_x64", True)
    try:
        labels, scores = jax.numpy.asarray(LABELS), jax.numpy.asarray(SCORES)
        assert device.on_device(scores)
        assert confide.auc_score(labels, scores) == confide.auc_score(LABELS, SCORES)
        assert confide.ScoreCounts.from_arrays(labels, scores) == confide.ScoreCounts.from_arrays(LABELS, SCORES)
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("tiny", [True, False])
def test_subnormal_single_scores_are_widened_without_loss(tiny: bool) -> None:
    """CuPy takes them for zeros; `python -m benchmarks gpu` checks CuPy itself on a GPU."""
    least = np.float32(2.0**-126)
    scores = np.array([0.0, -0.0, least, -least, 1.5, -3e38, 3e38], np.float32)
    if tiny:
        below = np.array([1, 2, 5_000_000, 0x7F_FFFF], np.int32).view(np.float32)
        scores = np.concatenate([scores, below, -below])
    widened = device._widened(np, scores)
    assert widened.dtype == (np.float64 if tiny else np.float32)
    assert np.array_equal(widened, scores.astype(np.float64))
