"""Terms of a release: checked once, before data are read, the ledger is charged or noise is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict

from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError, did_you_mean
from confide.intervals.interval import check_level
from confide.privacy.guarantee import Exact, Guarantee, checked_delta, checked_epsilon, checked_rows_per_person
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import upper_exponential


class TermOptions(TypedDict, total=False):
    """Terms of a release beside epsilon. `Terms` says what they mean and has their default values."""

    delta: Exact
    neighbours: Neighbours | str
    unit: str
    rows_per_person: int
    level: float
    prevalence_guess: float | None


_TERMS = ("epsilon", "delta", "neighbours", "unit", "rows_per_person", "level", "prevalence_guess")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Neighbouring relation, privacy unit, price, and level of the intervals.

    `promised` is the guarantee's epsilon and delta; `epsilon` and `delta` are what a mechanism that
    protects single rows may use. They differ where a person has up to `rows_per_person` rows, k:
    k steps from row to row make one person, so epsilon is divided by k, and delta by
    `k exp((k - 1) epsilon / k)` (group privacy). `prevalence_guess` is a public guess of the positives'
    share; it tunes the noise, and a wrong one costs accuracy, never privacy.
    """

    epsilon: Fraction
    delta: Fraction
    promised: tuple[Fraction, Fraction]
    neighbours: Neighbours
    unit: str
    rows_per_person: int
    level: float
    prevalence_guess: float | None

    @classmethod
    def checked(
        cls,
        *,
        epsilon: object,
        delta: object = 0,
        neighbours: object = "replace-one",
        unit: str = "row",
        rows_per_person: int = 1,
        level: float = 0.95,
        prevalence_guess: float | None = None,
        **unknown: object,
    ) -> Terms:
        """Check every term."""
        for name in unknown:
            hint = did_you_mean(name, _TERMS)
            raise ParameterError(f"there is no term {name!r}. {hint}The terms are {', '.join(_TERMS)}")
        steps = checked_rows_per_person(rows_per_person, unit)
        whole, chance = checked_epsilon(epsilon), checked_delta(delta)
        guess = prevalence_guess
        if guess is not None and not (isinstance(guess, int | float) and 0.0 < guess < 1.0):
            raise ParameterError(f"prevalence_guess must lie strictly between 0 and 1; got {prevalence_guess!r}")
        terms = cls(
            epsilon=checked_epsilon(whole / steps),
            delta=chance if steps == 1 else chance / (steps * upper_exponential(whole * (steps - 1) / steps)),
            promised=(whole, chance),
            neighbours=Neighbours.parse(neighbours),
            unit=unit,
            rows_per_person=steps,
            level=check_level(level),
            prevalence_guess=prevalence_guess,
        )
        terms.guarantee()  # refuses an unknown unit
        return terms

    def guarantee(
        self, *, needs_delta: bool = False, public: Sequence[str] = (), rho: Fraction | None = None
    ) -> Guarantee:
        """Return the guarantee; delta only if the mechanism needs it.

        `rho` is that of single rows: k rows of a person make `k^2 rho` (Bun & Steinke 2016, proposition 1.9).
        """
        return Guarantee(
            epsilon=self.promised[0],
            delta=self.promised[1] if needs_delta else Fraction(0),
            neighbours=self.neighbours,
            unit=self.unit,
            public=(
                *self.neighbours.public,
                *public,
                *self._about_persons(),
            ),
            rho=None if rho is None else self.rows_per_person**2 * rho,
            rows_per_person=self.rows_per_person,
        )

    def _about_persons(self) -> list[str]:
        """Return the facts that are taken as public if persons are protected."""
        if self.unit != "person":
            return []
        several = self.rows_per_person > 1
        most = f"that nobody has more than {f'{self.rows_per_person} rows' if several else 'one row'}"
        return [most, *(["how many rows each person has"] if several and self.rows_are_public else [])]

    def request(self, metric: str, mechanism: str, **options: Any) -> dict[str, Any]:
        """Return the public parameters that an answer depends on, beside the guarantee."""
        return {
            "metric": metric,
            "mechanism": mechanism,
            "rows_per_person": self.rows_per_person,
            **options,
        }

    @property
    def rows_are_public(self) -> bool:
        """True if the number of rows may be shown."""
        return self.neighbours != Neighbours.ADD_REMOVE_ONE


def checked_counts(counts: object) -> ScoreCounts:
    """Refuse what are no counts, and counts that a release cannot take."""
    if not isinstance(counts, ScoreCounts):
        raise ParameterError(f"data must be ScoreCounts, got {type(counts).__name__}; see ScoreCounts.from_arrays")
    counted_rows(counts)
    return counts


def public_rows(counts: ScoreCounts) -> int:
    """Return the public number of rows; refuse fewer than two."""
    rows = sum(counted_rows(counts))
    if rows < 2:
        raise DataError("there are fewer than two rows; a release needs at least two")
    return rows


def known_mechanism(mechanism: object, known: Sequence[str], metric: str) -> str | None:
    """Return the mechanism asked for, None for "auto"."""
    if mechanism == "auto":
        return None
    if mechanism not in known:
        hint = did_you_mean(mechanism, known)
        raise ParameterError(
            f"{metric} has no mechanism {mechanism!r}. {hint}Choose auto or one of: {', '.join(known)}"
        )
    return str(mechanism)
