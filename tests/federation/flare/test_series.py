"""A study that recurs, with real processes: commands as a timer calls them, a server and three sites."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from confide.federation.coordinator.series import POOLED, Series
from confide.federation.question_terms import Period
from confide.federation.site.accounts import ACCOUNT
from confide.ledger.ledger import Ledger
from tests.federation.flare.conftest import SITES, Network
from tests.waiting import PATIENCE

pytestmark = pytest.mark.long

NEXT_MONTH = """
from datetime import UTC, datetime
from confide.federation import question_terms

now = question_terms.Period.at("month", datetime.now(UTC))
question_terms.Period.at = classmethod(lambda cls, kind, time: cls(kind=kind, number=now.number + 1))
from confide.cli.main import run

run()
"""
"""The command, run by a coordinator whose clock is in the next month."""


def command(network: Network, folder: Path, *program: str) -> subprocess.CompletedProcess[str]:
    """Run `confide validate --every month` in a process of its own."""
    options = (
        "--federation",
        network.federation.folder,
        "--study",
        "noise",
        "--model-name",
        "kept",
        "--mode",
        "private",
    )
    more = ("--epsilon", "1/8", "--site-share", "0", "--timeout", PATIENCE, "--every", "month", "--series", folder)
    asked = [sys.executable, *program, "validate", *map(str, (*options, *more)), "--json"]
    return subprocess.run(asked, capture_output=True, text=True, env={**os.environ}, check=False, timeout=3 * PATIENCE)


def spent(network: Network) -> dict[str, float]:
    found = {}
    for site in SITES:
        with Ledger(network.folders[site].database) as ledger:
            found[site] = float(sum(one.spent.epsilon for one in ledger.accounts() if one.name == ACCOUNT))
    return found


def test_a_timer_asks_each_month_once_and_sites_pay_for_each_month_once(network: Network, tmp_path: Path) -> None:
    folder, before = tmp_path / "series", spent(network)
    month = Period.at("month", datetime.now(UTC))
    names = [month.name, Period(kind="month", number=month.number + 1).name]

    def paid() -> set[float]:
        return {after - before[site] for site, after in spent(network).items()}

    first = command(network, folder, "-m", "confide")
    assert first.returncode == 0, first.stderr
    assert paid() == {0.125}
    again = command(network, folder, "-m", "confide")
    assert again.returncode == 0, again.stderr
    assert "nobody was asked" in again.stderr
    assert json.loads(again.stdout)["latest"] == json.loads(first.stdout)["latest"]
    assert paid() == {0.125}
    later = command(network, folder, "-c", NEXT_MONTH)
    assert later.returncode == 0, later.stderr
    assert paid() == {0.25}
    document = json.loads(later.stdout)
    assert (document["asked"], document["editions"]) == (True, names)
    assert document["cost"]["guarantee"]["epsilon"] == 0.25
    assert document["cost"]["spent_at_most"] == dict.fromkeys(SITES, 0.25)
    values = [one.estimate("auc", POOLED) for one in Series(folder).editions()]
    assert values[0] is not None
    assert values[1] is not None
    assert values[0].value != values[1].value  # the noise of each edition is new
    page = (folder / "index.html").read_text()
    assert all(f"{one.value:.3f}" in page for one in values if one is not None)
    assert "Spent over the series" in page
