# ruff: noqa: S608  # the statements are made here
"""Whatever is changed behind the ledger's back is found, and blocks releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from confide.errors import LedgerError
from confide.ledger.entries import seal
from tests.ledger.asking import Book, ask
from tests.ledger.places import TABLES, Place

ROWS = {
    "confide_meta": ("name", "value"),
    "confide_heads": ("account", "sequence", "hash", "state", "seal"),
    "confide_entries": (
        *("account", "sequence", "kind", "at", "analyst", "epsilon", "delta"),
        *("request", "request_id", "data", "answer", "charge", "previous", "hash"),
    ),
}
KEYS = {"confide_meta": ("name",), "confide_heads": ("account",), "confide_entries": ("account", "sequence")}
NULLABLE = {"analyst", "request_id", "data", "answer", "charge"}


@pytest.fixture
def used(place: Place) -> Place:
    """A ledger with two accounts and every kind of entry."""
    with Book(place.url) as ledger:
        for account in ("a", "b"):
            ledger.open_account(account, epsilon=2, analysts={"ana": 1})
            ledger.release(ask(n=1), account=account, analyst="ana")
            ledger.change_caps(account, epsilon=3)
        ledger.release(ask(n=2), account="a", analyst="bob")
    return place


def found(ledger: Book) -> bool:
    """Whether `verify` sees that something is wrong."""
    try:
        return not ledger.verify().whole
    except LedgerError:
        return True


def refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except LedgerError:
        return True
    return False


def blocked(ledger: Book, account: str) -> bool:
    """Whether an account gives neither a new answer nor a stored one."""
    return all(refused(lambda n=n: ledger.release(ask(n=n), account=account, analyst="ana")) for n in (3, 1))  # type: ignore[misc]


def closed(ledger: Book, account: str) -> bool:
    """Whether an account gives nothing at all any more, and cannot be opened anew."""
    return (
        blocked(ledger, account)
        and refused(lambda: ledger.quote(ask(n=3), account=account, analyst="ana"))
        and refused(lambda: ledger.change_caps(account, epsilon=100))
        and refused(lambda: ledger.history(account))
        and refused(lambda: ledger.account(account))
        and refused(lambda: ledger.open_account(account))
    )


def changes(column: str, value: object) -> Iterator[object]:
    """Other values for a cell."""
    if isinstance(value, int):
        yield value + 100
    elif isinstance(value, str):
        yield value + "x"
        yield value[:-1]
        if column in ("epsilon", "delta"):
            yield "0" if value != "0" else "1"
            yield "2/20"
    else:
        yield 1 if column == "charge" else "x"
    if value is not None and column in NULLABLE:
        yield None


def cells(place: Place) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for table, columns in ROWS.items():
        for row in place.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            for column in columns:
                yield table, column, dict(zip(columns, row, strict=True))


def test_the_columns_are_all_there(used: Place) -> None:
    from confide.ledger.transaction import SCHEMA

    assert {name: tuple(table.columns.keys()) for name, table in SCHEMA.tables.items()} == ROWS
    assert set(ROWS) == set(TABLES)


@pytest.mark.few(1)
def test_every_changed_cell_is_found_and_blocks(used: Place, ledger: Book) -> None:
    assert not found(ledger)
    written, tried = used.dump(), 0
    for table, column, row in list(cells(used)):
        for value in changes(column, row[column]):
            if value == row[column]:
                continue
            before = {key: row[key] for key in KEYS[table]}
            update(used, table, column, value, before)
            what = f"{table}.{column} of {before} changed to {value!r}"
            assert found(ledger), what
            assert blocked(ledger, str(row.get("account", "a"))), what
            update(used, table, column, row[column], {**before, **({column: value} if column in before else {})})
            tried += 1
    assert tried > 150
    assert used.dump() == written  # refusals wrote nothing
    assert not found(ledger)
    assert not ledger.release(ask(n=3), account="a", analyst="ana").reused  # or the refusals would show nothing


def update(place: Place, table: str, column: str, value: object, where: dict[str, Any]) -> None:
    condition = " AND ".join(f"{key} = :where_{key}" for key in where)
    place.execute(
        f"UPDATE {table} SET {column} = :value WHERE {condition}",
        value=value,
        **{f"where_{key}": one for key, one in where.items()},
    )


LAST = 6  # of account a: open, charge, answer, cap, charge, answer

STATEMENTS = {
    "delete the last entry": [f"DELETE FROM confide_entries WHERE account = 'a' AND sequence = {LAST}"],
    "delete the last entry, and say that the one before was last": [
        f"DELETE FROM confide_entries WHERE account = 'a' AND sequence = {LAST}",
        f"UPDATE confide_heads SET sequence = {LAST - 1}, hash = (SELECT hash FROM confide_entries WHERE account = 'a' "
        f"AND sequence = {LAST - 1}) WHERE account = 'a'",
    ],
    "delete a middle entry": ["DELETE FROM confide_entries WHERE account = 'a' AND sequence = 2"],
    "delete a middle entry and close the gap": [
        "DELETE FROM confide_entries WHERE account = 'a' AND sequence = 2",
        *(
            f"UPDATE confide_entries SET sequence = {number - 1} WHERE account = 'a' AND sequence = {number}"
            for number in range(3, LAST + 1)
        ),
        f"UPDATE confide_heads SET sequence = {LAST - 1} WHERE account = 'a'",
    ],
    "swap two entries": [
        "UPDATE confide_entries SET sequence = 99 WHERE account = 'a' AND sequence = 2",
        "UPDATE confide_entries SET sequence = 2 WHERE account = 'a' AND sequence = 5",
        "UPDATE confide_entries SET sequence = 5 WHERE account = 'a' AND sequence = 99",
    ],
    "delete the head": ["DELETE FROM confide_heads WHERE account = 'a'"],
    "delete all entries": ["DELETE FROM confide_entries WHERE account = 'a'"],
    "delete the account": [
        "DELETE FROM confide_entries WHERE account = 'a'",
        "DELETE FROM confide_heads WHERE account = 'a'",
    ],
    "delete everything": ["DELETE FROM confide_entries", "DELETE FROM confide_heads"],
    "rename the account": [
        "UPDATE confide_entries SET account = 'c' WHERE account = 'a'",
        "UPDATE confide_heads SET account = 'c' WHERE account = 'a'",
    ],
    "exchange two accounts": [
        "UPDATE confide_entries SET account = 'c' WHERE account = 'a'",
        "UPDATE confide_entries SET account = 'a' WHERE account = 'b'",
        "UPDATE confide_entries SET account = 'b' WHERE account = 'c'",
    ],
    "add an account": ["INSERT INTO confide_heads VALUES ('c', 1, 'x', 'x', 'x')"],
    "add an entry": [
        "INSERT INTO confide_entries SELECT account, 7, kind, at, analyst, epsilon, delta, request, request_id, data, "
        "answer, charge, previous, hash FROM confide_entries WHERE account = 'a' AND sequence = 6"
    ],
    "move an answer to the other account": [
        "INSERT INTO confide_entries SELECT 'a', 7, kind, at, analyst, epsilon, delta, request, request_id, data, "
        "answer, charge, previous, hash FROM confide_entries WHERE account = 'b' AND sequence = 3"
    ],
    "forget the register": ["DELETE FROM confide_meta WHERE name = 'register'"],
    "forget everything about the ledger": ["DELETE FROM confide_meta"],
    "drop the entries": ["DROP TABLE confide_entries"],
    "drop the heads": ["DROP TABLE confide_heads"],
    "drop what is known about the ledger": ["DROP TABLE confide_meta"],
}


@pytest.mark.few(6)
@pytest.mark.parametrize("what", STATEMENTS)
def test_entries_cannot_be_moved_added_or_removed(used: Place, ledger: Book, what: str) -> None:
    for statement in STATEMENTS[what]:
        used.execute(statement)
    assert found(ledger)
    assert closed(ledger, "a")


def test_an_older_state_of_one_account_cannot_be_put_back(place: Place, ledger: Book) -> None:
    """Its own head was sealed once; the other accounts tell that time went on."""
    ledger.open_account("a", epsilon=2)
    ledger.open_account("b", epsilon=2)
    columns = "sequence, hash, state, seal"
    before = place.execute(f"SELECT {columns} FROM confide_heads WHERE account = 'a'")[0]
    ledger.release(ask("1"), account="a")
    assert ledger.verify().whole
    place.execute(
        "UPDATE confide_heads SET sequence = :sequence, hash = :hash, state = :state, seal = :seal WHERE account = 'a'",
        **dict(zip(columns.split(", "), before, strict=True)),
    )
    place.execute(f"DELETE FROM confide_entries WHERE account = 'a' AND sequence > {before[0]}")
    assert found(ledger)
    assert closed(ledger, "a")


def test_verify_names_the_account_and_the_first_broken_entry(used: Place) -> None:
    used.execute("UPDATE confide_entries SET epsilon = '1/1000' WHERE account = 'a' AND sequence IN (2, 5)")
    with Book(used.url) as ledger:
        a, b = ledger.verify().accounts
        assert (a.account, a.broken, a.whole, a.entries) == ("a", 2, False, LAST)
        assert (b.account, b.broken, b.whole) == ("b", None, True)
        with pytest.raises(LedgerError, match=r"account 'a'.*entry 2.*confide ledger verify"):
            ledger.release(ask(n=3), account="a", analyst="ana")
        # The other account is whole, and goes on.
        assert not ledger.release(ask(n=3), account="b", analyst="ana").reused


def test_what_is_no_text_is_found(sqlite_place: Place) -> None:
    """SQLite keeps anything in any column."""
    with Book(sqlite_place.url) as ledger:
        ledger.release(ask(), account="a")
    whole = sqlite_place.file.read_bytes()
    for column in ROWS["confide_entries"]:
        for value in ("x'00ff'", "1.5", "CAST(x'ff' AS TEXT)"):
            sqlite_place.execute(f"UPDATE confide_entries SET {column} = {value} WHERE sequence = 2")
            with Book(sqlite_place.url) as ledger:
                assert found(ledger), (column, value)
                assert blocked(ledger, "a"), (column, value)
            sqlite_place.file.write_bytes(whole)
    with Book(sqlite_place.url) as ledger:
        assert not found(ledger)


def test_no_two_lists_of_parts_are_sealed_alike() -> None:
    lists: list[tuple[str | int | bytes | None, ...]] = [
        *((), ("",), (None,), (0,), ("0",), (b"0",), ("n",), ("", ""), (None, None)),
        *(("a", "b"), ("ab",), ("ab", ""), ("", "ab"), ("a", "b", ""), ("s1:b",), ("a", "s1:b")),
    ]
    seals = {seal(bytes(32), purpose, *parts) for purpose in ("entry", "head") for parts in lists}
    assert len(seals) == 2 * len(lists)
    assert seal(bytes(32), "entry", "a") != seal(bytes(31) + b"1", "entry", "a")
