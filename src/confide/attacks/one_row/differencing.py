"""Attack on the row that was added between two publications of a number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.attacks.disclosure import MEANS, Window
from confide.attacks.numbers import check_metric, exact_number
from confide.attacks.one_row.missing import LabelGuess
from confide.attacks.one_row.rows import with_row
from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError

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
        raise ParameterError(f"{metric!r} is no mean over rows; give one of {', '.join(MEANS)}, or use label_of_score")
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
