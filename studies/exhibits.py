"""Study as a whole: the paper's figures and tables made anew, its claims, and its numbers beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confide.report.style import Drawing
from confide.report.writers.terminal import Table
from studies.claims import Answer, Claim
from studies.data_files import DataFile
from studies.published import Comparison

SCHEMA = "confide.study/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Paper that a study repeats: the study's name, a title for its page, the reference, and the files it reads.

    `corrections` names the heading of `corrections.md` that has the paper's errors.
    """

    study: str
    title: str
    reference: str
    corrections: str
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """Picture of a figure: a function that draws `data` on axes. `name` is unique on the page."""

    name: str
    caption: str
    draw: Drawing
    data: Any
    size: tuple[float, float] = (5.4, 4.6)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exhibit:
    """Figure or table of the paper by its number, such as "Figure 4.3", made anew."""

    where: str
    title: str
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyReport:
    """Everything that a study says.

    `warnings` name what a reader must know first, such as what a quick run leaves out. `summary` and `summary_tables`
    come first on the page, `setup` tells how the paper's setup was followed, `corrections` where paper and results
    disagree. `details` are the study's own numbers in JSON.
    """

    paper: Paper
    settings: Mapping[str, Any]
    quick: bool
    lead: str
    exhibits: tuple[Exhibit, ...]
    claims: tuple[Claim, ...]
    comparisons: tuple[Comparison, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    summary_tables: tuple[Table, ...] = ()
    corrections: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shown = {exhibit.where for exhibit in self.exhibits}
        named = {claim.where for claim in self.claims} | {beside.published.where for beside in self.comparisons}
        if named - shown:
            raise ValueError(f"no exhibit for {', '.join(sorted(named - shown))}")

    def claims_of(self, where: str) -> tuple[Claim, ...]:
        """Return the claims about a figure or table."""
        return tuple(claim for claim in self.claims if claim.where == where)

    def comparisons_of(self, where: str) -> tuple[Comparison, ...]:
        """Return the published numbers of a figure or table, with ours."""
        return tuple(beside for beside in self.comparisons if beside.published.where == where)

    @property
    def answers(self) -> Counter[Answer]:
        """Count the claims by their answer."""
        return Counter(claim.verdict.answer for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {**self.to_summary(), "claims": [claim.to_dict() for claim in self.claims], **self.details}

    def to_summary(self) -> dict[str, Any]:
        """Return what the page of all studies shows: figures, claims with verdicts, and numbers beside ours."""
        return {
            "schema": SCHEMA,
            "study": self.paper.study,
            "quick": self.quick,
            "settings": dict(self.settings),
            "corrections": self.paper.corrections,
            "files": [file.to_dict() for file in self.paper.files],
            "warnings": list(self.warnings),
            "exhibits": [{"where": exhibit.where, "title": exhibit.title} for exhibit in self.exhibits],
            "claims": [
                {"where": claim.where, "sentence": claim.sentence, "verdict": claim.verdict.to_dict()}
                for claim in self.claims
            ],
            "comparisons": [beside.to_dict() for beside in self.comparisons],
        }
