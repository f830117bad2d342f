"""Exact modes: `disclosure-control` answers in groups of rows, `secure-sum` with masked counts.

Such answers could be subtracted from each other. So a site answers one question about a model, and its register fixes
the terms of that question and the data. Counts leave a site only in cells of a minimum size.

The groups are those of `grouped_tables`, which also says what can still be inferred from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from confide.errors import RefusedError
from confide.federation.modes.mode import Mode
from confide.federation.policy_rules import check_cells
from confide.federation.question_terms import FEWEST_MASKED, checked_whole, in_words, recovery_terms
from confide.federation.tables import wide_values

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.question import Question

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

    def changed_data(self, question: Question) -> RefusedError:
        """Return a refusal that says why the difference of two exact answers must not be seen."""
        return RefusedError(
            f"this site's data for model {question.model!r} changed since they were asked about without noise; the "
            "difference of the two answers would be about those who came or went. Ask in mode private, or "
            f"{self.ask_anew(question)}"
        )

    def ask_anew(self, question: Question) -> str:
        """Return that only the site's administrator can let an exact question be answered anew."""
        return forget_words(question.model)


class DisclosureControl(ExactMode):
    """Groups of neighbouring cells, and two rounded sums over all rows; each site's results may be seen."""

    name = "disclosure-control"
    title = "disclosure control"
    summary = "exact counts leave the site, in groups of at least minimum_cell rows of a class"
    grid = "uniform:100"
    minimum_cell = 5

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

    def sum_shape(self, question: Question) -> tuple[int, int]:
        """Return a count for each class and cell, and the sums of a table."""
        return 2 * len(question.public_grid), wide_values(question.bins)

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


def forget_words(model: str) -> str:
    """Return how an exact question can be answered anew, and under which condition, as the end of a sentence."""
    return (
        f"ask the site's administrator to run `confide site forget FOLDER {model}`: only if nobody saw the first "
        "answer, or the data were replaced completely"
    )
