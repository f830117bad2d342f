"""Mode `disclosure-control`: exact counts leave each site in groups of at least `minimum_cell` rows of a class.

The groups are those of `grouped_tables`, which also says what can still be inferred from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confide.federation.modes.exact_mode import ExactMode
from confide.federation.modes.mode import SecondRound

if TYPE_CHECKING:
    from confide.counts import ScoreCounts
    from confide.federation.coordinator.performance import Performance
    from confide.federation.grouped_tables import DisclosedTable
    from confide.federation.outcome import Outcome
    from confide.federation.question import Question


class DisclosureControl(ExactMode):
    """Groups of neighbouring cells, and two rounded sums over all rows; each site's results may be seen."""

    name = "disclosure-control"
    title = "disclosure control"
    summary = "exact counts leave the site, in groups of at least minimum_cell rows of a class"
    grid = "uniform:100"
    minimum_cell = 5

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the site's groups."""
        from confide.federation.grouped_tables import disclosed

        return {"table": disclosed(counts, question.public_grid, question.minimum_cell or 1).to_dict()}

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Read the groups."""
        _table(question, sent)

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Pool the groups of all sites."""
        return self._grouped(outcome, tuple(outcome.sites), level)

    def site_performances(self, outcome: Outcome, level: float) -> dict[str, Performance]:
        """Work out each site's results from its groups alone."""
        return {site: self._grouped(outcome, (site,), level) for site in outcome.sites}

    def promise(self, question: Question) -> tuple[str, ...]:
        """Return the rule, and that it is no guarantee."""
        return (
            f"Disclosure control (q = {question.minimum_cell}): no count or sum that leaves a site is about fewer "
            f"than {question.minimum_cell} rows of a class.",
            "This is a rule of thumb, not differential privacy: who knows more may still single out a row.",
        )

    def released(self, question: Question) -> str:
        """Return that groups and sums leave a site."""
        return f"groups of at least {question.minimum_cell} rows of a class, and two rounded sums over all rows"

    def _grouped(self, outcome: Outcome, sites: tuple[str, ...], level: float) -> Performance:
        from confide.federation.coordinator.performance import pooled_grouped

        question = outcome.question
        return pooled_grouped({site: _table(question, outcome.sites[site]) for site in sites}, level=level)


def _table(question: Question, sent: Mapping[str, Any]) -> DisclosedTable:
    from confide.federation.grouped_tables import DisclosedTable

    return DisclosedTable.from_dict(sent, grid=question.public_grid, minimum=question.minimum_cell or 1)
