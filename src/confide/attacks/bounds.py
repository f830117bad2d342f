"""What a guarantee allows any adversary at most, and how often one was right in a game, beside that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from confide.attacks.disclosure import Publication
from confide.intervals.interval import Interval
from confide.intervals.proportion import wilson_interval_of
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours


def success_bound(epsilon: float, delta: float = 0.0) -> float:
    """The most often that a fair coin's outcome, which decides between neighbours, can be guessed from a release.

    With p, q the chances to guess "positive" in either world, `p <= e^epsilon q + delta` and
    `1 - q <= e^epsilon (1 - p) + delta`; their sum bounds the success `(p + 1 - q)/2` by
    `(e^epsilon + delta)/(1 + e^epsilon)`.

    >>> round(success_bound(1.0), 4)
    0.7311
    """
    return min((1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """How often an adversary guessed a label, beside what can be promised.

    `chance` is the success without the published number. `bound` is the most that the guarantee of all answers
    together (`epsilon`, `delta`) allows any adversary; None where nothing is promised.
    """

    published: str
    trials: int
    hits: int
    interval: Interval
    times: int = 1
    chance: float = 0.5
    epsilon: float | None = None
    delta: float = 0.0
    bound: float | None = None

    @property
    def success(self) -> float:
        """The share of right guesses."""
        return self.hits / self.trials

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published,
            "trials": self.trials,
            "hits": self.hits,
            "success": self.success,
            "interval": self.interval.to_dict(),
            "times": self.times,
            "chance": self.chance,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "bound": self.bound,
        }


def finished(
    published: Publication,
    hits: int,
    trials: int,
    *,
    level: float,
    guarantee: Guarantee | None = None,
    times: int = 1,
    chance: float = 0.5,
) -> Game:
    """The game's outcome; a guarantee counts as one for labels, so many times."""
    labels = None if guarantee is None else guarantee.in_account_of(Neighbours.LABEL_ONLY)
    epsilon = None if labels is None else float(times * labels.epsilon)
    delta = 0.0 if labels is None else float(times * labels.delta)
    return Game(
        published=published.spec,
        trials=trials,
        hits=hits,
        interval=wilson_interval_of(hits / trials, trials, level=level),
        times=times,
        chance=chance,
        epsilon=epsilon,
        delta=delta,
        bound=None if epsilon is None else success_bound(epsilon, delta),
    )
