"""Boards and requests while the disk, the database or the computation fails; and pages that are rendered once.

The application runs in the test's own process, so that a fault can be put at an exact place.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import event

from confide.contest.bundles import Finalists
from confide.contest.server import boards
from confide.contest.server import oracle as oracles
from confide.contest.server.administration import new_token
from confide.contest.server.api import contests
from confide.contest.server.home import Settings
from confide.contest.server.oracle import Oracle
from confide.contest.server.pages import public
from confide.contest.server.problems import LOG
from confide.contest.server.run import create_app
from tests.contest.server.running import CSV, small_contest
from tests.contest.server.test_organisers_run_contests import published
from tests.ports import free_port
from tests.waiting import wait_until

SECONDS = 0.05
BOARD, PAGE = "/v1/contests/heart/leaderboard", "/contests/heart"


class Site:
    """An application with one open contest, in this process."""

    def __init__(self, folder: Path, app: FastAPI, client: httpx.Client) -> None:
        self.client, self.home, self.app = client, folder / "home", app
        self.contest = small_contest("heart")
        self.oracle: Oracle = app.state.oracle
        self.tokens: dict[str, str] = {}
        host = {"Authorization": f"Bearer {new_token(self.home, 'heart', 'host', 'organiser')}"}
        assert client.post("/v1/contests/heart/state", json={"state": "open"}, headers=host).status_code == 200

    def token(self, name: str) -> str:
        if name not in self.tokens:
            self.tokens[name] = new_token(self.home, "heart", name, "participant")
        return self.tokens[name]

    def submit(self, name: str, seed: int) -> Any:
        headers = {"Authorization": f"Bearer {self.token(name)}", "Content-Type": CSV}
        return self.client.post("/v1/contests/heart/submissions", content=self.contest.csv(seed), headers=headers)

    def names(self) -> set[str]:
        return {entry["name"] for entry in self.client.get(BOARD).json()["entries"]}

    def sign_in(self, name: str) -> dict[str, str]:
        """Return the header with the cookie of a new session."""
        form = {"token": self.token(name)}
        origin = {"Origin": str(self.client.base_url).rstrip("/")}
        response = self.client.post("/signin", data=form, headers=origin)
        assert response.status_code == 303
        self.client.cookies.clear()
        return {"Cookie": response.headers["set-cookie"].split(";")[0]}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    bundle = tmp_path / "heart.zip"
    bundle.write_bytes(small_contest("heart").bundle.to_bytes())
    settings = Settings(home=tmp_path / "home", bundles=(bundle,), database=None, board_seconds=SECONDS)
    app, port = create_app(settings), free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield Site(tmp_path, app, client)
    finally:
        server.should_exit = True
        thread.join()


class Fault:
    """A function that fails while `on`, with a text that must reach nobody."""

    def __init__(self, works: Callable[..., Any], error: Exception) -> None:
        self.works, self.error = works, error
        self.on, self.failures = False, 0

    def __call__(self, *positional: Any, **named: Any) -> Any:
        if self.on:
            self.failures += 1
            raise self.error
        return self.works(*positional, **named)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    broken = Fault(boards.best_submissions, MemoryError("secret 0.4321"))
    monkeypatch.setattr(boards, "best_submissions", broken)
    return broken


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.LogCaptureFixture]:
    monkeypatch.setattr(LOG, "propagate", True)  # it does not once a server has run in this process
    with caplog.at_level(logging.INFO, logger=LOG.name):
        yield caplog


def test_a_board_that_fails_is_tried_again_and_says_that_it_is_old(
    site: Site, fault: Fault, log: pytest.LogCaptureFixture
) -> None:
    assert site.submit("ada", 1).status_code == 201
    assert site.names() == {"ada"}
    assert "keeps trying" not in site.client.get(PAGE).text
    fault.on = True
    assert site.submit("bob", 2).status_code == 201
    wait_until(lambda: fault.failures >= 3, seconds=20)  # without a reader
    assert site.names() == {"ada"}
    page = site.client.get(PAGE)
    assert page.status_code == 200
    assert "A newer one could not be computed" in page.text
    fault.on = False
    wait_until(lambda: site.names() == {"ada", "bob"})
    assert "could not be computed" not in site.client.get(PAGE).text
    assert any("the board of heart cannot be computed: MemoryError at confide." in line for line in log.messages)
    assert "0.4321" not in log.text


def test_failures_come_at_ever_longer_intervals(
    site: Site, fault: Fault, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "_LONGEST_PAUSE", 0.3)
    fault.on = True
    wait_until(lambda: site.client.get(BOARD).status_code == 503 and fault.failures >= 5, seconds=20)
    records = [record for record in log.records if "cannot be computed" in str(record.msg)][:5]
    pauses = [record.args[-1] for record in records]  # type: ignore[index]  # positional
    assert pauses == [pytest.approx(one) for one in (0.05, 0.1, 0.2, 0.3, 0.3)]
    assert records[4].created - records[0].created > 0.6  # the sum of the first four is 0.65


def test_the_first_board_that_fails_is_no_defect(site: Site, fault: Fault) -> None:
    fault.on = True
    for path in (BOARD, PAGE):
        response = site.client.get(path)
        assert response.status_code == 503
        assert int(response.headers["Retry-After"]) >= 1
        assert "0.4321" not in response.text


def test_a_submission_between_the_reading_of_version_and_rows_is_not_lost(site: Site) -> None:
    """A writer comes right after the rows were read: the board lacks it, must know that, and is computed again."""
    assert site.submit("ada", 1).status_code == 201
    site.token("late")
    written: list[int] = []
    engine = site.oracle.database.engine

    @event.listens_for(engine, "after_cursor_execute")
    def write(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "row_number()" in statement and not written:
            written.append(0)
            written[0] = site.submit("late", 2).status_code

    try:
        first = site.names()
        wait_until(lambda: bool(written) and written[0] != 0)
    finally:
        event.remove(engine, "after_cursor_execute", write)
    assert first == {"ada"}  # the reading transaction does not see it
    assert written == [201]
    wait_until(lambda: site.names() == {"ada", "late"}, seconds=5)


def is_unavailable(response: Any) -> bool:
    assert response.status_code == 503, response.text
    assert int(response.headers["Retry-After"]) >= 1
    assert "sqlite" not in response.text.lower()
    return "urn:confide:problem:store" in response.text or "cannot record anything" in response.text


def test_a_full_database_is_said_and_everything_works_again_afterwards(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's limit of pages gives the error of a full disk."""
    monkeypatch.setattr(oracles, "PROBE_SECONDS", 0.0)
    assert site.submit("ada", 1).status_code == 201
    assert site.client.get("/readyz").status_code == 200
    engine = site.oracle.database.engine
    full = [True]

    @event.listens_for(engine, "begin")
    @event.listens_for(engine, "engine_connect")
    def limit(connection: Any) -> None:
        connection.connection.dbapi_connection.execute(f"PRAGMA max_page_count={1 if full[0] else 2**30}")

    token = site.token("bob")
    for seed in range(2, 40):  # free pages of the file are used up first
        response = site.client.post(
            "/v1/contests/heart/submissions",
            content=site.contest.csv(seed),
            headers={"Authorization": f"Bearer {token}", "Content-Type": CSV},
        )
        if response.status_code != 201:
            break
    assert is_unavailable(response)
    assert site.client.get(PAGE).status_code == 200
    full[0] = False
    assert site.submit("bob", 50).status_code == 201
    assert site.client.get("/readyz").status_code == 200


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_cannot_be_written_to_is_said(site: Site, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "PROBE_SECONDS", 0.0)
    assert site.client.get("/readyz").status_code == 200
    site.token("ada")
    broken = Fault(os.fsync, OSError(number, os.strerror(number), "/secret/path"))
    monkeypatch.setattr(os, "fsync", broken)
    broken.on = True
    response = site.submit("ada", 1)
    assert is_unavailable(response)
    assert "secret" not in response.text
    assert is_unavailable(site.client.get("/readyz"))
    assert site.client.get("/healthz").status_code == 200
    broken.on = False
    assert site.client.get("/readyz").status_code == 200
    assert site.submit("ada", 1).status_code == 201


