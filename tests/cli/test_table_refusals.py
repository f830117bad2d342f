"""What is wrong with a table or a query is one line with the next step, exit code 1 or 2, and nothing is charged."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.ledger.ledger import Ledger
from confide.tasks.ledger import open_account
from tests.cli.commands import Answer, confide
from tests.databases import Database, in_file, on_server
from tests.servers import running_server

pytestmark = [
    # After an error in a savepoint psycopg cannot close the cursor that Ibis declared there, and warns.
    pytest.mark.filterwarnings("ignore:.*ServerCursor.*:pytest.PytestUnraisableExceptionWarning"),
]

STEP = re.compile(
    r"\b(add|check|correct|did you mean|divide|fill|give|make|read|remove|replace|say|write)\b", re.IGNORECASE
)
RELEASE = ("-e", "1", "--neighbours", "add-remove-one", "--data-name", "people, version 1", "--account", "heart")


@pytest.fixture(scope="module", params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "duckdb":
        yield filled(in_file(tmp_path_factory.mktemp("duckdb") / "heart.db"))
        return
    with running_server() as server:
        yield filled(on_server(server.get_uri()))


def filled(database: Database) -> Database:
    database.fill("people", {"died": [0, 1] * 20, "risk": [place / 40 for place in range(40)], "note": ["x", "y"] * 20})
    return database


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpadded_ledgers: None, few_simulated_tables: None) -> Path:
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "own.sqlite"))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    monkeypatch.delenv("CONFIDE_SHOW_ERRORS", raising=False)
    open_account("heart", epsilon=4, neighbours="add-remove-one", ledger=tmp_path / "own.sqlite")
    return tmp_path


def both(home: Path, url: str, *more: object, label: str = "died", score: str = "risk") -> list[Answer]:
    """Evaluate and release one table."""
    columns = ("-l", label, "-s", score, *more)
    return [
        confide("evaluate", "--table", url, *columns, "--replicates", "0", folder=home),
        confide("release", "--table", url, *columns, *RELEASE, folder=home),
    ]


def nothing_charged(home: Path) -> bool:
    with Ledger(home / "own.sqlite") as ledger:
        return len(ledger.history("heart")) == 1  # that it was opened


def check_refused(home: Path, answers: list[Answer], says: str, *, codes: tuple[int, ...] = (1, 2)) -> None:
    for answer in answers:
        assert answer.code in codes, answer
        assert answer.out == ""
        (line,) = answer.err.splitlines()
        assert line.startswith("error: ")
        assert re.search(says, line), line
        assert STEP.search(line), line
        assert "unexpected" not in line
    assert nothing_charged(home)


def queried(home: Path, database: Database, text: str) -> list[Answer]:
    (home / "cohort.sql").write_text(text, encoding="utf-8")
    return both(home, database.url, "--query", "cohort.sql")


@pytest.mark.few(1)
@pytest.mark.parametrize("table", ["persons", "nowhere.people", "information_schema.people", "people;", 'people"'])
def test_a_table_that_is_not_there(home: Path, database: Database, table: str) -> None:
    check_refused(home, both(home, database.table_url(table)), "there is no (such )?table", codes=(2,))


def test_a_column_that_is_not_there(home: Path, database: Database) -> None:
    check_refused(home, both(home, database.table_url("people"), score="Risk"), "Did you mean 'risk'", codes=(2,))
    answers = both(home, database.table_url("people"), label="a", score="b")
    check_refused(home, answers, "no column 'a', nor any other", codes=(2,))


TYPES = {
    "text": "CAST('0.5' AS text)",
    "date": "DATE '2026-01-02'",
    "timestamp": "TIMESTAMP '2026-01-02 03:04:05'",
    "array": "ARRAY[0.5, 0.7]",
    "json": "CAST('{}' AS json)",
    "uuid": "CAST('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AS uuid)",
    "interval": "INTERVAL '1' DAY",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", ["true", "false"])
def test_a_score_of_another_type(home: Path, database: Database, rows: str) -> None:
    """By the type alone: whether or not there is a row, a release says the same."""
    for value in TYPES.values():
        query = f"SELECT died, {value} AS risk FROM people WHERE {rows}"  # noqa: S608
        exact, private = queried(home, database, query)
        check_refused(home, [private], "column 'risk' does not hold numbers; check that", codes=(1,))
        check_refused(home, [exact], "column 'risk' does not hold numbers|the table has no rows", codes=(1,))


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", ["true", "false"])
def test_a_label_of_another_type(home: Path, database: Database, rows: str) -> None:
    for value in (value for kind, value in TYPES.items() if kind != "text"):
        query = f"SELECT {value} AS died, risk FROM people WHERE {rows}"  # noqa: S608
        check_refused(home, queried(home, database, query), "holds neither numbers nor text", codes=(2,))


@pytest.mark.parametrize("column", ["died", "risk"])
def test_nothing_but_missing_values(home: Path, database: Database, column: str) -> None:
    values = {"died": "died", "risk": "risk", column: f"CAST(NULL AS double precision) AS {column}"}
    query = f"SELECT {', '.join(values.values())} FROM people"  # noqa: S608
    check_refused(home, queried(home, database, query), "missing", codes=(1,))


def test_rows_of_no_class_or_one(home: Path, database: Database) -> None:
    """An exact evaluation is refused. A release is answered, as the number of rows of each class is private."""
    for condition, says in (("false", "no rows"), ("died = 1", "the same label")):
        exact, private = queried(home, database, f"SELECT died, risk FROM people WHERE {condition}")  # noqa: S608
        assert exact.code == 1
        assert says in exact.err
        assert private.code == 0, private.err


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", [" ;;\n", "; -- all of them", ";\n/* the end; */\n", "\r\n;\r\n"])
def test_a_query_may_end_as_sql_files_do(home: Path, database: Database, ending: str) -> None:
    for answer in queried(home, database, f"\ufeffSELECT died, risk FROM people{ending}"):
        assert answer.code == 0, answer.err


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT died, risk FROM people; SELECT 1",
        "DELETE FROM people",
        "DELETE FROM people RETURNING died, risk",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "INSERT INTO people VALUES (1, 0.5, 'x')",
        "DROP TABLE people",
        "BEGIN",
        "EXPLAIN SELECT died, risk FROM people",
        "SELECT died, risk FROM people WHERE died = $1",
        "SELECT died, risk FROM people WHERE",
        "SELECT died, risk FROM people /* and",
        "SELECT nothing, risk FROM people",
        "SELECT died, risk FROM nobody",
        "SELECT nothing(died) AS died, risk FROM people",
        "-- nothing",
        ";",
        " \n",
    ],
)
def test_a_query_that_is_no_single_select(home: Path, database: Database, query: str) -> None:
    check_refused(home, queried(home, database, query), "query|no such table", codes=(2,))
    assert both(home, database.table_url("people"))[0].code == 0


def test_a_parameter_is_no_lost_connection(home: Path, database: Database) -> None:
    if database.engine == "duckdb":
        pytest.skip("DuckDB says what is wrong by the kind of its error")
    answers = queried(home, database, "SELECT died, risk FROM people WHERE died = $1")
    check_refused(home, answers, r"parameter such as \$1", codes=(2,))


def test_a_query_that_fails_on_a_row(home: Path, database: Database) -> None:
    """The kind of error is shown to those who may see the rows, and is that of the row's."""
    query = "SELECT died, CAST(note AS double precision) AS risk FROM people"
    exact, private = queried(home, database, query)
    check_refused(home, [exact, private], "could not count the table", codes=(1,))
    assert re.search(r"\((ConversionException|InvalidTextRepresentation)\)", exact.err)
    assert "(" not in private.err


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name", ["Odd Name", "naïve 値", 'quo"te', "it's", "semi;colon", "per%cent %s", "select", "{0}"]
)
def test_names_may_have_any_letters(home: Path, database: Database, name: str) -> None:
    from urllib.parse import quote

    table, score = (f'"{each}"' for each in (name.replace('"', '""'), f"of {name}".replace('"', '""')))
    database.run(f"DROP TABLE IF EXISTS {table}")
    database.run(f"CREATE TABLE {table} AS SELECT died AS {table}, risk AS {score}, note FROM people")  # noqa: S608
    for answer in both(home, database.table_url(quote(name)), label=name, score=f"of {name}"):
        assert answer.code == 0, answer.err


