"""Processes that race for a ledger, and processes that are killed while they use it.

Run as a program of its own, so that it forks before it has threads: what is imported once is warm in
every child. It prints what happened as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import NullPool, create_engine, text

from confide.errors import BudgetError, LedgerError
from confide.ledger.entries import Entry
from confide.privacy.prepared import Part
from confide.records import database
from confide.releases.release import Release
from tests.ledger.asking import Book, ask, choose, noise

WARM = (database, psycopg)  # imported here, so that no child has to
REPOSITORY = Path(__file__).parents[2]


def run(what: str, *arguments: object) -> Any:
    """Run one of the programs below and return what it printed."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.ledger.processes", what, *(str(one) for one in arguments)],
        capture_output=True,
        cwd=REPOSITORY,
        check=False,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return json.loads(finished.stdout)


def forked(work: Callable[[], int]) -> int:
    """Start a child that ends with the number its work returns; 255 if it fails."""
    child = os.fork()
    if child:
        return child
    code = 255
    try:
        code = work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def together(processes: int, work: Callable[[int], int]) -> list[int]:
    """Let processes begin at one moment, and return what each of them returned."""
    waiting, starting = os.pipe()
    counting, ready = os.pipe()

    def child(number: int) -> int:
        os.close(starting)
        os.write(ready, b".")
        os.read(waiting, 1)  # ends when the last writer, the parent, closes
        return work(number)

    children = [forked(partial(child, number)) for number in range(processes)]
    for _ in children:
        os.read(counting, 1)
    for end in (starting, waiting, counting, ready):
        os.close(end)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in children]


def race(url: str, account: str) -> list[int]:
    """Eight processes with four requests each of a tenth, for a budget of one that is opened before."""
    with Book(url) as ledger:
        ledger.open_account(account, epsilon=1)

    def work(number: int) -> int:
        granted = 0
        with Book(url) as ledger:
            for attempt in range(4):
                try:
                    ledger.release(ask("1/10", number=number, attempt=attempt), account=account)
                    granted += 1
                except BudgetError:
                    pass
        return granted

    return together(8, work)


def parts_race(url: str, account: str) -> list[list[int]]:
    """The same where each request reads one of two parts; returns what was granted for either by each process."""
    with Book(url) as ledger:
        ledger.open_account(account, epsilon=1, neighbours="add-remove-one")

    def work(number: int) -> int:
        granted = 0
        part = Part("two halves", str(number % 2))
        with Book(url) as ledger:
            for attempt in range(4):
                try:
                    ledger.release(choose("1/10", part=part, number=number, attempt=attempt), account=account)
                    granted += 1
                except BudgetError:
                    pass
        return granted

    found = together(8, work)
    return [found[0::2], found[1::2]]


