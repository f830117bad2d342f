"""The time of an answer says nothing about the noise in it: it is a whole number of steps.

Each test runs once with real clocks. Machines are noisy: what is asserted is that no answer comes
before its step is over, which is never a false alarm, and that work of very different length ends in
the same step, which fails only if the machine stands still for half a step in all of five attempts.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from confide.cli.release import STEP_SECONDS, draw
from confide.counts import ScoreCounts
from confide.ledger.ledger import Ledger
from confide.privacy.steady import steady
from confide.releases.registry import prepare

STEP = 0.1


def duration(work: float, step: float) -> float:
    started = time.perf_counter()
    with steady(step):
        time.sleep(work)
    return time.perf_counter() - started


@pytest.mark.parametrize("work", [0.0, 0.01, 0.04])
def test_short_and_long_work_take_the_same_time(work: float) -> None:
    taken = [duration(work, STEP) for _ in range(5)]
    assert min(taken) >= STEP
    assert min(taken) < 1.5 * STEP


def test_work_beyond_a_step_takes_whole_steps() -> None:
    taken = [duration(1.2 * STEP, STEP) for _ in range(5)]
    assert min(taken) >= 2 * STEP
    assert min(taken) < 2.5 * STEP


def test_a_release_takes_whole_steps(tmp_path: Path) -> None:
    """The command charges and draws within one step of padding; unpadded it takes a small part of one."""
    (prepared,) = prepare("prevalence", ScoreCounts.from_arrays([0, 1] * 50, range(100)), epsilon=1)
    with Ledger(tmp_path / "ledger.sqlite") as book:
        book.release(prepared, account="a")  # loads what is to be loaded
        started = time.perf_counter()
        draw(book, [prepared], account="a")
        padded = time.perf_counter() - started
        started = time.perf_counter()
        book.release(prepared, account="a")
        bare = time.perf_counter() - started
    assert padded >= STEP_SECONDS
    assert bare < padded


def test_drawing_takes_far_less_than_a_step() -> None:
    """So that the step in which an answer comes does not depend on the noise; once packages are loaded."""
    counts = ScoreCounts.from_arrays([0, 1] * 500, range(1000))

    def draws() -> float:
        prepared = prepare(["auc", "average_precision", "brier"], counts, epsilon=1)
        started = time.perf_counter()
        for part in prepared:
            part.draw()
        return time.perf_counter() - started

    draws()
    assert min(draws() for _ in range(5)) < STEP_SECONDS / 2


def test_an_error_is_not_held_back() -> None:
    started = time.perf_counter()
    with pytest.raises(ValueError, match="at once"), steady(30.0):
        raise ValueError("at once")
    assert time.perf_counter() - started < 10.0
