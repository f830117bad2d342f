"""A release from a view hides how many rows it has, as from the query that the view is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from confide import TableLocation, release
from confide.errors import ParameterError
from confide.sources.postgresql_tables import names_view
from confide.tasks.ledger import open_account
from tests.databases import Database, in_file, on_server
from tests.servers import running_server

pytestmark = [pytest.mark.usefixtures("few_simulated_tables")]

COLUMNS: dict[str, list[Any]] = {
    "died": [0, 1] * 50,
    "risk": [n / 100 for n in range(100)],
    "infected": [n % 7 // 6 for n in range(100)],
}


@pytest.fixture(scope="module", params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "duckdb":
        yield filled(in_file(tmp_path_factory.mktemp("duckdb") / "heart.db"))
        return
    with running_server() as server:
        yield filled(on_server(server.get_uri()))


def filled(database: Database) -> Database:
    database.fill("scores", COLUMNS)
    database.run("CREATE VIEW cohort AS SELECT * FROM scores WHERE infected = 1")
    return database


def ask(database: Database, table: str, folder: Path, neighbours: str) -> Any:
    ledger = folder / "ledger.sqlite"
    open_account("heart", epsilon=4, neighbours=neighbours, ledger=ledger)
    return release(
        database.table_url(table),
        label="died",
        score="risk",
        epsilon=1,
        metrics="recall",
        threshold=0.5,
        neighbours=neighbours,
        data_name="heart, version 1",
        ledger=ledger,
        account="heart",
    )


@pytest.mark.few(1)
def test_the_rows_of_a_view_are_not_counted_in_public(database: Database, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="add-remove-one"):
        ask(database, "cohort", tmp_path, "replace-one")


@pytest.mark.parametrize(("table", "neighbours"), [("cohort", "add-remove-one"), ("scores", "replace-one")])
def test_other_releases_are_answered(database: Database, tmp_path: Path, table: str, neighbours: str) -> None:
    assert ("rows" in ask(database, table, tmp_path, neighbours).about) == (table == "scores")


PARTS = (
    "CREATE MATERIALIZED VIEW stored AS SELECT * FROM scores WHERE infected = 1",
    "CREATE TABLE divided (died int, risk float8, infected int) PARTITION BY LIST (infected)",
    "CREATE TABLE infected_yes PARTITION OF divided FOR VALUES IN (1)",
    "CREATE TABLE infected_no PARTITION OF divided FOR VALUES IN (0)",
    "INSERT INTO divided SELECT died, risk, infected FROM scores",
    "CREATE TABLE parent (LIKE scores)",
    "CREATE TABLE child () INHERITS (parent)",
    "INSERT INTO child SELECT * FROM scores",
    "CREATE TABLE hidden AS SELECT * FROM scores",
    "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
    "CREATE FOREIGN DATA WRAPPER nowhere",
    "CREATE SERVER elsewhere FOREIGN DATA WRAPPER nowhere",
    "CREATE FOREIGN TABLE far (died int, risk float8) SERVER elsewhere",
    "CREATE TABLE mixed (died int, risk float8, infected int) PARTITION BY LIST (infected)",
    "CREATE FOREIGN TABLE far_part PARTITION OF mixed FOR VALUES IN (1) SERVER elsewhere",
)
"""Tables of PostgreSQL of which the server itself knows which rows they hold, or that others decide on them."""


@pytest.fixture(scope="module")
def parts() -> Iterator[Database]:
    with running_server() as server:
        found = filled(on_server(server.get_uri()))
        for command in PARTS:
            found.run(command)
        yield found


@pytest.mark.parametrize(("table", "selects"), [("far", True), ("mixed", True), ("divided", False), ("nothing", False)])
def test_rows_on_another_server_are_others_to_decide_on(parts: Database, table: str, selects: bool) -> None:
    """No foreign server runs here, so nothing is read."""
    location = TableLocation.parse(parts.table_url(table))
    with psycopg.connect(host=parts.place, user="postgres", dbname="postgres") as connection:
        assert names_view(connection, location) == selects


@pytest.mark.parametrize("table", ["stored", "infected_yes", "child", "hidden"])
def test_a_part_of_a_table_is_treated_like_a_view(parts: Database, tmp_path: Path, table: str) -> None:
    with pytest.raises(ParameterError, match="add-remove-one"):
        ask(parts, table, tmp_path, "replace-one")


@pytest.mark.parametrize("table", ["scores", "divided", "parent"])
def test_a_whole_table_with_all_its_parts_is_one(parts: Database, tmp_path: Path, table: str) -> None:
    assert "rows" in ask(parts, table, tmp_path, "replace-one").about


class TestNamesInDuckDB:
    """DuckDB takes what stands before the point for a schema, or for the database."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Database:
        found = filled(in_file(tmp_path / "heart.db"))
        found.run("CREATE SCHEMA other")
        found.run("CREATE VIEW other.scores AS SELECT * FROM main.scores WHERE infected = 1")
        return found

    @pytest.mark.few(1)
    @pytest.mark.parametrize("name", ["heart.cohort", "HEART.Cohort", "main.cohort", "Cohort", "other.scores"])
    def test_a_view_is_one_by_every_name(self, file: Database, tmp_path: Path, name: str) -> None:
        with pytest.raises(ParameterError, match="add-remove-one"):
            ask(file, name, tmp_path, "replace-one")

    @pytest.mark.few(1)
    @pytest.mark.parametrize("name", ["heart.scores", "main.scores", "SCORES", "scores"])
    def test_a_table_is_none_though_a_view_elsewhere_has_its_name(
        self, file: Database, tmp_path: Path, name: str
    ) -> None:
        assert ask(file, name, tmp_path, "replace-one").about["rows"] == "100"


def test_rows_that_a_policy_hides_are_not_counted_in_public(tmp_path: Path) -> None:
    with running_server() as server:
        database = filled(on_server(server.get_uri()))
        database.run("ALTER TABLE scores ENABLE ROW LEVEL SECURITY")
        with pytest.raises(ParameterError, match="add-remove-one"):
            ask(database, "scores", tmp_path, "replace-one")
