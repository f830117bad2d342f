"""Rank sums of tables with many distinct scores: DuckDB over Parquet, and Spark beside its own evaluator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import table

_SUM = """
import json, resource, sys, time
limit = int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from confide.intervals import rank_summary
started = time.perf_counter()
summary = rank_summary(sys.argv[1], label="label", score="score")
took = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([summary.auc, took, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20,
                  int(summary.positives + summary.negatives)]))
"""

SPARK_COST = 4.3e-6
"""Seconds that a core of Spark takes for a row, as measured with two threads; for runs that cannot measure it."""


def run(*, quick: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.parquet"
        _duckdb(file, [10**6] if quick else [10**7, 10**8])
        cost = _spark(file, 10**5 if quick else 10**7)
    _cluster(cost or SPARK_COST)


def billion(folder: str, rows: int = 10**9) -> None:
    """Sum a billion rows in a process that may use 4 GB, from a file of some 8 GB in the folder.

    Run it by `python -c "from benchmarks.rank_tables import billion; billion('/folder')"`.
    """
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        _duckdb(Path(inside) / "scores.parquet", [rows], limit=4 * 2**30)


def _duckdb(file: Path, sizes: Sequence[int], limit: int = 0) -> None:
    lines = []
    for rows in sizes:
        write(file, rows)
        answer = subprocess.run(  # noqa: S603  # our own program
            [sys.executable, "-c", _SUM, str(file), str(limit)], check=True, capture_output=True, text=True
        )
        auc, took, used, peak, counted = json.loads(answer.stdout)
        assert counted == rows
        size = file.stat().st_size / 2**30
        lines.append((f"{rows:,}", f"{size:.2f} GB", f"{auc:.6f}", f"{took:.1f} s", f"{used:.1f} s", f"{peak:.2f} GB"))
    print("rank_summary of distinct scores in Parquet by DuckDB: AUC, its standard error and average precision")
    table(("rows", "file", "AUC", "time", "processor time", "peak memory"), lines)


def write(file: Path, rows: int) -> None:
    """Let DuckDB write labels with prevalence 0.2 and scores that favour positives, all distinct."""
    import duckdb

    duckdb.sql("SELECT setseed(0.42)")
    score = "1 / (1 + exp(-2 * (u - 1 + label * 0.4) - v))"
    duckdb.sql(
        f"COPY (SELECT label, {score} AS score FROM (SELECT (random() < 0.2)::INT AS label, random() AS u, "  # noqa: S608
        f"random() AS v FROM range({rows}))) TO '{file}' (FORMAT parquet)"
    )


def _spark(file: Path, rows: int) -> float | None:
    """Time Spark with two threads. Return the seconds of a core for a row."""
    try:
        import ibis
        from pyspark.ml.evaluation import BinaryClassificationEvaluator
        from pyspark.sql import SparkSession
    except ImportError:
        print("Spark is not installed: pip install 'confide[spark]'")
        return None
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("Spark needs Java: apt install default-jre-headless, or set JAVA_HOME")
        return None
    from confide.intervals import rank_summary

    write(file, rows)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("OFF")
        rows_of = ibis.pyspark.connect(session).read_parquet(str(file), table_name="scores")
        frame = session.read.parquet(str(file))
        frame.selectExpr("min(score)", "sum(label)").collect()  # start what Spark starts once
        ours, summary = _timed(lambda: rank_summary(rows_of, label="label", score="score"))
        evaluator = BinaryClassificationEvaluator(rawPredictionCol="score", labelCol="label")
        theirs, binned = _timed(lambda: evaluator.evaluate(frame))
    finally:
        session.stop()
    print(f"Spark with two threads, {rows:,} distinct scores in Parquet")
    table(
        ("by", "AUC", "time", "ratio"),
        [
            (
                "rank_summary (exact; with standard error and average precision)",
                f"{summary.auc:.9f}",
                f"{ours:.1f} s",
                "",
            ),
            (
                "spark.ml BinaryClassificationEvaluator (1,000 bins)",
                f"{binned:.9f}",
                f"{theirs:.1f} s",
                f"{theirs / ours:.1f}",
            ),
        ],
    )
    return 2 * ours / rows


def _timed(action: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def _cluster(cost: float) -> None:
    """Print what a cluster would take, from the cost of a row and what each query takes at least."""
    least, queries = 0.5, 6  # seconds for a query without rows; queries for scores of a usual distribution
    lines = []
    for rows in (10**9, 10**10, 10**11):
        for cores in (8, 400):
            lines.append((f"{rows:.0e}", str(cores), f"{cost * rows / cores + least * queries:,.0f} s"))
    print("A cluster on paper: the cost of a row on a core, divided by the cores, and half a second for each query")
    print(f"{1e6 * cost:.2f} microseconds a row and core; 400 cores are 100 executors of four")
    table(("rows", "cores", "time"), lines)
