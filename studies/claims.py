"""Means with standard errors, and sentences of a paper that such means support or contradict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

CLEAR = 2.0
"""Number of standard errors from which on a difference counts as clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Mean of several values and its standard error, under the assumption that values are independent.

    Folds of a cross-validation share training rows, so for them the standard error is too small.
    """

    value: float
    standard_error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        """Average at least two values.

        >>> Mean.of((0.75, 1.0))
        Mean(value=0.875, standard_error=0.125)
        """
        held = np.array(list(values), dtype=np.float64)
        return Mean(value=float(held.mean()), standard_error=float(held.std(ddof=1)) / math.sqrt(held.size))

    @classmethod
    def exact(cls, value: float) -> Mean:
        """Take a number that is computed without sampling."""
        return Mean(value=value, standard_error=0.0)

    @classmethod
    def share(cls, number: int, of: int) -> Mean:
        """Return the share of independent cases that are so.

        Where all or none are, the share says more of itself than its own deviation does: add half a case.

        >>> Mean.share(0, 50).text, Mean.share(25, 50).text
        ('0.000 ± 0.014', '0.500 ± 0.071')
        """
        kept = min(max(number, 0.5), of - 0.5) / of
        return Mean(value=number / of, standard_error=math.sqrt(kept * (1.0 - kept) / of))

    @classmethod
    def over(cls, means: Iterable[Mean]) -> Mean:
        """Average means of independent samples, for sentences about a tendency.

        >>> Mean.over((Mean(value=0.25, standard_error=0.3), Mean(value=0.75, standard_error=0.4)))
        Mean(value=0.5, standard_error=0.25)
        """
        every = list(means)
        error = math.sqrt(sum(mean.standard_error**2 for mean in every)) / len(every)
        return Mean(value=sum(mean.value for mean in every) / len(every), standard_error=error)

    def less(self, other: Mean | float) -> Mean:
        """Subtract a number, or a mean of other values that are independent of these.

        >>> Mean(value=0.5, standard_error=0.03).less(Mean(value=0.25, standard_error=0.04))
        Mean(value=0.25, standard_error=0.05)
        """
        if not isinstance(other, Mean):
            return Mean(value=self.value - other, standard_error=self.standard_error)
        error = math.hypot(self.standard_error, other.standard_error)
        return Mean(value=self.value - other.value, standard_error=error)

    def below(self, limit: float) -> Mean:
        """Return the distance of the mean below a limit."""
        return Mean(value=limit - self.value, standard_error=self.standard_error)

    def sign(self, times: float) -> int:
        """Return 1 or -1 if the mean lies that many standard errors above or below 0, else 0."""
        if not abs(self.value) > times * self.standard_error:
            return 0
        return 1 if self.value > 0.0 else -1

    @property
    def signed(self) -> str:
        """Write a difference with its sign, with as many digits as its standard error supports.

        >>> Mean(value=-0.12345, standard_error=0.0021).signed, Mean.exact(0.5).signed
        ('−0.1235 ± 0.0021', '+0.5')
        """
        return ("+" if self.value > 0.0 else "") + self.text

    @property
    def text(self) -> str:
        """Write the mean with as many digits as its standard error supports; a dash if it does not exist.

        >>> Mean(value=0.12345, standard_error=0.0021).text, Mean.exact(657488).text
        ('0.1235 ± 0.0021', '657,488')
        """
        if not math.isfinite(self.value):
            return "–"
        if not self.standard_error > 0.0:
            return _minus(_exact(self.value))
        digits = min(max(1 - math.floor(math.log10(self.standard_error)), 0), 12)
        return _minus(f"{self.value:z,.{digits}f} ± {self.standard_error:.{digits}f}")

    def evidence(self, name: str) -> str:
        """Write the difference behind its name.

        >>> Mean.exact(0.5).evidence("b less a")
        'b less a: +0.5'
        """
        return f"{name}: {self.signed}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that does not exist is None."""
        numbers = {"mean": self.value, "standard_error": self.standard_error}
        return {name: value if math.isfinite(value) else None for name, value in numbers.items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Mean:
        """Read plain data; a number of exceptions is read as such."""
        if "exceptions" in plain:
            return Exceptions.counted(int(plain["exceptions"]))
        held = (math.nan if plain[name] is None else float(plain[name]) for name in ("mean", "standard_error"))
        value, error = held
        return Mean(value=value, standard_error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceptions(Mean):
    """Number of exceptions to a sentence that must have none, as a difference: 0 if it holds, else below 0."""

    @classmethod
    def counted(cls, number: int) -> Exceptions:
        """Take the number of exceptions.

        >>> Verdict.of({"exceptions": Exceptions.counted(0)}).text
        'holds (0 exceptions)'
        """
        return cls(value=0.0 - number, standard_error=0.0)

    @property
    def number(self) -> int:
        """Number of exceptions."""
        return -int(self.value)

    def evidence(self, name: str) -> str:
        """Write the number before the name of what is counted.

        >>> Exceptions.counted(788).evidence("exceptions among 793 AUCs")
        '788 exceptions among 793 AUCs'
        """
        return f"{self.number:,} {name}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the number of exceptions."""
        return {"mean": self.value, "standard_error": self.standard_error, "exceptions": self.number}

    def sign(self, times: float) -> int:
        """Return 1 if there are no exceptions, else -1."""
        return -1 if self.value < 0.0 else 1


def _exact(value: float) -> str:
    """Write a number without exponent: whole, or with four significant digits and at most six decimals.

    >>> _exact(657488.0), _exact(0.123456), _exact(3.8e-5)
    ('657,488', '0.1235', '0.000038')
    """
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.6f}"


def _minus(text: str) -> str:
    return text.replace("-", "−")


class Answer(StrEnum):
    """Possible outcomes of comparing a sentence of a paper with what is found."""

    HOLDS = "holds"
    FAILS = "does not hold"
    IN_PART = "in part"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Outcome for a claim: the answer, how many differences speak for and against it, and the least of them.

    `least` names the difference that speaks most against the claim, whose size is `difference`. Both are empty if
    there was nothing to compare.
    """

    answer: Answer
    hold: int
    fail: int
    unclear: int
    least: str = ""
    difference: Mean | None = None

    @classmethod
    def of(cls, differences: Mapping[str, Mean]) -> Verdict:
        """Hold if all differences are clearly above 0, fail if all are below, unclear if none is clear, else in part.

        >>> Verdict.of({"a": Mean(value=0.3, standard_error=0.1), "b": Mean(value=0.1, standard_error=0.1)}).text
        'in part (clear in 1 of 2; least, b: +0.10 ± 0.10)'
        """
        signs = [difference.sign(CLEAR) for difference in differences.values()]
        only = {1: Answer.HOLDS, 0: Answer.UNCLEAR, -1: Answer.FAILS}
        answer = only[signs[0]] if len(set(signs)) == 1 else Answer.IN_PART if signs else Answer.UNCLEAR
        named = min(differences.items(), key=lambda item: item[1].value, default=("", None))
        return cls(
            answer=answer,
            hold=signs.count(1),
            fail=signs.count(-1),
            unclear=signs.count(0),
            least=named[0],
            difference=named[1],
        )

    @property
    def text(self) -> str:
        """Write the answer with the size of the difference and its standard error."""
        return f"{self.answer} ({self.evidence})"

    @property
    def evidence(self) -> str:
        """Write the least difference with its standard error, or most exceptions, and of how many."""
        if self.difference is None:
            return "nothing to compare"
        of = self.hold + self.fail + self.unclear
        least = self.difference.evidence(self.least)
        if of == 1:
            return least
        most = "most" if isinstance(self.difference, Exceptions) else "least"
        counted = [f"clear in {self.hold}"] if self.answer is Answer.IN_PART else []
        counted += [f"contradicted in {self.fail}"] if self.answer is Answer.IN_PART and self.fail else []
        shown = f"{', '.join(counted)} of {of}; {most}, " if counted else f"{most} of {of}, "
        return f"{shown}{least}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "answer": str(self.answer),
            "hold": self.hold,
            "fail": self.fail,
            "unclear": self.unclear,
            "least": self.least,
            "difference": None if self.difference is None else self.difference.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Verdict:
        """Read plain data."""
        difference = plain["difference"]
        return cls(
            answer=Answer(plain["answer"]),
            hold=plain["hold"],
            fail=plain["fail"],
            unclear=plain["unclear"],
            least=plain["least"],
            difference=None if difference is None else Mean.from_dict(difference),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Sentence of a paper about one of its figures or tables, with differences that are above 0 where it holds.

    `where` names the figure or table as the paper does, such as "Figure 4.3"; differences have names.
    """

    where: str
    sentence: str
    differences: Mapping[str, Mean]

    @property
    def verdict(self) -> Verdict:
        """Compare the sentence with the differences."""
        return Verdict.of(self.differences)

    @property
    def text(self) -> str:
        """Write the sentence and its verdict."""
        return f"{self.where}. {self.sentence} Here: {self.verdict.text}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "where": self.where,
            "sentence": self.sentence,
            "verdict": self.verdict.to_dict(),
            "differences": {name: difference.to_dict() for name, difference in self.differences.items()},
        }
