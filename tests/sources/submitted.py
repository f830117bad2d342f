"""Files that participants submit, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from confide.counts import FloatArray
from confide.errors import SubmissionError
from confide.sources.submissions import IdIndex, Kind, read_score_file, read_scores

IDS = ("a", "b", "c,d", "é", "5")
SCORES = (0.25, 1e-3, 0.5, 0.0, 1.0)
INDEX = IdIndex(IDS)


def read_csv(folder: Path, content: str | bytes, **options: Any) -> FloatArray:
    return read(folder, content if isinstance(content, bytes) else content.encode(), "csv", **options)


def read_parquet(folder: Path, table: pa.Table, **options: Any) -> FloatArray:
    index = options.pop("index", INDEX)
    own = options.pop("own", False)
    limits = options.pop("limits", None)
    path = folder / "scores.parquet"
    pq.write_table(table, path, **options)
    return read_score_file(path, "parquet", index, ("id", "score"), limits=limits, own=own).scores


def read(folder: Path, content: bytes, kind: Kind, **options: Any) -> FloatArray:
    path = folder / f"scores.{kind}"
    path.write_bytes(content)
    return read_scores(path, kind, options.pop("index", INDEX), **options)


def codes(error: SubmissionError) -> list[str]:
    return [str(problem.code) for problem in error.problems]


def table(ids: Any = IDS, scores: Any = SCORES) -> pa.Table:
    return pa.table({"id": ids, "score": np.asarray(scores) if isinstance(scores, tuple) else scores})
