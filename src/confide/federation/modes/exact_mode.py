"""Shared base of the modes without a proven guarantee: what leaves a site is exact, or as good as exact.

Such answers could be subtracted from each other. So a site answers one question about a model, and its register fixes
the terms of that question and the data. Counts leave a site only in cells of a minimum size.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from confide.errors import RefusedError
from confide.federation.modes.mode import Mode, SecondRound, SiteData
from confide.federation.policy_rules import check_cells, least_class
from confide.federation.term_checks import checked_whole

if TYPE_CHECKING:
    from confide.counts import ScoreCounts
    from confide.federation.policy import Policy
    from confide.federation.question import Question
    from confide.federation.site.site_folder import SiteFolder

MOST_MINIMUM_CELL = 10_000


class ExactMode(Mode):
    """A mode whose answers cost no privacy budget, as they promise nothing that is proven.

    Attributes
    ----------
    grid
        Default grid.
    minimum_cell
        Default least number of rows of a class in a cell that leaves a site.
    cell_rule
        Key of `policy.toml` that sets the least number of people in a cell.
    """

    grid: ClassVar[str]
    minimum_cell: ClassVar[int]
    cell_rule: ClassVar[str] = "minimum_cell"
    parameters: ClassVar[frozenset[str]] = frozenset({"minimum_cell"})
    allowed_by_default: ClassVar[bool] = False
    free_reason: ClassVar[str] = "this mode has no noise"

    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check `minimum_cell`, or take the mode's default."""
        minimum = given["minimum_cell"]
        checked = self.minimum_cell if minimum is None else checked_whole(minimum, "minimum_cell", 1, MOST_MINIMUM_CELL)
        return {"minimum_cell": checked}

    def default_grid(self, question: Question, rows: int | None) -> str:
        """Return the mode's grid, whatever the number of rows."""
        return self.grid

    def check_policy(self, policy: Policy, question: Question) -> None:
        """Refuse cells that the policy does not allow."""
        super().check_policy(policy, question)
        check_cells(policy, question, self.cell_rule)

    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the mode, the cells, the bins and the minimum cell."""
        return {
            "mode": question.mode,
            "grid": sha256(question.public_grid.edges.astype("<f8").tobytes()).hexdigest(),
            "bins": question.bins,
            "minimum_cell": question.minimum_cell,
        }

    def check_before_rows(self, question: Question, folder: SiteFolder, source: str) -> None:
        """Refuse a question with other terms than the one that was answered."""
        from confide.federation.site.register import Register

        Register(folder.path).check_terms(question, source=source)

    def check_site(self, question: Question, site: SiteData) -> None:
        """Refuse a question that does not fit an earlier one, or a class with fewer rows than the policy demands."""
        from confide.federation.site.register import Register

        Register(site.folder.path).check(question, site.rows, source=site.source)
        counts = site.rows.counts
        # The policy's numbers alone: a coordinator must not choose the number that rows are compared with.
        if min(counts.total_positives, counts.total_negatives) < least_class(site.policy, self.cell_rule):
            raise RefusedError(
                "this site has too few rows of a class to take part without noise (smallest_class in its policy); "
                "leave it out, or ask in mode private"
            )

    def answer(self, question: Question, site: SiteData, second: SecondRound) -> dict[str, Any]:
        """Make the answer, then write to the register what it fixes, and only then return it."""
        from confide.federation.site.register import Register

        sent = self.exact_answer(question, site.rows.counts, second)
        register = Register(site.folder.path)
        if self.masked:
            register.list_sites(second.signed, question.sites)
        register.fix(question, site.rows, source=site.source)
        return sent

    @abstractmethod
    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return what a site sends of its counts."""

    def changed_data(self, question: Question) -> RefusedError:
        """Return a refusal that says why the difference of two exact answers must not be seen."""
        return RefusedError(
            f"this site's data for model {question.model!r} changed since they were asked about without noise; the "
            "difference of the two answers would be about those who came or went. Ask in mode private, or "
            f"{self.ask_anew(question)}"
        )

    def ask_anew(self, question: Question) -> str:
        """Return that only the site's administrator can let an exact question be answered anew."""
        from confide.federation.site.fixed_terms import forget_words

        return forget_words(question.model)
