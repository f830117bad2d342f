"""Rules by which a site refuses a question before it reads any rows, and before a person is asked.

They follow from the question, the policy, the settings, the register and the ledger. So a refusal, and the time that it
takes, tell nothing about the rows. The same rules, and those that need the rows, are checked again when the question is
answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.federation.site.register import Register

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.question import Question
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.site_folder import SiteFolder


def check_rules(
    question: Question, *, folder: SiteFolder, config: SiteConfig, policy: Policy, coordinator: str | None
) -> None:
    """Refuse a question that the site would refuse whatever its rows are; nothing is read of them."""
    policy.check(question, coordinator=coordinator)
    source = config.source(question.model)
    config.check_grid(question)
    mode_of(question).check_before_rows(as_answered(question, folder), folder, source)


def as_answered(question: Question, folder: SiteFolder) -> Question:
    """Return a question with the sites with which it was answered before, if it was."""
    earlier = Register(folder.path).listed(question)
    return question if earlier is None else question.of(earlier)
