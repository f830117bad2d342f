"""A real server in a process of its own, with small contests made in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from confide.contest.bundles import ServerBundle
from confide.contest.client import OracleClient
from confide.contest.labels import MaskedLabels, flip_probability
from confide.contest.metric import ContestMetric
from confide.contest.server.administration import new_token
from confide.contest.template import Template
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from tests.cli.commands import STRICT
from tests.ports import free_port


@dataclass(frozen=True)
class MadeContest:
    """A contest and its labels, which no server sees."""

    bundle: ServerBundle
    labels: np.ndarray

    @property
    def ids(self) -> tuple[str, ...]:
        return self.bundle.template.ids

    def scores(self, seed: int, quality: float = 1.0) -> FloatArray:
        """Return scores that know something about the labels."""
        noise = np.random.default_rng(seed).normal(size=self.labels.size)
        return np.asarray(1.0 / (1.0 + np.exp(-quality * (self.labels - 0.5) - noise)))

    def mapping(self, seed: int, quality: float = 1.0) -> dict[str, float]:
        return dict(zip(self.ids, self.scores(seed, quality).tolist(), strict=True))


def made_contest(
    name: str, *, rows: int = 120, public_rows: int = 80, epsilon: int = 2, seed: int = 1, **terms: object
) -> MadeContest:
    """Return a contest whose labels are fair coins."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.5
    public = np.sort(rng.choice(rows, public_rows, replace=False))
    flip = flip_probability(Fraction(epsilon))
    made = ContestTerms(
        name=name,
        title=f"The {name}",
        metric=ContestMetric.checked("auc"),
        rows=rows,
        public_rows=public_rows,
        public_share=Fraction(public_rows, rows),
        epsilon=Fraction(epsilon),
        flip=flip,
        **terms,  # type: ignore[arg-type]
    )
    template = Template.of(made, tuple(f"p{row:04}" for row in range(rows)))
    masked = MaskedLabels(labels[public] ^ (rng.random(public_rows) < float(flip)), flip)
    return MadeContest(ServerBundle(terms=made, template=template, public=public, masked=masked), labels)


@dataclass(frozen=True)
class RealServer:
    """Address and home of a running server."""

    url: str
    home: Path
    contests: Mapping[str, MadeContest]
    pid: int

    def token(self, contest: str, participant: str, role: str = "participant") -> str:
        return new_token(self.home, contest, participant, role)

    def client(self, contest: str, participant: str, role: str = "participant") -> OracleClient:
        return OracleClient(self.url, self.token(contest, participant, role), contest=contest)


@contextmanager
def real_server(folder: Path, *contests: MadeContest, opened: bool = True) -> Iterator[RealServer]:
    """Run `confide serve` with contests, which are open unless asked otherwise."""
    bundles = []
    for one in contests:
        file = folder / f"{one.bundle.terms.name}.zip"
        file.write_bytes(one.bundle.to_bytes())
        bundles.append(str(file))
    home, log = folder / "home", folder / "server.log"
    port = free_port()
    command = [sys.executable, *STRICT, "-m", "confide", "serve", *bundles, "--home", str(home), "--port", str(port)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONFIDE_")}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**environment, "OPENBLAS_NUM_THREADS": "1"})
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(process, url, log)
        made = RealServer(url, home, {one.bundle.terms.name: one for one in contests}, process.pid)
        if opened:
            for name in made.contests:
                made.client(name, "host", "organiser").set_state("open")
        yield made
    finally:
        process.terminate()
        process.wait(120)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urlopen(f"{url}/readyz", timeout=5):  # noqa: S310  # of this machine
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8"))
