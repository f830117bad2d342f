"""Study of Whitehill's paper as a report."""

from __future__ import annotations

from collections.abc import Iterator

from confide.report.style import Drawing
from studies.exhibits import Exhibit, Paper, Picture, StudyReport
from studies.whitehill import plots, tables
from studies.whitehill.claims import GROWTH_TABLE, claims, comparisons
from studies.whitehill.study import Study

PAPER = Paper(
    study="whitehill",
    title="Labels from an AUC: the tables and attacks of Whitehill (2019) made anew",
    reference="J. Whitehill. How does knowledge of the AUC constrain the set of possible ground-truth labelings? "
    "AAAI (2019).",
    corrections="attacks",
)


def whitehill_report(study: Study) -> StudyReport:
    """Gather everything that the study says."""
    return StudyReport(
        paper=PAPER,
        settings=study.settings.to_dict(),
        quick=study.settings.quick,
        lead="Labelings are counted and listed exactly; attacks run against oracles with hidden labels that are drawn "
        "here. Beside them stands confide's oracle, whose labels were masked once.",
        warnings=("A quick look: fewer contests, boards and AUCs.",) if study.settings.quick else (),
        exhibits=tuple(_exhibits(study)),
        claims=tuple(claims(study)),
        comparisons=tuple(comparisons(study)),
        summary=tuple(_summary(study)),
        corrections=tuple(_corrections(study)),
        setup=tuple(_setup(study)),
        details=study.to_dict(),
    )


def _exhibits(study: Study) -> Iterator[Exhibit]:
    yield Exhibit(
        where="Introduction",
        title="four rows, and a thousand",
        notes=(
            "The thousand rows with an AUC of 450/479 still have about "
            f"10^{study.found['counts']['thousand_digits'][0]:.0f} labelings, of 10^301: class sizes are all that one "
            "AUC gives away.",
        ),
    )
    yield Exhibit(where="Proposition 1", title="two submissions for each label")
    yield Exhibit(where="Figure 1", title="a left-swap")
    yield Exhibit(where="Figure 2", title="labelings as left-swaps")
    yield Exhibit(where="Table 1", title="all labelings of an AUC", tables=(tables.example_table(study),))
    yield Exhibit(
        where=GROWTH_TABLE,
        title="the number of labelings by rows",
        pictures=(
            _one("growth", "The published numbers come out exactly.", plots.draw_growth, study),
            _one("many", "In the large the number grows exponentially, at every AUC.", plots.draw_many, study),
        ),
        tables=(tables.growth_table(study), tables.conjecture_table(study)),
    )
    yield Exhibit(where="Figure 3", title="the decision tree of Table 1")
    yield Exhibit(where="Example 2", title="all labels of 106 rows", tables=(tables.attack_table(study),))
    yield Exhibit(
        where="Discussion",
        title="a contest of 172 rows",
        pictures=(
            _one("contest", "Black lines: the most that masked labels allow.", plots.draw_contest, study),
            _one("boards", "Bars are two standard errors.", plots.draw_boards, study),
        ),
        tables=(tables.contest_table(study), tables.board_table(study)),
        notes=(
            "The paper has no numbers on a contest that was attacked: contests with its numbers of rows and positives "
            "are simulated. Masked labels are label-only private, and any number of answers costs nothing more.",
            "The paper speaks of noise on each AUC. Here the labels are masked once instead, as confide's oracle does, "
            "so that repeated submissions do not average the noise away. With a large epsilon most labels are still "
            "read: only that all of them are is unlikely.",
        ),
    )


def _one(name: str, caption: str, draw: Drawing, study: Study) -> Picture:
    return Picture(name=name, caption=caption, draw=draw, data=study, size=(5.8, 4.8))


def _summary(study: Study) -> Iterator[str]:
    yield (
        f"All labels of 172 rows take {study.queries('exact').value:.0f} submissions with exact answers and "
        f"{study.queries('digits=5').value:.0f} with five digits, where the paper needs 344. From labels that were "
        f"masked with epsilon 2, {100 * study.right('masked, epsilon 2').value:.0f} % are guessed right, after any "
        "number of submissions."
    )
    rows = study.settings.board_rows[-1]
    yield (
        f"With {rows:,} rows the order on that board has a tau of {study.tau(rows, 2).text} with the true order, and "
        f"{study.tau(rows, 0).text} with exact labels."
    )


def _corrections(study: Study) -> Iterator[str]:
    risen = {tuple(row[:2]) for row in study.found["conjecture"]["inside"].tolist()}
    yield (
        "The conjecture on growth does not hold: with an AUC of 3/4, four rows have one labeling (the paper's first "
        "example) and five rows have two, below the limit of six. "
        f"Of {study.number('conjecture', 'tried')} AUCs tried, {len(risen)} have such a step below the limit. At the "
        "limit itself the number jumps nearly always: from 468,686 at 106 rows to "
        f"{study.number('counts', 'at_limit'):,} at 108 in the paper's own example."
    )
    yield (
        "The 18 possibilities for an AUC printed as 0.90278 are those of 0.90277 cut off; rounded, 8 remain. Table 1 "
        "lacks the last of eleven columns, which is 1 in all rows."
    )
    yield (
        "The decision tree of 106 rows takes at most "
        f"{study.number('trees', 'large')} submissions here and 71 in the paper; which of several equally telling "
        "labels is asked first decides."
    )


def _setup(study: Study) -> Iterator[str]:
    yield (
        "Numbers of labelings are coefficients of Gaussian binomials, in whole numbers of any size; tests compare them "
        "with the paper's recursion and with all labelings of few rows."
    )
    yield (
        f"Hidden labels are drawn with seed {study.settings.seed}. An attack sees nothing but answers, and has at most "
        "two submissions for each row (256 against masked labels)."
    )
    yield (
        "The paper does not say when noise thwarts an attack. Both readings here were chosen after first results were "
        "seen: a wrong label in more than half of the contests, and no more right labels than without any submission."
    )