def naive_race(url: str, table: str) -> list[int]:
    """The same against a ledger that looks in one transaction and charges in the next."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE {table} (tenths INTEGER)"))

    def work(number: int) -> int:
        granted = 0
        for _ in range(4):
            with engine.begin() as connection:
                spent = connection.execute(text(f"SELECT coalesce(sum(tenths), 0) FROM {table}")).scalar_one()  # noqa: S608
            if spent < 10:
                with engine.begin() as connection:
                    connection.execute(text(f"INSERT INTO {table} VALUES (1)"))  # noqa: S608
                granted += 1
        return granted

    return together(8, work)


def most_granted_naively(url: str, *tables: str) -> int:
    """Run this race in one table after the other, until more than ten are granted; return the most that were."""
    most = 0
    for table in tables:
        most = max(most, sum(naive_race(url, table)))
        if most > 10:
            break
    return most


def first_use(url: str) -> list[int]:
    """Eight processes that all find no ledger, no key and no account, with requests of one account."""

    def work(number: int) -> int:
        with Book(url) as ledger:
            ledger.quote(ask(number=number), account="a")
            receipt = ledger.release(ask(number=number), account="a")
            return 0 if receipt.charged.epsilon and ledger.verify().whole else 1

    return together(8, work)


def same_request(url: str) -> list[float]:
    """Eight processes that ask the same at one moment; returns the value that each was shown."""
    reading, writing = os.pipe()

    def work(number: int) -> int:
        with Book(url) as ledger:
            value = ledger.release(ask(), account="a").releases[0].value
        os.write(writing, f"{value!r}\n".encode())
        return 0

    assert together(8, work) == [0] * 8
    os.close(writing)
    with os.fdopen(reading) as file:
        return [float(line) for line in file]


@dataclass
class Toll:
    """What the killing of processes showed."""

    kills: int = 0
    acknowledged: int = 0
    answered: int = 0
    charged: int = 0
    lost_charges: int = 0
    lost_answers: int = 0
    unacknowledged: int = 0
    unanswered: int = 0
    whole: bool = False


def kills(url: str, times: int) -> dict[str, Any]:
    """Kill processes at random moments while each charges in a loop, and look for what they acknowledged.

    A child acknowledges a charge from inside `draw`, which runs after the charge is committed, and an
    answer after `release` returned. An account serves twenty children, so that chains stay short, and is looked
    at when all of them are dead: what was lost does not come back.
    """
    toll = Toll()
    with Book(url) as ledger:
        for first in range(0, times, 20):
            account = f"account {first // 20}"
            ledger.open_account(account, epsilon=1_000_000)
            usual = _duration(partial(_spend, url, account, -1, str, steps=1))
            killed = {
                number: _killed(partial(_spend, url, account, number), usual)
                for number in range(first, min(first + 20, times))
            }
            entries = ledger.history(account)
            for number, acknowledged in killed.items():
                _look(entries, number, acknowledged, toll)
        toll.whole = ledger.verify().whole
    return asdict(toll)


def _duration(work: Callable[[], object]) -> float:
    """How long a request takes on a machine as busy as this one is now."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _spend(url: str, account: str, number: int, say: Callable[[str], object], *, steps: int = 1_000) -> None:
    with Book(url) as ledger:
        for step in range(steps):

            def draw(step: int = step) -> tuple[Release, ...]:
                say(f"charged {step}")
                return (noise(ask().guarantee),)

            receipt = ledger.release(ask(child=number, step=step, draw=draw), account=account)
            say(f"answered {step} {receipt.releases[0].value!r}")


def _killed(work: Callable[[Callable[[str], object]], None], usual: float) -> list[list[str]]:
    """Start a child, kill it some moment within three usual durations, and return what it said."""
    reading, writing = os.pipe()

    def say(line: str) -> None:
        os.write(writing, f"{line}\n".encode())

    def child() -> int:
        say("begins")
        work(say)
        return 0

    process = forked(child)
    os.close(writing)
    with os.fdopen(reading) as file:
        file.readline()
        time.sleep(random.uniform(0.0, 3 * usual))  # noqa: S311
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return [line.split() for line in file]


def _look(entries: Sequence[Entry], number: int, acknowledged: list[list[str]], toll: Toll) -> None:
    charges = {
        entry.request_data["request"]["step"]: entry.sequence
        for entry in entries
        if entry.kind == "charge" and entry.request_data["request"]["child"] == number
    }
    answers = {entry.charge: entry.answered[0]["value"] for entry in entries if entry.kind == "answer"}
    said_charged = {int(line[1]) for line in acknowledged if line[0] == "charged"}
    said_answered = {int(line[1]): float(line[2]) for line in acknowledged if line[0] == "answered"}
    toll.kills += 1
    toll.charged += len(charges)
    toll.acknowledged += len(said_charged)
    toll.answered += len(said_answered)
    toll.lost_charges += len(said_charged - set(charges))
    toll.lost_answers += sum(answers.get(charges.get(step)) != value for step, value in said_answered.items())
    toll.unacknowledged += len(set(charges) - said_charged)
    toll.unanswered += sum(sequence not in answers for sequence in charges.values())


