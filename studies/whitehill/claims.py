"""Sentences and printed numbers of the paper, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from studies.claims import Claim, Exceptions, Mean
from studies.published import Comparison, Published
from studies.whitehill.counting import swapped
from studies.whitehill.plan import EPSILONS
from studies.whitehill.published import (
    CONTEST_NEGATIVES,
    CONTEST_POSSIBLE,
    CONTEST_ROWS,
    EXAMPLE_QUERIES,
    GROWTH,
    GROWTH_SIZES,
    LARGE_QUERIES,
    SWAP_AFTER,
    SWAP_BEFORE,
    SWAP_PAIRS,
    TABLE_1,
    THOUSAND,
)
from studies.whitehill.running import masked_name

if TYPE_CHECKING:
    from studies.whitehill.study import Study

LIKELY = 0.5
"""Probability above which something is likely: the paper says that noise "would likely thwart the proposed attack"."""

GROWTH_TABLE = "Table on growth"
"""The paper's second table has no number."""


def claims(study: Study) -> Iterator[Claim]:
    """Yield the claims that can be tried."""
    yield from _on_counting(study)
    yield from _on_growth(study)
    yield from _on_attacks(study)
    yield from _on_contest(study)


def _on_counting(study: Study) -> Iterator[Claim]:
    four = study.found["counts"]["four"].tolist()
    yield Claim(
        where="Introduction",
        sentence="With four rows, guesses (0.2, 0.5, 0.9, 0.1) and an AUC of 3/4, the labels must be (1, 0, 1, 0).",
        differences={"other labelings": Exceptions.counted(int(four != [[0, 1, 0, 1]]))},
    )
    yield Claim(
        where="Introduction",
        sentence="With 1,000 rows and an AUC of 450/479 there are four choices for the class sizes: 42, 479, 521 or "
        "958 positives.",
        differences={
            "class sizes that differ": Exceptions.counted(
                len(set(study.found["counts"]["thousand_sizes"].tolist()).symmetric_difference(THOUSAND[2]))
            )
        },
    )
    swaps, wrong = study.number("swaps", "swaps"), study.number("swaps", "wrong")
    yield Claim(
        where="Figure 1",
        sentence="A left-swap adds one misplaced pair (Proposition 3).",
        differences={f"exceptions among {swaps:,} swaps": Exceptions.counted(wrong)},
    )
    yield Claim(
        where="Figure 2",
        sentence="Every labeling with d misplaced pairs is a sequence of left-swaps that add up to d (Theorem 1).",
        differences={
            "miscounted numbers, all labels of 11 rows": Exceptions.counted(study.number("swaps", "miscounted"))
        },
    )
    listed = {"".join(map(str, row[:-1])) for row in study.found["counts"]["example"].tolist()}
    yield Claim(
        where="Table 1",
        sentence="The eight labelings with 3 negatives, 8 positives and an AUC of 17/24 are those of the table.",
        differences={"labelings that differ": Exceptions.counted(len(listed.symmetric_difference(TABLE_1)))},
    )


def _on_growth(study: Study) -> Iterator[Claim]:
    counted = study.found["counts"]["growth"].tolist()
    yield Claim(
        where=GROWTH_TABLE,
        sentence="The number of labelings with an AUC of 1387/1440 decreases steadily from 76 to 106 rows.",
        differences={
            f"{n} less {m} rows": Mean.exact(a - b)
            for n, m, a, b in zip(list(GROWTH), list(GROWTH)[1:], counted, counted[1:], strict=False)
        },
    )
    tried = study.number("conjecture", "tried")
    for name, which in (("inside", "below"), ("at_limit", "at")):
        yield Claim(
            where=GROWTH_TABLE,
            sentence="Conjecture: the number of labelings does not grow with the rows up to the least n0 + n1 with "
            f"n0 n1 = 2q; {which} that number of rows.",
            differences={f"exceptions among {tried} AUCs": Exceptions.counted(len(study.found["conjecture"][name]))},
        )


