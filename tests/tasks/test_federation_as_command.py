"""A federation that Python makes is the one that `confide federation` reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.errors import UsageError
from confide.tasks.federation import add_site, federation_status, init_federation, stop_server
from confide.tasks.federation_demo import MODES, must_forget, plan_demo
from confide.tasks.requests.federation import FEWEST_DEMO_SITES, MOST_DEMO_SITES
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals


def test_a_federation_is_made_read_and_enlarged(tmp_path: Path) -> None:
    folder = tmp_path / "net"
    made = init_federation(folder, name="trial", sites=["a", "b", "c"])
    status = federation_status(folder)
    assert status.federation == made
    assert (status.running, status.connected, status.problem) == (False, None, None)
    assert status.to_dict() == json.loads(confide("federation", "status", folder, "--json").out)
    assert add_site(folder, "d").sites == ("a", "b", "c", "d")
    assert stop_server(folder) is False
    with pytest.raises(UsageError, match="exists already"):
        init_federation(folder, name="trial", sites=["a"])


def test_a_site_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        init_federation(tmp_path / "net", name="trial", sites=["a", "a"])
    assert list(tmp_path.iterdir()) == []


def test_a_demonstration_is_planned_before_anything_is_made(provisioned: Hospitals, tmp_path: Path) -> None:
    rows = provisioned.rows("north")
    demo = plan_demo(tmp_path / "demo", data=rows, label="died", score="risk", sites=4)
    assert (demo.sites, tuple(demo.questions)) == (tuple(f"hospital-{one}" for one in "abcd"), MODES)
    assert [mode for mode in MODES if must_forget(demo, mode)] == ["secure-sum"]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="`data`"):
        plan_demo(tmp_path / "demo", score="risk")


@pytest.mark.parametrize("sites", [FEWEST_DEMO_SITES - 1, MOST_DEMO_SITES + 1])
def test_the_command_refuses_too_few_and_too_many_hospitals(sites: int) -> None:
    answer = confide("federation", "demo", "--sites", sites)
    assert answer.code == 2
    assert "--sites" in answer.err
