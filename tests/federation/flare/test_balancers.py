"""A federation works behind balancers that pass TLS on, with the files of deploy/federation."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from confide.federation.flare.federation import Federation
from confide.federation.flare.processes import start_server, start_site
from confide.federation.flare.session import open_session
from confide.federation.flare.signing import provision
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from tests.federation.joining import join
from tests.federation.network import MODES
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_until

DEPLOY = Path(__file__).parents[3] / "deploy" / "federation"
MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")  # of Debian
pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Federation, SiteFolder]]:
    """A server that listens at another port than the kits name, and a site that runs."""
    folder = tmp_path_factory.mktemp("balanced")
    federation = provision(folder / "net", name="x", sites=("a",), port=free_port(), listen=free_port())
    place = SiteFolder(folder / "a")
    join(federation, "a", place)
    (place.path / "rows.csv").write_text("y,s\n" + "1,0.7\n0,0.2\n" * 10)
    SiteConfig(name="a", models={"m": SiteModel(data="rows.csv", label="y", score="s")}).write(place.path)
    place.policy.write_text(default_policy(studies=("x",), modes=MODES))
    SiteRecords(place).begin()
    with ExitStack() as running:
        running.callback(start_server(federation, seconds=PATIENCE).stop)
        running.callback(start_site(place).stop)
        yield federation, place


def command(name: str, federation: Federation, folder: Path) -> list[str]:
    """Write a balancer's file of deploy/federation with our ports, and return how it is started."""
    ports = {"8002": str(federation.listening_port), "443": str(federation.port)}
    file = {"nginx": "nginx-stream.conf", "haproxy": "haproxy.cfg"}[name]
    text = (DEPLOY / file).read_text(encoding="utf-8")
    for old, new in ports.items():
        text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}").replace(f"listen {old}", f"listen 127.0.0.1:{new}")
        text = text.replace(f"bind :{old}", f"bind 127.0.0.1:{new}")
    own = folder / file
    if name == "haproxy":
        own.write_text(text)
        return ["haproxy", "-db", "-f", str(own)]
    load = f"load_module {MODULE};" if MODULE.exists() else ""
    text = text.replace("/var/log/nginx", str(folder))
    own.write_text(f"{load}\npid {folder}/pid; error_log stderr; events {{}}\n{text}")
    return ["nginx", "-p", str(folder), "-c", str(own), "-g", "daemon off;"]


def nginx_has_streams() -> bool:
    """Tell whether nginx can pass TCP on: by a module that is loaded, or built in."""
    built = subprocess.run(["nginx", "-V"], capture_output=True, text=True, check=True).stderr
    return MODULE.exists() or "--with-stream" in built.split()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("name", ["nginx", "haproxy"])
def test_a_balancer_that_passes_tls_on_carries_a_federation(
    name: str, served: tuple[Federation, SiteFolder], tmp_path: Path
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not here: apt install {name}")
    if name == "nginx" and not nginx_has_streams():
        pytest.skip("nginx has no streams here: apt install libnginx-mod-stream")
    federation, _ = served
    balancer = subprocess.Popen(command(name, federation, tmp_path))
    try:
        wait_until(lambda: listens(federation.port) or balancer.poll() is not None)
        assert balancer.poll() is None, "the balancer ended"
        with open_session(federation, timeout=PATIENCE) as session:
            assert session.wait_for(("a",), PATIENCE) == ("a",)
    finally:
        balancer.terminate()
        balancer.wait(120)
