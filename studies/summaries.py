"""Pages of all studies, made from the summaries that full-size runs have left in `studies/results`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from studies.catalogue import STUDIES, Entry
from studies.claims import Answer, Verdict
from studies.published import Comparison
from studies.settings_words import settings_words

RESULTS = Path(__file__).parent / "results"

RESULTS_PAGE = "../../studies/results/README.md"
"""Page of every claim and number, as the overview in the documentation links to it."""

_OVERVIEW = """\
# Which results of the papers hold

Five studies make the tables and figures of the papers behind confide anew. This page summarises what they found;
[every claim and number]({results}) is beside the stored summaries, in `studies/results`.
`python docs/generate.py` writes both. [Reproduce the figures](../how-to/study.md) tells how to run the studies, and
[where we differ](../explanation/corrections.md) lists the errors that we found.

We turn each claim into differences that are positive if it is true. All clearly positive: it **holds**. All clearly
negative: it **does not hold**. Mixed: **in part**. None clear: **unclear**. Clear means two standard errors. Where a
claim allows no exceptions, we count them instead: it holds if there are none. A published number **agrees** if ours is
within half of its last printed digit and two standard errors; where ours is computed from printed numbers, their
rounding counts too.
"""

_RESULTS = """\
# Every claim and number of the studies

`python docs/generate.py` writes this page from the summaries beside it. Each study names the settings of its run, and
says where that run was smaller than the paper's. [An overview](../../docs/studies/index.md) explains the verdicts.

