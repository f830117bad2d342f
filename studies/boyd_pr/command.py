"""Command `python -m studies boyd-pr`."""

from __future__ import annotations

from typing import Annotated

import typer

from studies.exhibits import StudyReport
from studies.options import Asked


def run_boyd_pr(
    asked: Asked,
    *,
    repetitions: Annotated[
        int | None, typer.Option(metavar="N", help="Samples of each setting. [default: 10000, as in the dissertation]")
    ] = None,
) -> StudyReport:
    """Make the figures and tables on precision-recall of Boyd's dissertation (2014) anew.

    The unachievable region (chapter 3), and the bias of eight estimators of AUCPR and the coverage, width and location
    of four kinds of intervals (chapter 4). Needs no data. It takes 13 min on two free cores, and 30 s with
    --quick.

    Examples:

        python -m studies boyd-pr --report study.html

        python -m studies boyd-pr --quick

        python -m studies boyd-pr --repetitions 1000 --seed 1 --json
    """
    from studies.boyd_pr.plan import Settings
    from studies.boyd_pr.report import boyd_pr_report
    from studies.boyd_pr.running import gathered, simulation_pieces
    from studies.boyd_pr.study import Study

    settings = Settings.checked(repetitions=repetitions, seed=asked.seed, quick=asked.quick)
    found = asked.run("boyd-pr", settings.to_dict(), simulation_pieces(settings))
    return boyd_pr_report(Study(settings=settings, found=gathered(settings, found)))
