"""Games of one missing or unknown label against released numbers and curves.

Boyd, Lantz & Page (2015), section 3.1, try the missing row at every place in the ranking with either class. This module
also has the stronger adversary who knows the row's score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import NEIGHBOURS, Game, Publication, Window, finished
from confide.attacks.numbers import check_metric, checked_rows, exact_number, gap_to, has_number, released
from confide.counts import ScoreCounts, merge_counts
from confide.errors import DataError, OneClassError, ParameterError
from confide.grid import Grid
from confide.metrics.ranking import twice_wins
from confide.metrics.threshold import confusion_matrix
from confide.privacy.guarantee import Guarantee, checked_epsilon
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.noise.reals import as_real, lower_bound
from confide.privacy.queries import SYSTEM_NOISE, CutQuery, Noise
from confide.releases.auc import local_queries
from confide.releases.curves import noisy_counts, prepare_curves
from confide.releases.release import Release
from confide.releases.smooth_sensitivity import noise_of
from confide.releases.terms import Terms


def with_row(counts: ScoreCounts, score: float, positive: bool) -> ScoreCounts:
    """Return the rows and one more."""
    if not math.isfinite(score):
        raise ParameterError("score must be a finite number; leave out rows without one")
    checked_rows(counts)
    one, none = np.array([int(positive)]), np.array([int(not positive)])
    row = (np.array([float(score)]), one, none)
    return ScoreCounts(*merge_counts([counts.scores, row[0]], [counts.positives, row[1]], [counts.negatives, row[2]]))


def without_row(counts: ScoreCounts, at: int, positive: bool) -> ScoreCounts:
    """Return the rows without one of that class at that score."""
    ours, theirs = counts.positives.copy(), counts.negatives.copy()
    (ours if positive else theirs)[at] -= 1
    left = ours + theirs > 0
    return ScoreCounts(counts.scores[left], ours[left], theirs[left])


def flipped_row(counts: ScoreCounts, at: int, positive: bool) -> ScoreCounts:
    """Return the rows with the other label for one row of that class at that score."""
    step = np.zeros(len(counts), dtype=np.int64)
    step[at] = -1 if positive else 1
    return ScoreCounts(counts.scores, counts.positives + step, counts.negatives - step)


def row_drawer(counts: ScoreCounts, rng: np.random.Generator) -> Callable[[], tuple[int, bool]]:
    """Return a function that draws a row: where its score is, and whether it is positive."""
    through = np.cumsum(np.concatenate((counts.positives, counts.negatives)))

    def draw() -> tuple[int, bool]:
        found = int(np.searchsorted(through, rng.integers(through[-1]), "right"))
        return found % len(counts), found < len(counts)

    return draw


def coin_worlds(
    counts: ScoreCounts, trials: int, rng: np.random.Generator
) -> Iterator[tuple[int, ScoreCounts, ScoreCounts]]:
    """For each trial a random row: where its score is, the rows with a label that a coin decided, and the other."""
    target = row_drawer(counts, rng)
    for _ in range(trials):
        at, positive = target()
        flipped = flipped_row(counts, at, positive)
        yield (at, counts, flipped) if bool(rng.integers(2)) == positive else (at, flipped, counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGuess:
    """Conclusion from a number about one row's label.

    `positive` is the guess, None where both classes fit equally well. `belief` is the share of positive candidates
    among the nearest ones, with all candidates equally likely. `certain`: only one class can give the published number.
    `nearest` counts those candidates by class, positive first.
    """

    positive: bool | None
    belief: float
    certain: bool
    nearest: tuple[int, int]

    @classmethod
    def among(cls, positives: int, negatives: int, *, fits: bool) -> LabelGuess:
        """Return the guess from the number of nearest candidates of each class; `fits` if the window holds them."""
        guess = None if positives == negatives else positives > negatives
        return cls(
            positive=guess,
            belief=positives / (positives + negatives),
            certain=fits and 0 in (positives, negatives),
            nearest=(positives, negatives),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positive": self.positive,
            "belief": self.belief,
            "certain": self.certain,
            "nearest": list(self.nearest),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Every AUC that all rows can have, given all rows but one: the missing row at each place with each class.

    Places are those between, below and above the known distinct scores, and those tied with each. Twice the wins of
    each candidate, ascending, and the denominator that makes them AUCs; a class that leaves only one class in the
    data has none.
    """

    known: ScoreCounts = field(repr=False)

    def __post_init__(self) -> None:
        checked_rows(self.known)

    @cached_property
    def positive(self) -> tuple[NDArray[np.int64], int]:
        """Return the candidates if the row is positive: it wins against negatives below it."""
        pairs = (self._sizes[0] + 1) * self._sizes[1]
        return self._wins + _passed(self.known.negatives), 2 * pairs

    @cached_property
    def negative(self) -> tuple[NDArray[np.int64], int]:
        """Return the candidates if the row is negative: positives above it win."""
        pairs = self._sizes[0] * (self._sizes[1] + 1)
        return self._wins + _passed(self.known.positives[::-1]), 2 * pairs

    @property
    def _sizes(self) -> tuple[int, int]:
        return int(self.known.total_positives), int(self.known.total_negatives)

    @cached_property
    def _wins(self) -> int:
        return int(twice_wins(self.known))

    def nearest(self, window: Window) -> LabelGuess:
        """Guess the class with the candidate nearest to the window; among equally near ones the more frequent class."""
        found = [_nearest(twice, whole, window) for twice, whole in (self.positive, self.negative) if whole]
        if not found:
            raise OneClassError("an AUC needs two rows at least; give at least one known row")
        least = min(distance for distance, _ in found)
        number = [count if distance == least else 0 for distance, count in found]
        if len(found) == 1:  # the other class would leave one class only
            number.insert(0 if self.positive[1] == 0 else 1, 0)
        return LabelGuess.among(number[0], number[1], fits=least == 0)


