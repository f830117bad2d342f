"""Every route of OpenAPI, called by everybody: the matrix of routes and roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from confide.contest.server.tokens import digest_of
from tests.contest.server.running import Running

pytestmark = pytest.mark.processes

UNKNOWN = "0" * 26
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/contests/{contest}/state"): {"state": "paused"},
    ("POST", "/v1/contests/{contest}/tokens"): {"participant": "somebody"},
    ("PUT", "/v1/contests/{contest}/finalists"): {"submissions": []},
    ("PUT", "/v1/contests/{contest}/final"): {},
}
PUBLIC = {"/v1/contests", "/v1/contests/{contest}", "/healthz", "/readyz"} | {
    f"/v1/contests/{{contest}}/{name}" for name in ("template", "leaderboard", "final")
}
PARTICIPANTS = {
    ("POST", "submissions"),
    ("GET", "limits"),
    ("GET", "finalists"),
    ("PUT", "finalists"),
}
BOTH = {("GET", "submissions"), ("GET", "submissions/{submission}")}
ORGANISERS = {
    ("GET", "status"),
    ("POST", "state"),
    ("GET", "tokens"),
    ("GET", "record"),
    ("POST", "tokens"),
    ("DELETE", "tokens/{token}"),
    ("GET", "finalists/archive"),
    ("PUT", "final"),
}


@dataclass(frozen=True)
class Route:
    method: str
    path: str

    @property
    def rule(self) -> tuple[str, str]:
        return self.method, self.path.removeprefix("/v1/contests/{contest}/")


def routes(oracle: Running) -> Iterator[Route]:
    for path, operations in oracle.call("GET", "/v1/openapi.json").json()["paths"].items():
        for method in operations:
            yield Route(method.upper(), path)


def call(oracle: Running, route: Route, contest: str, token: str | None) -> int:
    path = route.path.format(contest=contest, submission=UNKNOWN, token=UNKNOWN)
    options: dict[str, Any] = {}
    if (route.method, route.path) in BODIES:
        options["json"] = BODIES[route.method, route.path]
    elif route.method == "POST":
        options = {"content": b"id,score\n", "headers": {"Content-Type": "text/csv"}}
    return oracle.call(route.method, path, token, **options).status_code


@pytest.mark.few(1)
def test_every_route_has_a_rule(oracle: Running) -> None:
    found = {route.rule for route in routes(oracle) if route.path not in PUBLIC or route.method != "GET"}
    assert found == PARTICIPANTS | BOTH | ORGANISERS
    assert {route.path for route in routes(oracle)} >= PUBLIC


@pytest.mark.few(1)
@pytest.mark.parametrize("contest", ["heart", "draft", "nowhere"])
def test_every_role_gets_what_the_rules_say(oracle: Running, contest: str) -> None:
    own = contest if contest != "nowhere" else "heart"
    revoked = oracle.token(own, name="revoked")
    listed = oracle.call("GET", f"/v1/contests/{own}/tokens", oracle.organiser(own)).json()["tokens"]
    (identity,) = [one["id"] for one in listed if one["participant"] == "revoked" and not one["revoked_at"]]
    assert oracle.call("DELETE", f"/v1/contests/{own}/tokens/{identity}", oracle.organiser(own)).status_code == 204
    callers = {
        "nobody": None,
        "participant": oracle.token(own),
        "stranger": oracle.token("other"),
        "foreign organiser": oracle.organiser("other"),
        "revoked": revoked,
        "invented": "cfd_" + "A" * 43,
        "digest": digest_of(revoked),
        "organiser": oracle.organiser(own),
    }
    for route in routes(oracle):
        for name, token in callers.items():
            status = call(oracle, route, contest, token)
            assert status in expected(route, name, contest), (route, name, status)
    oracle.set_state("heart", "open")  # the organiser paused it


def expected(route: Route, caller: str, contest: str) -> set[int]:
    """Return the statuses that a route may answer with."""
    everybody = route.path in PUBLIC and route.method == "GET"
    if route.path in ("/healthz", "/readyz"):
        return {200}
    if caller in ("revoked", "invented", "digest"):
        return {401}
    if route.path == "/v1/contests":
        return {200}
    if everybody:
        seen = contest == "heart" or (contest == "draft" and caller in ("participant", "organiser"))
        return {404} if not seen or route.path.endswith("final") else {200}
    if caller == "nobody":
        return {401}
    if contest == "nowhere" or caller in ("stranger", "foreign organiser"):
        return {404}
    roles = (ORGANISERS | BOTH) if caller == "organiser" else (PARTICIPANTS | BOTH)
    if route.rule not in roles:
        return {403}
    allowed = {200, 201, 404, 409, 422}  # past the door; what is behind it is tested elsewhere
    return allowed - ({404} if "{submission}" not in route.path and "{token}" not in route.path else set())


def test_another_participants_submission_cannot_be_seen(oracle: Running) -> None:
    contest = oracle.contests["heart"]
    owner, other = oracle.token("heart"), oracle.token("heart")
    identity = oracle.submit("heart", owner, contest.csv(50)).json()["id"]
    path = f"/v1/contests/heart/submissions/{identity}"
    statuses = {
        "owner": oracle.call("GET", path, owner).status_code,
        "other": oracle.call("GET", path, other).status_code,
        "organiser": oracle.call("GET", path, oracle.organiser("heart")).status_code,
        "foreign organiser": oracle.call("GET", path.replace("heart", "other"), oracle.organiser("other")).status_code,
    }
    assert statuses == {"owner": 200, "other": 404, "organiser": 200, "foreign organiser": 404}
    missing = oracle.call("GET", path.replace(identity, UNKNOWN), other)
    assert missing.json() == oracle.call("GET", path, other).json()
    assert identity not in oracle.call("GET", "/v1/contests/heart/submissions", other).text
