"""`confide federation demo`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation import options
from confide.cli.federation.demo_steps import run_demo
from confide.cli.federation_common import JsonOption, print_next, split_names
from confide.errors import UsageError
from confide.tasks.output_files import check_report


def demo(
    folder: options.DemoFolder = None,
    sites: options.DemoSites = None,
    modes: options.DemoModes = None,
    epsilon: options.DemoEpsilon = None,
    site_share: options.DemoShare = None,
    data: options.DemoData = None,
    label: options.DemoLabel = None,
    score: options.DemoScore = None,
    positive: options.DemoPositive = None,
    model_file: options.DemoModelFile = None,
    features: options.DemoFeatures = None,
    site_column: options.DemoSiteColumn = None,
    timeout: options.DemoTimeout = 60,
    report: options.DemoReport = None,
    as_json: JsonOption = False,
) -> None:
    """Run a whole federation on this machine: validate a model at 3 to 5 hospitals that share no rows.

    Makes certificates, starts a server and a process for each hospital, validates in each mode, writes a report for
    each, and stops everything. The hospitals are real sites of NVIDIA FLARE; only the network between them is this
    machine's own. It takes one to two minutes.

    Examples:

        confide federation demo

        confide federation demo --sites 3 --mode private --epsilon 2 --report private.html

        confide federation demo trial --data scores.csv --label died --score risk --site-column hospital
    """
    from confide.tasks.federation_demo import plan_demo

    if report is not None and len(set(modes or ())) != 1:
        raise UsageError("--report is for one mode; give one --mode, or leave --report out to get one for each")
    if report is not None:
        check_report(report)
    with output.busy("reading"):
        plan = plan_demo(
            folder,
            modes=modes,
            sites=sites,
            epsilon=epsilon,
            site_share=site_share,
            data=data,
            label=label,
            score=score,
            positive=positive,
            model_file=model_file,
            features=split_names(features),
            site_column=site_column,
            timeout=timeout,
        )
    reports = {mode: report or plan.folder / f"report-{mode}.html" for mode in plan.questions}
    run_demo(plan, reports, as_json=as_json)
    print_next(
        ("Open the report in a browser:", [str(path.resolve()) for path in reports.values()]),
        ("See what a site keeps, and what it spent:", (f"confide site status {plan.folder / plan.sites[0]}",)),
        ("Delete the folder afterwards: it holds keys, and the rows of each site:", (f"rm -r {plan.folder}",)),
    )
