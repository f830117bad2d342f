"""Command `python -m studies schalk`."""

from __future__ import annotations

from typing import Annotated

import typer

from studies.exhibits import StudyReport
from studies.options import Asked


def run_schalk(
    asked: Asked,
    *,
    repetitions: Annotated[
        int | None, typer.Option(metavar="N", help="Simulated studies. [default: 10000, as in the paper]")
    ] = None,
) -> StudyReport:
    """Simulate validation at five sites, as Schalk and others (2024) did, with the private mode beside theirs.

    Makes the paper's Table 1 and Figures 3 to 6 anew: the ROC-GLM without noise, and its AUC and interval from noisy
    scores at 125 settings of epsilon, delta and sensitivity, which is not differentially private; and the AUC from
    private counts at the same epsilons. Needs no data, and nothing here is a release. It takes 3 min on two
    free cores, and 10 s with --quick, which simulates 500 studies.

    Examples:

        python -m studies schalk --report study.html

        python -m studies schalk --quick

        python -m studies schalk --repetitions 2000 --seed 1 --json
    """
    from studies.schalk.plan import Settings
    from studies.schalk.report import schalk_report
    from studies.schalk.running import SimulationResult, simulation_pieces
    from studies.schalk.study import Study

    settings = Settings.checked(repetitions=repetitions, seed=asked.seed, quick=asked.quick)
    found = asked.run("schalk", settings.to_dict(), simulation_pieces(settings), workers="threads")
    return schalk_report(Study(settings=settings, found=SimulationResult.from_arrays(settings, list(found.values()))))
