"""Neighbouring tables of a database and one sequence of commands give one transcript, but for the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from confide.ledger.ledger import Ledger
from tests.cli.commands import confide
from tests.cli.test_transcripts import HEAD, NEIGHBOURS, Row, Transcript, everything_the_same, made_rows, masked
from tests.databases import Database, in_file, on_server
from tests.servers import running_server

NAME = ("--data-name", "people, version 1")


@pytest.fixture(scope="module", params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "duckdb":
        yield in_file(tmp_path_factory.mktemp("duckdb") / "heart.db")
        return
    with running_server() as server:
        yield on_server(server.get_uri())


@pytest.fixture
def run(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    few_simulated_tables: None,
    unpadded_ledgers: None,
) -> Callable[..., Transcript]:
    """Run commands about some rows in a table, with noise that ignores its input."""
    monkeypatch.setenv("CONFIDE_LEDGER", "own.sqlite")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    worlds = iter(range(9))

    def run_all(rows: Sequence[Row], commands: Sequence[Sequence[object]]) -> Transcript:
        folder = tmp_path / f"world-{next(worlds)}"
        folder.mkdir()
        (folder / "all.sql").write_text("SELECT died, risk FROM people WHERE age < 70")
        columns = zip(*rows, strict=True)
        database.fill("people", {name: list(values) for name, values in zip(HEAD.split(","), columns, strict=True)})
        monkeypatch.setattr(Ledger, "noise", everything_the_same())
        answers = tuple(masked(confide(*command, folder=folder)) for command in commands)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".html", ".json")}
        return Transcript(answers=answers, files=files)

    return run_all


def every_request(database: Database, relation: str) -> list[tuple[object, ...]]:
    """Requests about a table, in an order that an adversary would choose."""
    label = ("--label", "died") if relation == "label-only" else ()
    hidden = ("--neighbours", relation)
    nameless = ("release", "--table", database.table_url("people"), "-l", "died", *hidden)
    ask = (*nameless, *NAME)
    query = ("release", "--table", database.url, "--query", "all.sql", "-l", "died", *hidden, *NAME)
    curves = ("-e", "1/2", "--grid", "uniform:8", "-m")
    return [
        ("ledger", "new", "trial", "-e", "4", *NAME, *label, *hidden),
        (*ask, "-s", "risk", "-e", "1/10", "--dry-run"),
        (*ask, "-s", "risk", "-e", "1/10", "--report", "risk.html", "--out", "risk.json"),
        (*ask, "-s", "other", "-e", "1/10", "--dry-run"),  # the scores are the same but for the target
        (*ask, "-s", "other", "-e", "1/10", "--report", "other.html"),
        (*ask, "-s", "risk", "-e", "1/10", "--json"),  # asked before
        (*ask, "-s", "risk", "-e", "1/4", "-m", "recall,prevalence", "-t", "0.3", "--json"),
        (*ask, "-s", "risk", *curves, "roc,pr,calibration", "--report", "curves.html"),
        (*ask, "-s", "risk", *curves, "roc", "--level", "0.8", "--json"),  # of the same counts
        (*ask, "-s", "other", *curves, "roc", "--dry-run", "--json"),
        (*ask, "-s", "risk", "-e", "1/4", "--grid", "quantiles:4", "-m", "roc", "--json"),
        (*query, "-s", "risk", "-e", "1/10", "-m", "recall", "--json"),
        (*query, "-s", "risk", "-e", "1/10", "-m", "recall", "--dry-run"),
        (*nameless, "-s", "risk", "-e", "1/10"),  # of unknown identity
        (*ask, "-s", "risk", "-e", "9"),  # more than is left
        (*ask, "-s", "agee", "-e", "1/10"),  # no such column
        ("ledger", "history", "trial", "--json"),
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_neighbours_have_one_transcript(run: Callable[..., Transcript], database: Database, relation: str) -> None:
    rows, commands = made_rows(), every_request(database, relation)
    one, other = (run(found, commands) for found in (rows, NEIGHBOURS[relation](rows)))
    for command, mine, theirs in zip(commands, one.answers, other.answers, strict=True):
        assert mine == theirs, command
    assert one.files == other.files
    codes = [answer.code for answer in one.answers]
    by_query = [0, 0] if relation == "add-remove-one" else [2, 2]
    assert codes == [*[0] * 11, *by_query, 2, 3, 2, 0]
    assert set(one.files) == {"risk.html", "risk.json", "other.html", "curves.html"}


def test_the_test_sees_what_depends_on_the_rows(run: Callable[..., Transcript], database: Database) -> None:
    exact = [("evaluate", "--table", database.table_url("people"), "-l", "died", "-s", "risk", "--replicates", "0")]
    rows = made_rows()
    assert run(rows, exact) != run(NEIGHBOURS["replace-one"](rows), exact)


@pytest.mark.few(1)
def test_grids_are_counted_inside_the_engine(
    run: Callable[..., Transcript], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but cells, labels and sizes leaves the engine: a table of rows is never fetched."""
    from confide.sources import tables

    def stream(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(tables, "count_table", stream)
    ask = ("release", "--table", database.table_url("people"), *NAME, "-l", "died", "-s", "risk", "-e", "1/4")
    found = run(
        made_rows(),
        [
            ("ledger", "new", "trial", "-e", "4", *NAME),
            (*ask, "-m", "roc,pr,recall", "--grid", "logit:64"),
            (*ask, "-m", "roc", "--grid", "quantiles:8"),
            (*ask, "-m", "recall,specificity", "-t", "0.2"),
            (*ask, "-m", "prevalence"),
            (*ask, "-m", "average_precision", "--mechanism", "private-counts"),
        ],
    )
    assert [answer.code for answer in found.answers] == [0] * 6
