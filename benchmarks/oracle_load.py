"""The oracle under load: processor time of a submission, waiting times, readers of the board, and memory."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.oracle_server import CONTEST, Running, make_bundle, score_file, served, to_parquet
from benchmarks.timing import table
from confide.contest.server.administration import new_token

ROWS = 100_000
SUBMIT, BOARD = f"/v1/contests/{CONTEST}/submissions", f"/v1/contests/{CONTEST}/leaderboard"
PARQUET = "application/vnd.apache.parquet"


def run(*, quick: bool = False) -> None:
    rows = ROWS // 10 if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "server.zip"
        labels = make_bundle(bundle, rows)
        with served(Path(folder) / "home", bundle) as server:
            server.open()
            tokens = [new_token(server.home, CONTEST, f"team {number}") for number in range(16)]
            files = Files(score_file(labels, 0))
            lines = [_cpu(server, tokens[0], files, kind, 5 if quick else 30) for kind in ("CSV", "Parquet")]
            for clients, goal in ((8, "0.8 s"), (16, "1.5 s")):
                lines += _under_load(server, tokens[:clients], files, 2.0 if quick else 20.0, goal)
            lines.append(("peak memory", f"{server.peak_megabytes():.0f} MB", "350 MB"))
    print(f"{rows:,} rows; server, clients and readers share the processors of this machine")
    table(("", "measured", "goal"), lines)


class Files:
    """Different files of scores: each has another number in its last line, so that none is a replay."""

    def __init__(self, content: bytes) -> None:
        head, _, last = content.rstrip(b"\n").rpartition(b"\n")
        self._head, self._id = head, last.split(b",")[0]
        self._number = 0
        self._lock = threading.Lock()

    def next(self) -> bytes:
        with self._lock:
            self._number += 1
            number = self._number
        return self._head + b"\n%s,%.6f\n" % (self._id, number / 1e6)


def _cpu(server: Running, token: str, files: Files, kind: str, repetitions: int) -> tuple[str, str, str]:
    """Measure the processor time of submissions, one after another."""
    make = files.next if kind == "CSV" else lambda: to_parquet(files.next())
    media = "text/csv" if kind == "CSV" else PARQUET
    bodies = [make() for _ in range(repetitions + 3)]
    for body in bodies[:3]:  # the first ones load libraries
        _submit(server, token, body, media)
    before = server.cpu_seconds()
    for body in bodies[3:]:
        _submit(server, token, body, media)
    used = (server.cpu_seconds() - before) / repetitions
    return f"processor time of a submission, {kind}", f"{1e3 * used:.0f} ms", "60 ms" if kind == "CSV" else ""


def _submit(server: Running, token: str, body: bytes, media: str = "text/csv") -> None:
    status, answer = server.request("POST", SUBMIT, token, body, media)
    assert status == 201, (status, answer)


def _under_load(
    server: Running, tokens: list[str], files: Files, seconds: float, goal: str
) -> list[tuple[str, str, str]]:
    """Let each of several clients submit without a pause, while one reads the board."""
    until = time.perf_counter() + seconds
    waits: list[float] = []
    reads: list[float] = []

    def submit(token: str) -> None:
        while time.perf_counter() < until:
            body = files.next()
            started = time.perf_counter()
            _submit(server, token, body)
            waits.append(time.perf_counter() - started)

    def read() -> None:
        while time.perf_counter() < until:
            started = time.perf_counter()
            assert server.request("GET", BOARD)[0] == 200
            reads.append(time.perf_counter() - started)
            time.sleep(0.05)

    threads = [threading.Thread(target=submit, args=(token,)) for token in tokens]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    name = f"{len(tokens)} at once"
    return [
        (f"{name}: submissions a second", f"{len(waits) / seconds:.1f}", ""),
        (f"{name}: median, 99 % of submissions within", f"{_at(waits, 50):.2f}, {_at(waits, 99):.2f} s", goal),
        (f"{name}: 99 % of {len(reads)} board reads within", f"{1e3 * _at(reads, 99):.0f} ms", "60 ms"),
    ]


def _at(values: list[float], percent: float) -> float:
    return float(np.percentile(values, percent)) if values else float("nan")
