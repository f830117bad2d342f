"""Games that a differentially private release bounds: guess one row's label from a published number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from confide.attacks.bounds import Game, finished
from confide.attacks.disclosure import NEIGHBOURS, Publication, Window
from confide.attacks.numbers import check_metric, checked_rows, exact_number, gap_to, released
from confide.attacks.one_row.missing import Candidates
from confide.attacks.one_row.rows import coin_worlds, row_drawer, with_row, without_row
from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.metrics.threshold import confusion_matrix
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.rank_sum import rank_sum
from confide.privacy.noise.reals import as_real, lower_bound
from confide.privacy.queries import SYSTEM_NOISE, CutQuery, Noise
from confide.releases.local_auc import local_queries
from confide.releases.release import Release
from confide.releases.smooth_sensitivity import noise_of
from confide.releases.terms import Terms

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
