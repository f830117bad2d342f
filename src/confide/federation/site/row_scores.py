"""Score rows one at a time, so that a row's score is a function of that row alone.

A model that gets a batch may mix its rows: a graph can standardise over the batch, and a product of matrices adds up
in an order that depends on how many rows there are, which changes last digits. One row would then change more counts
than its own, and noise for one row would not protect it. So every distinct row is scored once, in a batch of one, on
one thread, with values whose types depend on no other row.

A model may raise an error for some rows. Such a row has no score, as if the model had returned NaN, and the other rows
are scored as usual: an error that ended the run would tell that a single row is there.

A model that *remembers* rows of earlier calls is beyond this: it is a program, and trusted as such. Distinct rows are
scored in an order that does not depend on that of the table, so the order of rows changes nothing even then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.federation.site.local_models import Scorer


@dataclass(slots=True, repr=False)
class DistinctRows:
    """Rows of features with each distinct one kept once, gathered from dataframes."""

    _places: dict[bytes, int] = field(default_factory=dict)
    _parts: list[Any] = field(default_factory=list)
    _row_places: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, frame: Any) -> None:
        """Add the rows of a dataframe, whose columns are the features."""
        before, places = len(self._places), np.empty(len(frame), dtype=np.int64)
        new: list[int] = []
        for row, values in enumerate(zip(*(frame[name].tolist() for name in frame.columns), strict=True)):
            # repr tells 0.0 from -0.0, which compare as equal, and takes every NaN for the same.
            key = blake2b(repr(values).encode(), digest_size=16).digest()
            places[row] = self._places.setdefault(key, before + len(new))
            if places[row] == before + len(new):
                new.append(row)
        self._row_places.append(places)
        self._parts.append(frame.take(new))

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self._places)

    def scores(self, scorer: Scorer) -> ModelScores:
        """Score every row that was added, in the order of the rows."""
        found = np.full(len(self), np.nan)
        reasons = np.full(len(self), "", dtype=object)
        held = [(part, row) for part in self._parts for row in range(len(part))]
        with _one_thread():
            for _, place in sorted(self._places.items()):
                found[place], reasons[place] = _score_one(scorer, *held[place])
        if not self._row_places:
            return ModelScores(found, {})
        rows = np.concatenate(self._row_places)
        return ModelScores(found[rows], dict(sorted(Counter(filter(None, reasons[rows])).items())))


@dataclass(frozen=True, slots=True)
class ModelScores:
    """Scores of rows, NaN where the model gave none, and the numbers of rows without a score by reason.

    Reasons are names of exceptions, `NaN`, and `shape` where the model gave another number of scores than one. They
    are private, and for the administrator of the site.
    """

    scores: FloatArray = field(repr=False)
    unscored: Mapping[str, int] = field(repr=False)


def _score_one(scorer: Scorer, frame: Any, row: int) -> tuple[float, str]:
    """Score one row, given as a frame of its own: a view would show where the row lies among the others.

    Returns NaN and the reason if the model gives no score.
    """
    try:
        found = np.asarray(scorer.score(_frame_of_one(frame, row)), dtype=np.float64)
    except MemoryError:  # about the machine, not about the row
        raise
    except Exception as error:
        return np.nan, type(error).__name__
    if found.shape != (1,):
        return np.nan, "shape"
    return float(found[0]), "NaN" if np.isnan(found[0]) else ""


def _frame_of_one(frame: Any, row: int) -> Any:
    """Return a row as a dataframe whose types follow from its own values.

    A column with a text in some row holds objects, and one without holds floats: a number in it, or NaN for a missing
    value, is a float either way, and a text has pandas' type of texts.
    """
    one = frame.iloc[row : row + 1].infer_objects()
    one.index = range(1)
    return one


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run models on one thread: threads may add up in any order, and cost more than they save on one row."""
    try:
        from joblib import parallel_config
        from threadpoolctl import threadpool_limits
    except ImportError:  # without confide[learn] there are ONNX models only, which run on one thread anyway
        yield
        return
    with parallel_config(backend="sequential"), threadpool_limits(limits=1):
        yield
