"""Options of `confide plan`: those of private plans, and those of exact plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EXACT = "Exact plans (--exact)"
_VALIDATION = "Exact plans of a validation (--exact validation)"

Rows = Annotated[int | None, typer.Option("--rows", "-n", metavar="N", help="Number of rows, or a guess of it.")]
Metric = Annotated[
    str,
    typer.Option("--metric", "-m", metavar="NAME", help="auc, average_precision, brier, prevalence, recall, ..."),
]
Prevalence = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="A public guess of the share of positives; give it to the release too. [default: 0.2; none for --exact]",
    ),
]
Expected = Annotated[
    float | None,
    typer.Option(
        "--expect", metavar="V", help="A guess of the value of the metric. [default: that of a model with AUC 0.8]"
    ),
]
Epsilon = Annotated[str | None, typer.Option("--epsilon", "-e", metavar="E", help="Privacy budget of the release.")]
Width = Annotated[
    float | None,
    typer.Option(metavar="W", help="Find the epsilon, or with --exact the rows, for an interval of this width."),
]
Questions = Annotated[
    int | None, typer.Option(metavar="K", help="Divide epsilon and delta among K such releases in one account.")
]
Neighbours = Annotated[
    str, typer.Option(metavar="RELATION", help="What may differ: replace-one, add-remove-one or label-only.")
]
Report = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page with the widths at all epsilons.")]

Exact = Annotated[
    str | None,
    typer.Option(
        metavar="QUESTION",
        help="Plan without privacy: auc (one AUC), compare (two AUCs) or validation (Riley et al. 2021).",
        rich_help_panel=_EXACT,
    ),
]
Auc = Annotated[
    list[float] | None,
    typer.Option("--auc", metavar="A", help="AUC that is expected; twice for compare.", rich_help_panel=_EXACT),
]
Null = Annotated[
    float | None,
    typer.Option(metavar="A", help="AUC to test against. [default: 0.5 with --power]", rich_help_panel=_EXACT),
]
Power = Annotated[
    float | None,
    typer.Option(metavar="P", help="Find the rows that test with this power.", rich_help_panel=_EXACT),
]
Correlation = Annotated[
    float | None,
    typer.Option(metavar="R", help="Correlation of the two scores within a class.", rich_help_panel=_EXACT),
]
AucCorrelation = Annotated[
    float | None,
    typer.Option(metavar="R", help="Correlation of the two AUCs, in place of --correlation.", rich_help_panel=_EXACT),
]
Unpaired = Annotated[
    bool, typer.Option("--unpaired", help="The two models score different rows.", rich_help_panel=_EXACT)
]
OneSided = Annotated[bool, typer.Option("--one-sided", help="Plan a one-sided test.", rich_help_panel=_EXACT)]
Variance = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Variance of AUC: normal, hanley-mcneil, or obuchowski as in R's pROC. [default: normal]",
        rich_help_panel=_EXACT,
    ),
]
LpMean = Annotated[
    float | None,
    typer.Option(
        metavar="M",
        help="Mean of the linear predictor (log-odds), with --lp-sd. [default: follows from AUC and prevalence]",
        rich_help_panel=_VALIDATION,
    ),
]
LpSd = Annotated[
    float | None,
    typer.Option(metavar="S", help="Standard deviation of the linear predictor.", rich_help_panel=_VALIDATION),
]
RiskBeta = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="A B", help="Beta distribution of risks, in place of --lp-mean.", rich_help_panel=_VALIDATION),
]
Oe = Annotated[
    float | None,
    typer.Option(metavar="R", help="Observed : expected to plan for. [default: 1]", rich_help_panel=_VALIDATION),
]
OeWidth = Annotated[
    float | None,
    typer.Option(metavar="W", help="Width for observed : expected. [default: 0.2]", rich_help_panel=_VALIDATION),
]
SlopeWidth = Annotated[
    float | None,
    typer.Option(metavar="W", help="Width for the calibration slope. [default: 0.2]", rich_help_panel=_VALIDATION),
]
AucWidth = Annotated[
    float | None, typer.Option(metavar="W", help="Width for AUC. [default: 0.1]", rich_help_panel=_VALIDATION)
]
Threshold = Annotated[
    float | None,
    typer.Option(metavar="T", help="Also plan net benefit at this threshold.", rich_help_panel=_VALIDATION),
]
NetBenefitWidth = Annotated[
    float | None,
    typer.Option(metavar="W", help="Width for standardised net benefit. [default: 0.2]", rich_help_panel=_VALIDATION),
]
Sensitivity = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Sensitivity at the threshold. [default: follows from the linear predictor]",
        rich_help_panel=_VALIDATION,
    ),
]
Specificity = Annotated[
    float | None,
    typer.Option(metavar="P", help="Specificity at the threshold, likewise.", rich_help_panel=_VALIDATION),
]
