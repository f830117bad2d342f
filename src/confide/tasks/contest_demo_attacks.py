"""Attacks of the demonstration's attacker, on the server and on an oracle that answers exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.attacks.contest.ladder import climb, ladder
from confide.attacks.contest.oracle import Oracle
from confide.attacks.contest.recovered import UNKNOWN, Recovered
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.contest.served import Ask, BestSoFar, repeat_question
from confide.attacks.disclosure import Publication

REPEATED_ROWS, REPEATS = 30, 3
FALSE_ALARM = 1e-6
"""Probability that a sound server is called unsound by one attack's luck."""

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """Labels that an attack got right on the server, and on an oracle that answers exactly.

    `rows` labels were guessed; a label that the attacker does not name counts half. `luck` is the probability that an
    attacker at the bound gets as many right.
    """

    name: str
    rows: int
    submissions: int
    right: float
    luck: float
    exact_right: float
    exact_submissions: int

    @property
    def share(self) -> float:
        """Return the share of labels that are right on the server."""
        return self.right / self.rows

    @property
    def exact_share(self) -> float:
        """Return the share of labels that are right with exact answers."""
        return self.exact_right / self.rows

    @property
    def beyond_bound(self) -> bool:
        """Return whether more labels are right than luck explains; a false alarm has a probability of 1e-6."""
        return self.luck < FALSE_ALARM

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "rows": self.rows,
            "submissions": self.submissions,
            "share": self.share,
            "luck": self.luck,
            "beyond_bound": self.beyond_bound,
            "exact_share": self.exact_share,
            "exact_submissions": self.exact_submissions,
        }


def planned_submissions(rows: int) -> int:
    """Return the submissions that all attacks on the server take."""
    return _orthogonal(rows) + rows + 1 + 2 * min(REPEATED_ROWS, rows) * REPEATS


def attack_server(
    ask: Ask,
    labels: NDArray[np.bool_],
    *,
    metric: str,
    epsilon: Fraction,
    bound: float,
    rng: np.random.Generator,
    begin: Step = lambda name: None,
) -> tuple[AttackResult, ...]:
    """Run all attacks on the labels of the rows that a server answers about.

    `ask` submits scores of these rows and returns the server's answer. `labels` are the true ones; they are used to
    count, and by the oracle with exact answers beside the server. `bound` is the most that one may be sure of a label.
    """
    judge = _Judge(labels, bound)
    begin("reading labels from answers")
    published = Publication(metric=metric, epsilon=epsilon)
    size = _orthogonal(labels.size)
    served = recover_labels(Oracle(ask, rows=labels.size, published=published, limit=size), budget=size, rng=rng)
    exact = recover_labels(Oracle.of_labels(labels, metric, limit=size), budget=size, rng=rng)
    results = [judge.compare("recover_labels", served, exact)]
    begin("climbing the board")
    most = labels.size + 1
    served = climb(BestSoFar(ask, rows=labels.size, limit=most), queries=most, rng=rng)
    exact = climb(ladder(labels, "accuracy", step=f"{0.5 / labels.size:.12f}", limit=most), queries=most, rng=rng)
    results.append(judge.compare("climb", served, exact))
    begin("asking the same question again and again")
    results.append(_repeated(judge, ask, metric, rng))
    return tuple(results)


@dataclass(frozen=True, slots=True, repr=False)
class _Judge:
    """Counter of right labels."""

    labels: NDArray[np.bool_]
    bound: float

    def right(self, recovered: Recovered) -> float:
        given = recovered.labels != UNKNOWN
        return float((recovered.labels == self.labels)[given].sum()) + 0.5 * float((~given).sum())

    def luck(self, right: float, rows: int) -> float:
        """Return the probability that a binomial with the bound's probability is at least as large.

        Given all answers, labels that are fair coins are independent, and no guess of one is right with a probability
        above the bound. So the number of right ones is at most as large as this binomial.
        """
        from scipy.special import bdtrc

        least = int(np.ceil(right))
        return 1.0 if least < 1 else float(bdtrc(least - 1, rows, self.bound))

    def compare(self, name: str, served: Recovered, exact: Recovered) -> AttackResult:
        right, rows = self.right(served), self.labels.size
        return AttackResult(
            name=name,
            rows=rows,
            submissions=served.queries,
            right=right,
            luck=self.luck(right, rows),
            exact_right=self.right(exact),
            exact_submissions=exact.queries,
        )


def _repeated(judge: _Judge, ask: Ask, metric: str, rng: np.random.Generator) -> AttackResult:
    """Ask about some rows many times, in other words each time, and take means."""
    rows = judge.labels.size
    chosen = rng.choice(rows, min(REPEATED_ROWS, rows), replace=False).tolist()
    exact_oracle = Oracle.of_labels(judge.labels, metric)

    def exactly(scores: Any) -> float:
        return float(exact_oracle.ask(scores))

    def right(answer: Ask, times: int) -> float:
        found = [repeat_question(answer, rows=rows, row=row, times=times, rng=rng) for row in chosen]
        return sum(0.5 if one.label is None else float(one.label == int(judge.labels[one.row])) for one in found)

    served = right(ask, REPEATS)
    return AttackResult(
        name="repeat one question",
        rows=len(chosen),
        submissions=2 * REPEATS * len(chosen),
        right=served,
        luck=judge.luck(served, len(chosen)),
        exact_right=right(exactly, 1),
        exact_submissions=2 * len(chosen),
    )


def _orthogonal(rows: int) -> int:
    """Return a whole turn of orthogonal submissions: the least power of two above the rows."""
    return 1 << int(rows).bit_length()
