"""Plan of the study: the largest denominator of the conjecture, contests and their repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.repeatable_noise import checked_seed

PUBLISHED_HOW = ("exact", "digits=5", "digits=4", "digits=3", "digits=2")
"""Ways in which the oracle of a contest shows an AUC."""
EPSILONS = (1.0, 2.0, 4.0)
"""Of labels that were masked once."""
TEAMS = 50
SIGNAL = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes and repetitions.

    `tree` is the number of rows of the largest decision tree, one of those of the growth table. `denominator` is the
    largest of the AUCs on which the conjecture is tried, `contests` how often a contest is attacked, `boards` how often
    one is simulated, with `board_rows` rows and `answers` submissions.
    """

    tree: int = 106
    truths: int = 20
    denominator: int = 72
    contests: int = 40
    boards: int = 20
    board_rows: tuple[int, ...] = (172, 1_000, 10_000)
    answers: int = 500
    seed: int = 0
    quick: bool = False

    @classmethod
    def checked(cls, *, seed: int = 0, quick: bool = False) -> Settings:
        """Check the seed; `quick` takes less of everything."""
        kept = checked_seed(seed)
        if not quick:
            return cls(seed=kept)
        return cls(
            truths=2, denominator=30, contests=6, boards=4, board_rows=(172, 1_000), answers=100, seed=kept, quick=True
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "tree": self.tree,
            "truths": self.truths,
            "denominator": self.denominator,
            "contests": self.contests,
            "boards": self.boards,
            "board_rows": list(self.board_rows),
            "answers": self.answers,
            "teams": TEAMS,
            "epsilons": list(EPSILONS),
            "seed": self.seed,
        }