def missing_label(known: ScoreCounts, window: Window) -> LabelGuess:
    """Guess the label of the one row that is not known, whose score is not known either, from the AUC of all rows.

    Takes time proportional to the rows. Comparisons are exact: AUCs are ratios of integers and the window's ends are
    fractions.

    >>> known = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.8, 0.4])
    >>> missing_label(known, Window.written("3/4")).positive
    False
    """
    return Candidates(known=known).nearest(window)


def _passed(others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Twice the wins over the other class at each place, from the one with none to the one with all; ties as half."""
    through = 2 * np.concatenate(([0], np.cumsum(others)))
    tied = through[:-1] + others
    places = np.empty(2 * others.size + 1, dtype=np.int64)
    places[0::2], places[1::2] = through, tied
    return places


def _nearest(twice: NDArray[np.int64], whole: int, window: Window) -> tuple[Fraction, int]:
    """Return how far the nearest of ascending candidates is from the window, and how many are as near."""
    low, high = window.lower * whole, window.upper * whole
    first = int(np.searchsorted(twice, min(max(math.ceil(low), 0), whole + 1), "left"))
    last = int(np.searchsorted(twice, min(max(math.floor(high), -1), whole), "right"))
    if first < last:
        return Fraction(0), last - first
    beside = {int(twice[k]) for k in (first - 1, first) if 0 <= k < twice.size}
    gaps = {value: max(low - value, value - high) / whole for value in beside}
    least = min(gaps.values())
    return least, sum(int(np.count_nonzero(twice == value)) for value, gap in gaps.items() if gap == least)


def label_of_score(known: ScoreCounts, score: float, metric: str, window: Window) -> LabelGuess:
    """Guess the label of a row whose score is known, from a metric of all rows: two candidates, the nearer one.

    >>> known = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.8, 0.4])
    >>> label_of_score(known, 0.6, "auc", Window.written("0.75")).to_dict()
    {'positive': False, 'belief': 0.0, 'certain': True, 'nearest': [0, 1]}
    """
    worlds = [with_row(known, score, positive) for positive in (True, False)]
    check_metric(worlds[0], metric)
    gaps = [gap_to(exact_number(world, metric), window) if has_number(world, metric) else math.inf for world in worlds]
    least = min(gaps)
    if least == math.inf:
        raise OneClassError("neither label gives data with such a metric; give at least one known row of each class")
    return LabelGuess.among(int(gaps[0] == least), int(gaps[1] == least), fits=least == 0)


_Trial: TypeAlias = tuple[ScoreCounts, ScoreCounts, bool]

READINGS = ("value", "everything")

READ_WHOLE = ("auc", "accuracy")
"""Numbers whose release has more in it than the number."""


def label_game(
    counts: ScoreCounts,
    published: Publication,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    mechanism: str = "auto",
    delta: object = 0,
    reading: str = "value",
    level: float = 0.95,
) -> Game:
    """Guess a row's label that a fair coin decided, all else known, from a number: exact, rounded or released.

    The adversary computes the number in both worlds and guesses the nearer one. Of a private number, released as
    often as `published` says with fresh noise and epsilon each time, it is the world with the smaller
    sum of absolute distances: the likelihood-ratio test for Laplace noise, and robust for heavier tails. With
    `reading="everything"` all that is released is used: of an AUC the class sizes too, of an accuracy the four noisy
    counts. For an AUC that is the likelihood-ratio test of the release, for an accuracy nearly so.
    Targets and coins come from `rng`, noise from the system; mechanism, neighbours and delta are those of a release.
    """
    check_game(counts, published, trials, reading)
    terms: dict[str, Any] = {
        "epsilon": published.epsilon,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "delta": delta,
    }
    hits, guarantee = 0, None
    for _, *worlds in coin_worlds(counts, trials, rng):  # the first is the published one
        if published.private:
            releases, guarantee = released(worlds[0], published.metric, times=published.times, **terms)
            costs = _costs(worlds, published.metric, releases, reading)
        else:
            values = [exact_number(world, published.metric) for world in worlds]
            window = published.window(values[0])
            costs = [float(gap_to(value, window)) for value in values]
        hits += right_guess(costs[0], costs[1], rng)
    return finished(published, hits, trials, level=level, guarantee=guarantee, times=published.times)


def _costs(worlds: Sequence[ScoreCounts], metric: str, releases: tuple[Release, ...], reading: str) -> list[float]:
    """Return how far the answers are from what each world would answer without noise."""
    if reading == "value":
        seen = np.array([release.value for release in releases])
        return [float(np.abs(seen - float(exact_number(world, metric))).sum()) for world in worlds]
    cost = _auc_cost if metric == "auc" else _confusion_cost
    return [sum(cost(world, release) for release in releases) for world in worlds]


def _confusion_cost(world: ScoreCounts, release: Release) -> float:
    """Return how far the four noisy counts of a confusion matrix, all with the same noise, are from a world's."""
    matrix = confusion_matrix(world, release.options["threshold"])
    return float(sum(abs(noisy - float(getattr(matrix, name))) for name, noisy in release.parts.items()))


