"""Mode `noisy-scores`: a published method, for comparison only. It is not differentially private.

Sites send a noisy score of every row in round 1 and exact sums of placements in round 2; see `noisy_placements`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.federation.modes.exact_mode import ExactMode
from confide.federation.modes.mode import SecondRound, SiteData
from confide.privacy.guarantee import checked_epsilon, exact_fraction, shown

if TYPE_CHECKING:
    from confide.counts import ScoreCounts
    from confide.federation.channel import Message
    from confide.federation.coordinator.performance import Performance
    from confide.federation.outcome import Outcome
    from confide.federation.question import Question
    from confide.federation.site.site_folder import SiteFolder

_NUMBERS = ("epsilon", "delta", "sensitivity")


class NoisyScoresMode(ExactMode):
    """Noise on scores that promises nothing; `epsilon`, `delta` and `sensitivity` set its scale alone."""

    name = "noisy-scores"
    title = "noisy scores, NOT differentially private"
    summary = "noise on scores, as in a published method, for comparisons; it promises nothing proven"
    grid = "uniform:65536"
    minimum_cell = 5
    parameters = frozenset({"minimum_cell", *_NUMBERS})
    comparison_only = True
    free_reason = "its noise promises nothing"

    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check the numbers that set the scale of the noise."""
        delta, sensitivity = (
            None if given[name] is None else str(exact_fraction(given[name], name)) for name in ("delta", "sensitivity")
        )
        epsilon = str(checked_epsilon(given["epsilon"]))
        return {**super().complete(given, sites), "epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}

    def check_question(self, question: Question) -> None:
        """Refuse a question without `delta` and `sensitivity`, or with values that no noise has."""
        if question.delta is None or question.sensitivity is None:
            raise ParameterError(f"mode {self.name} needs `delta` and the model's `sensitivity`; give both")
        if not 0 < Fraction(question.delta) < 1 or Fraction(question.sensitivity) <= 0:
            raise ParameterError("`delta` must lie between 0 and 1, and `sensitivity` must be above 0")

    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the terms of every exact mode, and those of the noise."""
        return {**super().fixed_terms(question), **{name: getattr(question, name) for name in _NUMBERS}}

    def check_before_rows(self, question: Question, folder: SiteFolder, source: str) -> None:
        """Refuse also a question that was answered before."""
        from confide.federation.site.fixed_terms import drawn_before
        from confide.federation.site.register import Register

        super().check_before_rows(question, folder, source)
        if Register(folder.path).answered_exactly(question.model, source=source):
            raise drawn_before(question)

    def first_reply(self, question: Question, site: SiteData) -> dict[str, Any]:
        """Return the noisy scores, once: drawn again, their noise could be averaged away."""
        from confide.federation import noisy_placements
        from confide.federation.site.register import Register

        noisy = noisy_placements.site_noisy_scores(site.rows.counts, question)
        Register(site.folder.path).fix(question, site.rows, source=site.source, first=True)
        return {"noisy": noisy}

    def check_first_reply(self, reply: Message) -> None:
        """Read the noisy scores."""
        from confide.federation.noisy_placements import NoisyScores

        NoisyScores.from_dict(reply.get("noisy"))

    def second_request(self, replies: list[Message]) -> dict[str, Any]:
        """Return the noisy scores of all sites."""
        from confide.federation.noisy_placements import pooled_noisy_scores

        return {"pooled": pooled_noisy_scores([reply.get("noisy") for reply in replies])}

    def exact_answer(self, question: Question, counts: ScoreCounts, second: SecondRound) -> dict[str, Any]:
        """Return the sums of the site's placements among the pooled noisy scores."""
        from confide.federation.noisy_placements import site_sums

        return {"table": site_sums(counts, question, second.request.get("pooled"))}

    def check_sent(self, question: Question, sent: Mapping[str, Any]) -> None:
        """Read the sums."""
        from confide.federation.noisy_placements import PlacementSums

        PlacementSums.from_dict(sent)

    def performance(self, outcome: Outcome, level: float) -> Performance:
        """Fit the ROC-GLM to the sums over all sites."""
        from confide.federation.coordinator.performance import Performance
        from confide.federation.noisy_placements import PlacementSums, validated

        first, *others = (PlacementSums.from_dict(sent) for sent in outcome.sites.values())
        found = validated(sum(others, first), level=level)
        return Performance(level=level, auc=found.auc, roc_glm=found.curve)

    def promise(self, question: Question) -> tuple[str, ...]:
        """Return why this mode is not private."""
        from confide.federation.noisy_placements import NOT_PRIVATE

        return (NOT_PRIVATE,)

    def released(self, question: Question) -> str:
        """Return that every row leaves a site."""
        return "a noisy score of every row, exact sums of placements"

    def no_site_results(self, question: Question) -> str:
        """Return that results exist for all sites together only."""
        return (
            "There is no forest plot: in this mode results are worked out for all sites together, so how much sites "
            "differ is not known."
        )

    def described_terms(self, question: Question) -> Iterator[tuple[str, str]]:
        """Yield the numbers that set the noise."""
        for name in _NUMBERS:
            value = getattr(question, name)
            if value is not None:
                yield name, f"{shown(exact_fraction(value, name))}, of the noise alone: no guarantee follows"