def test_a_view_on_a_view(home: Path, database: Database) -> None:
    database.run("CREATE OR REPLACE VIEW one AS SELECT * FROM people")
    database.run("CREATE OR REPLACE VIEW two AS SELECT * FROM one WHERE risk > 0.1")
    for answer in both(home, database.table_url("two")):
        assert answer.code == 0, answer.err


class TestFilesOfDuckDB:
    @pytest.fixture
    def file(self, home: Path) -> Database:
        return filled(in_file(home / "heart.db"))

    def test_a_file_that_another_program_writes(self, home: Path, file: Database) -> None:
        code = f"import duckdb, sys; held = duckdb.connect({file.place!r}); print(1, flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            check_refused(home, both(home, file.table_url("people")), "no other program", codes=(1,))

    def test_a_file_that_may_only_be_read(self, home: Path, file: Database) -> None:
        Path(file.place).chmod(0o444)
        assert [answer.code for answer in both(home, file.table_url("people"))] == [0, 0]

    @pytest.mark.parametrize("content", [b"", b"died,risk\n1,0.5\n", b"SQLite format 3\x00" + bytes(4096)])
    def test_a_file_that_is_no_database(self, home: Path, content: bytes) -> None:
        (home / "other.db").write_bytes(content)
        check_refused(home, both(home, "duckdb:///other.db?table=people"), "database of DuckDB", codes=(1,))

    def test_a_view_without_its_table(self, home: Path, file: Database) -> None:
        file.run("CREATE TABLE old AS FROM people")
        file.run("CREATE VIEW cohort AS SELECT * FROM old")
        file.run("DROP TABLE old")
        check_refused(home, both(home, file.table_url("cohort")), "if it is a view, check the query", codes=(2,))

    def test_a_name_with_a_point(self, home: Path, file: Database) -> None:
        file.run('CREATE TABLE "trial.people" AS FROM people')
        check_refused(home, both(home, file.table_url("trial.people")), "by a --query", codes=(2,))
        for answer in queried(home, file, 'SELECT * FROM "trial.people"'):
            assert answer.code == 0, answer.err
