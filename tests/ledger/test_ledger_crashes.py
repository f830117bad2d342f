"""A crash at any point loses no charge and gives none back; what was paid for is answered once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from confide.errors import LedgerError
from confide.releases.release import Release
from tests.ledger import processes
from tests.ledger.asking import Book, about, ask, noise
from tests.ledger.places import Place

NOTHING, TENTH = Fraction(0), Fraction(1, 10)


def kinds(ledger: Book, account: str = "a") -> list[str]:
    return [entry.kind for entry in ledger.history(account)]


def failing(failure: BaseException) -> Callable[[], tuple[Release, ...]]:
    def draw() -> tuple[Release, ...]:
        raise failure

    return draw


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SystemExit()])
def test_a_charge_stands_when_a_run_is_stopped_and_serves_the_next(ledger: Book, failure: BaseException) -> None:
    def draw() -> tuple[Release, ...]:
        assert ledger.account("a").spent.epsilon == TENTH  # it is charged by now
        raise failure

    with pytest.raises(type(failure)):
        ledger.release(ask(draw=draw), account="a")
    assert ledger.account("a").spent.epsilon == TENTH
    again = ledger.release(ask(), account="a")
    assert (again.reused, again.charged.epsilon, again.spent.epsilon) == (False, NOTHING, TENTH)
    assert again.in_words() == "nothing: paid before, by a run that was cut short"
    assert kinds(ledger) == ["open", "charge", "answer"]


def test_a_charge_is_used_up_when_drawing_fails(ledger: Book) -> None:
    """Whether it fails may depend on the noise: it is seen, so it was the charge's one outcome."""
    for times in (1, 2):
        with pytest.raises(RuntimeError, match="no noise"):
            ledger.release(ask(draw=failing(RuntimeError("no noise"))), account="a")
        assert ledger.account("a").spent.epsilon == times * TENTH
    again = ledger.release(ask(), account="a")
    assert (again.charged.epsilon, again.spent.epsilon) == (TENTH, 3 * TENTH)
    assert kinds(ledger) == ["open", *2 * ["charge", "failure"], "charge", "answer"]
    assert [entry.charge for entry in ledger.history("a")] == [None, None, 2, None, 4, None, 6]
    assert ledger.verify().whole


def test_what_cannot_be_stored_is_a_failure_too(ledger: Book) -> None:
    unwritable = replace(noise(ask().guarantee), parts={"positives": object()})
    with pytest.raises(TypeError):
        ledger.release(ask(draw=lambda: (unwritable,)), account="a")
    assert kinds(ledger) == ["open", "charge", "failure"]


@pytest.mark.few(1)
@pytest.mark.processes
def test_a_charge_stands_when_the_process_dies_before_the_answer(place: Place, ledger: Book) -> None:
    """Two processes are killed while they draw noise for the same request: one charge, which serves a third."""
    assert processes.run("dies_in_draw", place.url) == [-9, -9]
    assert ledger.account("a").spent.epsilon == TENTH
    assert kinds(ledger) == ["open", "charge"]
    quote = ledger.quote(ask(), account="a")
    assert (quote.answered, quote.price.epsilon, quote.remaining_after) == (False, NOTHING, quote.remaining)
    assert quote.in_words() == "nothing: paid before, by a run that was cut short"
    receipt = ledger.release(ask(), account="a")
    assert (receipt.charged.epsilon, receipt.full_price.epsilon, receipt.spent.epsilon) == (NOTHING, NOTHING, TENTH)
    assert ledger.release(ask(), account="a").releases == receipt.releases
    assert kinds(ledger) == ["open", "charge", "answer"]
    assert ledger.verify().whole


@pytest.mark.few(1)
@pytest.mark.processes
def test_other_requests_are_not_served_by_a_waiting_charge(place: Place, ledger: Book) -> None:
    processes.run("dies_in_draw", place.url)
    for other in (ask("1/5"), ask(bins=2)):
        assert ledger.release(other, account="a").charged.epsilon > 0
    elsewhere = replace(about("a"), details={"score": "another"})
    assert ledger.release(ask(), account="a", question=elsewhere).charged.epsilon > 0
    assert ledger.release(ask(), account="a", question=None).charged.epsilon > 0
    assert ledger.release(ask(), account="a").charged.epsilon == 0
    assert ledger.release(ask(), account="elsewhere").charged.epsilon == TENTH


def test_what_was_paid_is_answered_though_nothing_is_left(place: Place, ledger: Book) -> None:
    """Whoever asks: stored answers are everybody's, and so is one that was paid for."""
    ledger.open_account("a", epsilon=TENTH, analyst_epsilon=TENTH)
    with pytest.raises(KeyboardInterrupt):
        ledger.release(ask(draw=failing(KeyboardInterrupt())), account="a", analyst="ana")
    assert ledger.quote(ask(), account="a", analyst="bob").fits
    assert ledger.release(ask(), account="a", analyst="bob").charged.epsilon == 0
    assert ledger.account("a").spent_by["ana"].epsilon == TENTH
    assert "bob" not in ledger.account("a").spent_by


