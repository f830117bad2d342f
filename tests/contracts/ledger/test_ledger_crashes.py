"""A crash at any point loses no charge, and gives none back."""

from __future__ import annotations

import shutil
from fractions import Fraction

import pytest

from confide.errors import LedgerError
from confide.ledger.ledger import Ledger
from confide.releases.release import Release
from tests.contracts.ledger import processes
from tests.contracts.ledger.asking import ask, noise
from tests.contracts.ledger.places import Place

TENTH = Fraction(1, 10)


@pytest.mark.parametrize("failure", [RuntimeError("no noise"), KeyboardInterrupt(), SystemExit()])
def test_a_charge_stands_when_drawing_fails(ledger: Ledger, failure: BaseException) -> None:
    def draw() -> tuple[Release, ...]:
        assert ledger.account("a").spent.epsilon == TENTH  # it is charged by now
        raise failure

    with pytest.raises(type(failure)):
        ledger.release(ask(draw=draw), account="a")
    assert ledger.account("a").spent.epsilon == TENTH
    again = ledger.release(ask(), account="a")
    assert not again.reused
    assert again.spent.epsilon == 2 * TENTH


def test_a_charge_stands_when_the_process_dies_before_the_answer(place: Place, ledger: Ledger) -> None:
    assert processes.run("dies_in_draw", place.url) == [-9, -9]
    assert ledger.account("a").spent.epsilon == 2 * TENTH
    assert ledger.verify().whole
    assert ledger.release(ask(), account="a").spent.epsilon == 3 * TENTH


def test_the_first_answer_is_everybody_s(place: Place, ledger: Ledger) -> None:
    """While one draws, another asks the same and is answered: both paid, and see one answer."""
    shown = []

    def draw() -> tuple[Release, ...]:
        with Ledger(place.url) as other:
            shown.append(other.release(ask(), account="a").releases)
        return (noise(ask().guarantee),)

    receipt = ledger.release(ask(draw=draw), account="a")
    assert [receipt.releases] == shown
    assert receipt.spent.epsilon == 2 * TENTH
    assert [entry.kind for entry in ledger.history("a")] == ["open", "charge", "charge", "answer"]


def test_no_answer_without_its_charge(sqlite_place: Place) -> None:
    """Somebody puts an older ledger, whole in itself, in its place while noise is drawn."""
    older = sqlite_place.file.with_name("older")
    with Ledger(sqlite_place.url) as ledger:
        ledger.open_account("a")
        shutil.copy(sqlite_place.file, older)

        def draw() -> tuple[Release, ...]:
            shutil.copy(older, sqlite_place.file)
            return (noise(ask().guarantee),)

        with pytest.raises(LedgerError, match="has lost a charge that was just written; nothing is released"):
            ledger.release(ask(draw=draw), account="a")


def test_a_thousand_kills_lose_nothing(sqlite_place: Place) -> None:
    kills_lose_nothing(sqlite_place.url, 1_000)


def test_kills_lose_nothing_in_postgresql(postgresql_place: Place) -> None:
    kills_lose_nothing(postgresql_place.url, 200)


def kills_lose_nothing(url: str, times: int) -> None:
    toll = processes.run("kills", url, times)
    assert toll["kills"] == times
    assert toll["lost_charges"] == 0
    assert toll["lost_answers"] == 0
    assert toll["whole"]
    # Kills fell where it matters: before, between and after the two commits.
    assert toll["answered"] > times / 10
    assert toll["unanswered"] > times / 100


def test_kills_do_show_charges_acknowledged_too_early(place: Place) -> None:
    assert processes.run("careless_kills", place.url, 60) > 0
