"""A contest for tests of pages: its bundle, good and bad files, and a server in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

from confide.contest.bundles import ServerBundle
from confide.contest.labels import MaskedLabels, flip_probability
from confide.contest.metric import ContestMetric
from confide.contest.server.administration import new_token
from confide.contest.server.home import Settings
from confide.contest.server.run import create_app
from confide.contest.server.tokens import COOKIE
from confide.contest.template import Template
from confide.contest.terms import ContestTerms

ROWS, PUBLIC = 400, 200
TITLE = 'Deaths <script>alert("x")</script> & "more"'


def bundle(name: str = "heart", *, title: str = TITLE, metric: str = "auc", final: bool = True) -> ServerBundle:
    """Return the bundle of a masked contest. The labels are random; half of the rows are public."""
    rng = np.random.default_rng(7)
    flip = flip_probability(Fraction(2))
    terms = ContestTerms(
        name=name,
        title=title,
        metric=ContestMetric.checked(metric),
        rows=ROWS,
        public_rows=PUBLIC,
        public_share=Fraction(1, 2),
        epsilon=Fraction(2),
        flip=flip,
        final_epsilon=Fraction(1) if final else None,
        daily_limit=4,
        finalists=2,
    )
    ids = tuple(f"p{place:04d}" for place in range(ROWS))
    labels = rng.random(PUBLIC) < 0.4
    masked = MaskedLabels(labels ^ (rng.random(PUBLIC) < float(flip)), flip)
    return ServerBundle(
        terms=terms, template=Template.of(terms, ids), public=np.arange(0, ROWS, 2, dtype=np.int64), masked=masked
    )


def scores_csv(seed: int = 0, *, missing: int = 0) -> bytes:
    """Return a file of random scores; the last `missing` ids are left out."""
    rng = np.random.default_rng(seed)
    lines = (f"p{place:04d},{score:.6f}" for place, score in enumerate(rng.random(ROWS)[: ROWS - missing]))
    return ("id,score\n" + "\n".join(lines) + "\n").encode()


@dataclass
class Browser:
    """A browser that sends forms from our own pages, follows no redirection, and keeps its session.

    The cookie is for secure connections only. Real browsers count this machine as one; HTTP libraries do not.
    """

    client: httpx.Client
    origin: str
    session: str | None = None

    def get(self, path: str) -> httpx.Response:
        """Read a page."""
        return self._kept(self.client.get(path, headers=self._cookie()))

    def post(self, path: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """Send a form; headers may pretend another origin."""
        sent = {"Origin": self.origin} if headers is None else dict(headers)
        return self._kept(self.client.post(path, headers=sent | self._cookie(), **body))

    def _cookie(self) -> dict[str, str]:
        return {} if self.session is None else {"Cookie": f"{COOKIE}={self.session}"}

    def _kept(self, answer: httpx.Response) -> httpx.Response:
        for line in answer.headers.get_list("set-cookie"):
            value = SimpleCookie(line)[COOKIE]
            self.session = None if value["max-age"] == "0" else value.value
        return answer


@dataclass(frozen=True)
class Site:
    """A running server, its home folder and its address."""

    home: Path
    address: str
    client: httpx.Client

    def browser(self) -> Browser:
        """Return a browser in which nobody is signed in."""
        return Browser(self.client, self.address)

    def member(self, name: str, role: str = "participant", contest: str = "heart") -> Browser:
        """Return a browser in which somebody is signed in with a new token."""
        browser = self.browser()
        answer = sign_in(browser, new_token(self.home, contest, name, role))
        assert answer.status_code == 303
        return browser


def sign_in(browser: Browser, token: str, wanted: str = "") -> httpx.Response:
    """Send the form of the page for signing in."""
    return browser.post("/signin", data={"token": token, "next": wanted})


def submit(browser: Browser, content: bytes, name: str = "scores.csv") -> httpx.Response:
    """Send the form of the page for submitting."""
    return browser.post("/contests/heart/submit", files={"file": (name, content, "text/csv")})


def set_state(browser: Browser, *states: str) -> None:
    """Bring the contest to a state, by the organiser's page."""
    for state in states:
        answer = browser.post("/contests/heart/state", data={"state": state, "sure": "yes"})
        assert answer.status_code == 303, answer.text


@contextmanager
def running(home: Path, *bundles: ServerBundle, largest_body: int = 2**20) -> Iterator[Site]:
    """Run a server in a thread. All contests are drafts."""
    paths = []
    for one in bundles or (bundle(),):
        paths.append(home.parent / f"{one.terms.name}.zip")
        paths[-1].write_bytes(one.to_bytes())
    app = create_app(
        Settings(
            home=home, bundles=tuple(paths), workers=1, board_seconds=0.02, largest_body=largest_body, database=None
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=300.0) as client:
                yield Site(home, address, client)
        finally:
            server.should_exit = True
            thread.join()
