"""A crowded ledger is as fast as a new one, and answers take padded time."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from confide.errors import LedgerError
from confide.ledger.charging import padded
from confide.ledger.entries import Draft, Kind
from confide.ledger.ledger import Ledger
from tests.ledger.asking import Book, ask
from tests.ledger.places import Place


def fill(ledger: Ledger, charges: int) -> None:
    """Write charges and answers at once: what so many releases leave behind."""
    with ledger._writing() as transaction:
        record = transaction.record("a", lock=True)
        drafts = []
        for number in range(charges):
            charge = {"request": {"n": number}, "guarantee": {"neighbours": "replace-one"}}
            drafts += [
                Draft(kind=Kind.CHARGE, at="then", request=str(charge).replace("'", '"'), request_id=f"id {number}"),
                Draft(
                    kind=Kind.ANSWER,
                    at="then",
                    answer="[]",
                    request_id=f"id {number}",
                    charge=record.sequence + 2 * number + 1,
                ),
            ]
        transaction.write(record.extended(drafts, transaction.key))


def seconds(ledger: Ledger, times: int = 5) -> float:
    """The least time of this process that a release takes."""
    found = []
    for _ in range(times):
        start = time.process_time()
        ledger.release(ask("1/1000"), account="a", question=None)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.few(1)
def test_a_release_costs_the_same_after_many_others(place: Place) -> None:
    """Before, 20,000 entries took 3 seconds for each release."""
    with Book(place.url) as ledger:
        ledger.release(ask())
        few = seconds(ledger)
        fill(ledger, 10_000)
        many = seconds(ledger)
        assert many < 2.5 * few + 0.05
        assert ledger.verify().whole


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM confide_entries WHERE number = 7",
        "UPDATE confide_entries SET text = replace(text, '0', '1') WHERE number = 250",
        "UPDATE confide_heads SET state = replace(state, '\"a\"', '\"b\"') || ' '",
        "UPDATE confide_heads SET number = number - 2",
    ],
)
def test_tampering_with_a_long_account_blocks_releases(place: Place, statement: str) -> None:
    with Book(place.url) as ledger:
        ledger.release(ask())
        fill(ledger, 150)
        assert ledger.verify().whole
        place.execute(statement)
        with pytest.raises(LedgerError):
            ledger.release(ask(bins=2))


def test_an_old_entry_that_was_changed_is_found_when_it_is_read_and_when_all_are_checked(place: Place) -> None:
    with Book(place.url) as ledger:
        ledger.release(ask())
        fill(ledger, 150)
        place.execute("UPDATE confide_entries SET text = replace(text, '1/10', '0') WHERE number = 2")
        assert [check.broken for check in ledger.verify().accounts] == [2]
        with pytest.raises(LedgerError, match="entry 2 is out of place or changed"):
            ledger.release(ask())
        with pytest.raises(LedgerError, match="entry 2 is missing"):
            ledger.history("a")


@pytest.mark.parametrize("hide", ["topic = NULL", "topic = 'another'", "text = replace(text, 'charge', 'other')"])
def test_an_answer_that_was_hidden_is_not_drawn_again(place: Place, hide: str) -> None:
    """The sealed state says that the charge has its outcome, however old it is."""
    with Book(place.url) as ledger:
        ledger.release(ask())
        fill(ledger, 150)
        place.execute(f"UPDATE confide_entries SET {hide} WHERE number = 3")  # noqa: S608
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"entry 2 is missing|entry 3 is out of place or changed"):
                ledger.release(ask(draw=lambda: pytest.fail("noise was drawn for a charge that has its answer")))


def test_an_index_that_hides_answers_does_not_help(sqlite_place: Place) -> None:
    with Book(sqlite_place.url) as ledger:
        ledger.release(ask())
        sqlite_place.execute("DROP INDEX confide_entries_topic")
        sqlite_place.execute("CREATE INDEX confide_entries_topic ON confide_entries (chain, topic) WHERE number < 3")
        with pytest.raises(LedgerError, match="triggers, rules or indexes"):
            ledger.release(ask())


TRIGGERS = {
    "sqlite": [
        "CREATE TRIGGER undo AFTER UPDATE ON confide_meta BEGIN DELETE FROM confide_entries WHERE number > 1; END"
    ],
    "postgresql": [
        "CREATE FUNCTION undo() RETURNS trigger AS 'BEGIN DELETE FROM confide_entries WHERE number > 1; "
        "RETURN NULL; END' LANGUAGE plpgsql",
        "CREATE TRIGGER undo AFTER UPDATE ON confide_meta FOR EACH STATEMENT EXECUTE FUNCTION undo()",
    ],
}


def test_a_trigger_that_undoes_charges_is_refused(place: Place) -> None:
    with Book(place.url) as ledger:
        ledger.open_account("a", epsilon=1)
        for statement in TRIGGERS[place.kind]:
            place.execute(statement)
        with pytest.raises(LedgerError, match="triggers, rules or indexes"):
            ledger.release(ask())


def test_what_is_not_kept_is_not_committed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the trigger itself is not seen, it is seen that what was written is gone."""
    with Book(place.url) as ledger:
        ledger.open_account("a", epsilon=1)
        for statement in TRIGGERS[place.kind]:
            place.execute(statement)
        monkeypatch.setattr(type(ledger._store), "has_strange_objects", lambda self, connection: False)
        with pytest.raises(LedgerError, match="does not keep what is written"):
            ledger.release(ask())


