"""Next steps after a run that ended before its answers, in words: only those that the question allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from confide.federation.modes.mode import FEWEST_MASKED
from confide.federation.modes.registry import mode_of
from confide.federation.outcome import SiteReport
from confide.federation.question import Question
from confide.federation.recovery_terms import with_threshold
from confide.federation.site_state import RefusalReason


def needed(question: Question) -> str:
    """Return how many of the sites must take part, in words."""
    return "all" if question.least_sites == len(question.sites) else str(question.least_sites)


def after_absence(question: Question, absent: Sequence[SiteReport], *, first: str = "Mend what they say") -> str:
    """Return what to do if too few sites take part."""
    left = len(question.sites) - len(absent)
    steps = []
    if _can_ask(question, left):
        steps.append("leave them out (`sites`)")
    if _could_go_on(question, left):
        steps.append("allow fewer sites (`fewest`)")
    return " or ".join((f"{first}, and ask again{';' if steps else ''}", *steps))


def after_waiting(question: Question, held: Sequence[SiteReport], absent: Sequence[SiteReport]) -> str:
    """Return what to do if people have yet to decide at some sites, and others do not take part whatever they decide.

    Another price or another list of sites is another question, which people decide on anew. So what keeps others away
    is settled first.
    """
    left = len(question.sites) - len(absent)
    if left < question.least_sites:
        return (
            f"Approval alone is not enough. First {_settle(question, absent)}. Then ask again. Another epsilon or "
            "another list of sites is another question, which needs approvals of its own"
        )
    without = f", and the run goes on without {_names(absent)}" if absent else ""
    again = (
        "Ask again later with the same options, `purpose` included: a site that approved the question answers at "
        f"once{without}"
    )
    if not _can_ask(question, left - len(held)):
        return again
    return f"{again}. To go on without a site that waits, leave it out (`sites`)"


def _settle(question: Question, absent: Sequence[SiteReport]) -> str:
    """Return what brings absent sites back, or does without them."""
    unable = [report for report in absent if report.reason is RefusalReason.BUDGET]
    others = [report for report in absent if report.reason is not RefusalReason.BUDGET]
    steps = []
    if unable:
        steps.append(f"ask for less `epsilon`, or let {_names(unable)} raise what the policy lets the ledger spend")
    if others:
        steps.append(f"mend what {_names(others)} {'says' if len(others) == 1 else 'say'}")
    text = "; and ".join(steps)
    if _can_ask(question, len(question.sites) - len(absent)):
        text += f"; or leave out {_names(absent)} (`sites`)"
    return text


def _could_go_on(question: Question, sites: int) -> bool:
    """Return whether a question that allows so few of its sites (`fewest`) could go on with them."""
    mode = mode_of(question)
    if sites < mode.fewest_sites(question):
        return False
    allowed = with_threshold(replace(question, fewest=sites, threshold=None), None, masked=mode.masked)
    return allowed.least_sites <= sites


def _can_ask(question: Question, sites: int) -> bool:
    """Return whether the mode can ask so many sites."""
    return sites >= (FEWEST_MASKED if mode_of(question).masked else 1)


def _names(reports: Sequence[SiteReport]) -> str:
    return ", ".join(report.name for report in reports)
