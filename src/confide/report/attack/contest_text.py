"""Lines about what a rehearsed contest revealed, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from confide.attacks.contest.rehearsal import Rehearsal
from confide.report.attack.bounds import whole_percent
from confide.report.attack.text import capitalised
from confide.report.shared.guarantees import at_most
from confide.report.shared.numbers import amount


def contest_lines(held: Rehearsal) -> Iterator[str]:
    """Yield what a contest's submissions revealed."""
    ladder = "" if held.step is None else f", behind a Ladder with steps of {held.step}"
    yield f"{capitalised(str(held.published))}{ladder}; {amount(held.rows)} rows, {amount(held.positives)} positive"
    agreement = held.agreement
    share = f" ({100 * agreement.share:.0f} %)" if agreement.said else ""
    yield (
        f"labels: {amount(agreement.right)} right of {amount(agreement.said)} said{share}, {amount(held.certain)} of "
        f"them certain, after {amount(held.used)} submissions"
    )
    yield f"  for comparison: {amount(held.majority)} of {amount(held.rows)} by always guessing the larger class"
    yield (
        f"  all labels take {amount(2 * held.rows)} submissions at two for each; with exact answers, at least "
        f"{amount(held.fewest)}"
    )
    if held.bound is not None:
        before = held.majority / held.rows
        after = before * held.bound / (before * held.bound + (1.0 - before) * (1.0 - held.bound))
        yield (
            f"  after all answers, an attacker who was {whole_percent(before)} % sure of one label is at most "
            f"{at_most(after)} % sure"
        )
    if held.boosted is not None:
        yield (
            f"score of random submissions, combined by their answers: {held.boosted:.3f} on the contest's rows, "
            f"{held.honest:.3f} on other rows (a higher score on the contest's rows is overfitting)"
        )