def test_two_outcomes_of_one_charge_are_found(place: Place) -> None:
    with Book(place.url) as ledger:
        ledger.release(ask())
        with ledger._writing() as transaction:
            record = transaction.record("a", lock=True)
            second = Draft(kind=Kind.ANSWER, at="then", answer="[]", charge=2)
            with pytest.raises(LedgerError, match="two outcomes of one charge"):
                record.extended([second], transaction.key)


def test_a_charge_removed_from_the_total_is_found(place: Place) -> None:
    """The total is sealed: who sets it back needs the key, and a total that does not add up is found with it."""
    with Book(place.url) as ledger:
        ledger.release(ask("1/2"))
        state, *_ = place.execute("SELECT state FROM confide_heads")[0]
        assert '"1/2"' in state
        place.execute("UPDATE confide_heads SET state = :state", state=state.replace('"1/2"', '"0"'))
        assert not ledger.verify().whole
        with pytest.raises(LedgerError, match="record as the last one"):
            ledger.release(ask(bins=2))


def test_a_removed_ledger_is_missed_though_its_key_is_elsewhere(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key in the environment nothing but the anchor tells that there was a ledger."""
    monkeypatch.setenv("CONFIDE_LEDGER_KEY", "ab" * 32)
    with Book(sqlite_place.url) as ledger:
        ledger.open_account("a", epsilon=1)
        ledger.release(ask(1))
    assert not sqlite_place.key.exists()
    sqlite_place.file.unlink()
    with Book(sqlite_place.url) as ledger:
        for attempt in (
            lambda: ledger.open_account("a", epsilon=1),
            lambda: ledger.release(ask()),
            lambda: ledger.quote(ask()),
            ledger.accounts,
        ):
            with pytest.raises(LedgerError, match=r"is not there, but .*\.anchor' says that it was made"):
                attempt()
    assert not sqlite_place.file.exists()


def test_an_anchor_that_is_gone_comes_back(sqlite_place: Place) -> None:
    anchor = Path(f"{sqlite_place.file}.anchor")
    with Book(sqlite_place.url) as ledger:
        ledger.release(ask())
        anchor.unlink()
        ledger.release(ask(bins=2))
    assert "account:a" in anchor.read_text()


def test_answers_take_whole_steps_also_where_drawing_fails(sqlite_place: Place) -> None:
    def failing() -> Any:
        raise RuntimeError("no noise")

    with Ledger(sqlite_place.url, padding=0.2) as ledger:
        ledger.open_account("a", epsilon=100)

        def beyond_a_step(draw: Any) -> float:
            """Return by how much more than whole steps an answer takes."""
            start = time.perf_counter()
            with suppress(RuntimeError):
                ledger.release(ask(draw=draw), account="a", question=None)
            spent = time.perf_counter() - start
            assert spent >= 0.2
            return spent % 0.2

        for draw in (None, failing):
            # Machines are noisy: this fails only if one stands still for half a step in each of fifty attempts.
            assert any(beyond_a_step(draw) < 0.1 for _ in range(50))
        assert Ledger(sqlite_place.url)._padding == 0.25


def test_padding_does_not_shorten() -> None:
    start = time.perf_counter()
    with padded(0.05):
        time.sleep(0.06)
    assert time.perf_counter() - start >= 0.1
