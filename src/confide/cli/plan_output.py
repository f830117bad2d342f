"""The exact plan of `confide plan`: its terms, and what it prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import typer

from confide.cli import output
from confide.errors import ParameterError

_EITHER = ("rows", "prevalence", "width", "level", "as_json")
_PRIVATE = ("metric", "expected", "epsilon", "delta", "questions", "neighbours", "report")


def changed_options(context: typer.Context) -> dict[str, Any]:
    """Return the options that differ from their defaults. An option for many values is empty by default."""
    defaults = {param.name: param.default for param in context.command.params}
    given = {name: value for name, value in context.params.items() if value != defaults.get(name)}
    return {name: value for name, value in given.items() if value not in (None, (), [])}


def refuse_exact_terms(given: Mapping[str, Any]) -> None:
    """Refuse terms of an exact plan in a private one, and a private plan without rows."""
    for name in given:
        if name not in (*_EITHER, *_PRIVATE):
            raise ParameterError(f"`{name}` is for a plan without privacy; add `exact`, for example `exact=auc`")
    if "rows" not in given:
        raise ParameterError("give `rows`, the number of rows or a guess of it")


def print_exact(given: dict[str, Any]) -> None:
    """Plan without privacy and print the plan."""
    from confide.report.plan.exact_text import print_exact_plan
    from confide.tasks.plan_exact import ExactTerms, plan_exact

    terms = {**given}
    exact, as_json = terms.pop("exact"), terms.pop("as_json", False)
    for name in terms:
        if name in _PRIVATE:
            raise ParameterError(f"`{name}` is for a private plan; leave it out, or leave out `exact`")
    planned = plan_exact(exact, **cast(ExactTerms, terms))
    if as_json:
        output.print_json(planned.to_dict())
    else:
        print_exact_plan(planned, output.console())
