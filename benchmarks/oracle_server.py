"""A contest and a real server process for benchmarks of the oracle."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from confide.contest.bundles import ServerBundle
from confide.contest.labels import MaskedLabels, flip_probability
from confide.contest.metric import ContestMetric
from confide.contest.server.administration import new_token
from confide.contest.template import Template
from confide.contest.terms import ContestTerms
from confide.ports import free_port

CONTEST = "load"
TICKS = os.sysconf("SC_CLK_TCK")


def make_bundle(path: Path, rows: int, *, public_share: Fraction = Fraction(1)) -> NDArray[np.bool_]:
    """Write the bundle of a contest with simulated labels; return the labels."""
    rng = np.random.default_rng(0)
    labels = rng.random(rows) < 0.4
    public = int(rows * public_share)
    flip = flip_probability(Fraction(2))
    masked = MaskedLabels(labels[:public] ^ (rng.random(public) < float(flip)), flip)
    write_bundle(path, masked, rows=rows, public_share=public_share)
    return labels


def write_bundle(
    path: Path,
    masked: MaskedLabels,
    *,
    rows: int | None = None,
    public_share: Fraction = Fraction(1),
    epsilon: Fraction = Fraction(2),
) -> None:
    """Write the bundle of a contest whose first rows have these masked labels."""
    terms = ContestTerms(
        name=CONTEST,
        title="Load",
        metric=ContestMetric.checked("auc"),
        rows=rows or len(masked),
        public_rows=len(masked),
        public_share=public_share,
        epsilon=epsilon,
        flip=masked.flip,
        daily_limit=10**6,
        total_limit=10**6,
    )
    template = Template.of(terms, tuple(id_of(row) for row in range(terms.rows)))
    public = np.arange(len(masked), dtype=np.int64)
    path.write_bytes(ServerBundle(terms=terms, template=template, public=public, masked=masked).to_bytes())


def id_of(row: int) -> str:
    """Return the id of a row."""
    return f"patient-{row:07d}"


def parquet_of(scores: NDArray[np.float64]) -> bytes:
    """Return scores of all rows, in order, as a Parquet file."""
    import io

    import pyarrow as pa
    import pyarrow.parquet

    stream = io.BytesIO()
    table = pa.table({"id": [id_of(row) for row in range(scores.size)], "score": scores})
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def score_file(labels: NDArray[np.bool_], seed: int) -> bytes:
    """Return a CSV file of scores, its rows in random order."""
    rng = np.random.default_rng(seed)
    scores = labels + rng.normal(0.0, 1.5, labels.size)
    lines = (f"patient-{row:07d},{scores[row]:.6f}" for row in rng.permutation(labels.size))
    return ("id,score\n" + "\n".join(lines) + "\n").encode()


def to_parquet(content: bytes) -> bytes:
    """Return a CSV file as Parquet."""
    import io

    import pyarrow.csv
    import pyarrow.parquet

    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(content)), stream)
    return stream.getvalue()


@dataclass
class Running:
    """A server process."""

    process: subprocess.Popen[bytes]
    port: int
    home: Path

    def request(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: bytes | None = None,
        kind: str = "text/csv",
        key: str | None = None,
    ) -> tuple[int, bytes]:
        """Send a request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            headers = {"Content-Type": kind} if body is not None else {}
            if token is not None:
                headers["Authorization"] = f"Bearer {token}"
            if key is not None:
                headers["Idempotency-Key"] = key
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        """Return the processor time that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_megabytes(self) -> float:
        """Return the largest resident set of the process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def open(self) -> None:
        """Open the contest."""
        organiser = new_token(self.home, CONTEST, "organiser", "organiser")
        body = json.dumps({"state": "open"}).encode()
        status, answer = self.request("POST", f"/v1/contests/{CONTEST}/state", organiser, body, "application/json")
        assert status == 200, answer


def launch(home: Path, *bundles: Path, port: int | None = None, environment: dict[str, str] | None = None) -> Running:
    """Start a server and wait until it answers."""
    port = port or free_port()
    command = [sys.executable, "-m", "confide", "serve", *map(str, bundles), "--home", str(home), "--port", str(port)]
    log = (home.parent / "server.log").open("ab")
    process = subprocess.Popen(  # noqa: S603  # our own command
        command, stdout=log, stderr=log, env={**os.environ, **(environment or {})}
    )
    running = Running(process, port, home)
    for _ in range(600):
        try:
            if running.request("GET", "/healthz")[0] == 200:
                return running
        except OSError:
            assert process.poll() is None, (home.parent / "server.log").read_text()
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


@contextmanager
def served(home: Path, *bundles: Path) -> Iterator[Running]:
    """Run a server for the duration of a block."""
    running = launch(home, *bundles)
    try:
        yield running
    finally:
        running.process.terminate()
        running.process.wait(timeout=60)
