"""Requests to a server: what is repeated, what is bounded, and where the token goes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from confide.contest.client.oracle_client import bytes_body
from confide.contest.client.transport import Address, Transport, _Deadline
from confide.errors import LimitError, OracleError, TokenError
from tests.contest.client.certificates import self_signed
from tests.contest.client.small_servers import TOKEN, Seen, SmallServer, Told, small_server, told_json

BUSY = told_json({"title": "full", "status": 503}, 503, Retry_After="7")


def transport(server: SmallServer, waited: list[float] | None = None, *, timeout: float = 60.0) -> Transport:
    sleep = (lambda seconds: None) if waited is None else waited.append
    return Transport(address=Address.parse(server.url), token=TOKEN, timeout=timeout, sleep=sleep)


def test_a_redirect_is_not_followed_and_the_token_stays() -> None:
    with (
        small_server(lambda seen, before: Told()) as other,
        small_server(lambda seen, before: Told(307, b"", {"Location": f"{other.url}/v1/contests"})) as server,
    ):
        with pytest.raises(OracleError, match="redirects") as refused:
            transport(server).request("GET", "/v1/contests", repeatable=True)
        assert refused.value.status == 307
        assert len(server.seen) == 1
        assert server.seen[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert other.seen == []


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    waited: list[float] = []
    with small_server(lambda seen, before: BUSY if before < 2 else Told(content=b'{"a": 1}')) as server:
        reply = transport(server, waited).request(
            "POST", "/x", body=bytes_body(b"id,score\n", "text/csv"), repeatable=True
        )
    assert reply.json() == {"a": 1}
    assert waited == [7.0, 7.0]
    assert [one.body for one in server.seen] == [b"id,score\n"] * 3


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=29), usegmt=True)
    waited: list[float] = []
    with small_server(
        lambda seen, before: Told(503, headers={"Retry-After": soon}) if not before else Told()
    ) as server:
        transport(server, waited).request("GET", "/x", repeatable=True)
    assert 1 < waited[0] <= 29


def test_a_server_that_wants_a_long_wait_is_not_waited_for() -> None:
    with (
        small_server(lambda seen, before: told_json({}, 503, Retry_After="3600")) as server,
        pytest.raises(OracleError) as refused,
    ):
        transport(server).request("GET", "/x", repeatable=True)
    assert (refused.value.status, refused.value.retry_after, len(server.seen)) == (503, 3600.0, 1)


def test_a_limit_that_ends_soon_is_waited_for_and_another_is_not() -> None:
    waited: list[float] = []
    soon, late = (told_json({"detail": "no more"}, 429, Retry_After=seconds) for seconds in ("2", "9000"))
    with small_server(lambda seen, before: Told() if before else soon) as server:
        assert transport(server, waited).request("POST", "/x", repeatable=True).status == 200
    assert waited == [2.0]
    with small_server(lambda seen, before: late) as server, pytest.raises(LimitError, match="no more") as refused:
        transport(server, waited).request("POST", "/x", repeatable=True)
    assert refused.value.retry_after == 9000
    assert len(server.seen) == 1


def test_attempts_end() -> None:
    waited: list[float] = []
    with small_server(lambda seen, before: Told(502)) as server, pytest.raises(OracleError, match="status 502"):
        transport(server, waited).request("GET", "/x", repeatable=True)
    assert len(server.seen) == 5
    assert len(waited) == 4
    assert all(0.5 * 2**turn <= seconds < 0.75 * 2**turn for turn, seconds in enumerate(waited))


@pytest.mark.parametrize("told", [BUSY, Told(hang_up=True)])
def test_what_could_be_carried_out_twice_is_sent_once(told: Told) -> None:
    with small_server(lambda seen, before: told) as server, pytest.raises(OracleError):
        transport(server).request("POST", "/x", body=bytes_body(b"{}", "application/json"), repeatable=False)
    assert len(server.seen) == 1


def test_a_broken_connection_is_tried_again() -> None:
    with small_server(lambda seen, before: Told(hang_up=before < 2)) as server:
        assert transport(server).request("GET", "/x", repeatable=True).status == 200
    assert len(server.seen) == 3


def test_a_server_that_is_not_there_is_named() -> None:
    with small_server(lambda seen, before: Told()) as server:
        pass
    with pytest.raises(OracleError, match="cannot be reached") as refused:
        transport(server).request("GET", "/x", repeatable=True)
    assert refused.value.status is None


def test_an_answer_is_bounded() -> None:
    with small_server(lambda seen, before: Told(content=b"x" * 3000)) as server:
        assert len(transport(server).request("GET", "/x", repeatable=True, limit=3000).content) == 3000
        with pytest.raises(OracleError, match="larger than 2999 bytes"):
            transport(server).request("GET", "/x", repeatable=True, limit=2999)


def test_an_answer_that_ends_early_is_none(tmp_path: Path) -> None:
    with small_server(lambda seen, before: Told(content=b"{}", headers={"Content-Length": "5000"})) as server:
        with pytest.raises(OracleError, match="cannot be reached"):
            transport(server).request("GET", "/x", repeatable=False)
        with pytest.raises(OracleError):
            transport(server).download("/x", tmp_path / "file.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_says_nothing_is_left() -> None:
    done = threading.Event()

    def silent(seen: Seen, before: int) -> Told:
        done.wait(120)
        return Told(hang_up=True)

    with small_server(silent) as server:
        began = time.monotonic()
        with pytest.raises(OracleError, match="too long"):
            transport(server, timeout=0.2).request("GET", "/x", repeatable=False)
        done.set()
    assert time.monotonic() - began < 60


HEAD = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a status": (b"HTTP/1.1 200 ", b"O"),
    "headers": (HEAD, b"a"),
    "content": (HEAD + b"Content-Length: 100000\r\n\r\n", b"a"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "an extension of a chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a"),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
}


@pytest.mark.parametrize(("begin", "drop"), ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("download", [False, True])
def test_an_answer_that_trickles_is_left(begin: bytes, drop: bytes, download: bool, tmp_path: Path) -> None:
    """Each drop comes in time, so that the timeout of the socket alone would never end it."""
    done = threading.Event()

    def trickle(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        end = time.monotonic() + 60.0
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(begin)
            while not done.wait(0.02) and time.monotonic() < end:
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=trickle, args=(listener,))
        server.start()
        address = Address.parse(f"http://127.0.0.1:{listener.getsockname()[1]}")
        client = Transport(address=address, token=TOKEN, timeout=0.3)
        target = tmp_path / "file.zip"
        try:
            with pytest.raises(OracleError, match="too long"):
                _ = client.download("/x", target) if download else client.request("GET", "/x", repeatable=False)
        finally:
            done.set()
            server.join()


def test_content_that_comes_fast_has_more_time() -> None:
    now = 0.0
    deadline = _Deadline(lambda: now, 60.0)
    now = 59.0
    assert deadline.left() == 1.0
    deadline.extend(10 << 16)
    assert deadline.left() == 11.0
    now = 70.0
    with pytest.raises(TimeoutError):
        deadline.left()
    deadline.begin()
    deadline.extend(1 << 30)
    assert deadline.left() == 60.0


def test_a_refusal_before_the_whole_body_was_read_is_understood() -> None:
    large = bytes_body(b"x" * (8 << 20), "text/csv")
    told = told_json({"detail": "the file is too large", "next_step": "submit two columns", "type": "/p/large"}, 413)
    refusal = Told(told.status, told.content, told.headers, unread=True)
    with small_server(lambda seen, before: refusal) as server, pytest.raises(OracleError) as refused:
        transport(server).request("POST", "/x", body=large, repeatable=False)
    if refused.value.status is not None:  # a reset may overtake the answer
        assert str(refused.value) == "the file is too large. Submit two columns"
        assert (refused.value.status, refused.value.kind) == (413, "/p/large")


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [(401, TokenError, 1), (403, TokenError, 1), (404, OracleError, 1), (422, OracleError, 1), (429, LimitError, 3)],
)
def test_refusals_become_exceptions(status: int, kind: type[OracleError], code: int) -> None:
    plain = {
        "type": "about:x",
        "title": "No",
        "status": status,
        "detail": "no.",
        "next_step": "do this",
        "errors": ["a"],
    }
    with (
        small_server(lambda seen, before: told_json(plain, status, Retry_After="90")) as server,
        pytest.raises(kind) as refused,
    ):
        transport(server).request("POST", "/x", repeatable=True)
    error = refused.value
    assert (str(error), error.status, error.kind, error.next_step) == ("no; a. Do this", status, "about:x", "do this")
    assert (error.exit_code, error.retry_after) == (code, 90.0)
    assert len(server.seen) == 1


def test_a_servers_words_cannot_steer_a_terminal() -> None:
    plain = {"detail": "\x1b]0;owned\x07" + "long" * 5000, "next_step": "a\nb\x9b31m"}
    with small_server(lambda seen, before: told_json(plain, 400)) as server, pytest.raises(OracleError) as refused:
        transport(server).request("GET", "/x", repeatable=True)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 5000


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b"\xff", b""])
def test_what_is_no_json_is_no_answer(content: bytes) -> None:
    with (
        small_server(lambda seen, before: Told(content=content)) as server,
        pytest.raises(OracleError, match="not come from an evaluation server"),
    ):
        transport(server).request("GET", "/x", repeatable=True).json()


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def wrap(plain: object) -> object:
        return context.wrap_socket(plain, server_side=True)  # type: ignore[arg-type]

    with small_server(lambda seen, before: Told(), wrap=wrap) as server:
        with pytest.raises(OracleError, match="certificate"):
            transport(server).request("GET", "/x", repeatable=True)
        assert server.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert transport(server).request("GET", "/x", repeatable=True).status == 200
        assert server.seen[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_download_is_written_whole(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    with small_server(lambda seen, before: Told(content=content)) as server:
        assert transport(server).download("/x", tmp_path / "a.zip") == len(content)
        with pytest.raises(OracleError, match="larger"):
            transport(server).download("/x", tmp_path / "b.zip", limit=1000)
    assert (tmp_path / "a.zip").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_refused_download_writes_nothing(tmp_path: Path) -> None:
    with (
        small_server(lambda seen, before: told_json({"detail": "not closed"}, 409)) as server,
        pytest.raises(OracleError, match="not closed"),
    ):
        transport(server).download("/x", tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
