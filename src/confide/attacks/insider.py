"""What publications say to somebody who knows everything but one row's label: the adversary of differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.attacks.bounds import Game
from confide.attacks.disclosure import Publication
from confide.attacks.one_row.curve_game import curve_game
from confide.attacks.one_row.exposed import exposed_rows
from confide.attacks.one_row.game import READ_WHOLE, label_game
from confide.attacks.one_row.rows import flipped_row
from confide.counts import CountArray, FloatArray, ScoreCounts

_ROWS_TRIED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Insider:
    """What follows for somebody who knows everything but one row's label.

    Without noise, `told` of `tried` rows have a label that follows for certain; of a rounded number `average` is the
    share that would follow on average over where it may lie between two rounded ones, which is luck. With noise
    nothing follows; then `game` has how often a label was guessed, beside the bound.
    """

    tried: int
    told: int | None = None
    average: float | None = None
    game: Game | None = None

    @property
    def success(self) -> float:
        """How often a label is guessed right; where it does not follow, half of the time."""
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
    """The rates at every threshold, from the top, as they are published."""
    above = np.cumsum(np.stack((positives, negatives))[:, ::-1], axis=1)
    rates: FloatArray = above / above[:, -1:]
    return rates if digits is None else np.round(rates, digits)