def _auc_cost(world: ScoreCounts, release: Release) -> float:
    """Return the negative log-likelihood, but for a constant, of a whole release of AUC."""
    costs = {"local": _local_cost, "rank-sum": _rank_sum_cost}
    if release.mechanism not in costs:
        raise ParameterError(f"a release by {release.mechanism} is not read whole; give reading='value'")
    return costs[release.mechanism](world, release)


def _local_cost(world: ScoreCounts, release: Release) -> float:
    """Return the cost of AUC at the local scale, of the class sizes and of the integer that follows."""
    terms = Terms.checked(epsilon=release.guarantee.epsilon, neighbours=release.guarantee.neighbours)
    query, sizes = local_queries(world, terms, release.parts.get("rows"))
    value, *seen = release.noisy
    asked = [sizes, *([following] if (following := query.then(Fraction(value))) else [])]
    exact = [(number, scale) for each in asked for number, scale in zip(each.values, each.scales, strict=True)]
    integers = sum(abs(noisy - number) / float(scale) for noisy, (number, scale) in zip(seen, exact, strict=True))
    return integers + _cut_cost(query.first, value)


def _cut_cost(query: CutQuery, value: float) -> float:
    """Return minus the logarithm of the density of a value that was cut to [0, 1], at an end of its probability."""
    noise, scale = noise_of(query.shape), float(lower_bound(as_real(query.scale)))
    missed = (value - float(query.value)) / scale
    side, distance = noise.above if missed >= 0.0 else noise.below, np.array(abs(missed))
    if value in (0.0, 1.0):
        return -math.log(float(side.beyond(distance)) / noise.mass)
    return float(side.fall(distance)) + math.log(noise.mass * scale)


