"""Rows on a Spark cluster with two executors, by path, table and query: the same integers as arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import confide
from confide import ScoreCounts, TableLocation
from confide.errors import ConfideError, ParameterError
from confide.sources.open_tables import open_table
from confide.sources.tables import count_cells, count_table
from tests.cli.commands import confide as command
from tests.spark import executors

ROWS = 4_000
RNG = np.random.default_rng(3)
LABELS = (RNG.random(ROWS) < 0.3).astype(int)
SCORES = np.round(RNG.beta(2 + LABELS, 3), 3)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files, as Spark writes them."""
    folder = tmp_path_factory.mktemp("spark") / "rows.parquet"
    folder.mkdir()
    for part in range(4):
        rows = slice(part * 1000, (part + 1) * 1000)
        pl.DataFrame({"died": LABELS[rows], "risk": SCORES[rows]}).write_parquet(folder / f"part-{part}.parquet")
    return folder


@pytest.mark.long
def test_a_path_a_table_and_a_query_are_counted_alike(spark: Any, parquet: Path) -> None:
    wanted = ScoreCounts.from_arrays(LABELS, SCORES)
    spark.read.parquet(str(parquet)).createOrReplaceTempView("people")
    path = TableLocation.parse(str(parquet), engine="spark")
    query = TableLocation(engine=path.engine, query="SELECT risk, died FROM people;")
    table = TableLocation(engine=path.engine, table=("people",))
    for location in (path, query, table):
        with open_table(location) as held:
            assert count_table(held.table, label="died", score="risk").counts == wanted
            assert count_table(held.table, label="died", score="risk", one_class=True).counts == wanted
    edges = np.array([0.0, 0.1, 0.30000000000000004, 1 / 3, 0.5, 1.0])
    with open_table(path) as held:
        cells = count_cells(held.table, label="died", score="risk", positive=None, edges=edges)
    assert executors(spark) >= 1
    assert cells.positives.tolist() == np.histogram(SCORES[LABELS == 1], edges)[0].tolist()


@pytest.mark.long
def test_commands_read_a_path_with_spark(
    spark: Any, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpadded_ledgers: None
) -> None:
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "own.sqlite"))
    columns = ("--engine", "spark", "--label", "died", "--score", "risk")
    answer = command("evaluate", parquet, *columns, "--replicates", "0", "--json", folder=tmp_path)
    assert answer.code == 0, answer.err
    exact = confide.evaluate(LABELS, SCORES, replicates=0).models[0].auc.value
    assert f"{exact!r}" in answer.out
    name = ("--data-name", "people, version 1")
    assert command("ledger", "new", "people", "-e", "2", *name, folder=tmp_path).code == 0
    ask = ("release", "--table", parquet, *columns, *name, "-e", "1", "-m", "roc", "--grid", "uniform:16")
    answer = command(*ask, folder=tmp_path)
    assert answer.code == 0, answer.err


def test_a_csv_file_is_not_released_by_spark(tmp_path: Path) -> None:
    """One row with a word would make the whole column text."""
    csv = TableLocation.parse(str(tmp_path / "rows.csv"), engine="spark")
    with pytest.raises(ParameterError, match="give Parquet"):
        confide.release(csv, label="died", score="risk", epsilon=1, data_name="people, version 1")


def test_errors_of_spark_are_discreet(spark: Any, parquet: Path, tmp_path: Path) -> None:
    gone = TableLocation.parse(str(tmp_path / "gone.parquet"), engine="spark")
    with pytest.raises(ConfideError, match="cannot open") as caught, open_table(gone):
        pass
    assert caught.value.__context__ is None
    with open_table(TableLocation.parse(str(parquet), engine="spark")) as held, pytest.raises(ConfideError):
        held.digest()


def test_a_query_needs_no_path_and_takes_none(tmp_path: Path) -> None:
    assert TableLocation.parse("", engine="spark", query="SELECT 1").query == "SELECT 1"
    with pytest.raises(ParameterError, match="leave the path out"):
        TableLocation.parse(str(tmp_path / "rows.parquet"), engine="spark", query="SELECT 1")


@pytest.mark.long
@pytest.mark.spark
def test_no_value_of_a_row_is_in_the_log(tmp_path: Path) -> None:
    """Spark's log quotes what it cannot convert; a process of its own, as the log belongs to it."""
    rows, secret = tmp_path / "rows.parquet", "patient-4711"
    pl.DataFrame({"died": [0, 1, 1], "risk": ["0.1", "0.5", secret]}).write_parquet(rows)
    query = tmp_path / "rows.sql"
    query.write_text(f"SELECT died, CAST(risk AS DOUBLE) AS risk FROM parquet.`{rows}`")  # noqa: S608
    answers = []
    for shown in ("", "1"):
        environment = {**os.environ, "CONFIDE_SHOW_ERRORS": shown, "CONFIDE_LEDGER": str(tmp_path / "own.sqlite")}
        arguments = ("evaluate", "--engine", "spark", "--query", str(query), "--label", "died", "--score", "risk")
        command = [sys.executable, "-m", "confide", *arguments]
        answers.append(
            subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        )
    hidden, with_errors = answers
    assert (hidden.returncode, with_errors.returncode) == (1, 1)
    assert secret not in hidden.stdout + hidden.stderr
    assert secret in with_errors.stderr, "the log would have shown it"
