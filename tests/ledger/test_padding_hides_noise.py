"""The time of an answer says nothing about the noise in it: it is a whole number of steps.

Each test runs once with real clocks. Machines are noisy: what is asserted is that no answer comes
before its step is over, which is never a false alarm, and that work of very different length ends in
the same step, which fails only if the machine stands still for half a step in all of fifty attempts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confide.counts import ScoreCounts
from confide.errors import BudgetError
from confide.ledger.charging import STEP_SECONDS, padded
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.releases.registry import prepare
from confide.releases.release import Release
from tests.ledger.asking import ask, noise

STEP = 0.1
ATTEMPTS = 50


def duration(work: float, step: float) -> float:
    started = time.perf_counter()
    with padded(step):
        time.sleep(work)
    return time.perf_counter() - started


def shortest(work: float, step: float, enough: float) -> float:
    """Return the shortest of fifty durations, or the first that is short enough."""
    taken = math.inf
    for _ in range(ATTEMPTS):
        taken = min(taken, duration(work, step))
        if taken < enough:
            break
    return taken


@pytest.mark.parametrize("work", [0.0, 0.01, 0.04])
def test_short_and_long_work_take_the_same_time(work: float) -> None:
    assert STEP <= shortest(work, STEP, 1.5 * STEP) < 1.5 * STEP


def test_work_beyond_a_step_takes_whole_steps() -> None:
    assert 2 * STEP <= shortest(1.2 * STEP, STEP, 2.5 * STEP) < 2.5 * STEP


def test_a_release_takes_whole_steps(tmp_path: Path) -> None:
    """The ledger charges and draws within one step of padding; unpadded it takes a small part of one.

    A stored answer takes as long as one that is drawn, and so does a refusal.
    """
    (prepared,) = prepare("prevalence", ScoreCounts.from_arrays([0, 1] * 50, range(100)), epsilon=1)
    (dear,) = prepare("prevalence", ScoreCounts.from_arrays([0, 1] * 50, range(100)), epsilon=100)
    question = PublicQuestion(data="made-up rows, version 1", label="y")
    place = tmp_path / "ledger.sqlite"

    def timed(book: Ledger, **asked: Any) -> float:
        started = time.perf_counter()
        book.release(account="a", **asked)
        return time.perf_counter() - started

    def refused(book: Ledger) -> float:
        started = time.perf_counter()
        with pytest.raises(BudgetError):
            book.release(dear, account="a")
        return time.perf_counter() - started

    with Ledger(place) as book, Ledger(place, padding=0.0) as bare:
        book.open_account("a", epsilon=50)
        book.release(prepared, account="a", question=question)  # loads what is to be loaded
        drawn, stored = timed(book, prepared=prepared), timed(book, prepared=prepared, question=question)
        assert min(drawn, stored, refused(book)) >= STEP_SECONDS
        for asked in ({}, {"question": question}):
            assert any(timed(bare, prepared=prepared, **asked) < STEP_SECONDS for _ in range(ATTEMPTS))


def test_drawing_takes_far_less_than_a_step() -> None:
    """So that the step in which an answer comes does not depend on the noise; once packages are loaded."""
    counts = ScoreCounts.from_arrays([0, 1] * 500, range(1000))

    def draws() -> float:
        prepared = prepare(["auc", "average_precision", "brier"], counts, epsilon=1)
        started = time.process_time()  # whatever else the machine does
        for part in prepared:
            part.draw()
        return time.process_time() - started

    draws()
    assert any(draws() < STEP_SECONDS / 2 for _ in range(ATTEMPTS))


def test_an_error_takes_whole_steps_too() -> None:
    """Whether drawing fails may depend on the noise, and so may when."""
    started = time.perf_counter()
    with pytest.raises(ValueError, match="later"), padded(STEP):
        raise ValueError("later")
    assert time.perf_counter() - started >= STEP


class Stopwatch:
    """Time that passes only where somebody sleeps: each thread has its own clock, and the earliest one runs."""

    def __init__(self, names: Iterable[str]) -> None:
        self.now = dict.fromkeys(names, 0.0)
        self.turn = threading.Condition()

    def perf_counter(self) -> float:
        return self.now[threading.current_thread().name]

    def sleep(self, seconds: float) -> None:
        with self.turn:
            own = threading.current_thread().name
            self.now[own] += seconds
            self.turn.notify_all()
            self.turn.wait_for(lambda: own == min(self.now, key=lambda name: (self.now[name], name)))

    def leave(self) -> None:
        with self.turn:
            del self.now[threading.current_thread().name]
            self.turn.notify_all()


@pytest.mark.parametrize("padding", [STEP_SECONDS, 0.0], ids=["padded", "not padded"])
@pytest.mark.parametrize("second", [0.01, 0.24], ids=["second is fast", "second is slow"])
def test_of_equal_requests_at_once_the_first_is_answered(
    padding: float, second: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the one whose noise was drawn faster. Without padding the faster one is: the test can fail."""
    place, question = tmp_path / "ledger.sqlite", PublicQuestion(data="made-up rows, version 1", label="y")
    begins = {"first": 0.0, "second": 0.02}
    drawing = {"first": 0.12, "second": second}
    clock, shown = Stopwatch(begins), {}
    monkeypatch.setattr("confide.ledger.charging.time", clock)
    with Ledger(place) as book:
        book.open_account("a", epsilon=1)

    def run() -> None:
        own = threading.current_thread().name

        def draw() -> tuple[Release, ...]:
            clock.sleep(drawing[own])
            return (replace(noise(prepared.guarantee), value=0.25 if own == "first" else 0.75),)

        prepared = ask(draw=draw)
        try:
            clock.sleep(begins[own])
            with Ledger(place, padding=padding) as book:
                (release,) = book.release(prepared, account="a", question=question).releases
            shown[own] = release.value
        finally:
            clock.leave()

    threads = [threading.Thread(target=run, name=name) for name in begins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    fast = min(begins, key=lambda name: begins[name] + drawing[name])
    expected = "first" if padding else fast
    assert shown == dict.fromkeys(begins, 0.25 if expected == "first" else 0.75)


def test_no_step_pads_nothing() -> None:
    assert shortest(0.0, 0.0, STEP / 2) < STEP / 2
