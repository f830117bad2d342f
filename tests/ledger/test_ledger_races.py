"""Two processes cannot overspend, nor see two answers to one question."""

from __future__ import annotations

import os

import pytest

from tests.ledger import processes
from tests.ledger.asking import Book
from tests.ledger.places import Place

ROUNDS = 4


@pytest.mark.few(1)
@pytest.mark.processes
def test_processes_cannot_overspend(place: Place, ledger: Book) -> None:
    """Eight processes ask 32 times for a tenth of 1: ten are granted, every time."""
    accounts = [f"account {number}" for number in range(ROUNDS)]
    for account, granted in zip(accounts, processes.run("race", place.url, *accounts), strict=True):
        assert sum(granted) == 10
        assert ledger.account(account).remaining().epsilon == 0
    assert ledger.verify().whole


@pytest.mark.few(1)
@pytest.mark.processes
def test_processes_cannot_overspend_a_part(place: Place, ledger: Book) -> None:
    """Of a budget of 1 either of two parts may cost all of it: ten tenths for each are granted, and no eleventh."""
    either = processes.run("parts_race", place.url, "a")
    assert [sum(granted) for granted in either] == [10, 10]
    account = ledger.account("a")
    assert account.remaining().epsilon == 0
    assert [spent.epsilon for spent in account.spending.parts.values()] == [1, 1]
    assert ledger.verify().whole


@pytest.mark.few(1)
@pytest.mark.processes
def test_the_race_does_show_overspending(place: Place) -> None:
    """The same race against a ledger that looks in one transaction and charges in the next.

    Most rounds show it. On a machine that runs the processes one after the other some do not: there are more rounds.
    """
    rounds = (f"naive{number}" for number in range(10 * ROUNDS))
    assert processes.run("naive_race", place.url, *rounds) > 10


@pytest.mark.few(1)
@pytest.mark.processes
def test_eight_processes_may_be_the_first(place: Place, ledger: Book) -> None:
    """One ledger, one key, one account come of it."""
    assert processes.run("first_use", place.url) == [0] * 8
    (account,) = ledger.accounts()
    assert account.spent.epsilon * 10 == 8
    assert ledger.verify().whole
    assert [path.name for path in place.key.parent.glob("ledger*key*")] == [place.key.name]
    assert not [name for name in os.listdir(place.key.parent) if name.startswith(".")]


@pytest.mark.few(1)
@pytest.mark.processes
def test_the_same_request_at_one_moment_has_one_answer(place: Place, ledger: Book) -> None:
    values = processes.run("same_request", place.url)
    assert len(values) == 8
    assert len(set(values)) == 1
    assert [entry.kind for entry in ledger.history("a")] == ["open", "charge", "answer"]


@pytest.mark.parametrize("threads", [8])
def test_threads_share_a_ledger(ledger: Book, threads: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from confide.errors import BudgetError
    from tests.ledger.asking import ask

    ledger.open_account("a", epsilon="1/2")

    def work(number: int) -> int:
        try:
            return 0 if ledger.release(ask(number=number), account="a").reused else 1
        except BudgetError:
            return 0

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(work, range(threads))) == 5
