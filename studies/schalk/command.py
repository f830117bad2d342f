"""Command `python -m studies schalk`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.tasks.output_files import check_report

if TYPE_CHECKING:
    from studies.schalk.plan import Settings
    from studies.schalk.study import Study


def schalk(
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(metavar="N", help="Simulated studies. [default: 10000, as in the paper]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="500 simulated studies: a first look.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of studies and noise.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Threads to run beside each other. [default: the cores]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Simulate validation at five sites, as Schalk and others (2024) did, with the private mode beside theirs.

    Makes the paper's Table 1 and Figures 3 to 6 anew: the ROC-GLM without noise, and its AUC and interval from noisy
    scores at 125 settings of epsilon, delta and sensitivity, which is not differentially private; and the AUC from
    private counts at the same epsilons. Needs no data, and nothing here is a release. It takes two minutes on two
    cores.

    Examples:

        python -m studies schalk --report study.html

        python -m studies schalk --quick

        python -m studies schalk --repetitions 2000 --seed 1 --json
    """
    from studies.schalk.plan import Settings

    if report is not None:
        check_report(report)
    study = _simulate(Settings.checked(repetitions=repetitions, seed=seed, quick=quick), jobs)
    from studies.schalk.report import print_study, schalk_page

    if report is not None:
        with output.busy("drawing the report"):
            page = schalk_page(study)
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(study.to_dict())
    else:
        print_study(study, output.console())


def _simulate(settings: Settings, jobs: int | None) -> Study:
    from studies.schalk.plan import PIECE, pieces
    from studies.schalk.running import run
    from studies.schalk.study import Study

    with output.steps(len(pieces(settings)), "repeating the study") as step:
        found = run(settings, jobs=jobs, finished=lambda piece: step(f"studies up to {PIECE * (piece + 1):,}"))
    return Study(settings=settings, found=found)
