"""Groups, clusters and folds of a table are named as the database prints them, whatever their type."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest

from confide import evaluate
from confide.errors import ColumnError, DataError, LabelError
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from confide.sources.rows import RowColumns, Rows, group_name
from confide.sources.tables import count_table, table_rows
from tests.databases import Database, in_file, on_server
from tests.servers import running_server
from tests.sources.refusals import refused


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with running_server() as running:
        yield on_server(running.get_uri())


@pytest.fixture
def file(tmp_path: Any) -> Database:
    database = in_file(tmp_path / "heart.db")
    database.run("CREATE TABLE nothing (a int)")
    return database


def read(database: Database, values: list[str], *, role: str = "groups") -> Rows:
    """Read rows whose column `kind` has these values, written in SQL, each for a row of either class."""
    rows = ", ".join(
        f"({label}, {place + label / 3}::float8, {value})" for place, value in enumerate(values) for label in (0, 1)
    )
    location = TableLocation.parse(database.url, query=f"SELECT * FROM (VALUES {rows}) AS v (died, risk, kind)")  # noqa: S608
    chosen: Any = {"groups": ("kind",)} if role == "groups" else {role: "kind"}
    with open_table(location) as held:
        return table_rows(held.table, RowColumns(label="died", scores=("risk",), **chosen))


def names(rows: Rows) -> list[str]:
    return [name for name, _ in rows.groupings[0].members()]


def test_decimals_without_a_scale_have_their_own_digits(server: Database) -> None:
    values = [
        "1.5::numeric",
        "2",
        "1.0000000001",
        "0.000000000001",
        "12345678901234567890123456789012345678901",
        "-7.25",
    ]
    wanted = ["-7.25", "0.000000000001", "1.0000000001", "1.5", "2", "12345678901234567890123456789012345678901"]
    assert names(read(server, values)) == wanted
    for role in ("cluster", "fold"):
        rows = read(server, values, role=role)
        codes = rows.clusters if role == "cluster" else rows.folds
        assert codes is not None
        assert len(set(codes.tolist())) == len(values)


def test_equal_decimals_are_one_group(server: Database) -> None:
    rows = read(server, ["1::numeric", "1.0", "1.00", "100", "100.0"])
    assert names(rows) == ["1", "100"]
    assert [int(chosen.sum()) for _, chosen in rows.groupings[0].members()] == [6, 4]


def test_every_source_names_decimals_of_a_fixed_scale_alike(server: Database, file: Database) -> None:
    wanted = ["0.0000000001", "1.5000000000", "2.0000000000"]
    values = [f"{text}::decimal(18, 10)" for text in ("1.5", "2", "0.0000000001")]
    for database in (server, file):
        assert names(read(database, values)) == wanted
    decimals = [Decimal(text) for text in wanted for _ in (0, 1)]
    frames = (
        pl.DataFrame(
            {"died": [0, 1] * 3, "risk": [0.1, 0.2] * 3, "kind": pl.Series(decimals, dtype=pl.Decimal(18, 10))}
        ),
        pd.DataFrame({"died": [0, 1] * 3, "risk": [0.1, 0.2] * 3, "kind": decimals}),
    )
    for frame in frames:
        found = evaluate(frame, label="died", score="risk", group="kind", replicates=0)
        assert [group.group for group in found.groups] == wanted
    assert group_name(Decimal("1E-10")) == "0.0000000001"


def test_a_decimal_that_is_no_number_is_missing(server: Database) -> None:
    values = ["1::numeric", "'NaN'", "NULL"]
    assert names(read(server, values)) == ["1", "(missing)"]
    with refused(DataError, says="clusters are missing"):
        read(server, values, role="cluster")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("'10.0.0.1'::inet", "10.0.0.1/32"),
        ("int4range(1, 5)", "[1,5)"),
        ("point(1, 2)", "(1,2)"),
        ("7::oid", "7"),
    ],
)
def test_types_that_python_does_not_have_are_named_by_their_text(server: Database, value: str, name: str) -> None:
    assert names(read(server, [value, value])) == [name]
    assert read(server, [value, value], role="cluster").clusters is not None


def test_a_column_of_decimal_arrays_harms_no_other(server: Database) -> None:
    query = "SELECT i % 2 AS died, i::float8 AS risk, ARRAY[0.5, i] AS doses FROM generate_series(1, 9) AS s (i)"
    with open_table(TableLocation.parse(server.url, query=query)) as held:
        assert count_table(held.table, label="died", score="risk").rows == 9
        assert count_table(held.table, label="died", score="risk", one_class=True).rows == 9


@pytest.mark.parametrize("kind", ["numeric", "decimal(9, 2)"])
def test_decimal_labels_are_read_by_their_digits(server: Database, file: Database, kind: str) -> None:
    databases = (server, file) if "(" in kind else (server,)
    for database in databases:
        query = f"SELECT * FROM (VALUES (0.50::{kind}, 0.1::float8), (1.5, 0.2), (1.5, 0.3)) AS v (died, risk)"  # noqa: S608
        with open_table(TableLocation.parse(database.url, query=query)) as held:
            counts = count_table(held.table, label="died", score="risk", positive="1.5").counts
        assert counts.positives.tolist() == [0, 1, 1]


def test_a_decimal_label_that_is_no_number_is_refused_as_missing(server: Database) -> None:
    query = "SELECT * FROM (VALUES (0::numeric, 0.1::float8), (1, 0.2), ('NaN', 0.3)) AS v (died, risk)"
    with refused(LabelError, says="column 'died': some labels are missing"):
        evaluate(TableLocation.parse(server.url, query=query), label="died", score="risk")


LABEL_TYPES = {
    "duckdb": ["{'a': 1}", "[1, 2]", "interval 1 day", "'101'::BIT", "MAP {'a': 1}", "'x'::BLOB", "DATE '2026-01-02'"],
    "postgresql": ["'{}'::json", "'{}'::jsonb", "ARRAY[1]", "'10.0.0.1'::inet", "point(1, 2)", "DATE '2026-01-02'"],
}


@pytest.mark.parametrize("engine", LABEL_TYPES)
def test_labels_of_other_types_are_refused_by_the_type(server: Database, file: Database, engine: str) -> None:
    database = server if engine == "postgresql" else file
    for value in LABEL_TYPES[engine]:
        for rows in ("true", "false"):
            query = f"SELECT {value} AS died, 0.5::float8 AS risk WHERE {rows}"
            with refused(ColumnError, says="neither numbers nor text nor true/false"):
                evaluate(TableLocation.parse(database.url, query=query), label="died", score="risk")


def test_infinite_labels_are_labels_like_others() -> None:
    with refused(LabelError, says="not 0/1"):
        evaluate([float("inf"), 0.0], [0.1, 0.5])
    assert evaluate([float("inf"), 0.0], [0.5, 0.1], positive=float("inf"), replicates=0).models[0].auc.value == 1.0
