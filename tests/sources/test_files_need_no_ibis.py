"""Files, and databases of DuckDB, are read without Ibis, pandas and PyArrow, which the base install does not have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from confide import ScoreCounts

pytestmark = pytest.mark.processes

LABELS = ["no", "yes"] * 300
SCORES = [(7 * place % 101) / 101 for place in range(600)]

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ibis", "pandas", "pyarrow", "pyarrow_hotfix", "sqlglot"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
"""

READ = """
import confide
from confide.sources.encoding import Encoding, read_rows
from confide.sources.open_tables import opened
from confide.sources.locations import as_location

source, named = sys.argv[1], {"label": "La bel", "positive": "yes"}
found = confide.evaluate(source, score='ri"sk', replicates=0, **named)
grouped = confide.evaluate(source, score='ri"sk', group="ward", replicates=0, **named)
with opened(as_location(source), private=True) as held:
    exact = confide.ScoreCounts.from_table(held, score='ri"sk', **named)
    private = confide.ScoreCounts.from_table(held, score='ri"sk', one_class=True, **named)
    rows = read_rows(held, Encoding.parse(columns=['ri"sk=0.5', "ward=a|b"]), **named)
assert private == exact, "private"
assert int(rows.labels.sum()) == 300
print(found.models[0].auc.value, len(grouped.groups))
"""

RELEASE = """
import confide
from confide.tasks.ledger import open_account

open_account("x", epsilon=9, ledger=sys.argv[2])
confide.release(
    sys.argv[1], label="La bel", positive="yes", score='ri"sk', metrics="prevalence", epsilon=1,
    data_name="rows 1" if "://" in sys.argv[1] else None, ledger=sys.argv[2], account="x",
)
"""


def run(code: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["csv", "csv.gz", "tsv", "jsonl", "parquet", "duckdb"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same rows in each kind of file; names of columns need quotes in SQL."""
    rows = [
        {"La bel": label, 'ri"sk': score, "ward": "ab"[place % 7 > 3]}
        for place, (label, score) in enumerate(zip(LABELS, SCORES, strict=True))
    ]
    given = tmp_path / "given.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if request.param == "jsonl":
        return str(given)
    file = tmp_path / f"rows [1].{request.param}"
    if request.param == "duckdb":
        file = tmp_path / "rows.db"
        with duckdb.connect(file) as database:
            database.execute(f"CREATE TABLE t AS SELECT * FROM read_json('{given}')")  # noqa: S608
        return f"duckdb:///{file}?table=t"
    forms = {"csv": "csv", "csv.gz": "csv, COMPRESSION gzip", "tsv": "csv, DELIMITER '\t'", "parquet": "parquet"}
    duckdb.execute(f"COPY (SELECT * FROM read_json('{given}')) TO '{file}' (FORMAT {forms[request.param]})")  # noqa: S608
    return str(file)


@pytest.mark.few(1)
def test_rows_are_evaluated_counted_and_encoded(source: str) -> None:
    auc, groups = run(READ, source).split()
    expected = ScoreCounts.from_arrays(LABELS, SCORES, positive="yes")
    assert float(auc) == confide_auc(expected)
    assert groups == "2"


@pytest.mark.few(1)
def test_rows_are_released(source: str, tmp_path: Path) -> None:
    run(RELEASE, source, tmp_path / "ledger.sqlite")


def confide_auc(counts: ScoreCounts) -> float:
    from confide import auc_score

    return float(auc_score(counts))
