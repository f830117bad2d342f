"""Adversaries: the insider, who misses one label, and the outsider, who knows the scores alone.

The model and the features may be public, and the frequency of the outcome usually is. All labelings that fit what was
published are equally likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import NEIGHBOURS, Game, Publication, Window
from confide.attacks.from_auc.labelings import Labelings
from confide.attacks.from_auc.posterior import MOST_WORK, label_posterior, states
from confide.attacks.from_curve.labels import labels_exposed
from confide.attacks.numbers import exact_number, released
from confide.attacks.one_row.exposed import exposed_rows
from confide.attacks.one_row.games import READ_WHOLE, curve_game, flipped_row, label_game
from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.errors import ParameterError
from confide.releases.curves import release_curves

_ROWS_TRIED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Insider:
    """Findings for somebody who knows everything but one row's label.

    Without noise, the labels of `told` of `tried` rows follow with certainty. For a rounded number, `average` is the
    expected share over the positions that the exact number may have between two rounded ones. With noise nothing
    follows; then `game` holds the success of guessing, beside the bound.
    """

    tried: int
    told: int | None = None
    average: float | None = None
    game: Game | None = None

    @property
    def success(self) -> float:
        """Return how often a label is guessed right; where it does not follow, half of the time."""
        if self.game is not None:
            return self.game.success
        told = self.told or 0
        return (told + (self.tried - told) / 2.0) / self.tried

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        game = None if self.game is None else self.game.to_dict()
        return {
            "tried": self.tried,
            "told": self.told,
            "average": self.average,
            "success": self.success,
            "game": game,
        }


def insider(
    counts: ScoreCounts, published: Publication, *, trials: int, rng: np.random.Generator, class_sizes: bool = False
) -> Insider:
    """Try every label, or some of them, against a publication; exact class sizes tell the last label by themselves."""
    if class_sizes:
        rows = int(counts.total_positives + counts.total_negatives)
        return Insider(tried=rows, told=rows)
    if published.private:
        if published.metric == "roc":
            game = curve_game(counts, published, trials=trials, rng=rng)
        else:
            reading = "everything" if published.metric in READ_WHOLE else "value"
            game = label_game(counts, published, trials=trials, rng=rng, reading=reading)
        return Insider(tried=trials, game=game)
    if published.metric == "roc":
        return _told_by_curve(counts, published, rng)
    exposed = exposed_rows(counts, published)
    average = None if published.digits is None else exposed.average
    return Insider(tried=exposed.rows, told=exposed.exposed, average=average)


def _told_by_curve(counts: ScoreCounts, published: Publication, rng: np.random.Generator) -> Insider:
    """For how many rows, some of them if there are many, the curve would be another with the other label."""
    every = np.arange(len(counts))
    rows = np.concatenate((np.repeat(every, counts.positives), np.repeat(every, counts.negatives)))
    label = np.arange(rows.size) < counts.total_positives
    tried = np.arange(rows.size) if rows.size <= _ROWS_TRIED else rng.choice(rows.size, _ROWS_TRIED, replace=False)
    original = _rates(counts.positives, counts.negatives, published.digits)
    told = 0
    for at, positive in zip(rows[tried], label[tried], strict=True):
        other = flipped_row(counts, int(at), bool(positive))
        told += not np.array_equal(original, _rates(other.positives, other.negatives, published.digits))
    return Insider(tried=tried.size, told=told)


def _rates(positives: CountArray, negatives: CountArray, digits: int | None) -> FloatArray:
    """Return the rates at every threshold, from the top, as they are published."""
    above = np.cumsum(np.stack((positives, negatives))[:, ::-1], axis=1)
    rates: FloatArray = above / above[:, -1:]
    return rates if digits is None else np.round(rates, digits)


MOST_ROWS = 1_000
"""Largest number of rows: beyond it a posterior takes minutes, and one number says little about the labels."""

_COUNTED = 10**9
_TAKEN_FOR = 0.99  # the level of the released interval that is taken for the truth


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Outsider:
    """Findings for somebody who knows every score and the number of positives, but no label.

    `probability` is that of being positive, by ascending score. `certain` labels follow from the publication. `known`
    labels are likelier than the level without being certain, and `known_right` of these are right. `right` is the
    number of labels that the likelier guess gets right. With `drawn`, possible labelings were drawn instead of
    enumerated, and `certain` counts labels that the draws do not exclude. `log10_labelings` is the logarithm of the
    number of possible labelings.
    """

    probability: FloatArray
    certain: int
    known: int
    known_right: int
    right: int
    log10_labelings: float | None = None
    drawn: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", read_only(self.probability))

    @property
    def labelings(self) -> int | None:
        """Return the number of possible labelings, where it is small enough to be exact."""
        if self.log10_labelings is None or self.log10_labelings > math.log10(_COUNTED):
            return None
        number: float = 10.0**self.log10_labelings
        return round(number)  # exact, as the logarithm has 13 digits

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the findings about single rows."""
        return {
            "certain": self.certain,
            "known": self.known,
            "known_right": self.known_right,
            "right": self.right,
            "labelings": self.labelings,
            "log10_labelings": self.log10_labelings,
            "drawn": self.drawn,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """From which probability on a label counts as known, and how much work its finding may take.

    `work` bounds the states of an exact posterior; beyond it, so many labelings are `drawn`, or none.
    """

    level: float = 0.9
    work: int = MOST_WORK
    drawn: int = 400


def outsider(counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator) -> Outsider | str:
    """Return the findings of an outsider, or the reason why they are not computed."""
    find = _OUTSIDERS.get((published.metric, published.private))
    if find is None:
        return "not computed for this number"
    if published.metric == "auc" and counts.total_positives + counts.total_negatives > MOST_ROWS:
        return f"not computed for more than {MOST_ROWS} rows"
    return find(counts, published, effort, rng)


def _outsider(
    counts: ScoreCounts, probability: FloatArray, certain: NDArray[np.bool_], effort: Effort, **more: Any
) -> Outsider:
    """Rows are in order of their scores; rows with equal scores have equal probabilities."""
    sizes = counts.positives + counts.negatives
    first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    belief, fixed = probability[first], certain[first]
    right = np.where(belief >= 0.5, counts.positives, counts.negatives)
    known = (np.maximum(belief, 1.0 - belief) > effort.level) & ~fixed
    return Outsider(
        probability=probability,
        certain=int(certain.sum()),
        known=int(sizes[known].sum()),
        known_right=int(right[known].sum()),
        right=int(right.sum()),
        **more,
    )


def _auc_outsider(
    counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator
) -> Outsider | str:
    return _by_labelings(counts, published.window(exact_number(counts, "auc")), effort, rng)


def _by_labelings(
    counts: ScoreCounts, window: Window, effort: Effort, rng: np.random.Generator, *, noisy: bool = False
) -> Outsider | str:
    groups = tuple((counts.positives + counts.negatives).tolist())
    labelings = Labelings(groups=groups, window=window, positives=int(counts.total_positives))
    if not effort.drawn and states(labelings) > effort.work:
        return "not computed, as there are too many labelings to go through"
    posterior = label_posterior(labelings, generator=rng, work=effort.work, sample=max(effort.drawn, 1))
    if noisy:  # noise can have any size, so no labeling is ever excluded
        return _outsider(counts, posterior.probability, _none(posterior.probability), effort, drawn=posterior.drawn)
    number = posterior.log10_labelings
    if number is None and not labelings.tied:
        number = _log10(labelings.count())
    more = {"log10_labelings": number, "drawn": posterior.drawn}
    return _outsider(counts, posterior.probability, posterior.certain, effort, **more)


def _none(probability: FloatArray) -> NDArray[np.bool_]:
    return np.zeros(probability.shape, dtype=np.bool_)


def _log10(number: int) -> float:
    """Return the logarithm of an integer that may be too large for a float."""
    shift = max(number.bit_length() - 60, 0)
    return math.log10(number >> shift) + shift * math.log10(2.0)


def _private_auc_outsider(
    counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator
) -> Outsider | str:
    """Return an outsider who takes the released interval for the truth."""
    return _by_labelings(counts, _taken_for(counts, published), effort, rng, noisy=True)


def _taken_for(counts: ScoreCounts, published: Publication) -> Window:
    """Return the interval of a real release; one that is repeated is worth one with the sum of the epsilons."""
    total = published.times * _epsilon(published)
    (release,), _ = released(counts, published.metric, epsilon=total, neighbours=NEIGHBOURS, level=_TAKEN_FOR)
    interval = release.intervals.sample
    return Window(lower=Fraction(interval.lower), upper=Fraction(interval.upper))


def _epsilon(published: Publication) -> Fraction:
    if published.epsilon is None:
        raise ParameterError("only a release with noise has an epsilon")
    return published.epsilon


def _accuracy_outsider(
    counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator
) -> Outsider | str:
    """With the numbers of calls and of positives, an accuracy tells how many of the calls are right: `2 TP = ...`."""
    called = np.repeat(counts.scores >= 0.5, counts.positives + counts.negatives)
    rows, calls, positives = called.size, int(called.sum()), int(counts.total_positives)
    exact = exact_number(counts, "accuracy")
    window = _taken_for(counts, published) if published.private else published.window(exact)
    ways = {}
    for found in range(max(calls + positives - rows, 0), min(calls, positives) + 1):
        if window.lower <= Fraction(2 * found + rows - positives - calls, rows) <= window.upper:
            ways[found] = math.comb(calls, found) * math.comb(rows - calls, positives - found)
    if not ways:  # the released interval lies between two accuracies that are possible
        middle = (window.lower + window.upper) / 2
        nearest = round((middle * rows - rows + positives + calls) / 2)
        ways[min(max(nearest, calls + positives - rows, 0), calls, positives)] = 1
    total = sum(ways.values())
    mean = Fraction(sum(found * way for found, way in ways.items()), total)
    shares = [
        float(mean / calls) if calls else 0.0,
        float((positives - mean) / (rows - calls)) if rows > calls else 0.0,
    ]
    probability = np.where(called, *shares)
    if published.private:
        return _outsider(counts, probability, _none(probability), effort)
    fixed = np.asarray((probability == 0.0) | (probability == 1.0))
    return _outsider(counts, probability, fixed, effort, log10_labelings=_log10(total))


def _roc_outsider(
    counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator
) -> Outsider | str:
    read = labels_exposed(counts, digits=published.digits, positives=int(counts.total_positives))
    number = _labelings_of_curve(counts) if published.digits is None else None
    fixed = np.asarray((read.lower == 1.0) | (read.upper == 0.0))
    return _outsider(counts, read.probability, fixed, effort, log10_labelings=number)


def _labelings_of_curve(counts: ScoreCounts) -> float:
    """Return the labelings with the same curve: within each score, any rows may be the positive ones."""
    sizes = zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True)
    return sum(_log10(math.comb(ours + theirs, ours)) for ours, theirs in sizes)


def _private_roc_outsider(
    counts: ScoreCounts, published: Publication, effort: Effort, rng: np.random.Generator
) -> Outsider | str:
    """Return an outsider who takes the released share of positives in a cell as the probability of its rows."""
    total = published.times * _epsilon(published)
    released = release_curves(counts, epsilon=total, neighbours=NEIGHBOURS).counts
    share = (released.positives + 0.5) / (released.positives + released.negatives + 1.0)
    nearest = np.abs(counts.scores[:, None] - released.scores[None]).argmin(axis=1)
    probability = np.repeat(share[nearest], counts.positives + counts.negatives)
    return _outsider(counts, probability, _none(probability), effort)


_OUTSIDERS = {
    ("auc", False): _auc_outsider,
    ("auc", True): _private_auc_outsider,
    ("accuracy", False): _accuracy_outsider,
    ("accuracy", True): _accuracy_outsider,
    ("roc", False): _roc_outsider,
    ("roc", True): _private_roc_outsider,
}
