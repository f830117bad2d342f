"""Sources of noise for tests, and everything that can be released.

`SILENT` adds nothing, `FORBIDDEN` fails the test that draws from it, `Deaf` answers the same whatever
it is given, and `seeded` draws the right distributions in floats from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import Release, ScoreCounts
from confide.privacy.noise.choice import exponential_top, permute_and_flip_top
from confide.privacy.noise.flips import flips
from confide.privacy.noise.pareto import pareto_between, pareto_on_grid
from confide.privacy.noise.reals import ExactReal, upper_bound
from confide.privacy.queries import Noise
from confide.releases.registry import RELEASABLE
from confide.releases.release import PreparedRelease

RELATIONS = ("replace-one", "add-remove-one", "label-only")

SMALLER: dict[str, dict[str, Any]] = {"fixed-space": {"grid": "uniform:16"}, "recursive-medians": {"grid": "medians:3"}}
"""The papers' ways with fewer cells than their 512 and 1024, which take a second each."""


@dataclass(frozen=True)
class Way:
    """A metric, how it is released, and under which relation."""

    metric: str
    mechanism: str
    relation: str

    def __str__(self) -> str:
        return f"{self.metric} {self.mechanism} {self.relation}"

    def prepare(self, counts: ScoreCounts, **terms: Any) -> PreparedRelease:
        given: dict[str, Any] = {
            "epsilon": 1,
            "delta": "1e-6",
            "mechanism": self.mechanism,
            "neighbours": self.relation,
            **SMALLER.get(self.mechanism, {}),
            **terms,
        }
        return RELEASABLE[self.metric].prepare(counts, **given)

    def released(self, counts: ScoreCounts, **terms: Any) -> tuple[Release, ...]:
        """Everything that is shown: what was drawn, and what follows from it."""
        prepared = self.prepare(counts, **terms)
        return prepared.chosen(prepared.draw())


def ways() -> Iterator[Way]:
    """Every way to release something, but for those that have no proof."""
    for metric, releasable in RELEASABLE.items():
        for mechanism in releasable.mechanisms:
            for relation in RELATIONS:
                if (mechanism, relation) != ("rank-sum", "add-remove-one"):
                    yield Way(metric, mechanism, relation)


WAYS = tuple(ways())


def _unchanged(values: Sequence[int], scale: Fraction) -> list[int]:
    return list(values)


def _unshared(values: Sequence[int], scale: Fraction, honest: int) -> list[int]:
    return list(values)


def _rounded(value: Fraction, scale: object, grid: Fraction, **options: object) -> int:
    return round(value / grid)


def _cheapest(costs: Sequence[int], rate: Fraction, multiplicities: Sequence[int] | None = None) -> int:
    return min(range(len(costs)), key=lambda index: costs[index])


def _cheapest_first(costs: Sequence[int], rate: Fraction, k: int) -> list[int]:
    return sorted(range(len(costs)), key=lambda index: costs[index])[:k]


def _unflipped(count: int, probability: Fraction) -> NDArray[np.bool_]:
    return np.zeros(count, dtype=np.bool_)


def _each_rounded(values: Sequence[Fraction], scale: Fraction, grid: Fraction) -> list[int]:
    return [round(value / grid) for value in values]


SILENT = Noise(
    discrete_laplace=_unchanged,
    discrete_gaussian=_unchanged,
    laplace=_rounded,
    cauchy=_rounded,
    student_t=_rounded,
    pareto=_rounded,
    pareto_between=_rounded,
    exponential_choice=_cheapest,
    exponential_top=_cheapest_first,
    permute_and_flip_top=_cheapest_first,
    spherical_laplace=_each_rounded,
    laplace_share=_unshared,
    gaussian_share=_unchanged,
    flips=_unflipped,
)


def _forbidden(*arguments: object, **options: object) -> NoReturn:
    pytest.fail("noise was drawn")


FORBIDDEN = Noise(
    discrete_laplace=_forbidden,
    discrete_gaussian=_forbidden,
    laplace=_forbidden,
    cauchy=_forbidden,
    student_t=_forbidden,
    pareto=_forbidden,
    pareto_between=_forbidden,
    exponential_choice=_forbidden,
    exponential_top=_forbidden,
    permute_and_flip_top=_forbidden,
    spherical_laplace=_forbidden,
    laplace_share=_forbidden,
    gaussian_share=_forbidden,
    flips=_forbidden,
)


