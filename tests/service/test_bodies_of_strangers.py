"""Bodies of strangers are refused unread, invented methods leave nothing behind, and free files are limited."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from confide.service.problems import Kind, Refused
from confide.service.queue import UNCOUNTED_SECONDS, Uncounted
from tests.service.running import Running, served, small_contest
from tests.service.test_submissions_over_http import problem

pytestmark = pytest.mark.processes

BODIES = (
    ("POST", "/v1/contests/heart/state", "organiser"),
    ("POST", "/v1/contests/heart/tokens", "organiser"),
    ("PUT", "/v1/contests/heart/final", "organiser"),
    ("PUT", "/v1/contests/heart/finalists", "participant"),
)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = {"uncounted_files": 3}
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
