"""Interface of a mode: what a question, a policy and a report may say about it.

Methods are functions of the question, and of the policy: they know neither sites nor the coordinator. To add a mode:

1. Write `modes/<name>.py` with a subclass of `Mode`; of `ExactMode` if its answers carry no proven noise.
2. Add an instance to `MODES` in `modes/registry.py`.
3. Write what a site does as a subclass of `SiteAnswers` in `site/answers.py`, and what the coordinator does as a
   subclass of `PooledAnswers` in `coordinator/answers.py`; add instances to `SITE_ANSWERS` and `POOLED_ANSWERS` there.
4. If the mode takes a parameter that no question has yet, add it as a field of `Question`.

Questions, policies, reports and the command line look the mode up with `mode_of(question)`, sites with
`site_answers(question)`, and the coordinator with `pooled_answers(question)`. No other module compares names of modes.
The objects have no state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from confide.errors import ParameterError, RefusedError
from confide.federation.policy_rules import check_sum
from confide.federation.question_terms import FEWEST_MASKED

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.question import Question
    from confide.privacy.guarantee import Guarantee

MOST_EXACT_CELLS = 2**20
"""Most cells of a grid in a mode without noise."""


class Mode(ABC):
    """One way to validate a model across sites.

    Attributes
    ----------
    name, title
        Name in questions, policies and JSON; title in reports.
    summary
        One line for the site's administrator, in `policy.toml`.
    parameters
        Parameters of `Question.checked` that only some modes take, and this one does.
    masked
        Whether answers are masked, so that only their sum over at least three sites can be read.
    private
        Whether answers carry proven noise and are charged to each site's ledger.
    allowed_by_default
        Whether a policy allows the mode without naming it: only where answers carry proven noise.
    comparison_only
        Whether the mode exists for comparison with a published method. Reports then open with a warning.
    most_cells
        Most cells that a grid may have.
    free_reason
        Why the mode charges no ledger, to complete the sentence "no privacy budget: …"; empty if it charges.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[frozenset[str]]
    masked: ClassVar[bool] = False
    private: ClassVar[bool] = False
    allowed_by_default: ClassVar[bool] = True
    comparison_only: ClassVar[bool] = False
    most_cells: ClassVar[int] = MOST_EXACT_CELLS
    free_reason: ClassVar[str] = ""

    # The question

    @abstractmethod
    def complete(self, given: Mapping[str, Any], sites: int) -> dict[str, Any]:
        """Check the mode's own parameters, fill in those that are None, and return them as fields of a question."""

    @abstractmethod
    def default_grid(self, question: Question, rows: int | None) -> str:
        """Return the grid of a question that names none; `rows` is the stated number of rows of all sites."""

    def check_question(self, question: Question) -> None:  # noqa: B027 - most modes have no further rule
        """Refuse terms that break a rule of this mode."""

    def fewest_sites(self, question: Question) -> int:
        """Return the least number of sites that may take part."""
        return FEWEST_MASKED if self.masked else 1

    def price(self, question: Question) -> str | None:
        """Return the epsilon that each site is charged; None if it is charged nothing."""
        return None

    # The policy

    def check_policy(self, policy: Policy, question: Question) -> None:
        """Refuse a question that breaks a rule of a site's policy about this mode."""
        if self.masked:
            check_sum(policy, question)

    # Answers

    @abstractmethod
    def fixed_terms(self, question: Question) -> dict[str, Any]:
        """Return the terms that an answer fixes: later questions must have the same ones."""

    @abstractmethod
    def changed_data(self, question: Question) -> RefusedError:
        """Return the refusal of a question that was answered when the site's data were others."""

    @abstractmethod
    def ask_anew(self, question: Question) -> str:
        """Return how a coordinator can have a question answered anew, as the end of a sentence."""

    def sum_shape(self, question: Question) -> tuple[int, int]:
        """Return the numbers of counts and of sums of scores that a masked answer has."""
        raise ParameterError(f"mode {self.name} has no masked answers")

    def sends_own(self, question: Question) -> bool:
        """Return whether each site also sends results of its own that may be seen."""
        return not self.masked

    @property
    def after_failure(self) -> str:
        """Sentence about costs and the next step, where a sum failed after sites had answered."""
        return "Ask the same sites again."

    # Promises and reports

    def guarantee(self, question: Question) -> Guarantee | None:
        """Return the proven guarantee for the people in the data; None if there is none."""
        return None

    @abstractmethod
    def promise(self, question: Question) -> tuple[str, ...]:
        """Return what the mode promises to the people in the data and what it does not, a sentence each."""

    @abstractmethod
    def released(self, question: Question) -> str:
        """Return what leaves a site that takes part, as a noun phrase."""

    def no_site_results(self, question: Question) -> str | None:
        """Return why no site's own results may be seen; None if they may be."""
        return None

    def described_terms(self, question: Question) -> Iterator[tuple[str, str]]:
        """Yield the mode's own terms of a question in words, each a name and a value."""
        yield from ()

    def calibration_from_cells(self, question: Question) -> bool:
        """Return whether the calibration line takes rows to lie in the middle of their cells."""
        return True