def test_only_what_is_new_is_charged(ledger: Book) -> None:
    with pytest.raises(KeyboardInterrupt):
        ledger.release(ask(number=1, draw=failing(KeyboardInterrupt())), account="a")
    both = ledger.release([ask(number=1), ask(number=2)], account="a")
    assert (both.charged.epsilon, both.full_price.epsilon, both.spent.epsilon) == (TENTH, TENTH, 2 * TENTH)
    assert kinds(ledger) == ["open", "charge", "charge", "answer", "answer"]


def test_of_several_that_are_drawn_those_that_fail_are_used_up(ledger: Book) -> None:
    with pytest.raises(RuntimeError):
        ledger.release([ask(number=1), ask(number=2, draw=failing(RuntimeError()))], account="a")
    assert kinds(ledger) == ["open", "charge", "charge", "answer", "failure"]
    assert ledger.release(ask(number=1), account="a").reused
    assert ledger.release(ask(number=2), account="a").charged.epsilon == TENTH


def test_the_first_answer_is_everybody_s(place: Place, ledger: Book) -> None:
    """While one draws, another asks the same and is answered on the same charge: both see one answer."""
    shown = []

    def draw() -> tuple[Release, ...]:
        with Book(place.url) as other:
            shown.append(other.release(ask(), account="a").releases)
        return (noise(ask().guarantee),)

    receipt = ledger.release(ask(draw=draw), account="a")
    assert [receipt.releases] == shown
    assert receipt.spent.epsilon == TENTH
    assert kinds(ledger) == ["open", "charge", "answer"]


def test_a_failure_after_somebody_s_answer_is_not_seen(place: Place, ledger: Book) -> None:
    shown = []

    def draw() -> tuple[Release, ...]:
        with Book(place.url) as other:
            shown.append(other.release(ask(), account="a").releases)
        raise RuntimeError("no noise")

    assert [ledger.release(ask(draw=draw), account="a").releases] == shown
    assert kinds(ledger) == ["open", "charge", "answer"]


@pytest.mark.parametrize("fails_too", [False, True])
def test_after_somebody_s_failure_nothing_else_is_seen_of_the_charge(
    place: Place, ledger: Book, fails_too: bool
) -> None:
    """Whether the late one drew an answer or failed as well, it says the same."""

    def draw() -> tuple[Release, ...]:
        with Book(place.url) as other, pytest.raises(RuntimeError):
            other.release(ask(draw=failing(RuntimeError())), account="a")
        if fails_too:
            raise ValueError("secret noise")
        return (noise(ask().guarantee),)

    with pytest.raises(LedgerError, match="failed elsewhere in the meantime; nothing is released"):
        ledger.release(ask(draw=draw), account="a")
    assert kinds(ledger) == ["open", "charge", "failure"]
    assert ledger.release(ask(), account="a").spent.epsilon == 2 * TENTH


@pytest.mark.few(1)
@pytest.mark.processes
def test_processes_killed_over_one_request_see_one_answer_for_one_charge(place: Place, ledger: Book) -> None:
    """Forty processes, three at a time, ask the same and are killed at random; those that live see one value."""
    seen = processes.run("killed_over_one_request", place.url, 40)
    assert len(set(seen["values"])) == 1
    assert min(seen["killed"], seen["drawn"]) >= 9
    assert kinds(ledger) == ["open", "charge", "answer"]
    assert ledger.history("a")[-1].answered[0]["value"] == seen["values"][0]
    assert ledger.verify().whole


def test_no_answer_without_its_charge(sqlite_place: Place) -> None:
    """Somebody puts an older ledger and its anchor, whole in themselves, in their place while noise is drawn."""
    anchor = Path(f"{sqlite_place.file}.anchor")
    with Book(sqlite_place.url) as ledger:
        ledger.open_account("a")
        older = sqlite_place.file.read_bytes(), anchor.read_bytes()

        def draw() -> tuple[Release, ...]:
            for path, content in zip((sqlite_place.file, anchor), older, strict=True):
                path.write_bytes(content)
            return (noise(ask().guarantee),)

        with pytest.raises(LedgerError, match="has lost a charge that was just written; nothing is released"):
            ledger.release(ask(draw=draw), account="a")


@pytest.mark.long
@pytest.mark.processes
def test_five_hundred_kills_lose_nothing(sqlite_place: Place) -> None:
    """A fault that loses something in one of a hundred kills escapes with a probability below 1 %."""
    kills_lose_nothing(sqlite_place.url, 500)


@pytest.mark.long
@pytest.mark.processes
def test_kills_lose_nothing_in_postgresql(postgresql_place: Place) -> None:
    """A fault that loses something in one of twenty kills escapes with a probability below 1 %."""
    kills_lose_nothing(postgresql_place.url, 100)


def kills_lose_nothing(url: str, times: int) -> None:
    toll = processes.run("kills", url, times)
    assert toll["kills"] == times
    assert toll["lost_charges"] == 0
    assert toll["lost_answers"] == 0
    assert toll["whole"]
    # Kills fell where it matters: before, between and after the two commits.
    assert toll["answered"] > times / 10
    assert toll["unanswered"] > times / 100


@pytest.mark.few(1)
@pytest.mark.processes
def test_kills_do_show_charges_acknowledged_too_early(place: Place) -> None:
    assert processes.run("careless_kills", place.url, 300) > 0
