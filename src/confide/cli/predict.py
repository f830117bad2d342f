"""Command `confide predict`: score the rows of a file with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.inputs import readable
from confide.cli.options import File


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="File that `confide train` wrote.")],
    file: File,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="SCORES.csv", help="The same rows with scores; .csv or .parquet.")
    ],
    score: Annotated[str, typer.Option(metavar="COL", help="Name of the new column.")] = "score",
) -> None:
    """Write the rows of a file with a model's probability of the positive class beside each.

    The model is private and may be used on any rows. The scores belong to the rows and are as private as they are. To
    publish how well the model does, use `confide release FILE --model MODEL.json`, which reads the rows held out.

    Examples:

        confide predict model.json new_messages.csv --out scored.csv

        confide predict model.json patients.parquet --score risk --out risks.parquet
    """
    from confide.tasks.predict import predict as predict_rows

    with output.busy("reading and scoring"):
        done = predict_rows(model, readable(file), out=out, score=score)
    typer.echo(f"written: {done.written} (scores of these rows: as private as the rows)", err=True)
