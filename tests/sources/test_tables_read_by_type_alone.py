"""How a row of a table is read, and whether its column is refused, follows from the column's type and its own value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from confide import release
from confide.errors import ColumnError, ConfideError, LabelError, NoRowsError, ParameterError, ScoreError
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from confide.sources.tables import count_table
from confide.tasks.ledger import open_account
from tests.databases import Database, in_file, on_server
from tests.servers import running_server

TERMS: dict[str, Any] = {
    "epsilon": 1,
    "metrics": "recall",
    "threshold": 0.4,
    "neighbours": "add-remove-one",
    "data_name": "heart, version 1",
    "account": "heart",
}
COLUMNS = "SELECT * FROM (VALUES {}) AS given (died, risk)"


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with running_server() as running:
        yield on_server(running.get_uri())


@pytest.fixture
def file(tmp_path: Any) -> Database:
    database = in_file(tmp_path / "heart.db")
    duckdb.connect(database.place).close()
    return database


def counted(database: Database, query: str, *, private: bool = True, positive: object = None) -> dict[float, Any]:
    with open_table(TableLocation.parse(database.url, query=query)) as held:
        found = count_table(held.table, label="died", score="risk", positive=positive, one_class=private).counts
    both = zip(found.positives.tolist(), found.negatives.tolist(), strict=True)
    return dict(zip(found.scores.tolist(), both, strict=True))


def test_decimal_labels_without_digits_are_labels(server: Database) -> None:
    rows = COLUMNS.format("(1::numeric, 0.5::float8), (0, 0.1), (1.00, 0.6)")
    assert counted(server, rows) == {0.5: (1, 0), 0.1: (0, 1), 0.6: (1, 0)}


@pytest.mark.parametrize("third", ["1e-12", "1e60", "1.0000000001", "2"])
def test_any_third_label_is_negative(server: Database, third: str) -> None:
    """Neighbours: the third row has the label 2 or another one."""
    rows = COLUMNS.format(f"(1::numeric, 0.5::float8), (0, 0.1), ({third}, 0.6)")
    assert counted(server, rows, positive="1") == {0.5: (1, 0), 0.1: (0, 1), 0.6: (0, 1)}


def test_a_decimal_label_that_is_no_number_is_missing(server: Database) -> None:
    with pytest.raises(LabelError, match="missing"):
        counted(server, COLUMNS.format("(1::numeric, 0.5::float8), ('NaN', 0.1)"), positive="1")


@pytest.mark.parametrize("private", [True, False])
def test_scores_may_be_true_or_false(server: Database, file: Database, private: bool) -> None:
    rows = COLUMNS.format("(1, true), (0, false)")
    for database in (server, file):
        assert counted(database, rows, private=private) == {1.0: (1, 0), 0.0: (0, 1)}


@pytest.mark.parametrize("kind", ["money", "oid"])
@pytest.mark.parametrize("column", ["died", "risk"])
def test_a_type_is_refused_whether_or_not_there_is_a_row(server: Database, kind: str, column: str) -> None:
    """Under add-remove-one neighbours a query without rows is answered: with one row it must be, too, or neither."""
    values = {"died": "1", "risk": "0.5::float8"} | {column: f"1::{kind}"}
    found = []
    for condition in ("true", "false"):
        query = f"SELECT {values['died']} AS died, {values['risk']} AS risk WHERE {condition}"
        try:
            counted(server, query, positive="1")
            found.append("answered")
        except NoRowsError:
            found.append("answered")
        except ConfideError as error:
            found.append(f"{type(error).__name__}: {error}")
    assert found[0] == found[1]


@pytest.mark.parametrize("private", [True, False])
def test_decimals_keep_their_digits(server: Database, file: Database, private: bool) -> None:
    """DuckDB divides two numbers that it rounded, which takes neighbours for ties: AUC would differ."""
    texts = ["0.09999999999999999", "0.1", "0.30000000000000004", "0.3"]
    values = ", ".join(f"({place % 2}, {text}::decimal(17, 17))" for place, text in enumerate(texts))
    for database in (server, file):
        assert set(counted(database, COLUMNS.format(values), private=private)) == set(map(float, texts))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("union_value(num := 1)::UNION(num INT, str VARCHAR)", "union_value(str := '1')::UNION(num INT, str VARCHAR)"),
        ("[union_value(num := 1)::UNION(num INT, str TEXT)]", "[union_value(str := '1')::UNION(num INT, str TEXT)]"),
        ("1::VARIANT", "'1'::VARIANT"),
        ("{'k': 1::VARIANT}", "{'k': '1'::VARIANT}"),
    ],
)
def test_values_of_several_types_get_no_digest(file: Database, one: str, other: str) -> None:
    """Their texts are the same, so two tables would be taken for one."""
    found: list[bytes | None] = []
    for value in (one, other):
        with open_table(TableLocation.parse(file.url, query=f"SELECT {value} AS note")) as held:
            try:
                found.append(held.digest())
            except ParameterError:
                found.append(None)
    assert found[0] != found[1] or found == [None, None]


@pytest.mark.parametrize("as_view", [True, False])
def test_private_rows_do_not_come_from_files_whose_types_all_rows_decide(
    file: Database, tmp_path: Path, as_view: bool
) -> None:
    """One row that says `maybe` makes all labels texts: `T` would then not be true, in twenty rows."""
    rows = tmp_path / "rows.csv"
    query = f"SELECT * FROM '{rows}'"  # noqa: S608
    rows.write_text("died,risk\n" + "T,0.5\n" * 20 + "false,0.2\n")
    file.run(f"CREATE VIEW scores AS {query}")
    location = TableLocation.parse(file.table_url("scores")) if as_view else TableLocation.parse(file.url, query=query)
    ledger = tmp_path / "ledger.sqlite"
    open_account("heart", epsilon=4, neighbours="add-remove-one", ledger=ledger)
    told = []
    for more in ("", "maybe,0.2\n"):
        rows.write_text(rows.read_text() + more)
        with pytest.raises(ParameterError, match="outside of the database") as caught:
            release(location, label="died", score="risk", positive="true", **TERMS, ledger=ledger)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_text_is_no_score(file: Database) -> None:
    with pytest.raises(ScoreError):
        counted(file, "SELECT 1 AS died, '0.5' AS risk")


@pytest.mark.parametrize(("size", "read"), [("1e-400", 0.0), ("-1e-400", 0.0), ("3e-324", 5e-324), ("1e-320", 1e-320)])
def test_decimals_too_small_for_a_float_are_read_as_the_nearest_one(server: Database, size: str, read: float) -> None:
    """Neighbours: one score is 0.1, or a number that PostgreSQL would not convert."""
    rows = COLUMNS.format(f"(1, 0.5::numeric), (0, {size}::numeric)")
    for private in (True, False):
        assert counted(server, rows, private=private) == {0.5: (1, 0), read: (0, 1)}


def test_decimals_too_large_for_a_float_are_no_finite_numbers(server: Database) -> None:
    for size in ("1e400", "-1e400"):
        with pytest.raises(ScoreError, match="finite number"):
            counted(server, COLUMNS.format(f"(1, 0.5::numeric), (0, {size}::numeric)"))


@pytest.mark.parametrize("third", ["7", "1e400", "-1e400", "1e-400"])
def test_a_third_label_of_any_size_is_not_the_positive_one(server: Database, third: str) -> None:
    rows = COLUMNS.format(f"(1::numeric, 0.5), ({third}::numeric, 0.1), (0::numeric, 0.2)")
    assert counted(server, rows, positive="1") == {0.5: (1, 0), 0.1: (0, 1), 0.2: (0, 1)}


@pytest.mark.parametrize("positive", ["1", "true", True, 1, "TRUE"])
def test_the_positive_label_of_true_and_false_may_be_a_number(
    server: Database, file: Database, positive: object
) -> None:
    rows = COLUMNS.format("(true, 0.5), (false, 0.1)")
    for database in (server, file):
        assert counted(database, rows, positive=positive) == {0.5: (1, 0), 0.1: (0, 1)}


@pytest.mark.parametrize("condition", ["true", "false"])
def test_a_positive_label_that_a_column_cannot_have_is_refused(
    server: Database, file: Database, condition: str
) -> None:
    """By the type of the column, whether or not there is a row."""
    rows = f"SELECT true AS died, 0.5 AS risk WHERE {condition}"
    for database in (server, file):
        with pytest.raises(ParameterError, match="true or false"):
            counted(database, rows, positive="yes")


def test_short_floats_are_spelled_by_their_own_digits(server: Database, file: Database) -> None:
    for database in (server, file):
        rows = COLUMNS.format("(0.1::real, 0.5::float8), (0.2::real, 0.1)")
        assert counted(database, rows, positive="0.1") == {0.5: (1, 0), 0.1: (0, 1)}


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_positive_label_is_refused_whether_or_not_there_is_a_row(
    file: Database, tmp_path: Path, rows: int
) -> None:
    file.run("CREATE TABLE scores AS SELECT 1 AS died, 0.5::DOUBLE AS risk FROM range(2)")
    file.run(f"DELETE FROM scores WHERE rowid >= {rows}")  # noqa: S608
    ledger = tmp_path / "ledger.sqlite"
    open_account("heart", epsilon=4, neighbours="add-remove-one", ledger=ledger)
    with pytest.raises(ParameterError, match="positive label is empty"):
        release(file.table_url("scores"), label="died", score="risk", positive=" ", ledger=ledger, **TERMS)


def test_weights_may_be_true(server: Database, file: Database) -> None:
    query = "SELECT * FROM (VALUES (1, 0.5, true), (0, 0.1, true)) AS given (died, risk, weight)"
    for database in (server, file):
        with open_table(TableLocation.parse(database.url, query=query)) as held:
            counts = count_table(held.table, label="died", score="risk", weight="weight").counts
        assert counts.positives.tolist() == [0, 1]


def test_a_list_of_an_enumeration_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "heart.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE lists AS SELECT ['a']::ENUM('a', 'b')[] AS died, 0.5 AS risk")
    with (
        open_table(TableLocation.parse(f"duckdb:///{path}?table=lists"), private=True) as held,
        pytest.raises(ColumnError, match="neither numbers nor text"),
    ):
        count_table(held.table, label="died", score="risk", positive="a", one_class=True)
