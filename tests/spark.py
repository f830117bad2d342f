"""A real Spark cluster on this machine: a driver and two executor processes, with Java."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MASTER = "local-cluster[2,1,1024]"
"""Two executors, each a process with one core and 1024 MB."""

_PATIENCE = 120.0

SPARK_WARNINGS = (
    "ignore::DeprecationWarning",  # Spark 4.0 calls pandas 3 by older names
    "ignore::ResourceWarning",  # and leaves sockets to the garbage collector
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
"""Warnings of Spark's Python library, which tests that use it ignore."""


@contextmanager
def running_spark(master: str = MASTER, **settings: str) -> Iterator[Any]:
    """Start a session of Spark, and stop it with its processes. Skip the test where Spark or Java is absent."""
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'confide[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: apt install default-jre-headless, or set JAVA_HOME")
    # Executors of a local cluster are started from a distribution of Spark; the package from PyPI is one.
    home = str(Path(pyspark.__file__).parent)
    usual = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.SPARK_HOME": home,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # it plans small queries for longer than they take
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    changed = {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    with tempfile.TemporaryDirectory(prefix="confide-spark-") as folder:
        os.environ["SPARK_WORKER_DIR"] = folder
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Spark's own start
                builder = pyspark.sql.SparkSession.builder.master(master).appName("confide-tests")
                places = {"spark.local.dir": folder, "spark.sql.warehouse.dir": f"{folder}/warehouse"}
                for name, value in {**usual, **places, **settings}.items():
                    builder = builder.config(name, value)
                session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            yield session
            session.stop()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gc.collect()  # sockets that Spark has left open
        finally:
            os.environ.pop("SPARK_WORKER_DIR", None)
            for name, old in before.items():
                if old is None:
                    os.environ.pop(name)
                else:
                    os.environ[name] = old


def executors(session: Any, *, wanted: int = 1) -> int:
    """Return how many executors have registered with the driver; wait for as many as are wanted, as they start late."""
    end = time.monotonic() + _PATIENCE
    while True:
        status = session.sparkContext._jsc.sc().getExecutorMemoryStatus()
        found = int(status.size()) - 1  # one is the driver
        if found >= wanted or time.monotonic() > end:
            return found
        time.sleep(0.1)
