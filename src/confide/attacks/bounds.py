"""Results of games: the measured success of an adversary beside the upper bound of a guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confide.attacks.disclosure import Publication
from confide.intervals.interval import Interval
from confide.intervals.proportion import wilson_interval_of
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """Result of a game in which an adversary guesses a label, beside the bound of the guarantee.

    `chance` is the success without the published number. `bound` is the most that the guarantee of all answers together
    (`epsilon`, `delta`) allows any adversary; None where there is no guarantee.
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
        """Return the share of right guesses."""
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
    """Return the result of a game. The guarantee is converted to one for labels, for all answers."""
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
