"""Organisers open, pause and close contests, hand out tokens, and publish finals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.contest.bundles import Finalists
from confide.contest.final import prepare_final
from tests.contest.server.running import Running, SmallContest
from tests.contest.server.test_submissions_over_http import problem

pytestmark = pytest.mark.processes


def test_states_follow_each_other(oracle: Running) -> None:
    contest = oracle.contests["states"]
    token, path = oracle.token("states"), "/v1/contests/states"
    assert oracle.call("GET", path).status_code == 404
    assert oracle.call("GET", path, token).json()["state"] == "draft"
    assert "states" not in [one["name"] for one in oracle.call("GET", "/v1/contests").json()["contests"]]
    assert "states" in [one["name"] for one in oracle.call("GET", "/v1/contests", token).json()["contests"]]
    for state in ("paused", "closed"):
        problem(oracle.set_state("states", state), 409, "wrong-state")
    for state in ("open", "paused", "open"):
        assert oracle.set_state("states", state).json()["state"] == state
        problem(oracle.set_state("states", state), 409, "wrong-state")
        sent = oracle.submit("states", token, contest.csv(1))
        assert sent.status_code in ((409,) if state == "paused" else (200, 201))
    organiser = oracle.organiser("states")
    problem(oracle.call("GET", f"{path}/finalists/archive", organiser), 409, "wrong-state")
    assert oracle.set_state("states", "closed").json()["state"] == "closed"
    for state in ("open", "paused", "closed"):
        problem(oracle.set_state("states", state), 409, "wrong-state")
    problem(oracle.submit("states", token, contest.csv(2)), 409, "wrong-state")
    problem(oracle.call("PUT", f"{path}/finalists", token, json={"submissions": []}), 409, "wrong-state")
    problem(oracle.call("GET", f"{path}/final"), 404, "not-found")
    for unknown in ("published", "draft", "", None):
        problem(oracle.call("POST", f"{path}/state", organiser, json={"state": unknown}), 422, "invalid")


def published(contest: SmallContest, finalists: Finalists) -> dict[str, Any]:
    """Compute the final as the holder of the labels does."""
    rows = contest.bundle.final_rows
    entries = {name: one.scores[rows] for name, one in finalists.by_name().items()}
    (result,) = prepare_final(contest.bundle.terms, contest.labels[rows], entries, part=None).draw()
    plain: dict[str, Any] = result.to_dict()
    return plain


def test_a_final_is_published_once_and_only_if_it_fits(oracle: Running) -> None:
    contest, path, organiser = oracle.contests["final"], "/v1/contests/final", oracle.organiser("final")
    tokens = {name: oracle.token("final", name=name) for name in ("ada", "ben", "cid")}
    sent = {
        (name, seed): oracle.submit("final", tokens[name], contest.csv(seed)).json()
        for seed, name in enumerate(["ada", "ada", "ada", "ben", "ben", "cid"])
    }
    default = oracle.call("GET", f"{path}/finalists", tokens["ada"]).json()
    best = max((one for (name, _), one in sent.items() if name == "ada"), key=lambda one: one["value"])
    assert default == {"submissions": [best["id"]], "chosen": False, "most": 2}
    chosen = sorted(sent["ada", seed]["id"] for seed in (0, 1))
    answer = oracle.call("PUT", f"{path}/finalists", tokens["ada"], json={"submissions": chosen})
    assert answer.json() == {"submissions": chosen, "chosen": True, "most": 2}
    too_many = [sent["ada", seed]["id"] for seed in (0, 1, 2)]
    problem(oracle.call("PUT", f"{path}/finalists", tokens["ada"], json={"submissions": too_many}), 422, "invalid")
    foreign = {"submissions": [sent["ben", 3]["id"]]}
    problem(oracle.call("PUT", f"{path}/finalists", tokens["ada"], json=foreign), 404, "not-found")
    assert oracle.call("GET", f"{path}/finalists", tokens["ada"]).json()["submissions"] == chosen
    problem(oracle.call("PUT", f"{path}/final", organiser, json={}), 422, "invalid")
    assert oracle.set_state("final", "closed").status_code == 200

    archive = oracle.call("GET", f"{path}/finalists/archive", organiser)
    assert archive.headers["content-type"] == "application/zip"
    finalists = Finalists.from_bytes(archive.content)
    assert [one.participant for one in finalists.entries] == ["ada", "ada", "ben", "cid"]
    assert {one.submission for one in finalists.entries if one.participant == "ada"} == set(chosen)
    assert np.array_equal(finalists.entries[-1].scores, contest.scores(5))

    result = published(contest, finalists)
    wrong = {
        "another contest": {**result, "contest": "heart"},
        "another metric": {**result, "metric": {"name": "brier", "threshold": None}},
        "another number of rows": {**result, "rows": 3},
        "fewer entries": {**result, "entries": result["entries"][1:]},
        "an entry twice": {**result, "entries": [*result["entries"], result["entries"][0]]},
        "other scores": {**result, "entries": [{**one, "digest": "0" * 64} for one in result["entries"]]},
        "a larger epsilon": {**result, "guarantee": {**result["guarantee"], "epsilon": 2.0}},
        "a delta": {**result, "guarantee": {**result["guarantee"], "delta": 0.1}},
        "an impossible value": {**result, "entries": [{**one, "value": 1e308} for one in result["entries"]]},
        "impossible ranks": {**result, "entries": [{**one, "rank_highest": 99} for one in result["entries"]]},
        "no result": {**result, "schema": "other"},
        "more": {**result, "labels": [1, 0]},
    }
    for reason, body in wrong.items():
        assert oracle.call("PUT", f"{path}/final", organiser, json=body).status_code == 422, reason
    problem(oracle.call("GET", f"{path}/final"), 404, "not-found")

    answer = oracle.call("PUT", f"{path}/final", organiser, json=result)
    assert answer.json()["state"] == "published", answer.text
    again = oracle.call("PUT", f"{path}/final", organiser, json=result)  # the first answer may have been lost
    assert (again.status_code, again.json()["state"]) == (200, "published")
    other = {**result, "entries": [{**one, "rank_highest": 1} for one in result["entries"]]}
    problem(oracle.call("PUT", f"{path}/final", organiser, json=other), 409, "wrong-state")
    shown = oracle.call("GET", f"{path}/final").json()
    shake_up = shown.pop("shake_up")
    assert shown.pop("published_at").endswith("Z")
    assert shown == result
    assert [one["name"] for one in shake_up] == [one["name"] for one in result["entries"]]
    board = {one["name"]: one["rank"] for one in oracle.call("GET", f"{path}/leaderboard").json()["entries"]}
    assert all(one["board_rank"] == board[one["participant"]] for one in shake_up)


def test_tokens_are_shown_once_and_end_when_revoked(oracle: Running) -> None:
    path, organiser = "/v1/contests/heart/tokens", oracle.organiser("heart")
    made = oracle.call("POST", path, organiser, json={"participant": "grace", "role": "participant"})
    assert made.status_code == 201
    secret = made.json()["token"]
    assert secret.startswith("cfd_")
    assert len(secret) == 47
    assert oracle.call("GET", "/v1/contests/heart/limits", secret).status_code == 200
    listed = oracle.call("GET", path, organiser)
    assert secret not in listed.text
    (mine,) = [one for one in listed.json()["tokens"] if one["participant"] == "grace"]
    assert mine["revoked_at"] is None
    problem(
        oracle.call("DELETE", f"/v1/contests/other/tokens/{mine['id']}", oracle.organiser("other")), 404, "not-found"
    )
    assert oracle.call("GET", "/v1/contests/heart/limits", secret).status_code == 200
    assert oracle.call("DELETE", f"{path}/{mine['id']}", organiser).status_code == 204
    refused = oracle.call("GET", "/v1/contests/heart/limits", secret)
    problem(refused, 401, "no-token")
    assert refused.headers["www-authenticate"] == "Bearer"
    for name in (" x", "x\n", "", "y" * 81):
        problem(oracle.call("POST", path, organiser, json={"participant": name}), 422, "invalid")


def test_the_status_counts_what_members_sent(oracle: Running) -> None:
    contest, token = oracle.contests["other"], oracle.token("other", name="counted")
    for seed in (1, 2):
        oracle.submit("other", token, contest.csv(seed))
    status = oracle.call("GET", "/v1/contests/other/status", oracle.organiser("other")).json()
    (mine,) = [one for one in status["members"] if one["name"] == "counted"]
    assert (mine["submissions"], mine["roles"], mine["finalists"]) == (2, ["participant"], 0)
    assert status["submissions"] == sum(one["submissions"] for one in status["members"])
    assert status["next_states"] == ["closed", "paused"]


def test_templates_come_with_an_entity_tag(oracle: Running) -> None:
    path = "/v1/contests/heart/template"
    first = oracle.call("GET", path)
    assert first.content == oracle.contests["heart"].bundle.template.to_json().encode()
    again = oracle.call("GET", path, headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert oracle.call("GET", path, headers={"If-None-Match": '"other"'}).status_code == 200
