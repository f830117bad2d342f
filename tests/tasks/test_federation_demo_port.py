"""The demonstration of a federation moves to another port if some program takes its own before the server starts."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from confide.errors import PortError
from confide.federation.flare import processes
from confide.federation.flare.federation import Federation
from confide.federation.flare.kits import site_home
from confide.tasks import federation_demo
from confide.tasks.federation_demo import DemoFederation
from tests.cli.hospitals import NAMES, Hospitals
from tests.ports import free_port


@pytest.fixture
def demo(hospitals: Hospitals) -> DemoFederation:
    return DemoFederation(
        demo=SimpleNamespace(sites=NAMES),  # type: ignore[arg-type]
        federation=Federation.load(hospitals.coordinator),
        places=tuple(hospitals.site(name) for name in NAMES),
    )


def test_the_server_and_all_sites_move_together(demo: DemoFederation, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def start(federation: Federation, *, attached: bool) -> None:
        processes._require_free(federation)
        started.append(federation.port)

    monkeypatch.setattr(processes, "start_server", start)
    with socket.create_server(("127.0.0.1", demo.federation.port)):
        moved = federation_demo._start_server(demo)
    assert started == [moved.port] != [demo.federation.port]
    assert Federation.load(demo.federation.folder) == moved
    moved.check_kit(moved.server_settings)
    moved.check_kit(moved.coordinator_settings)
    assert {site_home(place).port for place in demo.places} == {moved.port}


def test_it_gives_up_after_some_ports(demo: DemoFederation, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    ports = [free_port(), free_port()]

    def start(federation: Federation, *, attached: bool) -> None:
        tried.append(federation.port)
        raise PortError(f"port {federation.port} is used by another program")

    monkeypatch.setattr(processes, "start_server", start)
    monkeypatch.setattr(federation_demo, "free_port", iter(ports).__next__)
    with pytest.raises(PortError, match=str(ports[-1])):
        federation_demo._start_server(demo)
    assert tried == [demo.federation.port, *ports]
