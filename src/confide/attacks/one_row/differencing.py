"""Attack on a row that was added between two publications, and how often it succeeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.attacks.disclosure import MEANS, NEIGHBOURS, Game, Publication, Window, finished
from confide.attacks.numbers import check_metric, exact_number, gap_to, released
from confide.attacks.one_row.games import (
    LabelGuess,
    check_game,
    check_once,
    label_of_score,
    right_guess,
    row_drawer,
    with_row,
    without_row,
)
from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.privacy.adversary import success_bound

_LOST_PLACES = 1e-9  # what a row adds is a difference of sums, which loses digits


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPlaces:
    """With so many positives before, the new row has this class and adds from `least` to `most` to twice the wins.

    Twice the wins are twice the rows of the other class on its right side, tied ones counting once; every `step`-th
    number is possible.
    """

    positives_before: int
    positive: bool
    least: int
    most: int
    step: int = 1

    def __len__(self) -> int:
        return (self.most - self.least) // self.step + 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.least, self.most + 1, self.step))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positives_before": self.positives_before,
            "positive": self.positive,
            "least": self.least,
            "most": self.most,
            "step": self.step,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedRow:
    """Everything that the row added between two AUCs can be.

    `belief` is the probability that it is positive if all numbers of positives before that fit are equally likely, for
    each of them both classes, and for each class every number from 0 up that it can add to twice the wins.
    """

    places: tuple[AddedPlaces, ...]
    belief: float

    @property
    def certain(self) -> bool:
        """Tell whether the label follows."""
        return self.belief in (0.0, 1.0)

    @property
    def positive(self) -> bool | None:
        """Return the likelier label; None if both are equally likely."""
        return None if self.belief == 0.5 else self.belief > 0.5

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the numbers of positives before that fit."""
        return tuple(sorted({each.positives_before for each in self.places}))

    @property
    def number(self) -> int:
        """Count the fitting combinations of class size, class and place."""
        return sum(len(each) for each in self.places)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "belief": self.belief,
            "certain": self.certain,
            "positive": self.positive,
            "number": self.number,
            "places": [each.to_dict() for each in self.places],
        }


def added_row(
    before: Window, after: Window, *, rows: int, positives: int | range | None = None, ties: bool = True
) -> AddedRow:
    """Find the label and rank of the row that was added between two AUCs, from numbers of rows before alone.

    With p positives and q negatives before, twice the wins T are a whole number with `T/(2pq)` in the first window. A
    positive row adds a in 0..2q and `(T + a)/(2(p + 1)q)` lies in the second; a negative one adds a in 0..2p and
    `(T + a)/(2p(q + 1))` does. Any T goes with any a. Without `ties` all are even. Exact in whole numbers.

    `positives` before may be a number or a range, such as `range(1, rows // 2 + 1)` if positives are the rarer class.
    If nothing is known of them (None), the label stays a coin: data with exchanged classes and the ranking turned
    around have the same AUCs.

    >>> found = added_row(Window.written("3/4"), Window.written("5/6"), rows=4, positives=2)
    >>> [(each.positive, list(each)) for each in found.places]
    [(True, [4]), (False, [4])]
    """
    sizes = range(1, rows) if positives is None else (positives,) if isinstance(positives, int) else positives
    if rows < 2 or not sizes or min(sizes) < 1 or max(sizes) >= rows:
        raise ParameterError("rows before must be at least 2, and positives leave a row of each class")
    step = 1 if ties else 2
    found = [places for size in sizes for places in _places(before, after, size, rows - size, step)]
    if not found:
        raise DataError("no row that was added explains both AUCs; check the number of rows, and how they are rounded")
    return AddedRow(places=tuple(found), belief=_belief(found, rows))


