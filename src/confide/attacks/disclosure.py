"""Forms of publishing, and what an adversary can reach at most."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import Interval
from confide.intervals.proportions import wilson_interval_of
from confide.metrics.names import METRIC_NAMES, Better, Face, metric_title, names_of, offered_metric
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import Guarantee, checked_epsilon, exact_fraction, shown, typed
from confide.privacy.neighbours import Neighbours

PUBLISHABLE = names_of(Face.ATTACK)
"""Metrics whose publication can be attacked; accuracy is at the threshold 0.5."""

NUMBERS = tuple(name for name in PUBLISHABLE if name != "roc")
"""Of these, single numbers."""

MEANS = ("accuracy", "log_loss", "brier")
"""Numbers that are means over rows."""

LOSSES = tuple(name for name in NUMBERS if METRIC_NAMES[name].better == Better.LOWER)
"""Numbers of which less is better."""

RELEASED = tuple(name for name in PUBLISHABLE if Face.RELEASE in METRIC_NAMES[name].faces)
"""Metrics that can be published with noise."""

MOST_DIGITS, MOST_TIMES = 15, 1_000

LAST_PLACES = Fraction(1, 10**12)
"""Floats of one number that was computed in two ways differ by less."""

NEIGHBOURS = "replace-one"
"""Releases are attacked under this relation, in which a changed label is a changed row."""

SCHEMA = "confide.attack/1"
"""Of what attacks say as plain data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Exact number lies between `lower` and `upper`, both included."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def written(cls, text: str, name: str = "auc", *, cut: bool = False) -> Window:
        """Return the window of a number as it is written.

        A fraction is exact; decimals are rounded (or cut) to that many digits.

        >>> Window.written("3/4")
        Window(lower=Fraction(3, 4), upper=Fraction(3, 4))
        >>> Window.written("0.8")
        Window(lower=Fraction(3, 4), upper=Fraction(17, 20))
        """
        text = text.strip()
        value = exact_fraction(text, name)
        decimals = re.fullmatch(r"[+-]?\d*\.(\d*)", text)
        if decimals is None:
            return cls(lower=value, upper=value)
        last = Fraction(1, 10 ** len(decimals[1]))
        return cls(lower=value, upper=value + last) if cut else cls(lower=value - last / 2, upper=value + last / 2)

    @classmethod
    def rounded(cls, value: Fraction, digits: int) -> Window:
        """Return the window of numbers that may have been rounded to a value; halves may have gone either way."""
        half = Fraction(1, 2 * 10**digits)
        return cls(lower=value - half, upper=value + half)

    def holds(self, values: FloatArray) -> NDArray[np.bool_]:
        """Tell which floats may be the number; rounding errors in the last places are allowed."""
        slack = float(LAST_PLACES)
        return np.asarray((values >= float(self.lower) - slack) & (values <= float(self.upper) + slack))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Metric and how it is published: exact, rounded to decimal digits, or released with an epsilon.

    With `times`, a release is drawn so often, with fresh noise and that epsilon each time.
    """

    metric: str
    digits: int | None = None
    epsilon: Fraction | None = None
    times: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", offered_metric(self.metric, Face.ATTACK, "cannot attack").name)
        if self.digits is not None and not 0 <= self.digits <= MOST_DIGITS:
            raise ParameterError(f"digits must lie between 0 and {MOST_DIGITS}; got {self.digits}")
        if self.epsilon is not None and self.metric not in RELEASED:
            raise ParameterError(f"{self.metric} cannot be released with noise; choose from {', '.join(RELEASED)}")
        if not 1 <= self.times <= MOST_TIMES or (self.times > 1 and self.epsilon is None):
            raise ParameterError(f"times must lie between 1 and {MOST_TIMES}, and be 1 without an epsilon")

    @classmethod
    def parse(cls, text: str) -> Publication:
        """Read `auc`, `auc:exact`, `auc:digits=4`, `auc:epsilon=1` or `auc:epsilon=0.1,times=10`.

        >>> Publication.parse("auc:digits=4")
        Publication(metric='auc', digits=4, epsilon=None, times=1)
        """
        metric, _, how = text.strip().partition(":")
        if how in ("", "exact"):
            return cls(metric=metric)
        digits = re.fullmatch(r"digits=([0-9]{1,3})", how)
        if digits:
            return cls(metric=metric, digits=int(digits[1]))
        noise = re.fullmatch(r"epsilon=([^,]+)(?:,times=([0-9]{1,6}))?", how)
        if noise:
            return cls(metric=metric, epsilon=checked_epsilon(noise[1]), times=int(noise[2] or 1))
        raise ParameterError(
            f"{text!r} does not say how a number is published; write METRIC:exact, METRIC:digits=4, METRIC:epsilon=1 "
            "or METRIC:epsilon=0.1,times=10"
        )

    @property
    def spec(self) -> str:
        """Write the publication as on the command line."""
        if self.epsilon is not None:
            times = f",times={self.times}" if self.times > 1 else ""
            return f"{self.metric}:epsilon={typed(self.epsilon)}{times}"
        return f"{self.metric}:exact" if self.digits is None else f"{self.metric}:digits={self.digits}"

    def __str__(self) -> str:
        name = metric_title(self.metric)
        if self.epsilon is not None:
            times = f", {self.times} times" if self.times > 1 else ""
            return f"{name}, released with epsilon {shown(self.epsilon)}{times}"
        return (
            f"exact {name}"
            if self.digits is None
            else f"{name} rounded to {self.digits} digit{'' if self.digits == 1 else 's'}"
        )

    @property
    def private(self) -> bool:
        """Tell whether noise is added before anything is shown."""
        return self.epsilon is not None

    def window(self, exact: Fraction | float) -> Window:
        """Return the window of the exact number once it is published without noise."""
        if self.private:
            raise ParameterError("a release with noise says nothing for certain; there is no window")
        value = exact if isinstance(exact, Fraction) else Fraction(exact)
        if self.digits is None:
            slack = Fraction(0) if isinstance(exact, Fraction) else LAST_PLACES
            return Window(lower=value - slack, upper=value + slack)
        return Window.rounded(round(value, self.digits), self.digits)


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
