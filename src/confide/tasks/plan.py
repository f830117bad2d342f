"""Plan a release: what it will be worth, before anything is read or spent."""

from __future__ import annotations

from confide.errors import ParameterError
from confide.privacy.guarantee import Exact
from confide.releases import plan as planner
from confide.releases.plan_result import Plan
from confide.releases.registry import metric_named
from confide.tasks.table_plan import TABLES, TablePlan, plan_tables, table_parameters


def plan(
    metric: str = "auc",
    *,
    rows: int,
    prevalence: float | None = None,
    expected: float | None = None,
    epsilon: Exact | None = None,
    width: float | None = None,
    delta: Exact = 0,
    neighbours: str = "replace-one",
    level: float = 0.95,
    curve: bool = True,
    questions: int | None = None,
) -> Plan | TablePlan:
    """Return the error of a private metric and the widths of its intervals, for each mechanism.

    No data are read: a stand-in with the guessed rows is released many times. Curves ("roc", "pr"), "selection" of
    features and "naive-bayes" have no single interval: for them the plan compares the noise of each way to divide
    epsilon and delta.

    Parameters
    ----------
    metric, rows
        The metric, and the number of rows or a guess of it.
    prevalence, expected
        Guesses of the share of positives and of the value of the metric. Give the same `prevalence` to the release.
    epsilon, width
        The budget of the release, or the width that an interval should have, or both.
    delta, neighbours, level
        The other terms of the release.
    curve
        Whether to compute the widths at other epsilons, which takes most of the time.
    questions
        Number of such releases in one account, whose caps are `epsilon` and `delta`. The plan then says what each gets
        if epsilons add up, and what in an account of composition zcdp, and which error is smaller.

    >>> plan("auc", rows=1000, prevalence=0.2, expected=0.8, epsilon=1, curve=False).auto
    'local'
    """
    table = _table(metric)
    if table is not None:
        if expected is not None or width is not None or epsilon is None:
            raise ParameterError(
                f"{table} has no single value or interval; give epsilon, and leave `expected` and `width` out"
            )
        return plan_tables(
            table,
            rows=rows,
            epsilon=epsilon,
            prevalence=prevalence,
            delta=delta,
            neighbours=neighbours,
            questions=1 if questions is None else questions,
        )
    return planner.plan(
        metric,
        rows=rows,
        prevalence=prevalence,
        expected=expected,
        epsilon=epsilon,
        width=width,
        delta=delta,
        neighbours=neighbours,
        level=level,
        curve=curve,
        questions=questions,
    )


def _table(metric: str) -> str | None:
    """Return the kind of table that a name stands for; None if it is a number."""
    name = metric_named(metric)
    return next((kind for kind in TABLES if kind.replace("-", "_") == name), None)


def release_parameters(planned: Plan | TablePlan, *, prevalence: float | None = None) -> dict[str, object]:
    """Return the parameters of `confide.release` that do what was planned, with the recommended mechanism.

    If many questions were planned, they are the parameters of each question. For a selection or a model they are those
    of `confide.select` or `confide.train`.
    """
    if isinstance(planned, TablePlan):
        return table_parameters(planned)
    epsilon, delta, mechanism = planned.epsilon, planned.delta, planned.recommended.mechanism
    if planned.questions is not None:
        share = planned.questions.best.share
        epsilon, delta, mechanism = share.epsilon, share.delta, share.mechanism
    return {
        "metrics": planned.metric,
        "epsilon": epsilon,
        **({"delta": delta} if delta else {}),
        **({"neighbours": planned.neighbours.value} if planned.neighbours != "replace-one" else {}),
        **({"mechanism": mechanism} if mechanism != planned.auto else {}),
        **({"prevalence_guess": prevalence} if prevalence is not None else {}),
    }
