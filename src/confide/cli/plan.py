"""`confide plan`: what a release will be worth, before anything is spent; or the rows that an exact study needs."""

from __future__ import annotations

import typer

from confide.cli import options, output
from confide.cli import plan_options as own
from confide.cli.plan_output import changed_options, print_exact, refuse_exact_terms
from confide.tasks.output_files import check_report


def plan(
    context: typer.Context,
    rows: own.Rows = None,
    metric: own.Metric = "auc",
    prevalence: own.Prevalence = None,
    expected: own.Expected = None,
    epsilon: own.Epsilon = None,
    width: own.Width = None,
    delta: options.Delta = "0",
    questions: own.Questions = None,
    neighbours: own.Neighbours = "replace-one",
    level: options.Level = 0.95,
    as_json: options.AsJson = False,
    report: own.Report = None,
    exact: own.Exact = None,
    auc: own.Auc = None,
    null: own.Null = None,
    power: own.Power = None,
    correlation: own.Correlation = None,
    auc_correlation: own.AucCorrelation = None,
    unpaired: own.Unpaired = False,
    one_sided: own.OneSided = False,
    variance: own.Variance = None,
    lp_mean: own.LpMean = None,
    lp_sd: own.LpSd = None,
    risk_beta: own.RiskBeta = None,
    oe: own.Oe = None,
    oe_width: own.OeWidth = None,
    slope_width: own.SlopeWidth = None,
    auc_width: own.AucWidth = None,
    threshold: own.Threshold = None,
    net_benefit_width: own.NetBenefitWidth = None,
    sensitivity: own.Sensitivity = None,
    specificity: own.Specificity = None,
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
            from confide.report.plan.page import plan_page

            page = plan_page(planned, title=f"Plan for a private {metric.replace('_', ' ')}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
        return
    from confide.report.plan.command import plan_commands
    from confide.report.plan.text import print_plan

    print_plan(planned, output.console())
    commands = plan_commands(planned, release_parameters(planned, prevalence=prevalence))
    typer.echo("\n".join(["\nTo release it so:", *(f"  {command}" for command in commands)]), err=True)
