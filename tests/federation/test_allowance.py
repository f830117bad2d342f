"""An allowance limits what private questions cost in a period."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from confide.errors import ParameterError, UnpayableError
from confide.federation.policy import Allowance, Policy
from confide.federation.protocol import RunError
from confide.federation.question_terms import Period
from confide.federation.site import private_answer
from confide.federation.site.accounts import ACCOUNT, Prices, charged_in_period, require_allowance
from confide.federation.site.scored_rows import read_rows
from confide.ledger.ledger import Ledger
from tests.federation.network import Network
from tests.federation.site_books import charged_answer

SIZES = {"north": 60, "south": 70, "west": 80}
TABLE = '[allowance]\nperiod = "year"\nepsilon = "3/4"\n'


def test_a_period_is_paid_for_once_and_stored_answers_cost_nothing(tmp_path: Path) -> None:
    network = Network.build(tmp_path, SIZES)
    north = network.sites["north"].folder
    north.policy.write_text(north.policy.read_text() + TABLE)
    network = network.reopened()
    first = network.question("private", epsilon="1/2", site_share=0)
    network.run(first)
    with pytest.raises(RunError, match=r"allows epsilon 0.75 a year .* 0.5 is spent in .* costs 0.5") as refused:
        network.run(network.question("private", epsilon="1/2", site_share=0, edition=2))
    assert refused.value.exit_code == 3
    assert refused.value.rounds == 1
    network.run(first)
    network.run(network.question("private", epsilon="1/4", site_share=0, edition=2))
    assert [network.spent(name) for name in SIZES] == [0.75, 0.75, 0.75]
    with Ledger(north.database) as ledger:
        now = datetime.now(UTC)
        assert charged_in_period(ledger, ACCOUNT, "year", now).added == Fraction(3, 4)
        assert charged_in_period(ledger, ACCOUNT, "year", now.replace(year=now.year + 1, day=1)) == Prices()
        put_back = now.replace(year=now.year - 1, day=1)  # a clock that is put back gives nothing back
        assert charged_in_period(ledger, ACCOUNT, "year", put_back).added == Fraction(3, 4)
        allowance = Allowance(period="year", epsilon=Fraction(3, 4))
        with pytest.raises(UnpayableError):
            require_allowance(ledger, ACCOUNT, allowance, Prices(pure=(Fraction(1, 8),)), now)
        require_allowance(
            ledger, ACCOUNT, allowance, Prices(pure=(Fraction(1, 8),)), now.replace(year=now.year + 1, day=1)
        )


def test_two_runs_at_once_do_not_both_spend_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two runs waits after its check for the other's: they meet there unless one is locked out."""
    network = Network.build(tmp_path, SIZES)
    north = network.sites["north"]
    north.folder.policy.write_text(north.folder.policy.read_text() + TABLE)
    rows, both = read_rows(north.config, "risk"), threading.Barrier(2)

    def checked(*given: Any) -> None:
        require_allowance(*given)
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1.0)

    def answered(edition: int) -> bool:
        question = network.question("private", epsilon="1/2", site_share=0, edition=edition)
        try:
            charged_answer(north.folder, question, rows)
        except UnpayableError:
            return False
        return True

    monkeypatch.setattr(private_answer, "require_allowance", checked)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(answered, (1, 2))) == [False, True]
    assert network.spent("north") == 0.5


def test_the_policy_reads_it() -> None:
    assert Policy.from_toml(TABLE).allowance == Allowance(period="year", epsilon=Fraction(3, 4))
    for wrong in ("allowance = 2", '[allowance]\nperiod = "week"\nepsilon = 1', "[allowance]\nepsilon = 1"):
        with pytest.raises(ParameterError, match="allowance"):
            Policy.from_toml(wrong)


def test_periods_follow_the_calendar() -> None:
    at = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    later = datetime(2027, 1, 1, tzinfo=UTC)
    for kind, names in (
        ("month", ("2026-12", "2027-01")),
        ("quarter", ("2026-q4", "2027-q1")),
        ("year", ("2026", "2027")),
    ):
        one, other = Period.at(kind, at), Period.at(kind, later)
        assert (one.name, other.name) == names
        assert other.number == one.number + 1
