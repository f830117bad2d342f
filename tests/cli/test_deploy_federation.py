"""Files in deploy/federation: their commands parse, their settings are accepted, and containers can do little."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # schemathesis brings it
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.flags import find_call
from confide.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy" / "federation"
UNITS = sorted(path.name for path in DEPLOY.glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]

STARTS = r"sudo -u confide /opt/confide/bin/confide|confide|docker compose run --rm \w+|docker compose exec \w+ confide"


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def written_commands() -> list[list[str]]:
    """Return the arguments of every `confide` command in the files."""
    (options,) = re.findall(r"^OPTIONS=(.*)$", text("README.md"), re.MULTILINE)
    found = [service["command"] for service in COMPOSE.values()]
    found += [service["healthcheck"]["test"][2:] for name, service in COMPOSE.items() if name != "hub"]
    found.append(json.loads(re.findall(r"^CMD (\[.*\])$", text("Dockerfile"), re.MULTILINE)[0]))
    for unit in UNITS:
        for line in re.findall(r"^ExecStart=(.*)$", text(unit), re.MULTILINE):
            found.append(shlex.split(line.replace("$OPTIONS", options))[1:])
    for line in text("README.md").splitlines():
        called = re.search(rf"^\$ (?:{STARTS}) (.+)$", line)
        if called:
            found.append(shlex.split(called[1]))
    return found


def pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each word with the one before it."""
    return zip(["", *words], words, strict=False)


@pytest.mark.parametrize("arguments", written_commands(), ids=lambda words: " ".join(words)[:60])
def test_every_command_parses(arguments: list[str], tmp_path: Path) -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    here = [str(tmp_path / "out.html") if before == "--report" else word for before, word in pairs(arguments)]
    called, rest = find_call(root, here)
    assert isinstance(called, TyperCommand)
    with called.make_context(called.name, rest) as context:
        assert context.params


@pytest.mark.parametrize("name", COMPOSE)
def test_a_container_can_do_little(name: str) -> None:
    service = COMPOSE[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "10002:10002"
    assert service["healthcheck"]["test"][0] == "CMD"
    assert not {"privileged", "cap_add", "network_mode", "pid", "devices", "ports"} & set(service)
    assert all(volume.startswith("./trial/") for volume in service["volumes"])
    dockerfile = text("Dockerfile")
    assert dockerfile.index("USER 10002:10002") < dockerfile.index("ENTRYPOINT ")


def test_the_page_sets_up_what_the_containers_start() -> None:
    """Folders that are mounted are made by hand first, and every path of a command lies in a mounted one."""
    page = text("README.md")
    (made,) = re.findall(r"^\$ mkdir -p (.*)$", page, re.MULTILINE)
    mounts = {name: [volume.split(":")[:2] for volume in service["volumes"]] for name, service in COMPOSE.items()}
    assert {f"./{folder}" for folder in made.split()} == {host for found in mounts.values() for host, _ in found}
    (folder,) = re.findall(r"run --rm hub federation init (\S+)", page)
    assert COMPOSE["hub"]["command"] == ["federation", "start", folder]
    assert folder not in [inside for _, inside in mounts["hub"]]  # it is made anew, as no mount point can be
    for name, arguments in re.findall(r"^\$ docker compose (?:run --rm|exec) (\w+) (.*)$", page, re.MULTILINE):
        for path in re.findall(r"/srv/\S+", arguments):
            assert any(f"{path}/".startswith(f"{inside}/") for _, inside in mounts[name]), (name, path)


def test_the_page_names_every_file() -> None:
    table = text("README.md").partition("## ")[0]
    files = {path.name for path in DEPLOY.iterdir()} - {"README.md", "Dockerfile.dockerignore"}
    assert {name for name in files if f"`{name}`" not in table} == set()


@pytest.mark.parametrize("unit", [*UNITS, *sorted(path.name for path in DEPLOY.glob("*.timer"))])
def test_the_page_copies_and_enables_every_unit_in_that_order(unit: str) -> None:
    page = text("README.md")
    started = unit.replace("validate@.service", "validate@.timer")  # a timer starts that one
    enabled = started.removesuffix(".service").replace("validate@", "validate@stroke").replace("site@", "site@north")
    steps = [f"deploy/federation/{unit}", "systemctl daemon-reload", f"systemctl enable --now {enabled}\n"]
    place = 0
    for step in steps:
        place = page.index(step, place)


@pytest.mark.parametrize("unit", UNITS)
def test_the_page_makes_the_folders_that_a_unit_writes_to(unit: str) -> None:
    """Each folder has one meaning, so no two units share one."""
    (written,) = re.findall(r"^ReadWritePaths=(.*)$", text(unit), re.MULTILINE)
    folders = written.replace("%i", "north").split()
    made = re.findall(r"^\$ sudo install -d -o confide -g confide -m 700 (.*)$", text("README.md"), re.MULTILINE)
    by_command = ["/srv/confide/north"]  # `confide site request` makes it
    assert set(folders) <= {*by_command, *" ".join(made).split()}
    others = "".join(text(other) for other in UNITS if other != unit)
    assert not any(re.search(rf"{folder}\b(?!/)", others) for folder in folders)


def test_the_page_reviews_the_policy_before_a_site_starts() -> None:
    page = text("README.md")
    assert page.index("sudoedit -u confide /srv/confide/north/policy.toml") < page.index("enable --now confide-site@")


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here: apt install systemd")
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_takes_the_unit_and_finds_it_hardened(unit: str, tmp_path: Path) -> None:
    program = tmp_path / "confide"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / unit.replace("@.", "@north.")
    copy.write_text(text(unit).replace("/opt/confide/bin/confide", str(program)))
    for timer in DEPLOY.glob("*.timer"):
        shutil.copy(timer, tmp_path / timer.name.replace("@.", "@north."))
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-500:]  # exposure of at most 2.0 of 10
