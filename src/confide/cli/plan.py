"""Command `confide plan`: what a release will be worth before anything is spent, or the rows that a study needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from confide.cli import options, output
from confide.errors import ParameterError
from confide.tasks.output_files import check_report

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


_EITHER = ("rows", "prevalence", "width", "level", "as_json")
_PRIVATE = ("metric", "expected", "epsilon", "delta", "questions", "neighbours", "report")


def changed_options(context: typer.Context) -> dict[str, Any]:
    """Return the options that differ from their defaults. An option for many values is empty by default."""
    defaults = {param.name: param.default for param in context.command.params}
    given = {name: value for name, value in context.params.items() if value != defaults.get(name)}
    return {name: value for name, value in given.items() if value not in (None, (), [])}


def refuse_exact_terms(given: Mapping[str, Any]) -> None:
    """Refuse terms of an exact plan in a private one, and a private plan without rows."""
    for name in given:
        if name not in (*_EITHER, *_PRIVATE):
            raise ParameterError(f"`{name}` is for a plan without privacy; add `exact`, for example `exact=auc`")
    if "rows" not in given:
        raise ParameterError("give `rows`, the number of rows or a guess of it")


def print_exact(given: dict[str, Any]) -> None:
    """Plan without privacy and print the plan."""
    from confide.report.plan import print_exact_plan
    from confide.tasks.plan import ExactTerms, plan_exact

    terms = {**given}
    exact, as_json = terms.pop("exact"), terms.pop("as_json", False)
    for name in terms:
        if name in _PRIVATE:
            raise ParameterError(f"`{name}` is for a private plan; leave it out, or leave out `exact`")
    planned = plan_exact(exact, **cast(ExactTerms, terms))
    if as_json:
        output.print_json(planned.to_dict())
    else:
        print_exact_plan(planned, output.console())


def plan(
    context: typer.Context,
    rows: Rows = None,
    metric: Metric = "auc",
    prevalence: Prevalence = None,
    expected: Expected = None,
    epsilon: Epsilon = None,
    width: Width = None,
    delta: options.Delta = "0",
    questions: Questions = None,
    neighbours: Neighbours = "replace-one",
    level: options.Level = 0.95,
    as_json: options.AsJson = False,
    report: Report = None,
    exact: Exact = None,
    auc: Auc = None,
    null: Null = None,
    power: Power = None,
    correlation: Correlation = None,
    auc_correlation: AucCorrelation = None,
    unpaired: Unpaired = False,
    one_sided: OneSided = False,
    variance: Variance = None,
    lp_mean: LpMean = None,
    lp_sd: LpSd = None,
    risk_beta: RiskBeta = None,
    oe: Oe = None,
    oe_width: OeWidth = None,
    slope_width: SlopeWidth = None,
    auc_width: AucWidth = None,
    threshold: Threshold = None,
    net_benefit_width: NetBenefitWidth = None,
    sensitivity: Sensitivity = None,
    specificity: Specificity = None,
) -> None:
    """Plan a release (its error and interval widths, by mechanism), or the rows that an exact study needs.

    Nothing is read or spent: the plan follows from the number of rows and from guesses, by releasing
    a stand-in many times. Give --epsilon to see what it buys, --width to see what it costs, or both. With --questions,
    --epsilon and --delta are the caps of an account for many such releases: the plan says whether they should add up
    there or compose by zCDP. For roc, pr, selection and naive-bayes, which have no single interval, the plan compares
    the noise.

    With --exact, plan a study without privacy: the rows that it needs for a power or a width, or with --rows what they
    give.

    Examples:

        confide plan --rows 1000 --prevalence 0.2 --epsilon 1

        confide plan --rows 1000 --prevalence 0.2 --expect 0.8 --width 0.1 --report plan.html

        confide plan --rows 5000 --metric recall --epsilon 3 --delta 1e-6 --questions 50

        confide plan --rows 5000 --metric roc --epsilon 3 --delta 1e-6 --questions 50

        confide plan --rows 5000 --metric recall --expect 0.9 --epsilon 0.5 --neighbours label-only --json

        confide plan --exact auc --auc 0.8 --null 0.7 --prevalence 0.3 --power 0.9

        confide plan --exact auc --auc 0.8 --prevalence 0.3 --width 0.1

        confide plan --exact compare --auc 0.8 --auc 0.75 --correlation 0.5 --prevalence 0.3 --power 0.9

        confide plan --exact validation --auc 0.8 --prevalence 0.018 --lp-mean -5 --lp-sd 1.5 --oe-width 1
    """
    given = changed_options(context)
    if exact is not None:
        print_exact(given)
        return
    refuse_exact_terms(given)
    if report is not None:
        check_report(report)
    with output.busy("releasing a stand-in"):
        from confide.tasks.plan import plan as task
        from confide.tasks.plan import release_parameters

        planned = task(
            metric,
            rows=given["rows"],
            prevalence=prevalence,
            expected=expected,
            epsilon=epsilon,
            width=width,
            delta=delta,
            neighbours=neighbours,
            level=level,
            curve=as_json or report is not None,
            questions=questions,
        )
    if report is not None:
        with output.busy("drawing the report"):
            from confide.report.plan import plan_page

            page = plan_page(planned, title=f"Plan for a private {metric.replace('_', ' ')}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
        return
    from confide.report.plan import plan_commands, print_plan

    print_plan(planned, output.console())
    commands = plan_commands(planned, release_parameters(planned, prevalence=prevalence))
    typer.echo("\n".join(["\nTo release as planned:", *(f"  {command}" for command in commands)]), err=True)
