"""Check a file of scores against the template of a contest: offline, without a label, at no cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide.contest.template import Template
from confide.errors import SubmissionError, SubmissionProblem, UsageError
from confide.sources.submissions import IdIndex, kind_of, read_score_file

SCHEMA = "confide.contest-check/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionCheck:
    """Result of checking a file of scores. Everything in it is about the participant's own file.

    `in_order`, `lowest`, `highest` and `distinct` are None if the file has problems.
    """

    contest: str
    rows: int
    problems: tuple[SubmissionProblem, ...] = ()
    in_order: bool | None = None
    lowest: float | None = None
    highest: float | None = None
    distinct: int | None = None

    @property
    def fits(self) -> bool:
        """Tell whether a server would score the file."""
        return not self.problems

    @property
    def constant(self) -> bool:
        """Tell whether all scores are equal, so that they rank nothing."""
        return self.distinct == 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "contest": self.contest,
            "fits": self.fits,
            "rows": self.rows,
            "problems": [problem.to_dict() for problem in self.problems],
            "in_order": self.in_order,
            "lowest": self.lowest,
            "highest": self.highest,
            "distinct": self.distinct,
        }


def check_submission(template_file: str | Path, scores_file: str | Path) -> SubmissionCheck:
    """Check a file of scores, CSV or Parquet, as the server of the contest does.

    A file with problems is no error: see `SubmissionCheck.problems`.
    """
    template = read_template(Path(template_file))
    file = Path(scores_file)
    columns = (template.id_column, template.score_column)
    try:
        found = read_score_file(
            file, kind_of(file), IdIndex(template.ids), columns, probabilities=template.probabilities, own=True
        )
    except SubmissionError as error:
        return SubmissionCheck(contest=template.contest, rows=len(template), problems=error.problems)
    return SubmissionCheck(
        contest=template.contest,
        rows=len(template),
        in_order=found.in_order,
        lowest=float(found.scores.min()),
        highest=float(found.scores.max()),
        distinct=int(np.unique(found.scores).size),
    )


def read_template(file: Path) -> Template:
    """Read the file `template.json` of a contest."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); give the organiser's file template.json") from None
    return Template.from_json(text)
