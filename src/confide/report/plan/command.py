"""Write parameters of a release as the command that a user types."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from confide.privacy.guarantee import typed
from confide.privacy.neighbours import Neighbours
from confide.releases.plan_result import Plan
from confide.releases.question_plan import ZCDP
from confide.tasks.table_plan import NAIVE_BAYES, SELECTION, TablePlan

_FLAGS = {"metrics": "--metric"}


def release_command(parameters: Mapping[str, object]) -> str:
    """Return the command line of `confide release` with some parameters.

    >>> release_command({"metrics": "auc", "epsilon": Fraction(1, 2)})
    'confide release FILE --label COL --score COL --metric auc --epsilon 0.5'
    """
    return " ".join(["confide release FILE --label COL --score COL", *_options(parameters)])


def _table_command(plan: TablePlan, parameters: Mapping[str, object]) -> str:
    """Return the command line of the verb that releases a table."""
    verb = {SELECTION: "select", NAIVE_BAYES: "train"}.get(plan.kind)
    if verb is None:
        return release_command(parameters)
    return " ".join([f"confide {verb} FILE --label COL --column COL=CUTS", *_options(parameters)])


def _options(parameters: Mapping[str, object]) -> list[str]:
    return [
        f"{_FLAGS.get(name, '--' + name.replace('_', '-'))} {_written(value)}" for name, value in parameters.items()
    ]


def plan_commands(plan: Plan | TablePlan, parameters: Mapping[str, object]) -> list[str]:
    """Return the commands that do what was planned: with many questions, the account comes first."""
    release = _table_command(plan, parameters) if isinstance(plan, TablePlan) else release_command(parameters)
    if plan.questions is None:
        return [release]
    caps, zcdp = plan.questions, plan.questions.best.share.composition == ZCDP
    account = [f"confide ledger new NAME --epsilon {_written(caps.epsilon)}"]
    account += [f"--delta {_written(caps.delta)}"] if caps.delta and (zcdp or caps.best.share.delta) else []
    account += [f"--neighbours {plan.neighbours.value}"] if plan.neighbours != Neighbours.REPLACE_ONE else []
    account += [f"--composition {ZCDP}"] if zcdp else []
    return [" ".join(account), f"{release} --account NAME"]


def _written(value: object) -> str:
    if isinstance(value, Fraction):
        return typed(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
