"""A release: a number that may be published, and what is prepared before noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from confide.counts import FloatArray, ScoreCounts
from confide.errors import DataError
from confide.grid import Grid
from confide.intervals.interval import Interval
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Prepared
from confide.privacy.queries import Noise

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCHEMA = "confide.release/1"

Numbers: TypeAlias = Sequence[float] | FloatArray

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper limits of releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateIntervals:
    """Intervals for the sample and the population, made only from released numbers.

    `sample` is for the value that the exact evaluation of these rows would give (noise alone);
    `population` is for the value in the population that the rows were drawn from.
    """

    sample: Interval
    population: Interval

    @classmethod
    def nested(cls, sample: Interval, population: Interval) -> PrivateIntervals:
        """Widen the population's interval to hold the sample's, as the rows are part of the population."""
        lower, upper = min(sample.lower, population.lower), max(sample.upper, population.upper)
        return cls(sample=sample, population=replace(population, lower=lower, upper=upper))

    @classmethod
    def of_ends(cls, sample: Ends, population: Ends, *, level: float, noise: str) -> PrivateIntervals:
        """Make both from the limits of one release, each an array of one number."""
        ends = ((sample, noise), (population, f"sampling and {noise}"))
        first, second = (
            Interval(lower=float(lower[0]), upper=float(upper[0]), level=level, method=method)
            for (lower, upper), method in ends
        )
        return cls.nested(first, second)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            name: {key: _plain(end) for key, end in interval.to_dict().items()}
            for name, interval in (("sample", self.sample), ("population", self.population))
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedCurve:
    """A curve made from numbers with noise: `points` by the names of their coordinates, and bands around them.

    A band (named "sample" or "population") has the same first coordinate, `lower` and `upper`; at its
    level the whole curve lies within. All sequences of a mapping have one length.
    """

    points: Mapping[str, tuple[float, ...]]
    bands: Mapping[str, Mapping[str, tuple[float, ...]]]

    @classmethod
    def of(
        cls, points: Mapping[str, Numbers], bands: Mapping[str, Mapping[str, Numbers]] | None = None
    ) -> ReleasedCurve:
        """A curve from arrays or lists."""
        every = {name: _sequences(band) for name, band in (bands or {}).items()}
        return cls(points=_sequences(points), bands=MappingProxyType(every))

    def __reduce__(self) -> tuple[Callable[..., ReleasedCurve], tuple[Any, ...]]:
        return ReleasedCurve.from_dict, (self.to_dict(),)

    def __hash__(self) -> int:
        return hash(tuple(self.points.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a threshold without end is None."""
        return {
            "points": {name: [_plain(value) for value in values] for name, values in self.points.items()},
            "bands": {name: {key: list(ends) for key, ends in band.items()} for name, band in self.bands.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ReleasedCurve:
        """Rebuild a curve from `to_dict`; only a threshold can be without end."""
        points = {
            name: [math.inf if value is None else value for value in values] for name, values in plain["points"].items()
        }
        return cls.of(points, plain["bands"])


def _sequences(given: Mapping[str, Numbers]) -> Mapping[str, tuple[float, ...]]:
    return MappingProxyType({name: tuple(float(value) for value in values) for name, values in given.items()})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release:
    """A number with noise: everything in it may be published.

    `parts` holds what else was released with it (the private number of positives, the private
    confusion matrix); `options` the public parameters of the mechanism. Where the number is the
    summary of a curve, such as the area under it, `curve` has the points and bands. `noisy` holds the numbers as they
    were drawn, from which intervals at another level follow.
    """

    metric: str
    value: float
    intervals: PrivateIntervals
    guarantee: Guarantee
    mechanism: str
    parts: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    curve: ReleasedCurve | None = None
    noisy: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("parts", "options"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Callable[..., Release], tuple[Any, ...]]:
        return _rebuilt, (self.to_dict(), self.guarantee)

    def __hash__(self) -> int:
        return hash((self.metric, self.value, self.mechanism, self.guarantee))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema; numbers that do not exist are None."""
        return {
            "schema": SCHEMA,
            "metric": self.metric,
            "value": _plain(self.value),
            "intervals": self.intervals.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "mechanism": self.mechanism,
            "parts": dict(self.parts),
            "options": dict(self.options),
            **({} if self.curve is None else {"curve": self.curve.to_dict()}),
            **({"noisy": list(self.noisy)} if self.noisy else {}),
        }

    def __repr__(self) -> str:
        return f"<Release {self.metric} {self.value:.4g} ({self.guarantee.summary})>"

    def __str__(self) -> str:
        from confide.report.release import one_line

        return one_line(self)

    def plot(self) -> Figure:
        """Draw the value with both intervals."""
        from confide.report.release_plots import plot_releases

        return plot_releases((self,))

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row: the value, both intervals and the guarantee."""
        from confide.report.release import release_frame

        return release_frame((self,))

    def _repr_html_(self) -> str:
        from confide.report.release import fragment

        return fragment((self,))

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Release:
        """Rebuild a release from `to_dict`; its guarantee is given, as plain data does not hold exact fractions."""
        sample, population = (_interval(plain["intervals"][name]) for name in ("sample", "population"))
        intervals = PrivateIntervals(sample=sample, population=population)
        return cls(
            metric=plain["metric"],
            value=math.nan if plain["value"] is None else plain["value"],
            intervals=intervals,
            guarantee=guarantee,
            mechanism=plain["mechanism"],
            parts=dict(plain["parts"]),
            options=dict(plain["options"]),
            curve=ReleasedCurve.from_dict(plain["curve"]) if "curve" in plain else None,
            noisy=tuple(plain.get("noisy", ())),
        )


def _rebuilt(plain: Mapping[str, Any], guarantee: Guarantee) -> Release:
    return Release.from_dict(plain, guarantee)


def _plain(value: Any) -> Any:
    """A number as JSON has it: None where it does not exist or has no end."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _interval(plain: Mapping[str, Any]) -> Interval:
    """Rebuild an interval; only an upper end can be without end."""
    upper = math.inf if plain["upper"] is None else plain["upper"]
    return Interval(lower=plain["lower"], upper=upper, level=plain["level"], method=plain["method"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelease(Prepared[Release]):
    """A request for metrics: see `Prepared`.

    `chosen` returns the releases named in `requested`, in that order. With `derive`, noisy counts are drawn, and the
    releases follow from them. With `build`, the releases follow from the numbers that were drawn, and are built again
    where the level of their intervals is another one. Requests that differ only in this post-processing share one
    identity. `cells` is a public grid whose cells alone decide the answer, so that rows may be counted by cell; None if
    the answer depends on scores within cells.
    """

    counts: ScoreCounts = field(repr=False)
    read: Callable[[Mapping[str, Any], Guarantee], Release] = field(init=False, repr=False, compare=False)
    requested: tuple[str, ...] = ()
    derive: Callable[[Release], tuple[Release, ...]] | None = field(default=None, repr=False)
    build: Callable[[Sequence[float]], tuple[Release, ...]] | None = field(default=None, repr=False)
    level: float | None = None
    cells: Grid | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", Release.from_dict)

    def chosen(self, answers: Iterable[Release]) -> tuple[Release, ...]:
        """Return the requested releases in the requested order; all, if none was named."""
        every = tuple(answers)
        if self.derive is not None:
            every = self.derive(every[0])
        elif self.build is not None and every[0].intervals.sample.level != self.level:
            self._check_rows(every[0])
            every = self.build(every[0].noisy)
        if not self.requested:
            return every
        result = {release.metric: release for release in every}
        return tuple(result[metric] for metric in self.requested)

    def _check_rows(self, stored: Release) -> None:
        """Refuse to build a release of stored noise for another number of rows, where that is public."""
        if self.guarantee.neighbours == Neighbours.ADD_REMOVE_ONE:
            return
        sizes = ("positives", "negatives") if "positives" in stored.parts else tuple(stored.parts)
        rows = stored.parts["rows"] if "rows" in stored.parts else sum(stored.parts[name] for name in sizes)
        if not math.isclose(rows, float(self.counts.total_positives + self.counts.total_negatives), rel_tol=1e-9):
            raise DataError(
                "the answer that the ledger keeps is about another number of rows; give data that have changed a name "
                "or version of their own"
            )


def prepare_numbers(
    *,
    guarantee: Guarantee,
    request: Mapping[str, Any],
    counts: ScoreCounts,
    level: float,
    drawn: Callable[[Noise], Sequence[float]],
    build: Callable[[Sequence[float]], tuple[Release, ...]],
    noise: Noise,
    requested: tuple[str, ...] = (),
    numbers: int = 0,
    cells: Grid | None = None,
) -> PreparedRelease:
    """Prepare releases that follow from some noisy numbers: `drawn` draws these, and `build` makes the releases.

    The first release keeps the numbers. A level of intervals is post-processing, so it is not part of the request: who
    asks for another one gets intervals from the same numbers, at no further cost.
    """

    def built(numbers: Sequence[float]) -> tuple[Release, ...]:
        first, *others = build(numbers)
        return replace(first, noisy=tuple(numbers)), *others

    def draw(noise: Noise = noise) -> tuple[Release, ...]:
        return built(drawn(noise))

    return PreparedRelease(
        guarantee=guarantee,
        request=request,
        counts=counts,
        draw=draw,
        requested=requested,
        build=built,
        level=level,
        numbers=numbers,
        cells=cells,
    )
