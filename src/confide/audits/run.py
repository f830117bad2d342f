"""Run audits: half of the draws choose the most telling event, the other half test it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from confide.audits.events import checked_error, choose_event, loss_below
from confide.audits.subject import Data, Pair, Subject
from confide.audits.targets import targets
from confide.audits.twins import twins
from confide.errors import ParameterError, did_you_mean
from confide.privacy.guarantee import checked_epsilon
from confide.privacy.neighbours import Neighbours

SCHEMA = "confide.audit/1"
DRAWS = 200_000
ERROR = 1e-4

_FEWEST = 100  # draws of a dataset, below which nothing could be shown


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finding:
    """Result of the audit of one mechanism.

    `lower_bound` exceeds the true epsilon (at the claimed delta) with a probability of at most `error`. A mechanism
    whose claim is below it is refuted. `draws` is the number of releases drawn in all, `event` the name of the score
    that told the neighbours apart.
    """

    mechanism: str
    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction
    lower_bound: float
    draws: int
    error: float
    event: str
    wrong: str = ""

    @property
    def refuted(self) -> bool:
        """Tell whether more is lost than was claimed."""
        return self.lower_bound > self.epsilon

    @property
    def twin(self) -> bool:
        """Tell whether the mechanism is broken on purpose."""
        return bool(self.wrong)

    @property
    def as_expected(self) -> bool:
        """Tell whether a mechanism holds, or a broken twin was caught."""
        return self.refuted == self.twin

    @property
    def verdict(self) -> str:
        """Return the verdict for tables and JSON."""
        if self.twin:
            return "caught" if self.refuted else "NOT CAUGHT"
        return "REFUTED" if self.refuted else "not refuted"

    def __repr__(self) -> str:
        return f"<Finding {self.mechanism}: {self.verdict}, epsilon {float(self.epsilon):g} > {self.lower_bound:.3g}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain: dict[str, Any] = {
            "mechanism": self.mechanism,
            "neighbours": self.neighbours.value,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "lower_bound": self.lower_bound,
            "verdict": self.verdict,
            "draws": self.draws,
            "error": self.error,
            "event": self.event,
        }
        return {**plain, "wrong": self.wrong} if self.twin else plain


def subjects(names: Sequence[str] = (), *, epsilon: object = 1, broken: bool = False) -> tuple[Subject[Any], ...]:
    """Return the mechanisms of these names ("auc/rank-sum", or "auc" for all of it); all by default.

    `broken` adds the twins.

    >>> [subject.neighbours.value for subject in subjects(["auc/rank-sum"])]
    ['replace-one', 'label-only']
    """
    claimed = checked_epsilon(epsilon)
    every = targets(claimed)
    known = sorted({name for subject in every for name in _names(subject)})
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ParameterError(f"no mechanism {name!r}. {hint}These can be audited: {', '.join(known)}")
    chosen = tuple(subject for subject in every if not names or set(names) & _names(subject))
    return (*chosen, *twins(claimed)) if broken else chosen


def _names(subject: Subject[Any]) -> set[str]:
    return {subject.name, subject.name.split("/")[0]}


def audit(subject: Subject[Data], *, draws: int = DRAWS, error: float = ERROR) -> Finding:
    """Audit one mechanism with `draws` integers of noise.

    The pairs of neighbours share the draws and the error (Bonferroni), so that the largest of their bounds is wrong
    with a probability of at most `error`.
    """
    check_audit([subject], draws=draws, error=error)
    share = error / len(subject.pairs)
    each = draws // _cost(subject)
    bound, event = max(_judged(subject, pair, each, share) for pair in subject.pairs)
    return Finding(
        mechanism=subject.name,
        neighbours=subject.neighbours,
        epsilon=subject.epsilon,
        delta=subject.delta,
        lower_bound=bound,
        draws=4 * each * len(subject.pairs),
        error=error,
        event=event,
        wrong=subject.wrong,
    )


def fewest_draws(chosen: Iterable[Subject[Any]]) -> int:
    """Return the least number of draws with which each of these mechanisms can be audited.

    >>> fewest_draws(subjects(["auc/rank-sum"]))
    1600
    """
    return max(_FEWEST * _cost(subject) for subject in chosen)


def check_audit(chosen: Sequence[Subject[Any]], *, draws: int, error: float) -> None:
    """Refuse what cannot be audited: too few draws for one of the mechanisms, or an error that is no probability."""
    checked_error(error)
    hardest = max(chosen, key=_cost)
    least = fewest_draws(chosen)
    if draws < least:
        others = f", which needs the most of the {len(chosen)}" if len(chosen) > 1 else ""
        raise ParameterError(f"`draws` must be at least {least:,} for {hardest.name}{others}; got {draws:,}")


def _cost(subject: Subject[Any]) -> int:
    """Return the integers of noise that one draw of each dataset takes, for choosing the event and for testing it."""
    return 4 * subject.cost * len(subject.pairs)


def audit_all(
    chosen: Iterable[Subject[Any]],
    *,
    draws: int = DRAWS,
    error: float = ERROR,
    starting: Callable[[Subject[Any]], None] = lambda subject: None,
) -> tuple[Finding, ...]:
    """Audit several mechanisms. `starting` is called with each before its turn."""
    every, findings = tuple(chosen), []
    check_audit(every, draws=draws, error=error)
    for subject in every:
        starting(subject)
        findings.append(audit(subject, draws=draws, error=error))
    return tuple(findings)


def _judged(subject: Subject[Data], pair: Pair[Data], each: int, error: float) -> tuple[float, str]:
    """Return the bound from one pair, and the event that it comes from."""
    ours, theirs = (subject.sample(data, 2 * each) for data in pair)
    delta = float(subject.delta)
    if ours.shape[1] != theirs.shape[1]:  # only one of them is answered, or with more numbers
        ours, theirs = ours[:, :1], theirs[:, :1]
    event = choose_event(ours[:each], theirs[:each], delta=delta, error=error)
    likelier, other = (theirs, ours) if event.swapped else (ours, theirs)
    hits, other_hits = event.hits(likelier[each:]), event.hits(other[each:])
    return float(loss_below(hits, each, other_hits, each, delta=delta, error=error)), event.name