def careless_kills(url: str, times: int) -> int:
    """The same for a ledger that acknowledges a charge before it commits; returns how many
    the first unlucky kill lost."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE careless (child INTEGER)"))

    def spend(number: int, say: Callable[[str], object], *, steps: int = 1_000) -> None:
        with engine.connect() as connection:
            for _ in range(steps):
                connection.execute(text("INSERT INTO careless VALUES (:number)"), {"number": number})
                say("charged")
                time.sleep(0.002)  # it draws noise meanwhile
                connection.commit()

    usual = _duration(partial(spend, -1, str, steps=5))
    for number in range(times):
        acknowledged = len(_killed(partial(spend, number), usual))
        with engine.begin() as connection:
            counted = text("SELECT count(*) FROM careless WHERE child = :number")
            stored = int(connection.execute(counted, {"number": number}).scalar_one())
        if acknowledged > stored:
            return acknowledged - stored
    return 0


def dies_in_draw(url: str) -> list[int]:
    """Ask, and die between charge and answer; returns how the processes ended."""

    def draw() -> tuple[Release, ...]:
        os.kill(os.getpid(), signal.SIGKILL)
        return ()

    def work() -> int:
        with Book(url) as ledger:
            ledger.release(ask(draw=draw), account="a")
        return 0

    return [os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) for _ in range(2)]


def killed_over_one_request(url: str, times: int) -> dict[str, Any]:
    """Processes ask the same at once, three at a time: some die as they draw, others are killed whenever it may be."""
    reading, writing = os.pipe()
    chance = random.SystemRandom()  # children of one parent must not die alike
    usual = _duration(partial(_spend, url, "another", -1, str, steps=1))

    def work(deadly: float) -> int:
        def draw() -> tuple[Release, ...]:
            os.write(writing, b"drawn\n")
            if chance.random() < deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(chance.uniform(0.0, usual))
            return (noise(ask().guarantee),)

        with Book(url) as ledger:
            value = ledger.release(ask(draw=draw), account="a").releases[0].value
        os.write(writing, f"{value!r}\n".encode())
        return 0

    killed = 0
    for turn in range(times // 3):
        children = [forked(partial(work, 1.0 if turn < 3 else 0.5)) for _ in range(3)]
        for child in children if turn >= 3 else ():
            time.sleep(chance.uniform(0.0, usual))
            os.kill(child, signal.SIGKILL)
        killed += sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL for child in children)
    assert work(0.0) == 0
    os.close(writing)
    with os.fdopen(reading) as file:
        lines = file.read().split()
    return {
        "values": [float(line) for line in lines if line != "drawn"],
        "drawn": lines.count("drawn"),
        "killed": killed,
    }


def read_only(url: str) -> str:
    """Ask as a user who may read the ledger's file, but not write to it."""
    with Book(url) as ledger:
        assert ledger.verify().whole
    reading, writing = os.pipe()

    def work() -> int:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            with Book(url) as ledger:
                assert ledger.account("a").spent.epsilon == 0
                ledger.release(ask(), account="a")
        except LedgerError as error:
            os.write(writing, str(error).encode())
            return 0
        return 1

    code = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
    os.close(writing)
    with os.fdopen(reading) as file:
        return file.read() if code == 0 else f"not refused: {code}"


PROGRAMS: dict[str, Callable[..., Any]] = {
    "race": lambda url, *accounts: [race(url, account) for account in accounts],
    "parts_race": parts_race,
    "naive_race": most_granted_naively,
    "first_use": first_use,
    "same_request": same_request,
    "kills": lambda url, times: kills(url, int(times)),
    "careless_kills": lambda url, times: careless_kills(url, int(times)),
    "dies_in_draw": dies_in_draw,
    "killed_over_one_request": lambda url, times: killed_over_one_request(url, int(times)),
    "read_only": read_only,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(PROGRAMS[sys.argv[1]](*sys.argv[2:])))
