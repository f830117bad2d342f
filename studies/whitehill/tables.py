"""Tables of the study, as the terminal and the page both show them."""

from __future__ import annotations

import math

from confide.privacy.adversary import success_bound
from confide.report.writers.terminal import Table
from studies.whitehill.plan import EPSILONS
from studies.whitehill.published import GROWTH
from studies.whitehill.running import masked_name
from studies.whitehill.study import METHODS, Study

SHOWN_STEPS = 8


def growth_table(study: Study) -> Table:
    """Number of labelings by rows."""
    counted = study.found["counts"]["growth"].tolist()
    sizes = study.found["counts"]["growth_sizes"].tolist()
    return Table(
        title="Labelings with an AUC of 1387/1440",
        head=("rows", "possible positives", "labelings", "published"),
        body=(
            *(
                (str(rows), " or ".join(map(str, size)), f"{ours:,}", f"{value:,}")
                for (rows, value), ours, size in zip(GROWTH.items(), counted, sizes, strict=True)
            ),
            ("108", "", f"{study.number('counts', 'at_limit'):,}", "–"),
        ),
        note="108 is the least n0 + n1 with n0 n1 = 2q, up to which the paper conjectures that the number does not "
        "grow.",
        text_columns=("possible positives",),
    )


def conjecture_table(study: Study) -> Table:
    """Steps up, against the conjecture."""
    found = study.found["conjecture"]
    return Table(
        title=f"Against the conjecture: {len(found['inside'])} steps up below the limit, {len(found['at_limit'])} at "
        f"it ({study.number('conjecture', 'tried')} AUCs p/q above 1/2, q to {study.settings.denominator})",
        head=("AUC", "rows", "labelings", "next rows", "labelings there"),
        body=tuple(
            (f"{p}/{q}", str(n), f"{w:,}", str(m), f"{v:,}")
            for p, q, n, w, m, v in found["inside"][:SHOWN_STEPS].tolist()
        ),
        note="The first ones below the limit. Numbers of rows at which no labeling has the AUC are passed over.",
    )


def example_table(study: Study) -> Table:
    """Table 1."""
    return Table(
        title="Labelings with 3 negatives, 8 positives and an AUC of 17/24, by ascending guess",
        head=("", *map(str, range(1, 12))),
        body=tuple(
            ("abcdefgh"[place], *map(str, row))
            for place, row in enumerate(sorted(study.found["counts"]["example"].tolist(), reverse=True))
        ),
        note="The paper prints the first ten columns; the eleventh is 1 in all rows.",
    )


def attack_table(study: Study) -> Table:
    """Submissions of the tree and of rankings."""
    found = study.found["attacks"]
    return Table(
        title=f"Submissions for all labels of {study.settings.tree} rows, AUC 1387/1440",
        head=("attack", "mean", "most"),
        body=(
            ("two for each label", f"{2 * study.settings.tree}", f"{2 * study.settings.tree}"),
            ("tree (Whitehill)", f"{found['tree'].mean():.1f}", f"{study.number('trees', 'large')}"),
            ("rankings that tell most (ours)", f"{found['rankings'].mean():.1f}", f"{found['rankings'].max()}"),
        ),
        note=f"Means over {study.settings.truths} of the 468,686 labelings. The most of the tree is over all of them.",
    )


def contest_table(study: Study) -> Table:
    """Labels that attacks read from a contest."""
    bounds = {masked_name(epsilon): f"{success_bound(epsilon):.3f}" for epsilon in EPSILONS}
    return Table(
        title="A contest of 172 rows, 72 positive: labels that an attack gets right",
        head=("AUC as shown", "submissions", "share right", "bound"),
        body=tuple(
            (method, study.queries(method).text, study.right(method).text, bounds.get(method, "1"))
            for method in METHODS
        ),
        note="one by one: two submissions for each row. exact, digits: our attack on answers shown so. masked: our "
        "attack on an oracle that computes its answers from labels that were flipped once. A label that cannot be "
        f"named counts half. {study.settings.contests} contests.{above_bounds(study)}",
    )


def above_bounds(study: Study) -> str:
    """Return how far shares of labels lie above their bound, which limits the mean and not a share of few contests."""
    words = []
    for epsilon in EPSILONS:
        name, above = masked_name(epsilon), study.right(masked_name(epsilon)).less(success_bound(epsilon))
        if above.value > 0.0:
            times = above.value / above.standard_error if above.standard_error else math.inf
            words.append(f" {name}: the bound is for the mean; this is {_errors(times)}.")
    return "".join(words)


def _errors(times: float) -> str:
    """Write how many standard errors a number lies off.

    >>> _errors(0.6), _errors(1.4), _errors(2.5)
    ('within one standard error', 'within two standard errors', '2.5 standard errors above it')
    """
    if times <= 2.0:
        return "within one standard error" if times <= 1.0 else "within two standard errors"
    return f"{times:.1f} standard errors above it" if math.isfinite(times) else "above it"


def board_table(study: Study) -> Table:
    """Order on the board beside exact labels."""
    return Table(
        title="Kendall's tau of a board's order with the true order",
        head=("rows", "exact labels", *map(masked_name, EPSILONS)),
        body=tuple(
            (f"{rows:,}", *(study.tau(rows, place).text for place in range(len(EPSILONS) + 1)))
            for rows in study.settings.board_rows
        ),
        note=f"{study.settings.boards} simulated contests of 50 teams and {study.settings.answers:,} submissions each.",
    )