def _on_attacks(study: Study) -> Iterator[Claim]:
    yield Claim(
        where="Example 2",
        sentence="At most 71 submissions are needed for all 106 labels.",
        differences={
            "submissions above 71": Exceptions.counted(max(study.number("trees", "large") - LARGE_QUERIES, 0))
        },
    )
    yield Claim(
        where="Example 2",
        sentence="The tree needs typically far fewer than two submissions for each row (less than half as many).",
        differences={"rows less the mean": Mean.of(study.settings.tree - study.found["attacks"]["tree"].astype(float))},
    )
    yield Claim(
        where="Example 2",
        sentence="There might be a way of choosing guesses that is more efficient than the tree.",
        differences={
            "tree less rankings that tell most": Mean.of(
                (study.found["attacks"]["tree"] - study.found["attacks"]["rankings"]).astype(float)
            )
        },
    )


def _on_contest(study: Study) -> Iterator[Claim]:
    noisy, guessed = tuple(map(masked_name, EPSILONS)), CONTEST_NEGATIVES / CONTEST_ROWS
    yield Claim(
        where="Proposition 1",
        sentence="Two submissions for each row give all labels.",
        differences={"contests with a wrong label": Exceptions.counted(study.failures("one by one"))},
    )
    yield Claim(
        where="Discussion",
        sentence="With an AUC of five digits the attack may still work (here: gives all labels in every contest).",
        differences={"contests with a wrong label": Exceptions.counted(study.failures("digits=5"))},
    )
    yield Claim(
        where="Discussion",
        sentence="Noise would likely thwart the attack, which is to infer all labels (likely: a label is wrong in more "
        "than half of the contests).",
        differences={f"share of contests less {LIKELY:g}, {name}": study.failing(name).less(LIKELY) for name in noisy},
    )
    yield Claim(
        where="Discussion",
        sentence="Noise would thwart the attack, read more strictly: no more labels are right than without any "
        f"submission, by calling all rows negative ({CONTEST_NEGATIVES} of {CONTEST_ROWS}).",
        differences={
            f"{guessed:.3f} less the share of labels, {name}": study.right(name).below(guessed) for name in noisy
        },
    )


def comparisons(study: Study) -> Iterator[Comparison]:
    """Yield the printed numbers, with ours."""
    for place, figure in enumerate((SWAP_BEFORE, SWAP_AFTER)):
        yield _exact(f"misplaced pairs of {figure}", swapped(figure), SWAP_PAIRS[place], "Figure 1")
    yield _exact("labelings, 3 negatives, 8 positives", len(study.found["counts"]["example"]), 8, "Table 1")
    for (rows, value), ours in zip(GROWTH.items(), study.found["counts"]["growth"].tolist(), strict=True):
        yield _exact(f"labelings of {rows} rows", ours, value, GROWTH_TABLE)
    sizes = dict(zip(GROWTH_SIZES, study.found["counts"]["growth_sizes"].tolist(), strict=True))
    agree = sum(tuple(sizes[rows]) == expected for rows, expected in GROWTH_SIZES.items())
    yield _exact("rows whose possible class sizes agree", agree, len(GROWTH_SIZES), GROWTH_TABLE)
    yield _exact("most submissions, 11 rows", study.number("trees", "small"), EXAMPLE_QUERIES, "Figure 3")
    yield _exact(
        f"most submissions, {study.settings.tree} rows", study.number("trees", "large"), LARGE_QUERIES, "Example 2"
    )
    yield _exact("submissions one by one, 11 rows", 2 * 11, 22, "Proposition 1")
    yield _exact(
        f"submissions one by one, {CONTEST_ROWS} rows",
        study.queries("one by one").value,
        2 * CONTEST_ROWS,
        "Proposition 1",
    )
    yield _exact(
        "possibilities for 0.90278, rounded", study.number("counts", "rounded"), CONTEST_POSSIBLE, "Discussion"
    )
    yield _exact("possibilities for 0.90277, cut off", study.number("counts", "cut"), CONTEST_POSSIBLE, "Discussion")


def _exact(name: str, ours: float, value: float, where: str) -> Comparison:
    return Comparison(name=name, ours=Mean.exact(ours), published=Published(value=value, where=where))