def test_a_disk_with_little_room_is_not_ready(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "PROBE_SECONDS", 0.0)
    store = site.oracle.store
    monkeypatch.setattr(store, "_room", shutil.disk_usage(site.home).total + 2**40)
    assert is_unavailable(site.client.get("/readyz"))


def test_a_database_that_is_read_only_or_gone_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "PROBE_SECONDS", 0.0)
    assert site.submit("ada", 1).status_code == 201
    cookie = site.sign_in("ada")
    engine = site.oracle.database.engine

    @event.listens_for(engine, "engine_connect")
    def read_only(connection: Any) -> None:
        connection.connection.dbapi_connection.execute("PRAGMA query_only=ON")

    assert is_unavailable(site.submit("ada", 2))
    assert is_unavailable(site.client.get("/readyz"))
    assert site.client.get(PAGE).status_code == 200
    event.remove(engine, "engine_connect", read_only)
    engine.dispose()

    @event.listens_for(engine, "do_connect")
    def absent(*_arguments: Any) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    for path in ("/readyz", "/v1/contests", BOARD, "/v1/contests/heart"):
        assert is_unavailable(site.client.get(path))
    for page in ("/", PAGE, "/contests/heart/mine", "/contests/nothing"):
        response = site.client.get(page, headers=cookie)
        assert is_unavailable(response)
        assert response.headers["content-type"].startswith("text/html")
    event.remove(engine, "do_connect", absent)
    assert site.submit("ada", 2).status_code == 201


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", ["damaged", "gone", "changed"])
def test_a_home_that_cannot_be_used_is_said(site: Site, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "PROBE_SECONDS", 0.0)
    assert site.submit("ada", 1).status_code == 201
    cookie = site.sign_in("ada")
    anchor = site.oracle.home.anchor_file
    kept = anchor.read_text()
    if fault == "gone":
        anchor.unlink()
    elif fault == "damaged":
        anchor.write_text("{}")
    else:
        with closing(sqlite3.connect(site.oracle.home.database)) as database, database:
            database.execute("UPDATE oracle_contests SET state = 'paused'")
    assert is_unavailable(site.submit("ada", 2))
    assert is_unavailable(site.client.get("/contests/heart/mine", headers=cookie))
    assert is_unavailable(site.client.get("/readyz"))
    assert site.client.get("/healthz").status_code == 200
    anchor.write_text(kept)
    if fault != "changed":
        assert site.submit("ada", 2).status_code == 201
        assert site.client.get("/readyz").status_code == 200


