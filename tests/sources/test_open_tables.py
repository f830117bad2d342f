"""Tables of real databases: one snapshot, no leave to write, the same integers as arrays, and discreet errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from confide import ScoreCounts, evaluate
from confide.errors import ColumnError, ConfideError, ParameterError, UsageError
from confide.grid import Grid
from confide.intervals import compare_auc, rank_summary
from confide.sources import rank_tables
from confide.sources.engine_tables import fetch_rows
from confide.sources.locations import TableLocation
from confide.sources.open_tables import open_table
from confide.sources.tables import count_cells, count_table
from tests.databases import Database, in_file, on_server
from tests.servers import running_server

pytestmark = [
    # After an error in a savepoint psycopg cannot close the cursor that Ibis declared there, and warns.
    pytest.mark.filterwarnings("ignore:.*ServerCursor.*:pytest.PytestUnraisableExceptionWarning"),
]

RNG = np.random.default_rng(5)
ROWS = 700
LABELS = (RNG.random(ROWS) < 0.3).astype(int)
EDGES = np.array([-0.5, 0.1, 0.30000000000000004, 1 / 3, 0.7, 1.0])
SCORES = np.concatenate(
    [EDGES, np.nextafter(EDGES, -np.inf), np.nextafter(EDGES, np.inf), RNG.normal(0.4, 0.5, ROWS - 3 * EDGES.size)]
)
COLUMNS = {"died": LABELS.tolist(), "risk": SCORES.tolist(), "note": [f"p{n % 9}" for n in range(ROWS)]}
PRIVATE: dict[str, Any] = {"label": "died", "score": "risk", "one_class": True}


@pytest.fixture(scope="module", params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "duckdb":
        filled = in_file(tmp_path_factory.mktemp("duckdb") / "heart.db")
        filled.fill("scores", COLUMNS)
        yield filled
        return
    with running_server() as server:
        filled = on_server(server.get_uri())
        filled.fill("scores", COLUMNS)
        yield filled


def located(database: Database, table: str = "scores") -> TableLocation:
    return TableLocation.parse(database.table_url(table))


def queried(database: Database, query: str) -> TableLocation:
    return TableLocation.parse(database.url, query=query)


@pytest.mark.few(1)
def test_many_distinct_scores_are_ranked_in_the_snapshot(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of scores travel with the queries: a read-only transaction has no room for temporary tables."""
    monkeypatch.setattr(rank_tables, "MOST_SCORES", 50)
    monkeypatch.setattr(rank_tables, "STREAMED_ROWS", 100)
    found = evaluate(located(database), label="died", score="risk", replicates=0)
    wanted = rank_summary(LABELS, SCORES)
    assert found.models[0].auc.value == wanted.auc
    assert found.models[0].average_precision.value == pytest.approx(wanted.average_precision, rel=1e-12)
    assert "within 0.00002" in found.assumptions[-1]
    with open_table(queried(database, "SELECT *, risk * risk AS square FROM scores")) as held:
        compared = compare_auc(held.table, "risk", "square", label="died")
    assert compared.difference == pytest.approx(compare_auc(LABELS, SCORES, SCORES * SCORES).difference, abs=1e-15)


def test_counts_are_those_of_arrays(database: Database) -> None:
    wanted = ScoreCounts.from_arrays(LABELS, SCORES)
    with open_table(located(database)) as held:
        assert count_table(held.table, label="died", score="risk").counts == wanted
        assert count_table(held.table, **PRIVATE).counts == wanted
    with open_table(queried(database, "SELECT risk, died FROM scores -- all\n;")) as held:
        assert count_table(held.table, **PRIVATE).counts == wanted


@pytest.mark.parametrize("edges", [EDGES, np.array([0.1, 0.2]), np.unique(np.sort(SCORES))[::7]])
def test_cells_are_counted_in_the_engine_as_on_arrays(database: Database, edges: NDArray[np.float64]) -> None:
    grid = Grid(edges)
    wanted = np.zeros((2, len(grid)), dtype=np.int64)
    np.add.at(wanted, (1 - LABELS, grid.cells(SCORES)), 1)
    with open_table(located(database)) as held:
        found = count_cells(held.table, label="died", score="risk", positive=None, edges=grid.edges)
    table = np.zeros_like(wanted)
    table[:, grid.cells(found.scores)] = found.positives, found.negatives
    assert (table == wanted).all()
    assert len(found) == (wanted.sum(axis=0) > 0).sum()


