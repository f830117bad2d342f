"""Command `python -m studies whitehill`."""

from __future__ import annotations

from studies.exhibits import StudyReport
from studies.options import Asked


def run_whitehill(asked: Asked) -> StudyReport:
    """Count the labelings that an AUC leaves possible, and attack contests, as Whitehill (2019) did.

    Makes the paper's tables and examples anew, tries its conjecture, and sets confide's oracle, which answers from
    masked labels, beside the oracles that it attacks. Needs no data. It takes 25 s on two free cores, and 15 s with
    --quick.

    Examples:

        python -m studies whitehill --report study.html

        python -m studies whitehill --quick --json
    """
    from studies.whitehill.plan import Settings
    from studies.whitehill.report import whitehill_report
    from studies.whitehill.running import pieces
    from studies.whitehill.study import Study

    settings = Settings.checked(seed=asked.seed, quick=asked.quick)
    return whitehill_report(
        Study(settings=settings, found=asked.run("whitehill", settings.to_dict(), pieces(settings)))
    )