def _rank_sum_cost(world: ScoreCounts, release: Release) -> float:
    """Return the cost of the rank sum and the number of positives."""
    rows, positives = release.parts["rows"], release.parts["positives"]
    size = min(max(positives, 1), rows - 1)
    seen = (float((release.value - 0.5) * 2.0 * size * (rows - size)), float(positives))
    query = rank_sum(world, release.guarantee.epsilon, release.guarantee.neighbours)
    return sum(abs(x - y) / float(b) for x, y, b in zip(seen, query.values, query.scales, strict=True))


def right_guess(cost: float, other: float, rng: np.random.Generator) -> bool:
    """Tell whether the true world is the nearer one; a coin decides between equals."""
    return bool(rng.integers(2)) if cost == other else cost < other


def missing_row_game(
    counts: ScoreCounts,
    published: Sequence[Publication],
    *,
    trials: int,
    rng: np.random.Generator,
    sample: int | None = None,
    coin: bool = False,
    neighbours: str = NEIGHBOURS,
    level: float = 0.95,
    noise: Noise = SYSTEM_NOISE,
) -> tuple[Game, ...]:
    """Leave a random row out and guess its label from the others and the AUC of all, each publication in turn.

    With `sample`, every trial takes that many rows without replacement, half of each class: the experiment of Boyd,
    Lantz & Page (2015), figure 2. There the known rows give the label away, being one short of its class, though the
    attack is not meant to use that. Where noise carries the number beyond all candidates, the attack names the class
    whose row moves the AUC most, which is the one that is short: it is then right for that reason alone. With `coin`
    the missing row's class is a fair coin that the known rows know nothing of (half of each class but for one row, of
    either class); only then a release's bound holds and is given. Noise comes from the system, unless a study that must
    be repeatable gives another source.
    """
    if coin and sample is None:
        raise ParameterError("a coin decides the class of a row that is drawn; give sample, the number of rows")
    for each in published:
        if each.metric != "auc":
            raise ParameterError(f"a row without a score is placed by its rank, which takes the AUC; got {each.spec!r}")
        check_game(counts, each, trials)
        check_once(each)
    draw = _sampler(counts, sample, coin, rng)
    hits = [0] * len(published)
    promised: list[Guarantee | None] = [None] * len(published)
    for _ in range(trials):
        known, rows, positive = draw()
        candidates, exact = Candidates(known=known), exact_number(rows, "auc")
        for k, each in enumerate(published):
            window, promised[k] = _seen(rows, each, exact, neighbours, noise)
            guess = candidates.nearest(window).positive
            hits[k] += guess == positive if guess is not None else int(rng.integers(2))
    chance = 0.5 if sample is not None else max(counts.prevalence, 1.0 - counts.prevalence)
    return tuple(
        finished(each, hit, trials, level=level, chance=chance, guarantee=guarantee if coin else None)
        for each, hit, guarantee in zip(published, hits, promised, strict=True)
    )


def _seen(
    rows: ScoreCounts, published: Publication, exact: Fraction | float, neighbours: str, noise: Noise
) -> tuple[Window, Guarantee | None]:
    """Return what the adversary takes for the AUC, and what was promised about it."""
    if not published.private:
        return published.window(exact), None
    releases, guarantee = released(rows, "auc", epsilon=published.epsilon, neighbours=neighbours, noise=noise)
    value = Fraction(releases[0].value)
    return Window(lower=value, upper=value), guarantee


