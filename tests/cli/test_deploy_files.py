"""Files in deploy/: their commands parse, their settings are accepted, and their limits fit the server's."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # schemathesis brings it
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.flags import find_call
from confide.cli.main import app
from confide.contest.server.home import Settings
from tests.contest.client.certificates import self_signed

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
ORACLE = COMPOSE["services"]["oracle"]


def unit() -> configparser.RawConfigParser:
    parsed = configparser.RawConfigParser(strict=False, delimiters=("=",), interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(DEPLOY / "confide-oracle.service", encoding="utf-8")
    return parsed


def written_commands() -> list[list[str]]:
    """Return the arguments of every `confide` command in the files."""
    found = [ORACLE["command"], json.loads(_directive("CMD")), shlex.split(unit()["Service"]["ExecStart"])[1:]]
    for line in (DEPLOY / "README.md").read_text(encoding="utf-8").splitlines():
        called = re.search(r"(?:^\$ .*|^ExecStart=)(?:exec oracle |/opt/confide/bin/)confide (.+)$", line)
        if called:
            found.append(shlex.split(called[1]))
    found += [
        shlex.split(one) for one in re.findall(r"`confide ([a-z][^`]+)`", _text("README.md")) if "submit" not in one
    ]
    return found


def _text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def _directive(name: str) -> str:
    found: list[str] = re.findall(rf"^{name} (\[.*\])$", _text("Dockerfile"), re.MULTILINE)
    return found[-1]


def test_there_are_commands() -> None:
    assert len(written_commands()) >= 9


@pytest.mark.parametrize("arguments", written_commands(), ids=lambda words: " ".join(words)[:60])
def test_every_command_parses(arguments: list[str]) -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    called, rest = find_call(root, arguments)
    assert isinstance(called, TyperCommand)
    with called.make_context(called.name, rest) as context:
        assert context.params


def test_the_container_can_do_little() -> None:
    assert ORACLE["read_only"] is True
    assert ORACLE["cap_drop"] == ["ALL"]
    assert ORACLE["security_opt"] == ["no-new-privileges:true"]
    assert ORACLE["user"] == "10001:10001"
    assert all(port.startswith("127.0.0.1:") for port in ORACLE["ports"])
    assert not {"privileged", "cap_add", "network_mode", "pid", "devices"} & set(ORACLE)
    assert "USER 10001:10001" in _text("Dockerfile")
    assert _text("Dockerfile").index("USER ") < _text("Dockerfile").index("ENTRYPOINT ")
    home = ORACLE["command"][ORACLE["command"].index("--home") + 1]
    assert any(volume.endswith(f":{home}") for volume in ORACLE["volumes"])


@pytest.mark.processes
def test_the_health_check_is_that_of_the_image_and_works() -> None:
    asked = json.loads(re.findall(r"^    CMD (\[.*\])$", _text("Dockerfile"), re.MULTILINE)[0])
    assert ORACLE["healthcheck"]["test"] == ["CMD", *asked]
    from tests.contest.client.small_servers import Told, small_server

    for status, healthy in ((200, True), (503, False)):
        with small_server(lambda seen, before, status=status: Told(status)) as server:  # type: ignore[misc]
            program = asked[2].replace("http://127.0.0.1:8765", server.url)
            done = subprocess.run(["python3", "-c", program], capture_output=True, check=False)
        assert (done.returncode == 0) is healthy
        assert [one.path for one in server.seen] == ["/readyz"]


def test_bodies_that_the_server_takes_pass_the_proxies() -> None:
    largest = Settings(home=Path("home")).largest_body
    assert largest == 64 << 20
    assert "client_max_body_size 64m;" in _text("nginx.conf")
    assert "max_size 64MiB" in _text("Caddyfile")


def test_no_log_of_the_proxies_has_headers() -> None:
    (form,) = re.findall(r"log_format \w+ (.*);", _text("nginx.conf"))
    assert not re.search(r"\$(http_|cookie_|args|query_string|request(?!_method|_time)|upstream_http)", form)
    assert re.search(r"access_log \S+ confide_oracle;", _text("nginx.conf"))
    for name in ("request>headers>Authorization", "request>headers>Cookie", "resp_headers>Set-Cookie"):
        assert f"{name} delete" in _text("Caddyfile")


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here: apt install systemd")
def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    program = tmp_path / "confide"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / "confide-oracle.service"
    copy.write_text(_text("confide-oracle.service").replace("/opt/confide/bin/confide", str(program)))
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-500:]  # exposure of at most 1.5 of 10


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not here: apt install nginx-light")
def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    own = re.sub(r"/etc/letsencrypt/live/oracle.example/\w+.pem", str(certificate), _text("nginx.conf"))
    own = own.replace("/var/log/nginx", str(tmp_path)).replace("listen [::]:", "# listen [::]:")
    (tmp_path / "own.conf").write_text(own)
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ include {tmp_path}/own.conf; }}"
    (tmp_path / "nginx.conf").write_text(whole)
    command = ["nginx", "-t", "-q", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not here: apt install caddy")
def test_caddy_takes_the_configuration(tmp_path: Path) -> None:
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr
    shaped = subprocess.run(["caddy", "fmt", str(DEPLOY / "Caddyfile")], capture_output=True, text=True, check=False)
    assert shaped.stdout == _text("Caddyfile")
