"""The API is as OpenAPI describes it: drawn requests, every documented status, and a snapshot of the description."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.contest.server.fuzzing import documented, fuzz
from tests.contest.server.running import Running, served, small_contest
from tests.contest.server.test_server_under_pressure import answer, head, set_state_behind

pytestmark = pytest.mark.processes

SNAPSHOT = Path(__file__).with_name("openapi.json")
DRAWN = 120
"""Requests that are drawn for each operation."""

OPTIONS = {"idle_seconds": 3.0, "largest_body": 2_000_000, "largest_request": 100_000, "workers": 1, "queue": 1}


@pytest.fixture
def fuzzed(tmp_path: Path) -> Iterator[Running]:
    contests = [
        small_contest("heart", daily_limit=60),
        small_contest("other"),
        small_contest("draft"),
        small_contest("large", rows=40_000),
    ]
    with served(tmp_path / "server", *contests, options=OPTIONS) as running:
        for name in ("heart", "other", "large"):
            running.set_state(name, "open")
        yield running


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of Schemathesis
def test_drawn_requests_get_what_is_described(fuzzed: Running) -> None:
    seen = fuzz(fuzzed, DRAWN)
    assert seen.server_errors == 0
    assert seen.wrong == []
    assert seen.cases > 15 * DRAWN
    described = documented(fuzzed)
    assert set(seen.statuses) <= described
    statuses = {status for _, status in seen.statuses} | directed(fuzzed)
    assert statuses == {status for _, status in described}
    assert fuzzed.call("GET", "/healthz").status_code == 200


def directed(running: Running) -> set[int]:
    """Provoke what drawn requests rarely meet; return the statuses."""
    contest, token, organiser = running.contests["heart"], running.token("heart"), running.organiser("heart")
    path = "/v1/contests/heart"
    seen = {running.submit("heart", token, contest.csv(1)).status_code for _ in range(2)}
    seen.add(running.submit("heart", token, b"x" * 2_100_000).status_code)
    seen.add(running.submit("heart", token, contest.csv(1), kind="text/plain").status_code)
    seen.add(running.submit("draft", running.token("draft"), contest.csv(1)).status_code)
    tag = running.call("GET", f"{path}/template").headers["etag"]
    seen.add(running.call("GET", f"{path}/template", headers={"If-None-Match": tag}).status_code)
    seen.add(running.call("PUT", f"{path}/finalists", token, content=b"\xff").status_code)
    for seed in range(2, 62):
        last = running.submit("heart", token, contest.csv(seed)).status_code
    seen.add(last)
    listed = running.call("GET", f"{path}/tokens", organiser).json()["tokens"]
    newest = max(one["id"] for one in listed)
    seen.add(running.call("DELETE", f"{path}/tokens/{newest}", organiser).status_code)
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(head(running, running.token("heart"), "Content-Length: 1000") + b"id")
        seen.add(int(answer(connection).split()[1]))
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(b"this is no request\r\n\r\n")
        seen.add(int(answer(connection).split()[1]))
    seen.add(full_queue(running))
    (running.home / "scores" / "large").rename(running.home / "away")
    seen.add(running.submit("large", running.token("large"), running.contests["large"].csv(98)).status_code)
    set_state_behind(running, "other", "unheard-of")
    seen.add(running.call("GET", "/v1/contests/other").status_code)
    return seen


def full_queue(running: Running) -> int:
    contest = running.contests["large"]
    tokens = [running.token("large") for _ in range(8)]
    statuses: list[int] = []
    content = contest.csv(3)

    def send(token: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
        with httpx.Client(base_url=str(running.client.base_url), timeout=300) as client:
            statuses.append(client.post("/v1/contests/large/submissions", content=content, headers=headers).status_code)

    for _ in range(30):
        threads = [threading.Thread(target=send, args=(token,)) for token in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if 503 in statuses:
            break
    return max(statuses)


def described(running: Running) -> dict[str, object]:
    found: dict[str, object] = running.call("GET", "/v1/openapi.json").json()
    info = found["info"]
    assert isinstance(info, dict)
    info["version"] = "any"
    return found


def test_the_description_changes_only_on_purpose(sqlite_oracle: Running) -> None:
    """After a change that is meant: `CONFIDE_WRITE_SNAPSHOT=1 pytest` on this test writes the file again."""
    import os

    found = described(sqlite_oracle)
    if os.environ.get("CONFIDE_WRITE_SNAPSHOT"):
        SNAPSHOT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_every_operation_declares_problems_and_tokens(sqlite_oracle: Running) -> None:
    paths = described(sqlite_oracle)["paths"]
    assert isinstance(paths, dict)
    for path, operations in paths.items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"], (method, path, status)
            health = path in ("/healthz", "/readyz")
            assert ("security" in operation) != health, (method, path)