def _places(before: Window, after: Window, positives: int, negatives: int, step: int) -> Iterator[AddedPlaces]:
    old = _multiples(before, 2 * positives * negatives, step)
    if old is None:
        return
    for positive, others, pairs in (
        (True, negatives, (positives + 1) * negatives),
        (False, positives, positives * (negatives + 1)),
    ):
        new = _multiples(after, 2 * pairs, step)
        if new is not None:
            least, most = max(new[0] - old[1], 0), min(new[1] - old[0], 2 * others)
            if least <= most:
                yield AddedPlaces(positives_before=positives, positive=positive, least=least, most=most, step=step)


def _multiples(window: Window, whole: int, step: int) -> tuple[int, int] | None:
    """Return the least and most of the multiples of `step` up to `whole` that are in the window as shares of it."""
    least = step * max(math.ceil(window.lower * whole / step), 0)
    most = step * min(math.floor(window.upper * whole / step), whole // step)
    return (least, most) if least <= most else None


def _belief(places: list[AddedPlaces], rows: int) -> float:
    """Average over numbers of positives what the shares of each class's places that fit say."""
    shares: dict[int, list[Fraction]] = {}
    for each in places:
        others = rows - each.positives_before if each.positive else each.positives_before
        every = 2 * others // each.step + 1
        shares.setdefault(each.positives_before, [Fraction(0)] * 2)[each.positive] = Fraction(len(each), every)
    beliefs = [ours / (ours + theirs) for theirs, ours in shares.values()]
    return float(sum(beliefs, Fraction(0)) / len(beliefs))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTerm:
    """Contribution of the added row to a mean, from `lower` to `upper`, and the label that follows.

    For accuracy the contribution is 1 if the row was classified correctly, for log loss minus the logarithm of the
    probability of its class, for the Brier score the squared difference between this probability and 1. `guess` needs
    the row's score.
    """

    metric: str
    lower: float
    upper: float
    guess: LabelGuess | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "metric": self.metric,
            "lower": self.lower,
            "upper": self.upper,
            "guess": None if self.guess is None else self.guess.to_dict(),
        }


def added_term(metric: str, before: Window, after: Window, *, rows: int, score: float | None = None) -> AddedTerm:
    """Return what the added row contributes to a mean, `(n + 1) after - n before`, and with its score its label.

    Needs the number of rows before and nothing else of them.

    >>> found = added_term("accuracy", Window.written("4/5"), Window.written("9/11"), rows=10, score=0.3)
    >>> found.guess.positive, found.lower
    (False, 1.0)
    """
    if metric not in MEANS:
        raise ParameterError(
            f"{metric!r} is not a mean over rows; give one of {', '.join(MEANS)}, or use label_of_score"
        )
    if rows < 1:
        raise ParameterError(f"rows before must be at least 1; got {rows!r}")
    window = Window(
        lower=(rows + 1) * after.lower - rows * before.upper, upper=(rows + 1) * after.upper - rows * before.lower
    )
    guess = None if score is None else _guess(metric, score, window)
    return AddedTerm(metric=metric, lower=float(window.lower), upper=float(window.upper), guess=guess)


def _guess(metric: str, score: float, window: Window) -> LabelGuess:
    lower, upper = float(window.lower), float(window.upper)
    gaps = [max(lower - term, term - upper, 0.0) for term in (_term(metric, score, True), _term(metric, score, False))]
    gaps = [0.0 if gap <= _LOST_PLACES else gap for gap in gaps]
    least = min(gaps)
    return LabelGuess.among(int(gaps[0] == least), int(gaps[1] == least), fits=least == 0.0)


def _term(metric: str, score: float, positive: bool) -> float:
    row = with_row(ScoreCounts.empty(), score, positive)
    check_metric(row, metric)
    return float(exact_number(row, metric))


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencedRows:
    """Of the rows that were tried, each as the one that was added last: labels that follow, and that were guessed."""

    published: str
    tried: int
    certain: int
    right: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published,
            "tried": self.tried,
            "certain": self.certain,
            "right": self.right,
        }


