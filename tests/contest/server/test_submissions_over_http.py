"""Submissions over HTTP: scored once, replayed for nothing, refused with a reason."""

from __future__ import annotations

import io
import threading
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import httpx
import numpy as np
import pytest

from confide.contest.estimators import score_entry
from tests.contest.server.running import PARQUET, Running, SmallContest

pytestmark = pytest.mark.processes


def parquet(contest: SmallContest, seed: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"id": list(contest.bundle.template.ids), "score": contest.scores(seed)})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert found["type"] == f"urn:confide:problem:{kind}"
    assert found["status"] == status
    assert found["detail"]
    assert found["next_step"]
    return found


def test_a_file_is_scored_as_the_estimator_scores_it(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart")
    response = oracle.submit("heart", token, contest.csv(1))
    assert response.status_code == 201, response.text
    found, scores = response.json(), contest.scores(1)
    bundle = contest.bundle
    assert bundle.masked is not None
    expected = score_entry(bundle.terms.metric, scores[bundle.public], bundle.masked)
    assert found["value"] == expected.value
    assert found["sample"] == expected.sample.to_dict()
    assert found["population"] == expected.population.to_dict()
    assert found["digest"] == sha256(scores.astype("<f8").tobytes()).hexdigest()
    assert found["rows"] == bundle.terms.rows
    assert found["limits"]["daily_left"] == 999
    assert not found["replayed"]
    assert datetime.fromisoformat(found["received_at"]).tzinfo == UTC
    stored = oracle.home / "scores" / "heart" / f"{found['digest']}.f8"
    assert (np.fromfile(stored, "<f8") == scores).all()
    own = oracle.call("GET", f"/v1/contests/heart/submissions/{found['id']}", token).json()
    assert own == {**found, "limits": None}


@pytest.mark.few(1)
def test_the_same_scores_are_the_same_submission(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart")
    first = oracle.submit("heart", token, contest.csv(2), key="one").json()
    lines = contest.csv(2).decode().split("\n")
    shuffled = "\n".join([lines[0], *reversed(lines[1:-1])]) + "\n"
    again = [
        oracle.submit("heart", token, contest.csv(2), key="one"),
        oracle.submit("heart", token, contest.csv(2), key="two"),
        oracle.submit("heart", token, contest.csv(2)),
        oracle.submit("heart", token, shuffled.encode(), key="one"),
        oracle.submit("heart", token, parquet(contest, 2), kind=PARQUET),
    ]
    assert [one.status_code for one in again] == [200] * 5
    assert {one.json()["id"] for one in again} == {first["id"]}
    assert all(one.json()["replayed"] for one in again)
    assert oracle.call("GET", "/v1/contests/heart/limits", token).json()["daily_left"] == 999
    other = oracle.submit("heart", oracle.token("heart"), contest.csv(2))
    assert (other.status_code, other.json()["id"] == first["id"]) == (201, False)


@pytest.mark.few(1)
def test_a_key_belongs_to_one_file(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart")
    assert oracle.submit("heart", token, contest.csv(3), key="mine").status_code == 201
    problem(oracle.submit("heart", token, contest.csv(4), key="mine"), 422, "key-reused")
    assert oracle.submit("heart", token, contest.csv(3), key="second").status_code == 200
    problem(oracle.submit("heart", token, contest.csv(4), key="second"), 422, "key-reused")
    assert oracle.submit("heart", oracle.token("heart"), contest.csv(4), key="mine").status_code == 201
    for key in ("", "with space", "é", "x" * 201):
        headers = {"Content-Type": "text/csv", "Idempotency-Key": key.encode("latin-1")}
        path = "/v1/contests/heart/submissions"
        problem(oracle.call("POST", path, token, content=contest.csv(5), headers=headers), 422, "invalid")


def test_files_that_cannot_be_scored_are_free_and_say_why(oracle: Running) -> None:
    contest, token = oracle.contests["short"], oracle.token("short")
    good = contest.csv(1).decode()
    bad = {
        "": "empty",
        "a,b\n1,2\n": "column",
        good.replace("p00003,", "p99999,"): "p99999",
        "\n".join(good.split("\n")[:-3]): "missing",
        good + good.split("\n")[1] + "\n": "rows",
        good.replace(good.split("\n")[1], "p00000,nan"): "NaN",
        good.replace(good.split("\n")[1], "p00000,inf"): "infinite",
        good.replace(good.split("\n")[1], "p00000,high"): "not a number",
    }
    for content, reason in bad.items():
        found = problem(oracle.submit("short", token, content.encode()), 422, "bad-file")
        assert reason in " ".join(found["errors"]), found
    problem(oracle.submit("short", token, b"PAR1 not really PAR1", kind=PARQUET), 422, "bad-file")
    limits = oracle.call("GET", "/v1/contests/short/limits", token).json()
    assert (limits["daily_left"], limits["total_left"]) == (2, 2)


def test_limits_count_scored_submissions_and_say_when_to_return(oracle: Running) -> None:
    contest, token = oracle.contests["short"], oracle.token("short")
    assert oracle.submit("short", token, contest.csv(1)).json()["limits"]["daily_left"] == 1
    assert oracle.submit("short", token, contest.csv(2)).json()["limits"]["total_left"] == 0
    refused = oracle.submit("short", token, contest.csv(3))
    problem(refused, 429, "limit")
    assert 1 <= int(refused.headers["retry-after"]) <= 86_401
    assert oracle.submit("short", token, contest.csv(2)).status_code == 200
    assert len(oracle.call("GET", "/v1/contests/short/submissions", token).json()["submissions"]) == 2


def test_exactly_the_limit_is_scored_when_many_are_sent_at_once(oracle: Running) -> None:
    contest, token = oracle.contests["races"], oracle.token("races")
    statuses: list[int] = []
    barrier = threading.Barrier(12)

    def send(seed: int) -> None:
        content = contest.csv(seed)
        with httpx.Client(base_url=str(oracle.client.base_url), timeout=300) as client:
            barrier.wait()
            response = client.post(
                "/v1/contests/races/submissions",
                content=content,
                headers={"Authorization": f"Bearer {token}", "Content-Type": "text/csv"},
            )
        statuses.append(response.status_code)

    threads = [threading.Thread(target=send, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] * 3 + [429] * 9
    assert len(oracle.call("GET", "/v1/contests/races/submissions", token).json()["submissions"]) == 3


def test_one_file_sent_many_times_at_once_is_one_submission(oracle: Running) -> None:
    contest, token = oracle.contests["races"], oracle.token("races")
    answers: list[httpx.Response] = []

    def send() -> None:
        with httpx.Client(base_url=str(oracle.client.base_url), timeout=300) as client:
            answers.append(
                client.post(
                    "/v1/contests/races/submissions",
                    content=contest.csv(5),
                    headers={"Authorization": f"Bearer {token}", "Content-Type": "text/csv", "Idempotency-Key": "k"},
                )
            )

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status_code for one in answers) == [200] * 7 + [201]
    assert len({one.json()["id"] for one in answers}) == 1
    assert oracle.call("GET", "/v1/contests/races/limits", token).json()["daily_left"] == 2


def test_probabilities_come_with_calibration(oracle: Running) -> None:
    contest, token = oracle.contests["brier"], oracle.token("brier")
    found = oracle.submit("brier", token, contest.csv(1)).json()
    assert sum(one["rows"] for one in found["calibration"]) == contest.bundle.terms.public_rows
    outside = contest.scores(1) + 1.0
    refused = problem(oracle.submit("brier", token, contest.csv(outside)), 422, "bad-file")
    assert "0 to 1" in refused["errors"][0]


@pytest.mark.few(1)
def test_other_kinds_and_states_are_refused(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart")
    for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain", ""):
        problem(oracle.submit("heart", token, contest.csv(1), kind=kind), 415, "media-type")
    assert oracle.submit("heart", token, contest.csv(6), kind="Text/CSV; charset=utf-8").status_code == 201
    problem(oracle.submit("draft", oracle.token("draft"), contest.csv(1)), 409, "wrong-state")
    problem(oracle.submit("heart", oracle.organiser("heart"), contest.csv(1)), 403, "wrong-role")


def test_lists_continue_where_they_ended(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart")
    sent = [oracle.submit("heart", token, contest.csv(seed)).json()["id"] for seed in range(20, 25)]
    path, seen = "/v1/contests/heart/submissions?limit=2", []
    query = ""
    while True:
        page = oracle.call("GET", path + query, token).json()
        seen += [one["id"] for one in page["submissions"]]
        if page["next"] is None:
            break
        query = f"&before={page['next']}"
    assert sorted(seen) == sorted(sent)
    assert seen == sorted(seen, reverse=True)


def test_the_board_shows_the_best_of_each_and_is_at_most_two_seconds_old(oracle: Running) -> None:
    contest, token = oracle.contests["heart"], oracle.token("heart", name="board reader")
    import time

    values = [oracle.submit("heart", token, contest.csv(seed)).json()["value"] for seed in (30, 31, 32)]
    time.sleep(2.05)
    board = oracle.call("GET", "/v1/contests/heart/leaderboard").json()
    (mine,) = [entry for entry in board["entries"] if entry["name"] == "board reader"]
    assert (mine["value"], mine["submissions"]) == (max(values), 3)
    shown = [entry["value"] for entry in board["entries"]]
    assert shown == sorted(shown, reverse=True)
    assert board["scored"] == sum(entry["submissions"] for entry in board["entries"])
    assert all(entry["rank_lowest"] <= entry["rank"] <= entry["rank_highest"] for entry in board["entries"])
