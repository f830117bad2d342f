"""`confide predict`: a model's scores for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.inputs import readable
from confide.cli.options import File


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="What `confide train` wrote.")],
    file: File,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="SCORES.csv", help="The same rows with scores; .csv or .parquet.")
    ],
    score: Annotated[str, typer.Option(metavar="COL", help="Name of the new column.")] = "score",
) -> None:
    """Write a file's rows with a model's probability of the positive class beside each.

    The model is private, and so may be used on any rows; the scores are those rows' own and as private as the rows. To
    publish how well the model does, use `confide release FILE --model MODEL.json`, which reads the rows held out.

    Examples:

        confide predict model.json new_messages.csv --out scored.csv

        confide predict model.json patients.parquet --score risk --out risks.parquet
    """
    from confide.learning.workflow import Workflow
    from confide.sources.encoded_rows import read_features
    from confide.sources.scored_files import check_destination, write_with_scores

    workflow = Workflow.read(model)
    workflow.trained()
    check_destination(file, out)
    output.check_writable(out)
    with output.busy("reading and scoring"):
        source = readable(file)
        rows = workflow.selected(read_features(source, workflow.encoding))
        write_with_scores(source, out, score, workflow.scores(rows))
    typer.echo(f"written: {out} (scores of these rows: as private as the rows)", err=True)