def differenced_rows(
    counts: ScoreCounts, published: Publication, *, most: int, rng: np.random.Generator, positives_known: bool = False
) -> DifferencedRows:
    """Publish a metric without and with a row, for up to `most` random rows, and look for the row's label.

    Of the AUC the adversary has both numbers, the number of rows and which class is rarer (with `positives_known` the
    number of positives), of means over rows the row's score too; average precision also takes the other rows. Where
    both labels are as likely, a coin guesses.
    """
    check_game(counts, published, most)
    ends = np.cumsum(np.concatenate((counts.positives, counts.negatives)))
    chosen = rng.permutation(int(ends[-1]))[:most]
    certain = right = 0
    for found in np.searchsorted(ends, chosen, "right").tolist():
        at, positive = found % len(counts), found < len(counts)
        guess, sure = _differenced(counts, published, at, positive, positives_known)
        certain += sure
        right += guess == positive if guess is not None else int(rng.integers(2))
    return DifferencedRows(published=published.spec, tried=chosen.size, certain=certain, right=right)


def _differenced(
    counts: ScoreCounts, published: Publication, at: int, positive: bool, positives_known: bool
) -> tuple[bool | None, bool]:
    old, metric = without_row(counts, at, positive), published.metric
    before, after = (published.window(exact_number(each, metric)) for each in (old, counts))
    rows = int(old.total_positives + old.total_negatives)
    if metric == "auc":
        row = added_row(before, after, rows=rows, positives=_known_positives(old, rows, positives_known))
        return row.positive, row.certain
    score = float(counts.scores[at])
    if metric in MEANS:
        found = added_term(metric, before, after, rows=rows, score=score).guess
        assert found is not None  # noqa: S101  # the score was given
    else:
        found = label_of_score(old, score, metric, after)
    return found.positive, found.certain


def _known_positives(old: ScoreCounts, rows: int, exactly: bool) -> int | range:
    """Return the number of positives, or only that it is at most, or at least, half the rows."""
    positives = int(old.total_positives)
    if exactly:
        return positives
    return range(1, rows // 2 + 1) if 2 * positives <= rows else range((rows + 1) // 2, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencingGame:
    """Success of guessing the added row's label, a fair coin, from the change between two publications.

    The game's bound is for two releases, at twice epsilon. Only the second depends on the label, so the bound of one,
    `label_bound`, holds as well; None where there is no guarantee.
    """

    game: Game
    label_bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.game.to_dict(), "label_bound": self.label_bound}


def differencing_game(
    counts: ScoreCounts,
    published: Publication,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    mechanism: str = "auto",
    delta: object = 0,
    level: float = 0.95,
) -> DifferencingGame:
    """Publish a number before and after a row with a fair coin for its label is added, and guess the coin.

    The adversary knows by how much either label would have changed the exact number, and guesses the one that is
    nearer to the published change. Rows and coins come from `rng`, noise from the system.
    """
    check_game(counts, published, trials)
    check_once(published)
    terms: dict[str, Any] = {
        "epsilon": published.epsilon,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "delta": delta,
    }
    target, hits, guarantee = row_drawer(counts, rng), 0, None
    for _ in range(trials):
        at, positive = target()
        old = without_row(counts, at, positive)
        truth = bool(rng.integers(2))
        worlds = [with_row(old, float(counts.scores[at]), label) for label in (truth, not truth)]
        values = [exact_number(each, published.metric) for each in (old, *worlds)]
        if published.private:
            (first,), guarantee = released(old, published.metric, **terms)
            (second,), _ = released(worlds[0], published.metric, **terms)
            change = Fraction(second.value) - Fraction(first.value)
            window = Window(lower=change, upper=change)
        else:
            before, after = published.window(values[0]), published.window(values[1])
            window = Window(lower=after.lower - before.upper, upper=after.upper - before.lower)
        costs = [float(gap_to(value - values[0], window)) for value in values[1:]]
        hits += right_guess(costs[0], costs[1], rng)
    game = finished(published, hits, trials, level=level, guarantee=guarantee, times=2)
    one = None if game.epsilon is None else success_bound(game.epsilon / 2.0, game.delta / 2.0)
    return DifferencingGame(game=game, label_bound=one)