@dataclass
class Deaf:
    """Noise that drowns everything: the answers do not depend on the values, so nothing else may either.

    `heard` holds what is public about each draw: the kind of noise, how many numbers, and the scale of
    integer noise, which must not depend on private data. `level` picks other answers.
    """

    level: int = 7
    heard: list[tuple[object, ...]] = field(default_factory=list)

    def noise(self) -> Noise:
        return Noise(
            discrete_laplace=self._integers("laplace"),
            discrete_gaussian=self._integers("gaussian"),
            laplace=self._real("laplace"),
            cauchy=self._real("cauchy"),
            student_t=self._real("student-t"),
            pareto=self._real("pareto"),
            pareto_between=self._real("pareto, cut"),
            exponential_choice=self._choice,
            exponential_top=self._top("exponential"),
            permute_and_flip_top=self._top("permute-and-flip"),
            spherical_laplace=self._spherical,
            laplace_share=self._share,
            gaussian_share=self._integers("gaussian share"),
        )

    def _integers(self, kind: str) -> Callable[[Sequence[int], Fraction], list[int]]:
        def draw(values: Sequence[int], scale: Fraction) -> list[int]:
            assert all(type(value) is int for value in values)
            self.heard.append((kind, len(values), scale))
            return [self.level + 3 * place for place in range(len(values))]

        return draw

    def _real(self, kind: str) -> Callable[..., int]:
        def draw(value: Fraction, scale: ExactReal, grid: Fraction, **options: object) -> int:
            self.heard.append((kind, grid, tuple(options.items())))
            return round(Fraction(self.level, 11) / grid)

        return draw

    def _choice(self, costs: Sequence[int], rate: Fraction, multiplicities: Sequence[int] | None = None) -> int:
        self.heard.append(("choice", len(costs), rate))
        return self.level % len(costs)

    def _top(self, kind: str) -> Callable[[Sequence[int], Fraction, int], list[int]]:
        def choose(costs: Sequence[int], rate: Fraction, k: int) -> list[int]:
            self.heard.append((kind, len(costs), rate, k))
            return [(self.level + turn) % len(costs) for turn in range(k)]

        return choose

    def _spherical(self, values: Sequence[Fraction], scale: Fraction, grid: Fraction) -> list[int]:
        assert all(type(value) is Fraction for value in values)
        self.heard.append(("spherical", len(values), scale, grid))
        return [round(Fraction(self.level + 3 * place, 11) / grid) for place in range(len(values))]

    def _share(self, values: Sequence[int], scale: Fraction, honest: int) -> list[int]:
        assert all(type(value) is int for value in values)
        self.heard.append(("share", len(values), scale, honest))
        return [self.level + 3 * place for place in range(len(values))]


def seeded(seed: int) -> Noise:
    """Draw noise in floats, which is no privacy but enough for statistics that must repeat themselves."""
    rng = np.random.default_rng(seed)
    bits = random.Random(seed).getrandbits  # noqa: S311

    def laplace(values: Sequence[int], scale: Fraction) -> list[int]:
        stop = -np.expm1(-1.0 / float(scale))
        drawn = rng.geometric(stop, len(values)) - rng.geometric(stop, len(values))
        return [value + int(noise) for value, noise in zip(values, drawn, strict=True)]

    def gaussian(values: Sequence[int], scale: Fraction) -> list[int]:
        return [value + round(rng.normal(0.0, float(scale))) for value in values]

    def real(draw: Callable[..., float]) -> Callable[..., int]:
        def on_grid(value: Fraction, scale: ExactReal, grid: Fraction, **options: Any) -> int:
            return round((value + Fraction(float(upper_bound(scale)) * draw(**options))) / grid)

        return on_grid

    def choose(costs: Sequence[int], rate: Fraction, multiplicities: Sequence[int] | None = None) -> int:
        weights = np.exp(-float(rate) * (np.asarray(costs) - min(costs))) * (
            1 if multiplicities is None else np.asarray(multiplicities)
        )
        return int(rng.choice(len(costs), p=weights / weights.sum()))

    def spherical(values: Sequence[Fraction], scale: Fraction, grid: Fraction) -> list[int]:
        drawn = rng.normal(size=len(values))
        drawn *= rng.gamma(len(values)) * float(scale) / np.linalg.norm(drawn)
        return [round((value + Fraction(moved)) / grid) for value, moved in zip(values, drawn.tolist(), strict=True)]

    def share(values: Sequence[int], scale: Fraction, honest: int) -> list[int]:
        stop = -np.expm1(-1.0 / float(scale))
        up, down = (rng.negative_binomial(1.0 / honest, stop, len(values)) for _ in range(2))
        return [value + int(noise) for value, noise in zip(values, up - down, strict=True)]

    def gaussian_share(values: Sequence[int], variance: Fraction) -> list[int]:
        return gaussian(values, Fraction(float(variance) ** 0.5))

    return Noise(
        discrete_laplace=laplace,
        discrete_gaussian=gaussian,
        laplace=real(lambda: float(rng.laplace())),
        cauchy=real(lambda: float(rng.standard_cauchy())),
        student_t=real(lambda degrees_of_freedom: float(rng.standard_t(degrees_of_freedom))),
        pareto=partial(pareto_on_grid, bits=bits),
        pareto_between=partial(pareto_between, bits=bits),
        exponential_choice=choose,
        exponential_top=partial(exponential_top, bits=bits),
        permute_and_flip_top=partial(permute_and_flip_top, bits=bits),
        spherical_laplace=spherical,
        laplace_share=share,
        gaussian_share=gaussian_share,
        flips=partial(flips, bits=bits),
    )
