"""Requests through proxies: TLS that ends at the proxies of deploy/, and a proxy on the participant's side."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from confide import OracleClient
from confide.contest.client.oracle_client import bytes_body
from confide.errors import OracleError
from tests.contest.client.certificates import self_signed
from tests.contest.client.real_server import RealServer, made_contest, real_server
from tests.contest.client.small_servers import TOKEN, Told, small_server, told_json
from tests.ports import free_port

DEPLOY = Path(__file__).parents[3] / "deploy"


def nginx_command(folder: Path, url: str, certificate: Path, port: int) -> list[str]:
    own = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    own = re.sub(r"/etc/letsencrypt/live/oracle.example/\w+.pem", str(certificate), own)
    own = own.replace("/var/log/nginx", str(folder)).replace("127.0.0.1:8765", url.removeprefix("http://"))
    own = re.sub(r"listen \[::\].*;", "", own).replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    own = own.replace("listen 80;", f"listen 127.0.0.1:{free_port()};").replace("oracle.example", "127.0.0.1")
    temporary = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    whole = f"{user} daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ {temporary} {own} }}"
    (folder / "nginx.conf").write_text(whole, encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy_command(folder: Path, url: str, certificate: Path, port: int) -> list[str]:
    own = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    own = own.replace("{\n\tservers", "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers", 1)
    own = own.replace("oracle.example {", f"https://127.0.0.1:{port} {{\n\ttls {certificate} {certificate}")
    own = own.replace("127.0.0.1:8765", url.removeprefix("http://"))
    own = own.replace("log {\n", f"log {{\n\t\toutput file {folder}/confide-oracle.log\n")
    (folder / "Caddyfile").write_text(own, encoding="utf-8")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with real_server(tmp_path_factory.mktemp("server"), made_contest("heart")) as running:
        yield running


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert process.poll() is None, (folder / "proxy.log").read_text(encoding="utf-8")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(120)


@pytest.mark.processes
@pytest.mark.parametrize(("name", "command"), [("nginx", nginx_command), ("caddy", caddy_command)])
def test_the_proxies_of_deploy_end_tls_and_log_no_token(
    name: str,
    command: Callable[[Path, str, Path, int], list[str]],
    server: RealServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not here: apt install {name}")
    certificate, port = self_signed(tmp_path, "127.0.0.1"), free_port()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    token, made = server.token("heart", f"ana by {name}"), server.contests["heart"]
    client = OracleClient(f"https://127.0.0.1:{port}/contests/heart", token)
    with running(command(tmp_path, server.url, certificate, port), tmp_path, port):
        first = client.submit(made.mapping(1))
        assert client.submit(made.mapping(1)).replayed
        assert _signed_in(port, token, certificate)
        assert client.leaderboard(after=first).entry(first.participant) is not None
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(OracleError, match="certificate"):
            client.limits()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        large = bytes_body(b"x" * (65 << 20), "text/csv")
        with pytest.raises(OracleError) as refused:
            client._transport.request("POST", "/v1/contests/heart/submissions", body=large, repeatable=False)
        # A reset may overtake the answer, and Caddy 2.6 calls a body that is too large an error of the server.
        assert refused.value.status in (413, None, 502 if name == "caddy" else 413)
    written = (tmp_path / "confide-oracle.log").read_text(encoding="utf-8")
    assert "/v1/contests/heart/submissions" in written
    assert token not in written + (tmp_path / "proxy.log").read_text(encoding="utf-8")


def _signed_in(port: int, token: str, certificate: Path) -> bool:
    """Sign in by the form of the pages, which are told where a form came from; see the own submissions."""
    context = ssl.create_default_context(cafile=str(certificate))

    def ask(method: str, path: str, body: str | None = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=120, context=context)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    form = {"Origin": f"https://127.0.0.1:{port}", "Content-Type": "application/x-www-form-urlencoded"}
    foreign = ask("POST", "/signin", urlencode({"token": token}), **{**form, "Origin": "https://evil.example"})
    assert foreign.status == 403
    answer = ask("POST", "/signin", urlencode({"token": token}), **form)
    cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
    assert answer.status == 303
    return ask("GET", "/contests/heart/mine", Cookie=cookie).status == 200


@contextmanager
def connect_proxy(seen: list[bytes]) -> Iterator[str]:
    """Run a proxy that knows CONNECT alone; `seen` gets all that passes through it."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(120)

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        while True:
            try:
                part = source.recv(1 << 16)
            except OSError:
                part = b""
            if not part:
                break
            seen.append(part)
            target.sendall(part)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        near, _ = listener.accept()
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(1 << 12)
        seen.append(head)
        host, _, port = head.split()[1].decode().rpartition(":")
        with near, socket.create_connection((host, int(port))) as far:
            near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pass_on, args=(far, near))
            back.start()
            pass_on(near, far)
            back.join()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join(10)
        listener.close()


def test_a_proxy_of_the_participant_sees_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    seen: list[bytes] = []

    def wrap(plain: socket.socket) -> socket.socket:
        return context.wrap_socket(plain, server_side=True)

    def answer(asked: object, before: int) -> Told:
        return told_json({"contests": []})

    with small_server(answer, wrap=wrap) as server, connect_proxy(seen) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        assert OracleClient(server.url, TOKEN).contests() == ()
    assert server.seen[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert seen[0].startswith(b"CONNECT 127.0.0.1:")
    assert TOKEN.encode() not in b"".join(seen)
