"""Strangers' files are read in children: what breaks, fills the memory or takes long ends the child alone."""

from __future__ import annotations

import errno
import io
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow.parquet as pq
import pytest

from confide.errors import SubmissionError
from confide.sources import score_process
from confide.sources.score_process import Expected, ProcessLimits, ReadingStoppedError, ScoreReader
from tests.sources.hostile_parquet import empty_pages, padded_pages
from tests.sources.submitted import IDS, SCORES, codes, table
from tests.waiting import is_gone, wait_until

pytestmark = pytest.mark.processes

WITHIN = "could not be read within the limits of time and memory"
MANY = tuple(f"p{row}" for row in range(20_000))
PLAIN = "id,score\n" + "".join(f'"{one}",{score!r}\n' for one, score in zip(IDS, SCORES, strict=True))


@pytest.fixture(scope="module")
def reader() -> Iterator[ScoreReader]:
    expected = {
        "small": Expected(ids=IDS, columns=("id", "score")),
        "many": Expected(ids=MANY, columns=("id", "score")),
        "risks": Expected(ids=IDS, columns=("id", "score"), probabilities=True),
    }
    reader = ScoreReader(expected)
    yield reader
    reader.close()


def limited(monkeypatch: pytest.MonkeyPatch, ids: tuple[str, ...] = MANY, **limits: float) -> ScoreReader:
    """Return a reader with other limits."""
    usual = {"cpu_seconds": 100, "seconds": 100.0, "memory": 1 << 28}
    monkeypatch.setattr(ProcessLimits, "of", lambda *_: ProcessLimits(**(usual | limits)))  # type: ignore[arg-type]
    return ScoreReader({"many": Expected(ids=ids, columns=("id", "score"))})


def saved(folder: Path, content: bytes | str, name: str = "scores.parquet") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(ids: object, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table(ids), buffer, **options)
    return buffer.getvalue()


def test_files_are_read_as_in_one_process(reader: ScoreReader, tmp_path: Path) -> None:
    assert reader.read("small", saved(tmp_path, PLAIN, "scores.csv"), "csv").tolist() == list(SCORES)
    assert reader.read("small", saved(tmp_path, parquet(IDS)), "parquet").tolist() == list(SCORES)


def test_problems_of_a_file_keep_their_codes_and_words(reader: ScoreReader, tmp_path: Path) -> None:
    for name, kind, expected, words in (
        ("no.csv", "csv", ["columns"], "did you mean 'Score'"),
        ("no.parquet", "parquet", ["unreadable"], "the file is not Parquet"),
    ):
        with pytest.raises(SubmissionError) as refused:
            reader.read("small", saved(tmp_path, PLAIN.replace("score", "Score"), name), kind)  # type: ignore[arg-type]
        assert codes(refused.value) == expected
        assert words in str(refused.value)


def test_a_small_file_that_unpacks_to_much_is_refused_in_little_memory(reader: ScoreReader, tmp_path: Path) -> None:
    content = parquet(["x" * (48 << 20) + one for one in IDS], use_dictionary=False, compression="zstd")
    assert len(content) < 100_000
    with pytest.raises(SubmissionError, match=WITHIN):
        reader.read("small", saved(tmp_path, content), "parquet")
    assert reader.read("small", saved(tmp_path, PLAIN, "scores.csv"), "csv").tolist() == list(SCORES)


def test_memory_follows_from_rows_and_ids() -> None:
    """A contest of a thousand short ids gives a file much less than the gigabyte that the service may have."""
    assert ProcessLimits.of(1_000, 10).memory < 70 << 20
    assert ProcessLimits.of(1_000_000, 36).memory < 640 << 20


def test_shared_chunks_of_empty_pages_are_refused_at_once(reader: ScoreReader, tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(SubmissionError) as refused:
        reader.read("many", saved(tmp_path, empty_pages(groups=200, pages=15_000)), "parquet")
    assert codes(refused.value) == ["unreadable"]
    assert time.monotonic() - begin < 20.0


@pytest.mark.few(1)
@pytest.mark.parametrize("limits", [{"cpu_seconds": 1}, {"seconds": 0.5}], ids=["processor", "time"])
def test_a_small_file_that_takes_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, Any]
) -> None:
    path = saved(tmp_path, padded_pages(groups=200, pages=100, padding=32 << 20))
    assert path.stat().st_size < 500_000
    reader = limited(monkeypatch, **limits)
    try:
        with pytest.raises(SubmissionError, match=WITHIN):
            reader.read("many", path, "parquet")
    finally:
        reader.close()


def children(reader: ScoreReader) -> list[int]:
    helper = reader._helper
    assert helper is not None
    listed = Path(f"/proc/{helper._process.pid}/task/{helper._process.pid}/children").read_text()
    return [int(one) for one in listed.split()]


