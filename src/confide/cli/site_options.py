"""Options of `confide site`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The site's folder.")]
ModelOption = Annotated[
    str, typer.Option("--model-name", "-n", metavar="NAME", help="The model's name, as the coordinator asks for it.")
]
DataOption = Annotated[
    Path,
    typer.Option("--data", "-d", metavar="FILE", help="The rows: CSV, TSV, JSON lines or Parquet; it stays there."),
]
LabelOption = Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")]
PositiveOption = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The positive label, unless labels are 0/1, -1/1 or false/true.")
]
ScoreOption = Annotated[
    str | None,
    typer.Option("--score", "-s", metavar="COL", help="Column of the model's scores, probabilities if possible."),
]
ModelFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Instead of --score: the model, run here on --features. scikit-learn (.joblib, .pkl: runs as a program, "
        "so take it only from people you trust) or ONNX (.onnx, with its weights inside).",
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="With --model-file: the columns it takes, matched by name where the model knows names, else in its order.",
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="LOW,HIGH",
        help="Between which the model's scores lie, the same at every site; those beyond count as the end that they "
        "passed. [default: 0,1]",
    ),
]
OptionalDataOption = Annotated[
    Path | None,
    typer.Option("--data", "-d", metavar="FILE", help="The rows: CSV, TSV, JSON lines or Parquet; it stays there."),
]
OptionalLabelOption = Annotated[
    str | None, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")
]
SameAsOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Instead of all that: another name for a model that is here. What is answered under one name without "
        "noise counts for both.",
    ),
]
StudiesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--study",
        metavar="NAME",
        help="A study that this site takes part in, as the coordinator names it; repeatable. Others are refused. "
        "[default: one with the federation's name]",
    ),
]
MoreStudiesOption = Annotated[
    list[str] | None,
    typer.Option("--study", metavar="NAME", help="Another study that this site takes part in; repeatable."),
]