Behind a verdict stands the difference that speaks most against the claim, with its standard error (exact numbers have
none), or the number of exceptions. A star marks numbers that were read off a picture. Where the limit of a claim was
chosen after first results were seen, the report of the study says so.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """Summary of a study, as `StudyReport.to_summary` writes it."""

    entry: Entry
    plain: dict[str, Any]

    @classmethod
    def read(cls, entry: Entry, folder: Path = RESULTS) -> Summary | None:
        """Read the summary of a study, None if there is none."""
        path = folder / f"{entry.name}.json"
        if not path.is_file():
            return None
        return cls(entry=entry, plain=json.loads(path.read_text(encoding="utf-8")))

    @property
    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """Return the verdict of each claim, by its figure and sentence."""
        return {
            (claim["where"], claim["sentence"]): Verdict.from_dict(claim["verdict"]) for claim in self.plain["claims"]
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return published numbers beside ours."""
        return tuple(map(Comparison.from_dict, self.plain["comparisons"]))

    def counted(self, answer: Answer) -> int:
        """Count the claims with an answer."""
        return sum(verdict.answer is answer for verdict in self.verdicts.values())

    @property
    def agreeing(self) -> str:
        """Return how many published numbers agree."""
        every = self.comparisons
        return f"{sum(beside.agrees for beside in every)} of {len(every)}" if every else "–"


def stored_summaries(folder: Path = RESULTS) -> tuple[Summary, ...]:
    """Return the summaries that there are, in the order of the catalogue."""
    found = (Summary.read(entry, folder) for entry in STUDIES)
    return tuple(summary for summary in found if summary is not None)


def index_page(summaries: Sequence[Summary] | None = None) -> str:
    """Return the overview for the documentation in Markdown: counts of verdicts, and what fails or differs."""
    every = stored_summaries() if summaries is None else summaries
    return "\n".join((_OVERVIEW.format(results=RESULTS_PAGE), _overview(every), _failing(every), _differing(every)))


def results_page(summaries: Sequence[Summary] | None = None) -> str:
    """Return the page of every claim and number in Markdown."""
    every = stored_summaries() if summaries is None else summaries
    return "\n".join((_RESULTS, *(part for summary in every for part in _study(summary))))


def _overview(summaries: Sequence[Summary]) -> str:
    answers = (Answer.HOLDS, Answer.IN_PART, Answer.UNCLEAR, Answer.FAILS)
    head = ("study", "paper", "claims tried", "hold", "in part", "unclear", "do not hold", "published numbers agree")
    body = [
        (
            f"[`{summary.entry.name}`]({RESULTS_PAGE}#{summary.entry.name})",
            summary.entry.paper,
            str(len(summary.verdicts)),
            *(str(summary.counted(answer)) for answer in answers),
            summary.agreeing,
        )
        for summary in summaries
    ]
    totals = (sum(len(summary.verdicts) for summary in summaries), *(_total(summaries, answer) for answer in answers))
    return _table(head, [*body, ("all", "", *map(str, totals), "")])


def _failing(summaries: Sequence[Summary]) -> str:
    """Return the list of the claims that do not hold, each with a link to its study."""
    lines = [
        _wrapped(f"- {_link(summary, where)}: {_escaped(sentence)}")
        for summary in summaries
        for (where, sentence), verdict in summary.verdicts.items()
        if verdict.answer is Answer.FAILS
    ]
    return "\n".join(("These claims do not hold:\n", *lines, "")) if lines else "No claim fails.\n"


def _differing(summaries: Sequence[Summary]) -> str:
    """Return the list of published numbers that differ from ours, each with a link to its study."""
    lines = [
        _wrapped(
            f"- {_link(summary, beside.published.where)}: {_escaped(beside.name)}, ours {beside.ours.text}, "
            f"published {beside.published.text}."
        )
        for summary in summaries
        for beside in summary.comparisons
        if not beside.agrees
    ]
    return "\n".join(("These published numbers differ from ours:\n", *lines, "")) if lines else "No number differs.\n"


def _link(summary: Summary, where: str) -> str:
    return f"[`{summary.entry.name}`]({RESULTS_PAGE}#{summary.entry.name}), {where}"


def _total(summaries: Sequence[Summary], answer: Answer) -> int:
    return sum(summary.counted(answer) for summary in summaries)


def _study(summary: Summary) -> Iterator[str]:
    plain = summary.plain
    yield f"## {summary.entry.name}\n"
    run = settings_words(summary.entry.name, plain["settings"])
    yield _wrapped(f"{summary.entry.paper}. This run: {run}.") + "\n"
    if plain["quick"]:
        yield "- **This run is smaller than the paper's**; some verdicts would be clearer at full size."
    for warning in plain["warnings"]:
        yield _wrapped(f"- {_escaped(warning)}")
    anchor = f"../../docs/explanation/corrections.md#{summary.plain['corrections']}"
    yield f"- Errors that were found: [where we differ]({anchor}).\n"
    for file in plain["files"]:
        yield _wrapped(f"- Public, not shipped: `{file['name']}`, {file['what']} (SHA-256 `{file['sha256']}`).")
    if plain["files"]:
        yield ""
    for exhibit in plain["exhibits"]:
        yield from _exhibit(summary, exhibit["where"], exhibit["title"])


def _exhibit(summary: Summary, where: str, title: str) -> Iterator[str]:
    claims = [(sentence, verdict) for (place, sentence), verdict in summary.verdicts.items() if place == where]
    numbers = [beside for beside in summary.comparisons if beside.published.where == where]
    yield f"### {_escaped(f'{where}: {title}')}\n"
    if not claims and not numbers:
        yield "Made anew; the paper states nothing about it that could be tried.\n"
    if claims:
        yield _table(("claim", "verdict", "evidence"), [_claim_row(*claim) for claim in claims])
    if numbers:
        body = [
            (
                _escaped(beside.name),
                beside.ours.text,
                beside.published.text,
                beside.difference.signed,
                "agrees" if beside.agrees else "**differs**",
            )
            for beside in numbers
        ]
        yield _table(("number", "ours", "published", "difference", ""), body)


def _claim_row(sentence: str, verdict: Verdict) -> tuple[str, str, str]:
    shown = f"**{verdict.answer}**" if verdict.answer is Answer.FAILS else str(verdict.answer)
    return _escaped(sentence), shown, _escaped(verdict.evidence)


def _wrapped(text: str) -> str:
    """Break a paragraph or an item of a list into lines."""
    indent = "  " if text.startswith("- ") else ""
    return fill(text, 118, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in body)]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")
