"""Files larger than memory: counted in a process that may use 4 GB and no more."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import table

LIMIT = 4 * 2**30

_COUNT = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import confide
started = time.perf_counter()
counts = confide.ScoreCounts.from_table(sys.argv[1], label="label", score="score")
took = time.perf_counter() - started
summary = confide.intervals.rank_summary(counts)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(len(counts), int(summary.positives + summary.negatives), summary.auc, took, peak)
"""


def run(*, quick: bool = False) -> None:
    shrink = 20 if quick else 1
    cases = {"rounded to 4 digits": (10**8 // shrink, True), "distinct float64": (2 * 10**7 // shrink, False)}
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (rows, rounded) in cases.items():
            file = Path(folder) / "scores.parquet"
            _write(file, rows, rounded)
            started = time.perf_counter()
            answer = subprocess.run(  # noqa: S603  # our own program
                [sys.executable, "-c", _COUNT.format(limit=LIMIT), str(file)],
                check=True,
                capture_output=True,
                text=True,
            )
            whole = time.perf_counter() - started
            distinct, counted, auc, took, peak = answer.stdout.split()
            assert int(counted) == rows
            size = f"{file.stat().st_size / 2**30:.2f} GB"
            lines.append(
                (
                    name,
                    f"{rows:,}",
                    size,
                    f"{int(distinct):,}",
                    f"{float(auc):.4f}",
                    f"{float(took):.1f} s",
                    f"{whole:.1f} s",
                    f"{float(peak):.2f} GB",
                )
            )
    print("Parquet counted by score in a process whose address space is limited to 4 GB")
    table(("scores", "rows", "file", "distinct", "AUC", "counting", "whole process", "peak memory"), lines)


def _write(file: Path, rows: int, rounded: bool) -> None:
    """Let DuckDB write the file: labels 0/1 with prevalence 0.2, scores that favour positives."""
    import duckdb

    score = "1 / (1 + exp(-2 * (u - 1 + label * 0.4) - v))"
    score = f"round({score}, 4)" if rounded else score
    duckdb.sql("SELECT setseed(0.42)")
    duckdb.sql(
        f"COPY (SELECT label, {score} AS score FROM (SELECT (random() < 0.2)::INT AS label, random() AS u, "  # noqa: S608
        f"random() AS v FROM range({rows}))) TO '{file}' (FORMAT parquet)"
    )
