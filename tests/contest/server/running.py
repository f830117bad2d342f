"""Real server processes, and small contests for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from confide.contest.bundles import ServerBundle
from confide.contest.labels import MaskedLabels, flip_probability
from confide.contest.metric import ContestMetric
from confide.contest.server.administration import new_token
from confide.contest.template import Template
from confide.contest.terms import ContestTerms
from tests.ports import free_port

ROWS = 120
NUMBERS = count(1)
CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class SmallContest:
    """A contest with known labels."""

    bundle: ServerBundle
    labels: NDArray[np.bool_]

    @property
    def name(self) -> str:
        return self.bundle.terms.name

    def scores(self, seed: int) -> NDArray[np.float64]:
        rng = np.random.default_rng(seed)
        raw = self.labels + rng.normal(0.0, 1.0, self.labels.size)
        return np.asarray(1.0 / (1.0 + np.exp(-raw)))

    def csv(self, scores: NDArray[np.float64] | int) -> bytes:
        values = self.scores(scores) if isinstance(scores, int) else scores
        lines = (f"{one},{float(value)!r}" for one, value in zip(self.bundle.template.ids, values, strict=True))
        return ("id,score\n" + "\n".join(lines) + "\n").encode()


def small_contest(name: str, *, rows: int = ROWS, metric: str = "auc", seed: int = 0, **terms: Any) -> SmallContest:
    """Make a contest whose first half is public."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.4
    public = np.arange(rows // 2, dtype=np.int64)
    flip = flip_probability(Fraction(2))
    made = ContestTerms(
        name=name,
        title=name.title(),
        metric=ContestMetric.checked(metric),
        rows=rows,
        public_rows=public.size,
        public_share=Fraction(1, 2),
        epsilon=Fraction(2),
        flip=flip,
        **{"final_epsilon": Fraction(1), "daily_limit": 1000, "total_limit": 10_000, **terms},
    )
    masked = MaskedLabels(labels[public] ^ (rng.random(public.size) < float(flip)), flip)
    template = Template.of(made, tuple(f"p{row:05d}" for row in range(rows)))
    bundle = ServerBundle(terms=made, template=template, public=public, masked=masked)
    return SmallContest(bundle, labels)


@dataclass
class Running:
    """A server process, and everything to speak with it."""

    home: Path
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    environment: Mapping[str, str]
    contests: dict[str, SmallContest]
    client: httpx.Client = field(init=False)
    organisers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)

    def token(self, contest: str, role: str = "participant", name: str | None = None) -> str:
        """Make a token for a new member."""
        with environment(self.environment):
            return new_token(self.home, contest, name or f"member {next(NUMBERS)}", role)

    def organiser(self, contest: str) -> str:
        if contest not in self.organisers:
            self.organisers[contest] = self.token(contest, "organiser")
        return self.organisers[contest]

    def call(self, method: str, path: str, token: str | None = None, **options: Any) -> httpx.Response:
        headers = dict(options.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.request(method, path, headers=headers, **options)

    def submit(
        self, contest: str, token: str | None, content: bytes, *, kind: str = CSV, key: str | None = None
    ) -> httpx.Response:
        headers = {"Content-Type": kind, **({} if key is None else {"Idempotency-Key": key})}
        path = f"/v1/contests/{contest}/submissions"
        return self.call("POST", path, token, content=content, headers=headers)

    def set_state(self, contest: str, state: str) -> httpx.Response:
        path = f"/v1/contests/{contest}/state"
        return self.call("POST", path, self.organiser(contest), json={"state": state})

    def stop(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the duration of a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def launch(
    folder: Path,
    *contests: SmallContest,
    database: str | None = None,
    options: Mapping[str, Any] | None = None,
    port: int | None = None,
    arguments: Sequence[str] = (),
) -> Running:
    """Start `confide serve` and wait until it answers. With `options`, start the server with these settings."""
    folder.mkdir(exist_ok=True)
    bundles = []
    for one in contests:
        bundles.append(folder / f"{one.name}.zip")
        bundles[-1].write_bytes(one.bundle.to_bytes())
    port, home, log = port or free_port(), folder / "home", folder / "server.log"
    if options is None:
        command = [sys.executable, "-m", "confide", "serve", *map(str, bundles), "--home", str(home), f"--port={port}"]
        command += arguments
    else:
        settings = {"home": home, "bundles": tuple(bundles), "port": port, **options}
        program = f"from pathlib import *\nfrom confide.contest.server.run import *\nserve(Settings(**{settings!r}))"
        command = [sys.executable, "-c", program]
    variables = {} if database is None else {"CONFIDE_ORACLE_DATABASE": database}
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=stream, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **variables}
        )
    running = Running(home, port, process, log, variables, {one.name: one for one in contests})
    wait_until_ready(running)
    return running


def wait_until_ready(running: Running) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            if running.client.get("/readyz").status_code == 200:
                return
        except httpx.HTTPError:
            assert running.process.poll() is None, running.log.read_text()
            time.sleep(0.05)
    raise AssertionError(running.log.read_text())


@contextmanager
def served(folder: Path, *contests: SmallContest, **options: Any) -> Iterator[Running]:
    """Run a server for the duration of a block."""
    running = launch(folder, *contests, **options)
    try:
        yield running
    finally:
        running.stop()
