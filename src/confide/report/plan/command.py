"""Write parameters of a release as the command that a user types."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.releases.plan_result import Plan
from confide.releases.question_plan import ZCDP

_FLAGS = {"metrics": "--metric"}


def release_command(parameters: Mapping[str, object]) -> str:
    """Return the command line of `confide release` with some parameters.

    >>> release_command({"metrics": "auc", "epsilon": Fraction(1, 2)})
    'confide release FILE --label COL --score COL --metric auc --epsilon 0.5'
    """
    options = [
        f"{_FLAGS.get(name, '--' + name.replace('_', '-'))} {_written(value)}" for name, value in parameters.items()
    ]
    return " ".join(["confide release FILE --label COL --score COL", *options])


def plan_commands(plan: Plan, parameters: Mapping[str, object]) -> list[str]:
    """Return the commands that do what was planned: with many questions, the account comes first."""
    release = release_command(parameters)
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
        return shown(value).removeprefix("about ")
    return f"{value:g}" if isinstance(value, float) else str(value)
