"""Terms of a contest: what is scored, how labels are protected, and how often a participant may submit.

Terms are public. They are fixed when the contest is made; nobody can change the promise afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from confide.contest.metric import ContestMetric
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import checked_delta, checked_epsilon, stored_fraction

SCHEMA = "confide.contest/1"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_LONGEST = 200


class Mode(StrEnum):
    """How answers protect the labels."""

    MASKED = "masked"
    PER_ANSWER = "per-answer"


class FinalMechanism(StrEnum):
    """Mechanism of the final."""

    SHAPED = "shaped"
    MASKED = "masked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestTerms:
    """Public terms of a contest.

    Parameters
    ----------
    name, title
        The name in addresses (small letters, digits, hyphens), and the title on pages.
    metric
        The metric of the board and of the final.
    mode
        "masked": labels are masked once, and every answer follows from the masked labels. "per-answer": each answer is
        a release of its own, charged to a ledger.
    rows, public_rows
        Rows that a submission must score, and those of them that the board is computed from. The others are for the
        final.
    public_share
        The expected share of rows in the public part.
    epsilon
        Masked: the promise of the public part. Per answer: the price of one answer.
    flip
        Masked: the probability that a label was flipped.
    final_epsilon, final_delta
        The promise of the final, on the other rows; None if there is no final. If delta is 0, the final is masked.
    daily_limit, total_limit
        The largest number of scored submissions of a participant: each day (UTC), and in all.
    finalists
        The largest number of submissions that a participant may choose for the final.
    """

    name: str
    title: str
    metric: ContestMetric
    mode: Mode = Mode.MASKED
    rows: int
    public_rows: int
    public_share: Fraction = Fraction(1)
    epsilon: Fraction
    flip: Fraction | None = None
    final_epsilon: Fraction | None = None
    final_delta: Fraction = Fraction(0)
    id_column: str = "id"
    score_column: str = "score"
    daily_limit: int = 5
    total_limit: int = 1000
    finalists: int = 2
    level: float = 0.95

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ParameterError(
                "the name of a contest must have 1 to 40 small letters, digits or hyphens, with no hyphen at an end; "
                f"got {self.name[:80]!r}"
            )
        for parameter in ("title", "id_column", "score_column"):
            text = getattr(self, parameter)
            if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
                raise ParameterError(f"`{parameter}` must be text of 1 to {_LONGEST} printable characters")
        if self.id_column == self.score_column:
            raise ParameterError("`id_column` and `score_column` must differ")
        checked_epsilon(self.epsilon)
        checked_delta(self.final_delta)
        if not 0 < self.public_share <= 1:
            raise ParameterError(f"`public_share` must lie above 0 and not above 1; got {self.public_share}")
        if not 2 <= self.public_rows <= self.rows:
            raise ParameterError("the public part of a contest needs at least two rows; make the public share larger")
        if (self.mode == Mode.MASKED) != (self.flip is not None):
            raise ParameterError("a masked contest has a probability of flipped labels, and no other contest has one")
        if self.flip is not None and not 0 < self.flip < Fraction(1, 2):
            raise ParameterError("the probability of flipped labels must lie strictly between 0 and 1/2")
        if self.final_epsilon is not None:
            checked_epsilon(self.final_epsilon)
            if self.rows - self.public_rows < 2:
                raise ParameterError("the final needs at least two rows of its own; make the public share smaller")
        for parameter in ("daily_limit", "total_limit", "finalists"):
            number = getattr(self, parameter)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ParameterError(f"`{parameter}` must be a whole number of at least 1; got {number!r}")

    @property
    def certainty(self) -> float:
        """Upper bound on anybody's certainty about one public label, for somebody who was undecided before.

        In a masked contest the bound covers every answer, log and break-in. Otherwise it is that of one answer.
        """
        return success_bound(float(self.epsilon))

    @property
    def final_certainty(self) -> float | None:
        """Upper bound on anybody's certainty about one label of the final, if there is a final."""
        if self.final_epsilon is None:
            return None
        return success_bound(float(self.final_epsilon), float(self.final_delta))

    @property
    def final_mechanism(self) -> FinalMechanism | None:
        """Return the mechanism of the final: masked if delta is 0 or the metric is not linear."""
        if self.final_epsilon is None:
            return None
        shaped = self.final_delta > 0 and self.metric.kind.linear
        return FinalMechanism.SHAPED if shaped else FinalMechanism.MASKED

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; fractions are text, so that they stay exact."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "title": self.title,
            "metric": self.metric.to_dict(),
            "mode": self.mode.value,
            "rows": self.rows,
            "public_rows": self.public_rows,
            "public_share": str(self.public_share),
            "epsilon": str(self.epsilon),
            "flip": None if self.flip is None else str(self.flip),
            "final_epsilon": None if self.final_epsilon is None else str(self.final_epsilon),
            "final_delta": str(self.final_delta),
            "id_column": self.id_column,
            "score_column": self.score_column,
            "daily_limit": self.daily_limit,
            "total_limit": self.total_limit,
            "finalists": self.finalists,
            "level": self.level,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ContestTerms:
        """Read plain data; refuse what is no terms."""
        if plain.get("schema") != SCHEMA:
            raise ParameterError(f"these are not the terms of a contest: the schema must be {SCHEMA}")
        fields = {name: value for name, value in plain.items() if name != "schema"}
        try:
            for name in ("public_share", "epsilon", "flip", "final_epsilon", "final_delta"):
                fields[name] = None if fields[name] is None else stored_fraction(fields[name])
            fields["metric"] = ContestMetric.from_dict(fields["metric"])
            fields["mode"] = Mode(fields["mode"])
            return cls(**fields)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise ParameterError("the terms of the contest are damaged; make the contest's files again") from None
