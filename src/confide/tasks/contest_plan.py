"""Plan a contest: what its board will be worth, before anything is read or spent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from confide.contest.metric import ContestMetric
from confide.contest.plan import ContestPlan, usual_repetitions
from confide.contest.plan import plan_contest as simulate
from confide.privacy.guarantee import Exact


def plan_contest(
    *,
    rows: int,
    prevalence: float,
    answers: int,
    epsilon: Exact,
    teams: int = 50,
    public: float = 1.0,
    metric: str = "auc",
    threshold: float | None = None,
    auc: float = 0.8,
    final_epsilon: Exact | None = None,
    final_delta: Exact = 0,
    finalists: int = 20,
    repetitions: int | None = None,
    seed: int = 0,
    begin: Callable[[str], None] | None = None,
) -> ContestPlan:
    """Return the error of shown scores, the order of teams and the promise of a contest, by simulation.

    See `confide.contest.plan.plan_contest` for the parameters. `threshold` is that of metrics of calls, and `seed`
    makes a plan repeatable.

    >>> plan = plan_contest(rows=500, prevalence=0.3, answers=40, epsilon=2, teams=8, repetitions=2)
    >>> round(plan.planned.certainty, 2), plan.exact.rows_price
    (0.88, 1.0)
    """
    return simulate(
        rows,
        prevalence,
        answers,
        epsilon,
        teams=teams,
        public=public,
        metric=ContestMetric.checked(metric, threshold),
        auc=auc,
        final_epsilon=final_epsilon,
        final_delta=final_delta,
        finalists=finalists,
        repetitions=repetitions,
        rng=np.random.default_rng(seed),
        begin=begin,
    )


def planned_repetitions(*, rows: int, public: float, answers: int, repetitions: int | None) -> int:
    """Return the number of contests that a plan simulates."""
    if repetitions is not None:
        return max(repetitions, 1)
    return usual_repetitions(max(round(rows * public), 1), max(answers, 1))
