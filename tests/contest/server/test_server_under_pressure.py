"""Slow, huge and malicious requests: the server answers or hangs up, and keeps working."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import resource
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import httpx
import psutil
import pytest
import uvicorn
from uvicorn.server import ServerState

from confide.contest.server.home import Settings
from confide.contest.server.middleware import Guard
from confide.contest.server.oracle import Metrics
from confide.contest.server.run import DRAIN_SECONDS, Protocol, most_connections
from tests.contest.server.running import PARQUET, Running, launch, served, small_contest
from tests.contest.server.test_submissions_over_http import problem
from tests.sources.hostile_parquet import padded_pages
from tests.waiting import is_gone, wait_until

pytestmark = pytest.mark.processes

OPTIONS = {"idle_seconds": 1.5, "body_seconds": 4.0, "header_seconds": 1.5}
PATIENCE = 60.0
"""Seconds that a server's answer may take on a machine under load: half of what bodies usually have."""


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with little patience."""
    with served(tmp_path_factory.mktemp("tight") / "server", small_contest("heart"), options=OPTIONS) as running:
        running.set_state("heart", "open")
        yield running


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Running]:
    """A server with one worker, and room for one file to wait; its patience is the usual one."""
    contest = small_contest("large", rows=60_000)
    with served(tmp_path / "server", contest, options={"workers": 1, "queue": 1}) as running:
        running.set_state("large", "open")
        yield running


def head(running: Running, token: str, *lines: str) -> bytes:
    return "\r\n".join(
        [
            "POST /v1/contests/heart/submissions HTTP/1.1",
            f"Host: 127.0.0.1:{running.port}",
            f"Authorization: Bearer {token}",
            "Content-Type: text/csv",
            *lines,
            "",
            "",
        ]
    ).encode()


def answer(connection: socket.socket) -> bytes:
    connection.settimeout(PATIENCE)
    received = b""
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            return received
        if not part:
            return received
        received += part


def is_soon(attempt: Callable[[], float]) -> bool:
    """Tell whether one of ten attempts takes less than a server's usual patience: machines are noisy."""
    usual = Settings(home=Path("home"))
    return any(attempt() < min(usual.header_seconds, usual.idle_seconds) for _ in range(10))


@pytest.mark.long
def test_a_body_that_stops_is_given_up(tight: Running) -> None:
    def seconds() -> float:
        with socket.create_connection(("127.0.0.1", tight.port)) as connection:
            started = time.monotonic()
            connection.sendall(head(tight, tight.token("heart"), "Content-Length: 1000") + b"id,score\n")
            received = answer(connection)
        assert received.startswith(b"HTTP/1.1 408"), received
        assert b"urn:confide:problem:too-slow" in received
        return time.monotonic() - started

    assert is_soon(seconds)


@pytest.mark.long
def test_a_body_that_trickles_is_given_up(tight: Running) -> None:
    with socket.create_connection(("127.0.0.1", tight.port)) as connection:
        connection.sendall(head(tight, tight.token("heart"), "Content-Length: 1000"))
        started = time.monotonic()
        connection.settimeout(0.2)
        received = b""
        while time.monotonic() - started < PATIENCE and not received:
            try:
                connection.sendall(b"x")
                received = connection.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
        received += answer(connection)
    assert received.startswith(b"HTTP/1.1 408"), received
    assert time.monotonic() - started < PATIENCE  # half of what bodies usually have


