"""Rows of a model at a site, scored one at a time: counts of the scores, and the identity of what they were read from.

In CSV and JSON a value that reads as a number is one, a missing value is NaN, and any other is text; columns that the
site lists as text are text throughout. In Parquet and in databases the columns'
types decide: numbers and true/false are float64.

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

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ColumnError, DataError, NoRowsError
from confide.federation.site.local_models import Scorer, open_model
from confide.federation.site.row_sources import HeldRows, Rows
from confide.ledger.requests import source_digest
from confide.sources.digests import raw_bytes
from confide.sources.duckdb_tables import objects
from confide.sources.engine_tables import value_batches
from confide.sources.fit_rows import ExactColumn, as_number, check_type
from confide.sources.private_labels import PrivateLabels
from confide.sources.tables import as_table, discreet

if TYPE_CHECKING:
    from confide.federation.site.config import SiteConfig, SiteModel


_BATCH_ROWS = 1 << 16
_TYPED = (".parquet", ".pq")


def feature_frames(
    data: Rows, label: str, features: Sequence[str], text: Sequence[str]
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the labels and the features, as a pandas dataframe, of one batch of rows after another."""
    table = as_table(data, as_written=True, columns=(label, *features))
    ColumnError.require([label, *features], list(table.columns))
    for name in (label, *features):
        check_type(table[name])
    written = isinstance(data, Path) and data.suffix.lower() not in _TYPED
    parsed = {place: name for place, name in enumerate(features) if written and name not in text}
    texts = {name: name in text or _is_text(table[name].type()) for name in features}
    chosen = {
        f"value{place}": table[name].nullif("") if written else _typed(table[name], name in text)
        for place, name in enumerate(features)
    }
    numbers = {f"number{place}": table[name].try_cast("float64") for place, name in parsed.items()}
    exact = ExactColumn.of(table[label], compared=False)
    rows = table.select(label=exact.code, **chosen, **numbers)
    for batch in value_batches(rows, _BATCH_ROWS):
        columns: dict[str, Any] = {}
        for place, name in enumerate(features):
            values = batch[f"value{place}"]
            if place in parsed:
                columns[name] = _numbers_or_text(batch[f"number{place}"], values)
            else:
                columns[name] = _texts(values) if texts[name] else _floats(values)
        yield exact.values(batch["label"]), _frame(columns)


def _is_text(kind: Any) -> bool:
    return bool(kind.is_string() or kind.is_null())


def _typed(column: Any, text: bool) -> Any:
    if _is_text(column.type()):
        return column
    return column.cast("string") if text else as_number(column)


def _frame(columns: Mapping[str, Any]) -> Any:
    """Return a dataframe whose columns have the types that they are given with: pandas would choose by all values."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()})


def _texts(values: Sequence[Any]) -> Any:
    """Return texts with pandas' own type of texts, which before pandas 3 is that of objects."""
    import pandas as pd

    return pd.Series(values, dtype="str" if int(pd.__version__.partition(".")[0]) >= 3 else object)


def _floats(values: Sequence[Any]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _numbers_or_text(numbers: Sequence[Any], texts: Sequence[Any]) -> NDArray[Any]:
    """Put text where there is some that is no number, and NaN where there is nothing."""
    words = np.array(
        [
            number is None and isinstance(text, str) and bool(text.strip())
            for number, text in zip(numbers, texts, strict=True)
        ],
        dtype=np.bool_,
    )
    found = _floats(numbers)
    return np.where(words, objects(texts), found.astype(object)) if words.any() else found


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
    # A copy: strides of a view would tell how many rows there are.
    one = frame.iloc[row : row + 1].copy().infer_objects()
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


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Counts of a model's rows, and for how many of them the model gave no score, by the reason.

    Both are private. Nothing that leaves the site may depend on `unscored`.
    """

    counts: ScoreCounts = field(repr=False)
    unscored: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def note(self) -> str:
        """Sentence for the administrator about rows without a score; empty if there are none."""
        if not self.unscored:
            return ""
        rows = int(self.counts.total_positives + self.counts.total_negatives)
        without, reasons = sum(self.unscored.values()), ", ".join(self.unscored)
        return (
            f"the model gave no score for {without} of {rows} rows ({reasons}); these rows count as the lower end of "
            "the range"
        )


def score_rows(data: Rows, model_path: Path, model: SiteModel) -> ScoredRows:
    """Score rows one by one, and count them.

    A row without a finite score counts as an end of the range: a model that fails for one person alone would otherwise
    tell whether that person is there.
    """
    scorer = open_model(model_path, model.features, model.positive)
    labels = PrivateLabels(model.label, model.positive)
    rows = DistinctRows()
    with discreet(data, private=True):
        for label, frame in feature_frames(data, model.label, scorer.columns, model.text):
            labels.add(label)
            rows.add(frame)
    if not len(rows):
        raise NoRowsError("the table has no rows; check the file")
    low, high = model.range
    found = rows.scores(scorer)
    finite = np.nan_to_num(found.scores, nan=low, posinf=high, neginf=low)
    counts = ScoreCounts.from_arrays(labels.decided(), finite, one_class=True)
    return ScoredRows(within(counts, low, high), found.unscored)


def within(counts: ScoreCounts, low: float, high: float) -> ScoreCounts:
    """Move scores beyond an end to that end: whether there are such scores must not show."""
    scores, starts = np.unique(np.clip(counts.scores, low, high), return_index=True)
    if not scores.size:
        return counts
    return ScoreCounts(scores, np.add.reduceat(counts.positives, starts), np.add.reduceat(counts.negatives, starts))


_PLACES = ("data", "model_file", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRows:
    """Counts of a model's rows, with the digest of the files or the table as they are and of how they are read.

    Whether a site's data are those of an earlier question is decided by the digest, and not by the counts: a refusal or
    a price that depended on the counts would tell of single rows. Without a key the digest could be guessed: it must
    not leave the process. `note` is about rows that the model could not score, for the site's own log.
    """

    counts: ScoreCounts = field(repr=False)
    identity: bytes = field(repr=False)
    note: str = field(default="", repr=False)


def read_rows(config: SiteConfig, model: str) -> SiteRows:
    """Count a model's rows, and identify the files or the table that they came from.

    A table is digested in the snapshot in which it is counted. Files are digested before and after.
    """
    with config.row_source(config.model(model)).open() as held:
        before = source_digest(_source(config, model, held))
        scored = config.scored_in(model, held.rows)
        if source_digest(_source(config, model, held)) != before:
            raise DataError("the site's data changed while they were read; try again when nobody writes to them")
    return SiteRows(counts=scored.counts, identity=before, note=scored.note)


def _source(config: SiteConfig, name: str, held: HeldRows) -> Iterator[bytes]:
    """Yield the settings of a model, but for where its files lie, and the digests of its rows and of its file."""
    model = config.model(name)
    settings = {key: value for key, value in asdict(model).items() if key not in _PLACES}
    if model.query_sha256 is None:
        del settings["query_sha256"]  # as if there were no such setting
    yield json.dumps(settings, sort_keys=True, default=str).encode()
    yield held.digest()
    if model.model_file is not None:
        yield source_digest(raw_bytes(config.model_path(model)))