@contextmanager
def busy_child(reader: ScoreReader, folder: Path) -> Iterator[tuple[int, list[BaseException]]]:
    """Let a reader decode a file that takes long; yield the child, and a list that will hold the error."""
    errors: list[BaseException] = []
    path = saved(folder, padded_pages(groups=200, pages=100, padding=64 << 20))

    def work() -> None:
        try:
            reader.read("many", path, "parquet")
        except (SubmissionError, ReadingStoppedError) as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: children(reader))
    yield children(reader)[0], errors
    thread.join()


def test_a_decoder_that_crashes_costs_its_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = limited(monkeypatch)
    try:
        with busy_child(reader, tmp_path) as (child, errors):
            os.kill(child, signal.SIGSEGV)
        assert WITHIN in str(errors[0])
        with pytest.raises(SubmissionError, match="20,000 ids are missing"):
            reader.read("many", saved(tmp_path, PLAIN, "scores.csv"), "csv")
    finally:
        reader.close()


@pytest.mark.few(1)
@pytest.mark.parametrize("way", ["stop", "close", "server killed"])
def test_children_end_with_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A file that was being read is not blamed for it."""
    monkeypatch.setattr(score_process, "STOP_SECONDS", 0.2)
    reader = limited(monkeypatch)
    try:
        with busy_child(reader, tmp_path) as (child, errors):
            if way == "stop":
                reader.stop()
            elif way == "close":
                reader.close()
            else:
                assert reader._helper is not None
                reader._helper._control.shutdown(socket.SHUT_RDWR)  # as the kernel does when a process ends
            wait_until(lambda: is_gone(child), 20.0)
        if way != "server killed":  # who would answer?
            assert [type(one) for one in errors] == [ReadingStoppedError]
    finally:
        reader.close()


def test_another_helper_is_started_if_one_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = limited(monkeypatch, IDS)
    path = saved(tmp_path, PLAIN, "scores.csv")
    try:
        assert reader._helper is not None
        os.kill(reader._helper._process.pid, signal.SIGKILL)
        reader._helper._process.wait()
        assert reader.read("many", path, "csv").tolist() == list(SCORES)
    finally:
        reader.close()
    with pytest.raises(ReadingStoppedError):
        reader.read("many", path, "csv")


def test_a_system_without_free_files_or_processes_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EMFILE, "too many open files")

    reader, path = limited(monkeypatch, IDS), saved(tmp_path, PLAIN, "scores.csv")
    try:
        with monkeypatch.context() as without:
            without.setattr(os, "pipe", none_left)
            with pytest.raises(ReadingStoppedError):
                reader.read("many", path, "csv")
        assert reader._helper is not None
        reader._helper.kill()
        with monkeypatch.context() as without:
            without.setattr(socket, "socketpair", none_left)
            with pytest.raises(ReadingStoppedError):
                reader.read("many", path, "csv")
        assert reader.read("many", path, "csv").tolist() == list(SCORES)
    finally:
        reader.close()


LIES = {
    "nothing": b"",
    "a letter": b"S",
    "too few": b"S" + np.zeros(4).tobytes(),
    "too many": b"S" + np.zeros(6).tobytes(),
    "not a number": b"S" + np.array([0, 0, np.nan, 0, 0]).tobytes(),
    "infinite": b"S" + np.array([0, 0, np.inf, 0, 0]).tobytes(),
    "no probability": b"S" + np.array([0, 0, 2.0, 0, 0]).tobytes(),
    "no problems": b"P[]",
    "an unknown code": b'P[["invented", "a", "b"]]',
    "a number for words": b'P[["columns", 1, "b"]]',
    "a long text": b'P[["columns", "' + b"a" * 3000 + b'", "b"]]',
    "nested without end": b"P" + b"[" * 30_000,
    "another letter": b"X" + np.zeros(5).tobytes(),
}


@pytest.mark.parametrize("answer", LIES.values(), ids=LIES.keys())
def test_answers_of_children_are_not_believed(answer: bytes) -> None:
    expected = Expected(ids=IDS, columns=("id", "score"), probabilities=True)
    with pytest.raises(SubmissionError, match=WITHIN):
        score_process._scores(answer, expected)


def test_damaged_files_are_read_or_refused(reader: ScoreReader, tmp_path: Path) -> None:
    """No mutation of a file ends the reader, or gives scores that are not numbers."""
    rng = np.random.default_rng(0)
    seeds = [
        parquet(IDS),
        parquet(IDS, compression="zstd", data_page_version="2.0"),
        parquet(IDS, use_dictionary=False),
    ]
    for _ in range(150):
        content = bytearray(seeds[rng.integers(len(seeds))])
        for _ in range(rng.choice((1, 2, 4))):
            place = int(rng.integers(len(content)))
            content[place] = rng.choice((0, 1, 127, 128, 255, content[place] ^ (1 << int(rng.integers(8)))))
        with suppress(SubmissionError):
            assert np.isfinite(reader.read("small", saved(tmp_path, bytes(content)), "parquet")).all()
