"""Plain files are counted without Ibis as with it; all others are left to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from confide.sources import plain_files
from confide.sources.plain_files import count_plain_file
from confide.sources.tables import count_table

LABELS: dict[str, tuple[list[Any], Any]] = {
    "numbers": ([0, 1, 1, 0, 1, 0], None),
    "booleans": ([False, True, True, False, True, False], None),
    "texts": (["alive", "died", "died", "alive", "lost", "alive"], None),
    "two texts": (["no", "yes", "yes", "no", "yes", "no"], "yes"),
    "quotes": (["no", "yes's", "yes's", "no", "yes's", "no"], "yes's"),
    "minus one": ([-1, 1, 1, -1, 1, -1], None),
    "three": ([0, 1, 2, 0, 1, 2], 1),
    "one": ([1, 1, 1, 1, 1, 1], None),
    "missing": ([0, 1, None, 0, 1, 0], None),
    "halves": ([0.5, 1.5, 1.5, 0.5, 1.5, 0.5], 1.5),
}
SCORES: dict[str, list[Any]] = {
    "numbers": [0.1, 0.9, 0.4, 0.4, -0.0, 0.0],
    "whole": [1, 9, 4, 4, 0, 0],
    "missing": [0.1, None, 0.4, 0.4, 0.2, 0.0],
    "infinite": [0.1, float("inf"), 0.4, 0.4, 0.2, 0.0],
    "nan": [0.1, float("nan"), 0.4, 0.4, 0.2, 0.0],
    "texts": ["a", "b", "c", "d", "e", "f"],
}
PLAIN = {"numbers", "booleans", "two texts", "minus one"}


def written(folder: Path, ending: str, labels: list[Any], scores: list[Any]) -> Path:
    table = pa.table({"La bel": labels, 'ri"sk': scores, "note": ["x"] * 6})
    file = folder / f"rows [1].{ending}"
    if ending == "csv":
        pyarrow.csv.write_csv(table, str(file))
    else:
        pyarrow.parquet.write_table(table, str(file))
    return file


def outcome(file: Path, positive: object) -> Any:
    try:
        found = count_table(file, label="La bel", score='ri"sk', positive=positive)
    except Exception as error:  # what it says is tested elsewhere
        return type(error)
    return found


@pytest.mark.few(7)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("labels", LABELS)
def test_counts_are_those_of_the_engine_or_left_to_it(labels: str, scores: str, ending: str, tmp_path: Path) -> None:
    values, positive = LABELS[labels]
    file = written(tmp_path, ending, values, SCORES[scores])
    fast = count_plain_file(file, label="La bel", score='ri"sk', positive=positive)
    slow = outcome(file, positive)
    if fast is None:
        assert not (labels in PLAIN - {"booleans"} and scores in ("numbers", "whole"))
    else:
        assert fast == slow


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_unknown_columns_and_files_are_left_to_the_engine(ending: str, tmp_path: Path) -> None:
    file = written(tmp_path, ending, LABELS["numbers"][0], SCORES["numbers"])
    assert count_plain_file(file, label="La bel", score="risk") is None
    assert count_plain_file(tmp_path / "none.csv", label="La bel", score="risk") is None
    assert count_plain_file(tmp_path, label="La bel", score="risk") is None
    file.write_bytes(file.read_bytes()[:30])
    assert count_plain_file(file, label="La bel", score='ri"sk') is None


def test_large_files_are_left_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, "parquet", LABELS["numbers"][0], SCORES["numbers"])
    monkeypatch.setattr(plain_files, "STREAMED_ROWS", 5)
    assert count_plain_file(file, label="La bel", score='ri"sk') is None


@pytest.mark.processes
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_plain_file_is_evaluated_without_ibis_and_pandas(ending: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(6) < 2
    labels[:3] = False
    file = written(tmp_path, ending, labels.astype(int).tolist(), rng.random(6).tolist())
    code = (
        "import sys, confide; confide.evaluate(sys.argv[1], label='La bel', score='ri\"sk', replicates=0); "
        "print([name for name in ('ibis', 'pandas', 'sqlglot', 'numba') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
