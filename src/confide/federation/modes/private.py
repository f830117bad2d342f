"""Mode `private`: differential privacy. Noisy counts leave each site, masked, and are charged to its ledger.

Each site sends its share of a noisy sum, which can be read only inside the sum, and, with a `site_share` above 0, noisy
counts of its own. How a site pays for both is in `site.private_answer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.errors import ParameterError, RefusedError
from confide.federation.modes.mode import Mode
from confide.federation.policy_rules import check_guarantee
from confide.federation.private_noise import checked_noise, noise_of
from confide.federation.question_terms import (
    FEWEST_MASKED,
    checked_whole,
    default_colluders,
    in_words,
    next_edition_words,
    recovery_terms,
)
from confide.privacy.guarantee import checked_epsilon, exact_fraction
from confide.privacy.mechanisms.strategies import MOST_CELLS
from confide.releases.grids import cells_for_curves

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.question import Question
    from confide.privacy.guarantee import Guarantee

SUPPOSED_ROWS = 1_000
"""Rows that a site is assumed to have where nobody states how many all sites have."""

MOST_STATED_ROWS = 10**9
MOST_EDITIONS = 10**6

_NOT_IN_SUM = ("study", "mode", "fewest", "bins", "unit", "site_share", "threshold", "protocol", "purpose")


class Private(Mode):
    """Noisy counts with a proven guarantee, paid for by each site."""

    name = "private"
    title = "differentially private"
    summary = "differential privacy: counts with noise, masked, and charged to this site's ledger"
    parameters = frozenset({"epsilon", "site_share", "colluders", "edition", "rows", "noise", "delta"})
    masked = True
    private = True
    most_cells = MOST_CELLS

    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check the terms of the guarantee; by default half of epsilon is for the sites' own results."""
        edition, colluders = given["edition"], given["colluders"]
        return {
            **checked_noise(given["noise"], given["delta"]),
            "epsilon": str(checked_epsilon(given["epsilon"])),
            "site_share": str(_checked_share(given["site_share"])),
            "colluders": default_colluders(sites) if colluders is None else colluders,
            "edition": 1 if edition is None else checked_whole(edition, "edition", 1, MOST_EDITIONS),
        }

    def default_grid(self, question: Question, rows: int | None) -> str:
        """Return as many cells as suit the stated rows and the noise: both are public."""
        stated = SUPPOSED_ROWS * len(question.sites) if rows is None else rows
        checked = checked_whole(stated, "rows", 1, MOST_STATED_ROWS)
        return f"arcsine:{cells_for_curves(checked, noise_of(question).worth_epsilon)}"

    def check_question(self, question: Question) -> None:
        """Refuse parts of epsilon that no release could have."""
        noise_of(question).check()

    def fewest_sites(self, question: Question) -> int:
        """Return more sites than may collude, and at least three."""
        return max(FEWEST_MASKED, checked_whole(question.colluders, "colluders", 0, len(question.sites) - 1) + 1)

    def price(self, question: Question) -> str | None:
        """Return the question's epsilon."""
        return question.epsilon

    def check_policy(self, policy: Policy, question: Question) -> None:
        """Refuse a guarantee that is weaker, or costs more, than the policy allows."""
        super().check_policy(policy, question)
        check_guarantee(policy, question)

    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return everything that the sum over the sites depends on."""
        return pooled_terms(question)

    def changed_data(self, question: Question) -> RefusedError:
        """Return a refusal that says why stored shares would not protect the change."""
        return RefusedError(
            f"this site's data for model {question.model!r} changed since it answered the same question to the same "
            "sites, whose stored shares of the noise would not protect the change. Ask it "
            f"{next_edition_words(question.edition or 1)}, so that all sites draw, and pay for, new noise"
        )

    def ask_anew(self, question: Question) -> str:
        """Return that a new edition draws new noise."""
        return f"ask it {next_edition_words(question.edition or 1)}, which is paid for again"

    def sum_shape(self, question: Question) -> tuple[int, int]:
        """Return the number of noisy integers; there are no sums of scores."""
        cells = np.zeros((2, len(question.public_grid)), dtype=np.int64)
        return int(noise_of(question).strategy.measure(cells).size), 0

    def sends_own(self, question: Question) -> bool:
        """Return whether a part of epsilon is for the sites' own results."""
        return noise_of(question).has_own

    @property
    def after_failure(self) -> str:
        """Sentence that says that sites may have been charged, and that asking again is free."""
        return (
            "Sites that had answered may have charged their ledgers: asking the same question of the same sites costs "
            "nothing more."
        )

    def guarantee(self, question: Question) -> Guarantee:
        """Return the guarantee for every row, or person, of every site."""
        return noise_of(question).guarantee()

    def promise(self, question: Question) -> tuple[str, ...]:
        """Return the guarantee, against whom it holds, and what is left against everybody else."""
        noise, sites = noise_of(question), len(question.sites)
        colluders = question.colluders or 0
        return (
            f"{self.guarantee(question).in_words()} {noise.divided_words()}".rstrip(),
            f"It holds for every site, and for all together, even if the coordinator and any {colluders} of the "
            f"{sites} sites put together everything that they know."
            if colluders
            else "It holds for every site, and for all together, against the coordinator; not against other sites that "
            "put their knowledge together with it.",
            "Against the coordinator and all other sites together, a site's rows are protected by its own noise alone: "
            f"{noise.alone_words()}.",
            noise.several_sites_words(),
            *in_words(question),
        )

    def released(self, question: Question) -> str:
        """Return which noisy counts leave a site, and at which price."""
        noise = noise_of(question)
        own, pooled = noise.part_words()
        if not noise.has_own:
            return f"a share of the noisy sum, {pooled}"
        return f"noisy counts, {own}, and a share of the sum, {pooled}"

    def no_site_results(self, question: Question) -> str | None:
        """Return that all of epsilon was spent on the sum, where it was."""
        if noise_of(question).has_own:
            return None
        return (
            "There is no forest plot: all of epsilon was spent on the sum over all sites, so no site's own results are "
            "seen. A share of epsilon for the sites would show them, and how much sites differ."
        )

    def described_terms(self, question: Question) -> Iterator[tuple[str, str]]:
        """Yield the price, against whom the guarantee holds, and whom it protects."""
        yield from noise_of(question).described_price()
        some = (
            f" and any {question.colluders} of the {len(question.sites)} sites together"
            if question.colluders
            else " alone"
        )
        yield "colluders", f"the guarantee holds against the coordinator{some}"
        unit = "a row" if question.unit == "row" else f"a person with at most {question.rows_per_person} rows"
        yield "protected", unit


def pooled_terms(question: Question) -> dict[str, Any]:
    """Return everything in a private question that the sum over the sites depends on.

    The study is not included: the same question in another study costs nothing more. Neither is the unit, as a row is
    the one row of a person, nor the number of sites that would have been enough.
    """
    terms = {name: value for name, value in question.to_dict().items() if name not in _NOT_IN_SUM}
    sized = {**terms, **recovery_terms(question), **noise_of(question).sum_terms()}
    return {name: value for name, value in sized.items() if value is not None}


def _checked_share(share: object) -> Fraction:
    fraction = Fraction(1, 2) if share is None else exact_fraction(share, "site_share")
    if not 0 <= fraction < 1:
        raise ParameterError(f"`site_share` must lie between 0 (the sum alone) and 1; got {share!r}")
    return fraction
