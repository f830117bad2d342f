"""Bodies of strangers are refused unread, invented methods leave nothing behind, and free files are limited."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from confide.contest.server.oracle import UNCOUNTED_SECONDS, Uncounted
from confide.contest.server.problems import Kind, Refused
from tests.contest.server.running import Running, served, small_contest
from tests.contest.server.test_submissions_over_http import problem
from tests.ports import free_port

pytestmark = pytest.mark.processes

METRICS = free_port()
BODIES = (
    ("POST", "/v1/contests/heart/state", "organiser"),
    ("POST", "/v1/contests/heart/tokens", "organiser"),
    ("PUT", "/v1/contests/heart/final", "organiser"),
    ("PUT", "/v1/contests/heart/finalists", "participant"),
)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = {"uncounted_files": 3, "metrics_port": METRICS}
    with served(tmp_path_factory.mktemp("strict") / "server", small_contest("heart"), options=options) as running:
        running.set_state("heart", "open")
        yield running


@pytest.mark.parametrize(("method", "path", "role"), BODIES)
def test_callers_are_checked_before_their_bodies(strict: Running, method: str, path: str, role: str) -> None:
    """What cannot be parsed would be refused as malformed (400) by whoever parses it."""
    other = strict.token("heart", "organiser" if role == "participant" else "participant")
    problem(strict.call(method, path, content=b"{"), 401, "no-token")
    problem(strict.call(method, path, "cfd_" + "a" * 43, content=b"{"), 401, "no-token")
    problem(strict.call(method, path, other, content=b"{"), 403, "wrong-role")


@pytest.mark.parametrize(("method", "path", "role"), BODIES)
def test_large_bodies_are_for_files_and_finals(strict: Running, method: str, path: str, role: str) -> None:
    token = strict.token("heart", role)
    large = path.endswith("/final")
    for size, refused in ((60_000, False), (70_000, not large), (5 << 20, True)):
        answer = strict.call(method, path, token, content=b"{" + b" " * size)
        assert (answer.status_code == 413) is refused, (size, answer.text)


def metric_labels() -> set[str]:
    """Return the name and labels of every number that the server keeps for its operator."""
    text = httpx.get(f"http://127.0.0.1:{METRICS}/metrics", timeout=60).text
    return {line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")}


def test_strangers_add_no_label_to_the_metrics(strict: Running) -> None:
    """Each label stays in memory until the server ends."""
    paths = ("/v1/contests/heart/state", "/contests/heart", "/healthz", "/no/such/{}", "/v1/contests/{}/board?a={}")

    def attack(numbers: range) -> None:
        for number in numbers:
            name = "".join(chr(ord("A") + int(digit)) for digit in str(number))
            for path in paths:
                strict.call(f"X{name}", path.replace("{}", name))
                strict.call("GET", path.replace("{}", name))

    attack(range(1, 2))
    before = metric_labels()
    assert any('method="other"' in one for one in before)
    attack(range(2, 52))
    assert metric_labels() == before


def test_files_that_are_not_scored_are_limited_for_each_token(strict: Running) -> None:
    contest, token = strict.contests["heart"], strict.token("heart")
    assert strict.submit("heart", token, contest.csv(1)).status_code == 201
    assert strict.submit("heart", token, contest.csv(1)).status_code == 200  # sent before: read for nothing
    for _ in range(2):
        problem(strict.submit("heart", token, b"id,score\n"), 422, "bad-file")
    refused = strict.submit("heart", token, contest.csv(2))
    problem(refused, 429, "uncounted")
    assert 1 <= int(refused.headers["retry-after"]) <= UNCOUNTED_SECONDS
    left = strict.call("GET", "/v1/contests/heart/limits", token).json()
    assert left["total_left"] == 10_000 - 1
    assert strict.submit("heart", strict.token("heart"), contest.csv(2)).status_code == 201


def test_old_files_are_forgotten() -> None:
    time = 0.0
    files = Uncounted(2, lambda: time)
    files.add("a")
    time = 100.0
    files.add("a")
    with pytest.raises(Refused) as refused:
        files.require_left("a")
    assert refused.value.kind is Kind.UNCOUNTED
    assert (refused.value.headers or {})["Retry-After"] == str(int(UNCOUNTED_SECONDS) - 100)
    files.require_left("b")
    time = UNCOUNTED_SECONDS
    files.require_left("a")
    time = UNCOUNTED_SECONDS + 100
    files.require_left("a")
    assert not files._times
