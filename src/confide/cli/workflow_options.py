"""Options of `confide select` and `confide train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import choices

Text = Annotated[
    str | None,
    typer.Option("--text", metavar="COL", help="Column of text: each word is a feature, hashed to one of 2^14 places."),
]
Bits = Annotated[int | None, typer.Option(metavar="B", help="With --text: hash words to 2^B places. [default: 14]")]
LeaveOut = Annotated[
    Path | None, typer.Option(metavar="WORDS.txt", help="With --text: words to leave out, one a line; public.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="WORDS.txt",
        help="With --text: take these words, one a line, instead of hashing. The list must be public: words collected "
        "from the private rows give them away.",
    ),
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        metavar="WORDS.txt",
        help="With --text: public words, one a line, that name the places of hashed words in tables and on the page; "
        "nothing else changes.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="RULE",
        help="Column with a public rule: smoker (0/1), age=40,50,60 (cut at points) or sex=f|m (values); repeatable.",
    ),
]
HoldOut = Annotated[
    str | None,
    typer.Option("--hold-out", metavar="SHARE", help="Share of rows kept for evaluation; 0 for none. [default: 0.3]"),
]
HoldOutBy = Annotated[
    list[str] | None,
    typer.Option(
        "--hold-out-by",
        metavar="COL",
        help="Hold out by this column, so that a person's rows stay together. [default: by the row's features]",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        metavar="E", help="Epsilon of the whole workflow, divided among its steps. [default: 1]", show_default=False
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", metavar="E", help="Epsilon of this step. [default: its part of --budget]"),
]
Mechanism = Annotated[
    str, typer.Option(metavar="NOISE", help="Noise on scores: laplace, or gaussian with --delta, for zcdp accounts.")
]
CountMechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NOISE", help="Noise of naive Bayes: laplace (default), or gaussian with --delta, for zcdp accounts."
    ),
]
CountDelta = Annotated[str | None, typer.Option(metavar="D", help="For gaussian noise; far below 1 / rows.")]
Relation = Annotated[
    str | None,
    typer.Option(
        metavar="RELATION",
        autocompletion=choices.one_of(choices.NEIGHBOURS),
        help="What may differ: a row's presence (add-remove-one, default), its values (replace-one) or its label "
        "(label-only).",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        autocompletion=choices.one_of(choices.UNITS),
        help="What it protects: row or person. [default: row]",
    ),
]

K = Annotated[
    int | None,
    typer.Option("-k", metavar="K", help="Number of features to take; not for clusters. [default: 100, or all]"),
]
Threshold = Annotated[
    float | None, typer.Option(metavar="T", help="Take features whose score reaches T, instead of K of them.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=choices.one_of(choices.METHODS),
        help="score-perturbation, sparse-vector, peeling, permute-and-flip or clusters.",
    ),
]
FeatureScore = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=choices.one_of(choices.FEATURE_SCORES),
        help="total-count, difference-count, purity-index or information-gain.",
    ),
]
FeaturesPerRow = Annotated[
    int | None,
    typer.Option(metavar="R", help="From a row with more features, R count. [default: 10 where it reduces noise]"),
]
Clusters = Annotated[int | None, typer.Option(metavar="N", help="With --method clusters. [default: 8]")]

Features = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="File that `confide select` wrote; it says how rows are read and held out."),
]
Model = Annotated[
    str,
    typer.Option(
        metavar="NAME", autocompletion=choices.one_of(choices.MODELS), help="naive-bayes or logistic-regression."
    ),
]
RowWeight = Annotated[
    int | None, typer.Option(metavar="R", help="Naive Bayes: a row counts for at most R features. [default: 3]")
]
Limit = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Naive Bayes: spread a row's weight, or sample R features. [default: spread]"),
]
Keep = Annotated[
    float | None,
    typer.Option(metavar="Z", help="Naive Bayes: keep features that differ by Z deviations. [default: 0.5]"),
]
Calibration = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="Naive Bayes: share of epsilon for calibrating probabilities. [default: 0.1]"),
]
Regularization = Annotated[
    float | None,
    typer.Option(metavar="L", help="Logistic regression: penalty on weights. [default: from epsilon and width]"),
]
Perturb = Annotated[
    str | None, typer.Option(metavar="WHAT", help="Logistic regression: objective or output. [default: objective]")
]
ModelPage = Annotated[
    Path | None, typer.Option(metavar="OUT.html", help="Write a page about the model that may be published.")
]
