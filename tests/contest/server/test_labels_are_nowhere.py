"""True labels are in no byte of the server: not in its bundle, files, database, log or memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.contest.server.running import Running, served, small_contest

pytestmark = pytest.mark.processes

ROWS = 6000
WINDOW = 256
"""Labels that are looked for in a row. Masking at epsilon 2 flips 12 % of them: all are right with chance 1e-14."""

PAGE = 4096


def dense_forms(labels: NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield how a program may write labels: bits in both orders, digits, words."""
    for shift in range(8):
        whole = labels[shift : shift + 8 * ((labels.size - shift) // 8)]
        yield np.packbits(whole).tobytes()
        yield np.packbits(whole, bitorder="little").tobytes()
    digits = ["1" if one else "0" for one in labels]
    for separator in ("", "\n", ",", ", ", "\r\n"):
        yield separator.join(digits).encode()
    yield ", ".join("true" if one else "false" for one in labels).encode()
    yield ", ".join("True" if one else "False" for one in labels).encode()


NUMBERS = (np.uint8, np.int16, np.int32, np.int64, np.float32, np.float64)


def found_in(content: bytes, labels: NDArray[np.bool_], windows: int = 2) -> int:
    """Count the forms in which windows of labels are in bytes: as texts, bits, or arrays of numbers."""
    starts = np.linspace(0, labels.size - WINDOW, windows).astype(int)
    parts = [labels[start : start + WINDOW] for start in starts]
    pages = np.frombuffer(content, dtype=np.uint8, count=len(content) // PAGE * PAGE).reshape(-1, PAGE)
    held = pages[pages.any(axis=1)].tobytes() + content[len(content) // PAGE * PAGE :]
    found = sum(form in held for part in parts for form in dense_forms(part))
    for kind in NUMBERS:
        numbers = np.frombuffer(held, dtype=kind, count=len(held) // np.dtype(kind).itemsize)
        codes = np.full(numbers.size, 2, dtype=np.uint8)
        codes[numbers == 0] = 0
        codes[numbers == 1] = 1
        compact = codes.tobytes()
        found += sum(part.astype(np.uint8).tobytes() in compact for part in parts)
    return found


def memory_of(process: int) -> Iterator[bytes]:
    """Yield the writable memory of a process."""
    maps = Path(f"/proc/{process}/maps").read_text()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw", maps, re.MULTILINE):
            try:
                memory.seek(int(begin, 16))
                yield memory.read(int(end, 16) - int(begin, 16))
            except (OSError, OverflowError, ValueError):  # regions of the kernel
                continue


def everything(running: Running) -> Iterator[bytes]:
    yield from memory_of(running.process.pid)
    yield running.log.read_bytes()
    for file in running.home.rglob("*"):
        if file.is_file():
            yield file.read_bytes()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    contest = small_contest("heart", rows=ROWS, seed=7)
    with served(tmp_path_factory.mktemp("labels") / "server", contest) as started:
        started.set_state("heart", "open")
        for seed in range(3):
            assert started.submit("heart", started.token("heart"), contest.csv(seed)).status_code == 201
        assert started.call("GET", "/v1/contests/heart/leaderboard").status_code == 200
        yield started


def test_true_labels_are_nowhere_and_the_search_would_find_them(running: Running) -> None:
    contest = running.contests["heart"]
    bundle, masked = contest.bundle, contest.bundle.masked
    assert masked is not None
    true_found = control_found = 0
    for content in everything(running):
        true_found += found_in(content, contest.labels[bundle.public])
        true_found += found_in(content, contest.labels[bundle.final_rows])
        control_found += found_in(content, masked.bits)  # the server does hold these
    assert control_found >= 2
    assert true_found == 0


def test_the_bundle_holds_no_labels(running: Running) -> None:
    contest = running.contests["heart"]
    content, masked = contest.bundle.to_bytes(), contest.bundle.masked
    assert masked is not None
    assert found_in(content, contest.labels[contest.bundle.public], windows=10) == 0
    assert found_in(content, contest.labels[contest.bundle.final_rows], windows=10) == 0
    assert found_in(content, masked.bits, windows=10) > 0


def test_every_form_is_found_where_it_is() -> None:
    labels = np.random.default_rng(0).random(WINDOW) < 0.5
    written = [*dense_forms(labels), *(labels.astype(kind).tobytes() for kind in NUMBERS)]
    assert len(written) == 29
    for form in written:
        assert found_in(bytes(PAGE) + form + b"after", labels, windows=1) >= 1
        changed = bytearray(form)
        changed[len(form) // 2] ^= 1
        assert found_in(bytes(PAGE) + bytes(changed) + b"after", labels, windows=1) == 0 or form in changed
