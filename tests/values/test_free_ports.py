"""Ports for servers that start later: nobody uses them, and the system gives them to nobody by itself."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from confide import ports
from confide.errors import ConfideError
from confide.ports import FIRST, LAST, free_port

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_a_port_is_free_and_drawn_anew_each_time() -> None:
    drawn = [free_port() for _ in range(20)]
    assert all(FIRST <= port <= LAST for port in drawn)
    assert len(set(drawn)) > 10  # fewer by a chance below 1e-30
    with socket.socket() as server:
        server.bind(("127.0.0.1", drawn[-1]))


def test_the_system_begins_to_give_ports_away_above() -> None:
    if not RANGE.exists():
        pytest.skip("this system does not say which ports it gives away")
    if int(RANGE.read_text().split()[0]) < 32768:
        pytest.skip("somebody changed which ports this system gives away")
    assert int(RANGE.read_text().split()[0]) > LAST


def test_a_port_in_use_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setattr(ports, "FIRST", server.getsockname()[1])
        monkeypatch.setattr(ports, "LAST", server.getsockname()[1])
        with pytest.raises(ConfideError, match="is free; end other servers first"):
            free_port()
