"""Mode `secure-sum`: exact counts leave each site masked, so that only their sum over all sites can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confide.errors import DataError, FederationError
from confide.federation.modes.exact_mode import ExactMode
from confide.federation.modes.mode import FEWEST_MASKED, SecondRound
from confide.federation.recovery_terms import in_words, recovery_terms
from confide.federation.term_checks import checked_whole

if TYPE_CHECKING:
    from confide.counts import ScoreCounts
    from confide.federation.coordinator.performance import Performance
    from confide.federation.outcome import Outcome
    from confide.federation.question import Question
    from confide.federation.tables import SiteTable


class SecureSum(ExactMode):
    """Masked tables of exact counts; nobody sees a site's own results."""

    name = "secure-sum"
    title = "secure sum"
    summary = "exact counts leave the site masked: only sums over all sites that take part can be read"
    grid = "uniform:65536"
    minimum_cell = 1
    cell_rule = "secure_sum_minimum_cell"
    parameters = ExactMode.parameters | {"colluders"}
    masked = True

    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check `minimum_cell` and `colluders`, which has a default only where sites may drop out."""
        colluders = given["colluders"]
        checked = None if colluders is None else checked_whole(colluders, "colluders", 0, max(sites - 2, 0))
        return {**super().complete(given, sites), "colluders": checked}

    def fewest_sites(self, question: Question) -> int:
        """Return so many sites that a sum holds two that do not collude, and at least three."""
        return max(FEWEST_MASKED, (question.colluders or 0) + 2)

    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the terms of every exact mode and the sites: sums over different sites could be subtracted."""
        return {**super().fixed_terms(question), "sites": list(question.sites), **recovery_terms(question)}

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the site's masked table."""
        if second.masks is None:
            raise FederationError("a masked answer needs the keys of all sites; ask with `confide validate`")
        words, wide = exact_table(question, counts).to_words()
        return {"masked": second.masks.mask(words, [_signed(value) for value in wide]).to_dict()}

    def sum_shape(self, question: Question) -> tuple[int, int]:
        """Return a count for each class and cell, and the sums of a table."""
        from confide.federation.tables import wide_values

        return 2 * len(question.public_grid), wide_values(question.bins)

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Refuse everything: in this mode a site sends nothing for itself."""
        raise FederationError("a site sent results of its own, which this mode does not have")

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Work out everything from the sum of the sites' tables."""
        from confide.federation.coordinator.decode import summed_table
        from confide.federation.coordinator.performance import pooled_exact

        if outcome.total is None:
            raise DataError("the outcome has no sum over sites; run the validation again")
        return pooled_exact(summed_table(outcome.question, outcome.total), level=level)

    def promise(self, question: Question) -> tuple[str, ...]:
        """Return who sees what, and what colluding sites could find out."""
        return (
            f"The coordinator sees only sums over {len(question.sites)} sites; each site's part is hidden by masks of "
            "the others. On a fine grid the sums amount to a list of all sites' scores with their labels, without the "
            "sites.",
            "The sums are exact and carry no noise: this is not differential privacy. If all other sites put their "
            "knowledge together with the coordinator, one site's part is what is left.",
            *in_words(question),
        )

    def released(self, question: Question) -> str:
        """Return that masked counts leave a site."""
        return "masked counts, seen only inside the sum"

    def no_site_results(self, question: Question) -> str:
        """Return that only the sum can be read."""
        return (
            "There is no forest plot: in this mode nobody but the site itself sees a site's own results. The sum over "
            "all sites is all that can be read, so how much sites differ is not known."
        )

    def calibration_from_cells(self, question: Question) -> bool:
        """Return False where cells are not grouped: scores of exactly 0 and 1 are then counted apart."""
        return (question.minimum_cell or 1) > 1


def exact_table(question: Question, counts: ScoreCounts) -> SiteTable:
    """Return the table to be masked; with a minimum cell above 1, rows are first put together in groups of that size.

    Rows of a group are moved to the cell that holds its mean score, so that sums of scores tell no more than groups.
    """
    from confide.counts import ScoreCounts
    from confide.federation.grouped_tables import grouped_counts
    from confide.federation.tables import SiteTable

    grid, minimum = question.public_grid, question.minimum_cell or 1
    if minimum == 1:
        return SiteTable.of(counts, grid, question.bins)
    cells = grouped_counts(counts, grid, minimum)
    used = cells.sum(axis=0) > 0
    moved = ScoreCounts(grid.representatives[used], cells[0, used], cells[1, used])
    return SiteTable.of(moved, grid, question.bins)


def _signed(value: int) -> int:
    """Return a number modulo 2^128 in two's complement with its sign."""
    from confide.federation.tables import WIDE_BITS

    return value - (1 << WIDE_BITS) if value >> (WIDE_BITS - 1) else value
