"""Files are counted inside a process that could not hold their text: both ways of counting, and the spill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process"),
]

LIMIT = 2_600 * 2**20
"""Bytes of address space, of which libraries reserve most and use little."""

MOST_USED = 700 * 2**10
"""Kibibytes that the process may use at its peak."""

COUNT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import confide
counts = confide.ScoreCounts.from_table(sys.argv[1], label="label", score="score")
# What getrusage calls the peak would be that of the process which started this one.
used = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(counts), counts.total_positives, counts.total_negatives, confide.auc_score(counts), used)
"""


def write(file: Path, rows: int, digits: int | None) -> None:
    import duckdb

    score = "abs(hash(i + 7)) / 18446744073709551616.0 * 0.9 + label * 0.1"
    score = score if digits is None else f"round({score}, {digits})"
    rows_of = f"(SELECT i, (hash(i) % 5 = 0)::INT AS label FROM range({rows}) t(i))"  # noqa: S608  # our own text
    duckdb.sql(f"COPY (SELECT label, {score} AS score FROM {rows_of}) TO '{file}'")  # noqa: S608  # our own text


@pytest.mark.few(1)
@pytest.mark.parametrize(("digits", "ending"), [(4, "parquet"), (None, "parquet"), (3, "csv.gz")])
def test_counting_within_limited_memory(tmp_path: Path, digits: int | None, ending: str) -> None:
    rows = 3_000_000 if ending == "parquet" else 600_000
    file = tmp_path / f"scores.{ending}"
    write(file, rows, digits)
    # With one thread, OpenBLAS reserves so much address space that the limit would tell of it alone.
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    finished = subprocess.run(
        [sys.executable, "-c", COUNT.format(limit=LIMIT), str(file)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert finished.returncode == 0, finished.stderr
    distinct, positives, negatives, auc, used = finished.stdout.split()
    assert int(used) < MOST_USED
    assert int(positives) + int(negatives) == rows
    assert int(distinct) > 0.99 * rows if digits is None else int(distinct) <= 10**digits + 1
    assert 0.55 < float(auc) < 0.65
