"""Plan of the simulation: sizes, skews and repetitions of the dissertation's case studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confide.errors import ParameterError
from studies.boyd_pr.scenarios import HARD, PAPERS, PREVALENCE, Scenario
from studies.repeatable_noise import checked_seed

REPETITIONS = 10_000
SHARE_BOOTSTRAPPED = 10
BOOTSTRAPPED = REPETITIONS // SHARE_BOOTSTRAPPED
"""Samples of a setting that are bootstrapped at least. The dissertation bootstraps all, which would take hours."""
BOOTSTRAPPED_ROWS = 2_000_000
"""Rows of a setting that are bootstrapped at least, so that many small samples are."""
REPLICATES = 1_000
FOLDS = 10
LEVEL = 0.95

SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)
INTERVAL_SIZES = (200, 500, 1_000, 5_000, 10_000)
PREVALENCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
PREVALENCE_ROWS = 1_000
FEWEST, MOST = 20, 1_000_000
PIECE = 500
"""Samples that are drawn in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Scenario with a number of rows; `intervals` says whether intervals are computed."""

    scenario: Scenario
    rows: int
    intervals: bool

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.scenario.name}, {self.rows:,} rows, prevalence {self.scenario.prevalence:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Repetitions, sizes, skews and the seed."""

    repetitions: int = REPETITIONS
    bootstrapped: int = BOOTSTRAPPED
    sizes: tuple[int, ...] = SIZES
    interval_sizes: tuple[int, ...] = INTERVAL_SIZES
    prevalences: tuple[float, ...] = PREVALENCES
    seed: int = 0

    @classmethod
    def checked(cls, *, repetitions: int | None = None, seed: int = 0, quick: bool = False) -> Settings:
        """Check the settings; `quick` takes fewer repetitions, sizes and skews."""
        usual = _QUICK if quick else cls()
        wanted = usual.repetitions if repetitions is None else repetitions
        if isinstance(wanted, bool) or not isinstance(wanted, int) or not FEWEST <= wanted <= MOST:
            raise ParameterError(f"repetitions must be a whole number from {FEWEST} to {MOST:,}; got {wanted!r}")
        return cls(
            repetitions=wanted,
            bootstrapped=min(usual.bootstrapped, max(wanted // SHARE_BOOTSTRAPPED, FEWEST)),
            sizes=usual.sizes,
            interval_sizes=usual.interval_sizes,
            prevalences=usual.prevalences,
            seed=checked_seed(seed),
        )

    def bootstrapped_at(self, rows: int) -> int:
        """Return how many samples of so many rows are bootstrapped.

        >>> [Settings().bootstrapped_at(rows) for rows in INTERVAL_SIZES]
        [10000, 4000, 2000, 1000, 1000]
        """
        at_least = BOOTSTRAPPED_ROWS // rows
        return min(self.repetitions, max(self.bootstrapped, at_least))

    @property
    def over_sizes(self) -> tuple[Setting, ...]:
        """Return the settings of Figures 4.5 and 4.7 to 4.9."""
        return tuple(
            Setting(scenario=Scenario(name=name), rows=rows, intervals=rows in self.interval_sizes)
            for name in PAPERS
            for rows in self.sizes
        )

    @property
    def over_prevalences(self) -> tuple[Setting, ...]:
        """Return the settings of Figure 4.6 that are not among those over sizes."""
        return tuple(
            Setting(scenario=Scenario(name=name, prevalence=prevalence), rows=PREVALENCE_ROWS, intervals=False)
            for name in PAPERS
            for prevalence in self.prevalences
            if not (prevalence == PREVALENCE and PREVALENCE_ROWS in self.sizes)
        )

    @property
    def hard(self) -> tuple[Setting, ...]:
        """Return the settings beside the dissertation's in which formulas fail."""
        return tuple(Setting(scenario=HARD, rows=rows, intervals=True) for rows in self.interval_sizes if rows <= 1_000)

    @property
    def every(self) -> tuple[Setting, ...]:
        """Return all settings, the largest first, so that no worker waits for the last."""
        return tuple(sorted((*self.over_sizes, *self.over_prevalences, *self.hard), key=lambda each: -each.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "repetitions": self.repetitions,
            "bootstrapped": [self.bootstrapped_at(rows) for rows in self.interval_sizes],
            "replicates": REPLICATES,
            "folds": FOLDS,
            "level": LEVEL,
            "sizes": list(self.sizes),
            "interval_sizes": list(self.interval_sizes),
            "prevalences": list(self.prevalences),
            "seed": self.seed,
        }


_QUICK = Settings(
    repetitions=300,
    bootstrapped=30,
    sizes=(100, 200, 1_000, 5_000),
    interval_sizes=(200, 1_000),
    prevalences=(0.05, 0.1, 0.5),
)
