"""OWASP API security top ten of 2023, one test each."""

from __future__ import annotations

import ast
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

import confide.contest.server
from tests.contest.server.running import Running
from tests.contest.server.test_submissions_over_http import problem

pytestmark = pytest.mark.processes


@pytest.fixture
def oracle(sqlite_oracle: Running) -> Running:
    return sqlite_oracle


def test_api1_broken_object_level_authorization(oracle: Running) -> None:
    contest, mallory = oracle.contests["heart"], oracle.token("heart")
    victim = oracle.submit("heart", oracle.token("heart"), contest.csv(60)).json()["id"]
    problem(oracle.call("GET", f"/v1/contests/heart/submissions/{victim}", mallory), 404, "not-found")
    theft = {"submissions": [victim]}
    problem(oracle.call("PUT", "/v1/contests/heart/finalists", mallory, json=theft), 404, "not-found")


def test_api2_broken_authentication(oracle: Running) -> None:
    token = oracle.token("heart")
    path = "/v1/contests/heart/limits"
    with sqlite3.connect(oracle.home / "oracle.sqlite") as database:
        stored = "\n".join(database.iterdump())
    assert token not in stored
    assert token[4:] not in stored
    digest = sha256(token.encode()).hexdigest()
    assert digest in stored
    for wrong in (digest, token[:-1], token + "A", token.lower(), token[4:], "x", "cfd_", "' OR 1=1 --"):
        problem(oracle.call("GET", path, headers={"Authorization": f"Bearer {wrong}"}), 401, "no-token")
    problem(oracle.call("GET", path, headers={"Authorization": f"Basic {token}"}), 401, "no-token")
    problem(oracle.call("GET", f"{path}?token={token}"), 401, "no-token")
    assert token not in oracle.log.read_text()


def test_api3_broken_object_property_level_authorization(oracle: Running) -> None:
    token, organiser = oracle.token("heart"), oracle.organiser("heart")
    extra = {"submissions": [], "member": 1, "contest": "other"}
    problem(oracle.call("PUT", "/v1/contests/heart/finalists", token, json=extra), 422, "invalid")
    rich = {"participant": "x", "role": "participant", "contest": "other"}
    problem(oracle.call("POST", "/v1/contests/heart/tokens", organiser, json=rich), 422, "invalid")
    listed = oracle.call("GET", "/v1/contests/heart/tokens", organiser).json()["tokens"]
    shown = {"id", "participant", "role", "created_at", "expires_at", "revoked_at"}
    assert {name for one in listed for name in one} == shown
    entries = oracle.call("GET", "/v1/contests/heart/record", organiser).json()["entries"]
    assert {name for one in entries for name in one} == {"sequence", "kind", "at", "by", "by_token", "about"}


def test_api4_unrestricted_resource_consumption(oracle: Running) -> None:
    token, path = oracle.token("heart"), "/v1/contests/heart/submissions"
    declared = {"Content-Type": "text/csv"}
    too_much = b"x" * (64 * 2**20 + 1)
    problem(oracle.call("POST", path, token, headers=declared, content=too_much), 413, "too-large")
    chunks = (too_much[: 2**20] for _ in range(66))
    problem(oracle.call("POST", path, token, headers=declared, content=chunks), 413, "too-large")
    large = {"submissions": ["0" * 26] * 200_000}
    problem(oracle.call("PUT", "/v1/contests/heart/finalists", token, json=large), 413, "too-large")
    problem(oracle.call("GET", f"{path}?limit=100000000", token), 422, "invalid")


def test_api5_broken_function_level_authorization(oracle: Running) -> None:
    token = oracle.token("heart")
    for method, name, body in (
        ("POST", "state", {"state": "closed"}),
        ("POST", "tokens", {"participant": "me", "role": "organiser"}),
        ("GET", "tokens", None),
        ("GET", "status", None),
        ("GET", "finalists/archive", None),
    ):
        problem(oracle.call(method, f"/v1/contests/heart/{name}", token, json=body), 403, "wrong-role")
    assert oracle.call("GET", "/v1/contests/heart").json()["state"] == "open"


def test_api6_unrestricted_access_to_sensitive_business_flows(oracle: Running) -> None:
    contest, token = oracle.contests["short"], oracle.token("short")
    statuses = [oracle.submit("short", token, contest.csv(seed)).status_code for seed in range(6)]
    assert statuses == [201, 201, 429, 429, 429, 429]
    values = {oracle.submit("short", token, contest.csv(0)).json()["value"] for _ in range(5)}
    assert len(values) == 1  # the same question has the same answer: no averaging


def test_api7_server_side_request_forgery() -> None:
    """No code of the server can open a connection to an address that a request names."""
    folder = Path(confide.contest.server.__file__).parent
    trees = {str(file.relative_to(folder)): ast.parse(file.read_text()) for file in folder.rglob("*.py")}
    assert len(trees) > 20
    clients = {"urllib.request", "http.client", "httpx", "requests", "aiohttp", "socket", "ftplib", "subprocess"}
    found = {(name, client) for name, tree in trees.items() for client in imports_of(tree) & clients}
    assert found == {("run.py", "socket")}  # it binds its own port, and opens no connection
    used = {node.attr for node in ast.walk(trees["run.py"]) if isinstance(node, ast.Attribute)}
    assert "bind" in used
    assert not used & {"connect", "connect_ex", "create_connection", "open_connection", "sendto", "sendmsg"}


def imports_of(tree: ast.AST) -> set[str]:
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(one.name for one in node.names)]
    }


def test_api8_security_misconfiguration(oracle: Running) -> None:
    for path in ("/v1/contests", "/v1/nowhere", "/healthz", "/v1/openapi.json"):
        answer = oracle.call("GET", path, headers={"Origin": "https://evil.example"})
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    for path in ("/docs", "/redoc", "/openapi.json", "/metrics", "/v1/contests/"):
        problem(oracle.call("GET", path), 404, "not-found")
    allowed = oracle.call("PATCH", "/v1/contests")
    problem(allowed, 405, "method-not-allowed")
    assert allowed.headers["allow"] == "GET"
    help_text = subprocess.run(
        [sys.executable, "-m", "confide", "serve", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "127.0.0.1" in help_text
    assert (oracle.home / "oracle.key").stat().st_mode & 0o077 == 0
    assert oracle.home.stat().st_mode & 0o077 == 0


def test_api9_improper_inventory_management(oracle: Running) -> None:
    described = oracle.call("GET", "/v1/openapi.json").json()["paths"]
    assert all(path.startswith("/v1/") or path in ("/healthz", "/readyz") for path in described)
    for path in ("/v2/contests", "/contests.json", "/api/contests", "/debug", "/v1"):
        assert oracle.call("GET", path).status_code == 404


def test_api10_unsafe_consumption_of_apis(oracle: Running) -> None:
    """The only foreign result is the holder's final: it is checked before it is shown."""
    forged = {
        "schema": "confide.contest-final/1",
        "contest": "heart",
        "metric": {"name": "auc", "threshold": None},
        "mechanism": "masked",
        "rows": 60,
        "entries": [],
        "guarantee": {},
        "noise": {},
    }
    answer = oracle.call("PUT", "/v1/contests/heart/final", oracle.organiser("heart"), json=forged)
    assert answer.status_code in (409, 422)
    assert oracle.call("GET", "/v1/contests/heart/final").status_code == 404
    assert isinstance(answer, httpx.Response)