@pytest.mark.few(1)
def test_the_digest_is_that_of_the_rows_alone(database: Database) -> None:
    def digest(table: str) -> bytes:
        with open_table(located(database, table)) as held:
            return held.digest()

    first = digest("scores")
    order = RNG.permutation(ROWS)
    shuffled = {name: [values[place] for place in order] for name, values in COLUMNS.items()}
    database.fill("other", shuffled)
    assert digest("other") == first
    changes = {
        "another note": {**COLUMNS, "note": ["p99", *COLUMNS["note"][1:]]},
        "a row twice": {name: [*values, values[0]] for name, values in COLUMNS.items()},
        "a row less": {name: values[1:] for name, values in COLUMNS.items()},
        "two values exchanged": {**COLUMNS, "died": [int(1 - LABELS[0]), *COLUMNS["died"][1:]]},
        "a missing text": {**COLUMNS, "note": [*COLUMNS["note"][:-1], None]},
        "an empty text": {**COLUMNS, "note": [*COLUMNS["note"][:-1], ""]},
        "another name": {"died": COLUMNS["died"], "risk": COLUMNS["risk"], "remark": COLUMNS["note"]},
    }
    found = {first}
    for name, columns in changes.items():
        database.fill("other", columns)
        found.add(digest("other"))
        assert len(found) == 2 + list(changes).index(name), name


def test_texts_that_are_joined_otherwise_have_another_digest(database: Database) -> None:
    found = []
    for left, right in (("a", "bc"), ("ab", "c"), ('a"', "bc"), ("a,b", "c"), ("a", "b,c"), ("1:a", "b")):
        database.fill("other", {"one": [left], "two": [right]})
        with open_table(located(database, "other")) as held:
            found.append(held.digest())
    assert len(set(found)) == len(found)


def test_all_queries_of_a_request_see_one_moment(database: Database) -> None:
    database.fill("moving", COLUMNS)
    with open_table(located(database, "moving")) as held:
        before, counts = held.digest(), count_table(held.table, **PRIVATE)
        if database.engine == "postgresql":  # DuckDB lets nobody write while a file is read
            database.run("DELETE FROM moving WHERE died = 1")
        else:
            with pytest.raises(duckdb.Error):
                database.run("DELETE FROM moving WHERE died = 1")
        assert held.digest() == before
        assert count_table(held.table, **PRIVATE) == counts
    database.run("DELETE FROM moving WHERE died = 1")
    with open_table(located(database, "moving")) as held:
        assert count_table(held.table, **PRIVATE).counts.total_positives == 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM scores RETURNING died, risk",
        "SELECT 1 AS died; DROP TABLE scores",
        "SELECT 1 AS died) AS x; DROP TABLE scores; SELECT * FROM (SELECT 1 AS died",
        "SELECT died, risk FROM scores WHERE",
        "SELECT died, secretcolumn FROM scores",
    ],
)
def test_a_query_that_is_no_single_select_is_refused(database: Database, query: str) -> None:
    with pytest.raises(ConfideError) as caught, open_table(queried(database, query)):
        pass
    assert isinstance(caught.value, UsageError)
    assert caught.value.__context__ is None
    with open_table(located(database)) as held:
        assert count_table(held.table, **PRIVATE).rows == ROWS


def test_a_function_that_writes_cannot(database: Database) -> None:
    if database.engine == "duckdb":
        pytest.skip("DuckDB has no functions that write")
    database.run(
        "CREATE OR REPLACE FUNCTION takes_all() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN DELETE FROM scores; RETURN 1; END $$"
    )
    with pytest.raises(ConfideError), open_table(queried(database, "SELECT takes_all() AS died, 0.5 AS risk")) as held:
        count_table(held.table, **PRIVATE)
    with open_table(located(database)) as held:
        assert count_table(held.table, **PRIVATE).rows == ROWS


def test_columns_of_one_name_are_refused(database: Database) -> None:
    query = "SELECT a.died, b.died, a.risk FROM scores AS a JOIN scores AS b ON a.risk = b.risk"
    if database.engine == "duckdb":  # which gives the second another name
        with open_table(queried(database, query)) as held:
            assert len(set(held.table.columns)) == 3
        return
    with pytest.raises(ColumnError, match="two columns 'died'"), open_table(queried(database, query)):
        pass


def test_no_error_quotes_a_value(database: Database) -> None:
    with (
        pytest.raises(ConfideError) as caught,
        open_table(queried(database, "SELECT died, CAST(note AS double precision) AS risk FROM scores")) as held,
    ):
        count_table(held.table, **PRIVATE)
    assert "p0" not in str(caught.value)
    assert caught.value.__context__ is None
    with (
        pytest.raises(ConfideError) as caught,
        open_table(queried(database, "SELECT CAST(note AS int) AS n FROM scores")) as held,
    ):
        fetch_rows(held.table)
    assert "p0" not in str(caught.value)


def test_labels_are_compared_byte_by_byte(database: Database) -> None:
    """Under a collation that takes two spellings for one, the first row would decide how all are read."""
    database.run("DROP TABLE IF EXISTS spelled")
    if database.engine == "duckdb":
        database.run("CREATE TABLE spelled (outcome text COLLATE nocase, risk double)")
    else:
        try:
            database.run("CREATE EXTENSION IF NOT EXISTS citext")
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server has neither citext nor ICU")
        database.run("CREATE TABLE spelled (outcome citext, risk double precision)")
    for first, second in (("poor", "POOR"), ("POOR", "poor")):
        database.run("DELETE FROM spelled")
        database.run(f"INSERT INTO spelled VALUES ('{first}', 0.1), ('{second}', 0.2)")  # noqa: S608
        with open_table(located(database, "spelled")) as held:
            counts = count_table(held.table, label="outcome", score="risk", positive="poor", one_class=True).counts
        assert counts.positives.tolist() == [int(first == "poor"), int(second == "poor")]