def test_readiness_does_not_write_for_every_question(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def trial() -> bool:
        tried.append(1)
        return True

    monkeypatch.setattr(site.oracle.store, "_try", trial)
    assert {site.client.get("/readyz").status_code for _ in range(20)} <= {200, 503}
    assert len(tried) <= 3


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Collect whose board pages are rendered."""
    done: list[str | None] = []
    plain = public._board

    def counting(snapshot: Any, own: str | None) -> Any:
        done.append(own)
        return plain(snapshot, own)

    monkeypatch.setattr(public, "_board", counting)
    return done


def test_a_page_is_rendered_once_for_each_board(site: Site, rendered: list[str | None]) -> None:
    assert site.submit("ada", 1).status_code == 201
    wait_until(lambda: site.names() == {"ada"})
    first = site.client.get(PAGE)
    assert first.headers["Cache-Control"] == "no-cache"
    assert first.headers["Vary"] == "Cookie"
    assert "default-src 'none'" in first.headers["Content-Security-Policy"]
    again = site.client.get(PAGE)
    assert (again.content, again.headers["ETag"]) == (first.content, first.headers["ETag"])
    same = site.client.get(PAGE, headers={"If-None-Match": first.headers["ETag"]})
    assert (same.status_code, same.content, same.headers["Vary"]) == (304, b"", "Cookie")
    assert rendered == [None]
    assert site.submit("bob", 2).status_code == 201
    wait_until(lambda: site.names() == {"ada", "bob"})
    new = site.client.get(PAGE, headers={"If-None-Match": first.headers["ETag"]})
    assert new.status_code == 200
    assert "bob" in new.text
    assert rendered == [None, None]
    pages = site.app.state.pages
    assert len(pages._pages) == 1  # the older form is not kept


def test_a_change_of_state_or_members_changes_the_kept_page(site: Site) -> None:
    assert "open" in site.client.get(PAGE).text
    site.token("new member")
    assert "1 participant " in site.client.get(PAGE).text
    host = {"Authorization": f"Bearer {new_token(site.home, 'heart', 'host', 'organiser')}"}
    assert site.client.post("/v1/contests/heart/state", json={"state": "paused"}, headers=host).status_code == 200
    assert '<span class="state">paused</span>' in site.client.get(PAGE).text


def test_nothing_of_a_reader_with_a_session_is_kept(site: Site, rendered: list[str | None]) -> None:
    assert site.submit("ada", 1).status_code == 201
    wait_until(lambda: site.names() == {"ada"})
    cookie = site.sign_in("ada")
    mine = site.client.get(PAGE, headers=cookie)
    assert "Signed in as" in mine.text
    assert mine.headers["Cache-Control"] == "no-store"
    assert "ETag" not in mine.headers
    public_page = site.client.get(PAGE)
    assert "Signed in as" not in public_page.text
    assert "(you)" not in public_page.text
    conditional = site.client.get(PAGE, headers={**cookie, "If-None-Match": public_page.headers["ETag"]})
    assert conditional.status_code == 200  # the page of somebody else's cache does not fit
    assert "Signed in as" in conditional.text
    assert rendered == ["ada", None, "ada"]


def test_the_board_for_programs_has_a_tag(site: Site) -> None:
    first = site.client.get(BOARD)
    assert first.headers["Cache-Control"] == "no-cache"
    assert site.client.get(BOARD, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    assert site.client.get(BOARD, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_final_for_programs_is_made_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can have megabytes, and anybody may ask for it."""
    done, plain = [], contests._final

    def counting(*values: Any) -> Any:
        done.append(values)
        return plain(*values)

    monkeypatch.setattr(contests, "_final", counting)
    assert site.submit("ada", 1).status_code == 201
    wait_until(lambda: site.names() == {"ada"})
    path, host = "/v1/contests/heart", {"Authorization": f"Bearer {new_token(site.home, 'heart', 'host', 'organiser')}"}
    assert site.client.post(f"{path}/state", json={"state": "closed"}, headers=host).status_code == 200
    assert site.client.get(f"{path}/final").status_code == 404
    finalists = Finalists.from_bytes(site.client.get(f"{path}/finalists/archive", headers=host).content)
    result = published(site.contest, finalists)
    assert site.client.put(f"{path}/final", json=result, headers=host).status_code == 200
    first, again = (site.client.get(f"{path}/final", headers=one) for one in ({}, host))
    assert first.content == again.content
    assert first.headers["content-type"] == "application/json"
    assert [entry["participant"] for entry in first.json()["shake_up"]] == ["ada"]
    assert len(done) == 1
