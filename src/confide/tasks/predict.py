"""Score rows with a private model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.learning.workflow import Workflow
from confide.sources.encoded_rows import read_features
from confide.sources.scored_files import check_destination, write_with_scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prediction:
    """Probabilities of the positive class, one for each row in the order of the source. As private as the rows.

    `written` is the file that holds the rows with their scores, if one was requested.
    """

    scores: FloatArray
    written: Path | None = None

    def __len__(self) -> int:
        return int(self.scores.size)

    def __repr__(self) -> str:
        written = "" if self.written is None else f", written to {self.written}"
        return f"<Prediction of {len(self):,} rows{written}>"


def predict(
    model: str | Path | Workflow, source: Any, *, out: str | Path | None = None, score: str = "score"
) -> Prediction:
    """Compute the probability of the positive class for each row.

    The model is private and may be used on any rows. The scores belong to the rows and are as private as they are.

    Parameters
    ----------
    model
        The file that `confide train` wrote, or the workflow that `train` returned.
    source
        Rows to score: the path of a file (CSV, TSV, JSON lines, Parquet), or an Ibis table.
    out, score
        File to write, .csv or .parquet: the same rows with a column of this name. Needs the path of a file as source.
    """
    workflow = model if isinstance(model, Workflow) else Workflow.read(Path(model))
    workflow.trained()
    destination = None if out is None else Path(out)
    if destination is not None and not isinstance(source, str | Path):
        raise ParameterError("`out` writes the rows of a file with their scores; give the path of a file as source")
    if destination is not None:
        check_destination(source, destination)
    scores = workflow.scores(workflow.selected(read_features(source, workflow.encoding)))
    if destination is not None:
        write_with_scores(source, destination, score, scores)
    return Prediction(scores=scores, written=destination)