def test_other_types_of_labels_and_scores_are_read(database: Database) -> None:
    database.run("DROP TABLE IF EXISTS typed")
    database.run("CREATE TABLE typed (flag boolean, padded char(6), exact decimal(9, 4), small real, day date)")
    database.run(
        "INSERT INTO typed VALUES (true, 'Poor', 0.1234, 0.5, '2026-01-02'), (false, 'Good', 0.2, 0.25, '2026-01-03')"
    )
    with open_table(located(database, "typed")) as held:
        for label, positive in (("flag", None), ("padded", "Poor")):
            for score, wanted in (("exact", [0.1234, 0.2]), ("small", [0.25, 0.5])):
                counts = count_table(held.table, label=label, score=score, positive=positive, one_class=True).counts
                assert counts.scores.tolist() == wanted
                assert counts.total_positives == 1
        with pytest.raises(ConfideError, match="neither numbers nor text"):
            count_table(held.table, label="day", score="small", one_class=True)


def test_what_is_not_there_is_refused_with_the_next_step(database: Database, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"), open_table(located(database, "score")):
        pass
    (tmp_path / "text.db").write_text("no database " * 600)
    for url, words in (
        ("duckdb:///gone.db?table=scores", "absolute after four slashes"),
        (f"duckdb:///{tmp_path}/text.db?table=scores", "database of DuckDB"),
        (f"postgresql:///x/scores?host={tmp_path}", "no server has a socket in this folder"),
    ):
        with pytest.raises(ConfideError, match=words), open_table(TableLocation.parse(url)):
            pass


def test_a_user_without_rights_is_told_so(database: Database) -> None:
    if database.engine == "duckdb":
        pytest.skip("DuckDB has no users")
    database.run("DROP ROLE IF EXISTS ana")
    database.run("CREATE ROLE ana LOGIN")
    url = database.table_url("scores").replace("postgres@", "ana@")
    with pytest.raises(UsageError, match="grant SELECT"), open_table(TableLocation.parse(url)):
        pass
    database.run("GRANT SELECT ON scores TO ana")
    with open_table(TableLocation.parse(url)) as held:
        assert count_table(held.table, **PRIVATE).rows == ROWS


def test_a_connection_that_breaks_is_our_error(database: Database) -> None:
    if database.engine == "duckdb":
        pytest.skip("a file has no connection")
    with pytest.raises(ConfideError) as caught, open_table(located(database)) as held:  # noqa: PT012
        ended(database)
        held.digest()
    assert caught.value.__context__ is None
    assert not isinstance(caught.value, ParameterError)


def ended(database: Database) -> None:
    """End all connections of confide."""
    with psycopg.connect(host=database.place, user="postgres", dbname="postgres", autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'confide'")


def test_a_file_beside_the_database_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB would read the file `scores.csv` where a table of that name is missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text("died,risk\n1,0.5\n0,0.1\n")
    database = in_file(tmp_path / "heart.db")
    database.fill("people", COLUMNS)
    with pytest.raises(UsageError, match=r"no table 'scores\.csv'"), open_table(located(database, "scores.csv")):
        pass


def test_tables_and_labels_may_have_any_name(database: Database) -> None:
    for table in ("confide_rows", '"rows of confide"'):
        database.run(f"CREATE TABLE {table} AS SELECT * FROM scores")  # noqa: S608
        with open_table(located(database, table.strip('"'))) as held:
            assert count_table(held.table, **PRIVATE).rows == ROWS
    found = queried(
        database, """SELECT CASE died WHEN 1 THEN '"rows of confide"' ELSE 'no' END AS died, risk FROM scores"""
    )
    with open_table(found) as held:
        counts = count_table(held.table, **PRIVATE, positive='"rows of confide"').counts
    assert counts.total_positives == LABELS.sum()


def test_sums_of_weights_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    size = 300_000
    rows = {"died": rng.integers(0, 2, size), "risk": rng.integers(0, 50, size) / 50, "weight": rng.random(size) * 3}
    found = set()
    for seed in range(3):
        database, order = in_file(tmp_path / f"{seed}.db"), np.random.default_rng(seed).permutation(size)
        with duckdb.connect(database.place) as file:
            import pyarrow as pa

            shuffled = pa.table({name: values[order] for name, values in rows.items()})
            file.register("shuffled", shuffled)
            file.execute("CREATE TABLE scores AS FROM shuffled")
        with open_table(located(database)) as held:
            counts = count_table(held.table, label="died", score="risk", weight="weight").counts
        found.add(counts.positives.tobytes())
    assert len(found) == 1