def _sampler(counts: ScoreCounts, sample: int | None, coin: bool, rng: np.random.Generator) -> Callable[[], _Trial]:
    """Return a function that draws the known rows, all rows and the missing row's class."""
    if sample is None:
        target = row_drawer(counts, rng)

        def leave_out() -> _Trial:
            at, positive = target()
            return without_row(counts, at, positive), counts, positive

        return leave_out
    scores = [np.repeat(counts.scores, ours) for ours in (counts.negatives, counts.positives)]
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 4 or sample % 2:
        raise ParameterError(f"sample must be an even number of at least 4 rows; got {sample!r}")
    if min(each.size for each in scores) < sample // 2 + coin:
        raise DataError("there are too few rows of one class for such a sample; give a smaller one")

    def take() -> _Trial:
        label = int(rng.integers(2))
        short = int(rng.integers(2)) if coin else label
        sizes = [sample // 2 - (kind == short) for kind in (0, 1)]
        taken = [rng.choice(each, sizes[kind] + (kind == label), replace=False) for kind, each in enumerate(scores)]
        known = np.concatenate((taken[0][: sizes[0]], taken[1][: sizes[1]]))
        rows = ScoreCounts.from_arrays(np.arange(sample - 1) >= sizes[0], known)
        return rows, with_row(rows, float(taken[label][-1]), bool(label)), bool(label)

    return take


def check_game(counts: ScoreCounts, published: Publication, trials: int, reading: str = "value") -> None:
    """Refuse a game that cannot be played."""
    check_metric(counts, published.metric)
    check_trials(counts, trials)
    if reading not in READINGS:
        raise ParameterError(f"reading must be one of {', '.join(READINGS)}; got {reading!r}")
    if reading != "value" and not (published.private and published.metric in READ_WHOLE):
        raise ParameterError("only a released AUC or accuracy is read whole; give reading='value' for other numbers")


def check_trials(counts: ScoreCounts, trials: int) -> None:
    """Refuse a number of trials that is none, and rows of which no label can be changed."""
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise ParameterError(f"trials must be a whole number of at least 1; got {trials!r}")
    if min(checked_rows(counts).total_positives, counts.total_negatives) < 2:
        raise DataError("the game needs two rows of each class at least, so that either label can be tried; add rows")


def check_once(published: Publication) -> None:
    """Refuse releases that are repeated, where an attack reads one."""
    if published.times > 1:
        raise ParameterError("this attack reads one release of each number; leave times out")


def curve_game(
    counts: ScoreCounts,
    published: Publication,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    level: float = 0.95,
) -> Game:
    """Guess a row's label, which a fair coin decided, from released curves; all else, the row's score too, is known.

    A label moves one count from one class to the other in the row's cell, and nothing else. So the adversary
    looks at both counts there, and guesses the world with the smaller sum of absolute distances over all releases: the
    likelihood-ratio test where each cell has Laplace noise of its own, but for the sharing out of the public number of
    rows among all cells.
    """
    check_trials(counts, trials)
    epsilon = checked_epsilon(published.epsilon)
    hits, guarantee = 0, None
    for at, world, other in coin_worlds(counts, trials, rng):
        prepared = prepare_curves(world, epsilon=epsilon, neighbours=neighbours)
        guarantee = prepared.guarantee
        releases = [prepared.draw()[0] for _ in range(published.times)]
        score = float(counts.scores[at])
        costs = [sum(_distance(each, release, score) for release in releases) for each in (world, other)]
        hits += right_guess(costs[0], costs[1], rng)
    return finished(published, hits, trials, level=level, guarantee=guarantee, times=published.times)


def _distance(world: ScoreCounts, release: Release, score: float) -> float:
    """Return how far the noisy counts of the score's cell, one of each class, are from a world's."""
    grid = Grid(np.array(release.options["grid"]))
    cell = int(grid.cells([score])[0])
    inside = grid.cells(world.scores) == cell
    seen = noisy_counts(release.parts["noisy_integers"], release.options).agreed()[:, cell]
    exact = np.array([world.positives[inside].sum(), world.negatives[inside].sum()])
    return float(np.abs(seen - exact).sum())
