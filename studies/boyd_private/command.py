"""Command `python -m studies boyd-private`."""

from __future__ import annotations

from studies.exhibits import StudyReport
from studies.options import Asked


def run_boyd_private(asked: Asked) -> StudyReport:
    """Repeat chapter 5 of Boyd's dissertation (2014) and Boyd, Lantz & Page (2015): private AUC and AP.

    Makes Figures 1 to 6 of the paper and 5.1 to 5.6 of the dissertation anew, tries their theorems on all small
    datasets, and puts confide's mechanisms beside theirs at the same epsilon. Reads adult.csv.gz (UCI Adult, train and
    test rows in one table) from --data; without it simulated scores take its place. Noise comes from a seed: nothing
    here is a release. It takes 4 min on two free cores, and 20 s with --quick.

    Examples:

        python -m studies boyd-private --data DIR --report study.html

        python -m studies boyd-private --quick

        python -m studies boyd-private --data DIR --seed 1 --json
    """
    from confide.cli import output
    from studies.boyd_private.data import ADULT, Population, adult, diabetes_stand_in
    from studies.boyd_private.plan import Settings, planned
    from studies.boyd_private.report import boyd_private_report
    from studies.boyd_private.study import Study
    from studies.data_files import checksum

    settings, path = Settings.asked(seed=asked.seed, quick=asked.quick), ADULT.find(asked.data)
    populations: tuple[Population, ...] = (diabetes_stand_in(),)
    if path is not None:
        with output.busy("training on Adult"):
            populations = (adult(path, settings.seed), *populations)
    decisive = {**settings.to_dict(), "adult": None if path is None else checksum(path)}
    found = asked.run("boyd-private", decisive, planned(settings, populations))
    return boyd_private_report(Study(settings=settings, populations=populations, found=found), ADULT.state(asked.data))