def test_later_headers_that_do_not_come_end_the_connection_too(tight: Running) -> None:
    def seconds() -> float:
        with socket.create_connection(("127.0.0.1", tight.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.settimeout(PATIENCE)
            assert b"200" in connection.recv(65536)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
            started = time.monotonic()
            answer(connection)
        return time.monotonic() - started

    assert is_soon(seconds)


def test_headers_that_do_not_come_end_the_connection(tight: Running) -> None:
    def seconds(beginning: bytes) -> float:
        started = time.monotonic()  # before the server can begin to wait
        with socket.create_connection(("127.0.0.1", tight.port)) as connection:
            connection.sendall(beginning)
            assert answer(connection) == b""
        spent = time.monotonic() - started
        assert spent > 0.5
        return spent

    for beginning in (b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"):
        assert is_soon(partial(seconds, beginning))


@pytest.mark.parametrize(
    ("header", "status"), [(b"X: " + b"a" * 200_000, b"431"), (b"X: a\r\n" * 30_000, b"431"), (b"no colon", b"400")]
)
def test_headers_that_are_huge_or_malformed_get_a_problem(tight: Running, header: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", tight.port)) as connection:
        with contextlib.suppress(OSError):  # the server may hang up before all of it is sent
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")
        received = answer(connection)
    assert received.startswith(b"HTTP/1.1 " + status), received[:300]
    assert b"application/problem+json" in received
    assert tight.call("GET", "/healthz").status_code == 200


def test_an_answer_that_is_not_read_ends_the_connection(tmp_path: Path) -> None:
    """A hundred bytes ask for half a megabyte, forty times: more than the system's own buffers take."""
    contest = small_contest("large", rows=60_000)
    with served(tmp_path / "server", contest, options=OPTIONS | {"idle_seconds": 0.3}) as running:
        running.set_state("large", "open")
        whole = len(running.call("GET", "/v1/contests/large/template").content)
        assert whole > 500_000
        question = b"GET /v1/contests/large/template HTTP/1.1\r\nHost: x\r\n\r\n"
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", running.port))
            connection.sendall(40 * question)
            process = psutil.Process(running.process.pid)

            def is_served() -> bool:
                mine = connection.getsockname()[1]
                return any(one.raddr and one.raddr.port == mine for one in process.net_connections("tcp"))

            assert connection.recv(12) == b"HTTP/1.1 200"
            wait_until(lambda: not is_served())
            assert len(answer(connection)) < 40 * whole
        assert running.call("GET", "/healthz").status_code == 200


@pytest.mark.parametrize("size", [0, 2**16, 2**16 + 1, 300_000])
def test_a_large_answer_is_written_piece_by_piece(size: int) -> None:
    """The transport copies what a client does not read, so the server waits before it writes the next piece."""
    content, sent = bytes(range(256)) * (size // 256 + 1), []
    parts = (content[:size], b"the last")

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number, part in enumerate(parts):
            await send({"type": "http.response.body", "body": part, "more_body": number == 0})

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    oracle: Any = SimpleNamespace(
        settings=Settings(home=Path("home")), metrics=Metrics(), queue=SimpleNamespace(length=0)
    )
    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    asyncio.run(Guard(app, oracle=oracle)(scope, receive, send))
    start, *bodies = sent
    assert start["status"] == 200
    assert b"".join(one["body"] for one in bodies) == b"".join(parts)
    assert max(len(one["body"]) for one in bodies) <= 2**16
    assert [one["more_body"] for one in bodies] == [True] * (len(bodies) - 1) + [False]


def test_connections_take_turns_in_small_parts() -> None:
    """Who sends a body as chunks of one byte keeps the server busy; others are served in between."""
    sizes: list[int] = []

    class Recording(Protocol):
        def data_received(self, data: bytes) -> None:
            sizes.append(len(data))
            super().data_received(data)

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def send_chunks() -> bytes:
        config, state = uvicorn.Config(app, log_config=None), ServerState()
        config.load()
        loop = asyncio.get_running_loop()
        async with await loop.create_server(lambda: Recording(config, state, {}, loop), "127.0.0.1", 0) as server:
            reading, writing = await asyncio.open_connection(*server.sockets[0].getsockname())
            head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            writing.write(head + 50_000 * b"1\r\na\r\n" + b"0\r\n\r\n")
            received = await reading.read()
            writing.close()
            return received

    assert asyncio.run(send_chunks()).startswith(b"HTTP/1.1 204")
    assert max(sizes) <= 16 * 1024


def test_connections_that_wait_use_up_no_files(tmp_path: Path) -> None:
    """Each refused file, and each attempt to accept one more connection, would also be written to the log."""
    files, usual = 512, resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, usual[1]))
    try:
        running = launch(tmp_path / "server", small_contest("heart"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    contest, token = running.contests["heart"], running.token("heart")
    begun = (b"", b"GET / HT", b"POST /signin HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
    with contextlib.ExitStack() as connections:
        connections.callback(running.stop)
        running.set_state("heart", "open")
        for number in range(files):
            connection = connections.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            with contextlib.suppress(ConnectionError):
                connection.sendall(begun[number % len(begun)])
        assert running.submit("heart", token, contest.csv(1)).status_code == 201
        assert httpx.get(f"http://127.0.0.1:{running.port}/readyz", timeout=PATIENCE).status_code == 200
        assert psutil.Process(running.process.pid).num_fds() < files // 2
    assert "Error" not in running.log.read_text()


@pytest.mark.parametrize(
    ("files", "most"), [(1, 1), (1024, 341), (4096, 1365), (1 << 20, 2_000), (resource.RLIM_INFINITY, 2_000)]
)
def test_the_number_of_connections_follows_from_that_of_files(
    files: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (files, files))
    assert most_connections() == most


def test_answers_that_are_not_read_keep_no_other_client_out() -> None:
    """Of the connections that wait for their clients, the one that waits longest is closed."""

    class Few(Protocol):
        idle_seconds = 600.0
        most = 3
        awaited: ClassVar[dict[Protocol, None]] = {}

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(256):
            await send({"type": "http.response.body", "body": bytes(2**16), "more_body": number < 255})

    async def read(reading: asyncio.StreamReader) -> int:
        try:
            return len(await reading.read())
        except ConnectionError:
            return 0

    async def attack() -> list[int]:
        config, state = uvicorn.Config(app, log_config=None), ServerState()
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Few(config, state, {}, loop), "127.0.0.1", 0)
        async with server, contextlib.AsyncExitStack() as connections:

            async def ask() -> asyncio.StreamReader:
                reading, writing = await asyncio.open_connection(*server.sockets[0].getsockname())
                connections.callback(writing.close)
                writing.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return reading

            unread = [await ask() for _ in range(Few.most)]
            while not (len(Few.awaited) == Few.most and all(one.flow.write_paused for one in Few.awaited)):
                await asyncio.sleep(0.01)
            return [await read(one) for one in (await ask(), *unread)]

    last, *others = asyncio.run(asyncio.wait_for(attack(), PATIENCE))
    assert last > 256 * 2**16
    assert sorted(others)[1:] == [last, last]
    assert min(others) < last


def test_a_parquet_bomb_is_refused_before_it_unfolds(tight: Running) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    block = pa.table({"id": pa.array(["p00000"] * 1_000_000).dictionary_encode(), "score": pa.repeat(0.5, 1_000_000)})
    stream = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(stream, block.schema, compression="zstd") as writer:
        for _ in range(40):
            writer.write_table(block)
    bomb = stream.getvalue()
    assert len(bomb) < 2**20
    content = tight.contests["heart"].csv(9)
    assert tight.submit("heart", tight.token("heart"), content).status_code == 201  # libraries are loaded
    before = memory(tight)
    refused = problem(tight.submit("heart", tight.token("heart"), bomb, kind=PARQUET), 422, "bad-file")
    assert "rows" in refused["errors"][0]
    assert memory(tight) - before < 60
    forged = bomb.replace(b"PAR1", b"PAR2", 1)
    problem(tight.submit("heart", tight.token("heart"), forged, kind=PARQUET), 422, "bad-file")


def memory(running: Running) -> float:
    """Return the largest memory of the process so far, in MiB."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found.group(1)) / 1024


def test_a_file_that_takes_long_to_decode_stops_neither_scoring_nor_the_server(narrow: Running) -> None:
    """A file of 300 kB unpacks to terabytes, page after page."""
    bomb = padded_pages(groups=200, pages=300, padding=32 << 20)
    assert len(bomb) < 2**20
    token, content = narrow.token("large"), narrow.contests["large"].csv(1)
    refused = problem(narrow.submit("large", token, bomb, kind=PARQUET), 422, "bad-file")
    assert "within the limits of time and memory" in refused["errors"][0]
    assert narrow.submit("large", token, content).status_code == 201
    sender = threading.Thread(target=narrow.submit, args=("large", token, bomb), kwargs={"kind": PARQUET})
    sender.start()
    (helper,) = psutil.Process(narrow.process.pid).children()
    living: list[psutil.Process] = []

    def is_decoding() -> bool:  # a child that has ended stays in the list until the next file
        living[:] = [one for one in helper.children() if not is_gone(one.pid)]
        return bool(living)

    wait_until(is_decoding)
    (child,) = living
    narrow.process.send_signal(signal.SIGTERM)
    assert narrow.process.wait(timeout=DRAIN_SECONDS) == 0
    sender.join()
    wait_until(lambda: is_gone(helper.pid) and is_gone(child.pid), seconds=5.0)


@pytest.mark.long
def test_a_full_queue_refuses_and_says_when_to_return(narrow: Running) -> None:
    contest = narrow.contests["large"]
    tokens = [narrow.token("large") for _ in range(10)]
    refused: list[httpx.Response] = []
    accepted: list[int] = []
    for seed in range(30):  # the first attempt is enough where clients are not much slower than the server
        content = contest.csv(seed)

        def send(token: str, content: bytes = content) -> None:
            with httpx.Client(base_url=str(narrow.client.base_url), timeout=300) as client:
                headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
                response = client.post("/v1/contests/large/submissions", content=content, headers=headers)
            (refused.append(response) if response.status_code == 503 else accepted.append(response.status_code))

        threads = [threading.Thread(target=send, args=(token,)) for token in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if refused:
            break
    assert refused
    assert set(accepted) == {201}
    for response in refused:
        problem(response, 503, "busy")
        assert int(response.headers["retry-after"]) >= 1
    stored = [narrow.call("GET", "/v1/contests/large/submissions", token).json()["submissions"] for token in tokens]
    assert sum(map(len, stored)) == len(accepted)


def test_uploads_that_end_early_leave_nothing(tight: Running) -> None:
    token = tight.token("heart")
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", tight.port)) as connection:
            connection.sendall(head(tight, token, "Content-Length: 1000") + b"id,score\n")
    assert tight.call("GET", "/v1/contests/heart/submissions", token).json()["submissions"] == []
    assert tight.submit("heart", token, tight.contests["heart"].csv(1)).status_code == 201
    wait_until(lambda: not list((tight.home / "tmp").iterdir()))
    assert len(tight.call("GET", "/v1/contests/heart/submissions", token).json()["submissions"]) == 1


@pytest.mark.long
def test_a_server_that_is_told_to_stop_finishes_what_it_began(tmp_path: Path) -> None:
    contest = small_contest("heart")
    patient = {"idle_seconds": 300.0, "body_seconds": 300.0, "header_seconds": 300.0}
    with served(tmp_path / "server", contest, options=patient) as running:
        running.set_state("heart", "open")
        token, content = running.token("heart"), contest.csv(1)
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            connection.sendall(head(running, token, f"Content-Length: {len(content)}") + content[:20])
            wait_until(lambda: list((running.home / "tmp").iterdir()))  # until the server writes the file down
            running.process.send_signal(signal.SIGTERM)
            wait_until(lambda: "stopping: SIGTERM" in running.log.read_text())
            assert running.process.poll() is None
            connection.sendall(content[20:])
            received = answer(connection)
        assert received.startswith(b"HTTP/1.1 201"), received
        assert running.process.wait(timeout=120) == 0
    with served(tmp_path / "server") as running:
        found = running.call("GET", "/v1/contests/heart/submissions", token).json()["submissions"]
        assert len(found) == 1


@pytest.mark.long
def test_an_unexpected_error_shows_nothing(tmp_path: Path) -> None:
    contest = small_contest("heart")
    with served(tmp_path / "server", contest) as running:
        running.set_state("heart", "open")
        token = running.token("heart")
        secret = running.submit("heart", token, contest.csv(1)).json()["id"]
        set_state_behind(running, "heart", "unheard-of")
        problem(running.call("GET", "/v1/contests/heart"), 500, "failed")
        wait_until(lambda: "unexpected ValueError at" in running.log.read_text())
        log = running.log.read_text()
        assert "Traceback" not in log
        assert secret not in log
        assert "unheard-of" not in log
        set_state_behind(running, "heart", "open")
        assert running.submit("heart", token, contest.csv(2)).status_code == 201


def set_state_behind(running: Running, contest: str, state: str) -> None:
    """Change a contest's state behind the server's back: to one that it does not know, and back again."""
    with closing(sqlite3.connect(running.home / "oracle.sqlite")) as database, database:
        database.execute("UPDATE oracle_contests SET state = ? WHERE name = ?", (state, contest))
