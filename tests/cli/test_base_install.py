"""Without the packages of the extras, evaluation and a contest's participant work, and all else says what to add."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from confide.contest.template import Template
from confide.examples import HEART_ATTACK

pytestmark = pytest.mark.processes

PACKAGES = (
    "numba llvmlite opendp flint sqlalchemy ibis sqlglot pyarrow pandas sklearn psycopg joblib fastapi starlette "
    "uvicorn alembic jinja2 cryptography nvflare psutil pyspark dp_accounting onnx onnxruntime docx polars torch"
)
EXTRAS = tuple(PACKAGES.split())

RUN = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {EXTRAS!r} else found(name, package)
from confide.cli.main import run
run()
"""

COLUMNS = (str(HEART_ATTACK), "--label", "died", "--score", "logistic")


def confide(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [
        ["--score", "age_only", "--group", "sex"],
        ["--json"],
        ["--report", "report.html"],
    ],
)
def test_a_file_is_evaluated_and_reported(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = confide("evaluate", *COLUMNS, *options)
    assert done.returncode == 0, done.stderr
    assert "0.80" in done.stdout or (tmp_path / "report.html").stat().st_size > 50_000


def test_a_large_file_names_the_extra_that_counts_it_faster(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    rows = "SELECT i % 3 = 0 AS y, i % 1000 / 1000 + (i % 3 = 0)::INT AS s FROM range(5000000) AS t(i)"
    duckdb.execute(f"COPY ({rows}) TO '{file}'")
    done = confide("evaluate", file, "--label", "y", "--score", "s", "--replicates", "0")
    assert done.returncode == 0, done.stderr
    assert "confide[fast]" in done.stderr
    assert "confide[fast]" not in confide("evaluate", *COLUMNS, "--replicates", "0").stderr


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("release", *COLUMNS, "--epsilon", "1"), "private"),
        (("plan", "--metric", "auc", "--epsilon", "1", "--rows", "500"), "private"),
        (("ledger", "show"), "private"),
        (("attack", *COLUMNS), "private"),
        (("serve", "home"), "serve"),
        (("evaluate", "--table", "postgresql://host/db/t", "--label", "y", "--score", "s"), "databases"),
    ],
)
def test_what_needs_an_extra_names_it(arguments: tuple[str, ...], extra: str, tmp_path: Path) -> None:
    done = confide(*arguments)
    assert done.returncode == 2, done.stderr
    assert f"'confide[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_participant_checks_a_file(ending: str, tmp_path: Path) -> None:
    template, scores = tmp_path / "template.json", tmp_path / f"scores.{ending}"
    template.write_text(Template(contest="heart", ids=("a", "b", "c"), probabilities=True).to_json(), encoding="utf-8")
    rows = "SELECT unnest(['c', 'a', 'b']) AS id, unnest([0.3, 0.1, 0.2]::DOUBLE[]) AS score"
    duckdb.execute(f"COPY ({rows}) TO '{scores}'")
    done = confide("contest", "check", template, scores)
    assert done.returncode == 0, done.stderr
    assert "fits contest" in done.stdout


def test_python_names_the_extra_too() -> None:
    code = RUN.rpartition("from confide.cli.main")[0] + "import confide\nconfide.release"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "UsageError: release needs python-flint: pip install 'confide[private]'" in done.stderr
