"""Tables of a private workflow: its budget, the selected features, and the weights of the model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from confide.learning.budget import together
from confide.learning.workflow import Workflow
from confide.privacy.guarantee import shown
from confide.privacy.neighbours import Neighbours
from confide.report.shared.numbers import number
from confide.report.shared.tables import Table
from confide.selection.selection import Selection
from confide.sources.words import HashedWords

MOST_SHOWN = 20
"""Number of features that the terminal and the page list; the file has all."""

NO_WORDS: Mapping[str, str] = MappingProxyType({})
"""No names for the places of hashed words."""


def budget_table(workflow: Workflow, costs: Mapping[str, Fraction]) -> Table:
    """Return the steps of a workflow: the rows that each reads, and its cost."""
    rows = {} if workflow.held_out is None else {"select": "training", "train": "training", "evaluate": "held-out"}
    whole = together(costs, parallel=workflow.parallel)
    return Table(
        title="Budget of the workflow",
        head=("step", "rows", "epsilon"),
        body=tuple((_named(step, workflow), rows.get(step, "all"), shown(cost)) for step, cost in costs.items()),
        note=f"Together epsilon {shown(whole)}: {_how_costs_add_up(workflow)}.",
    )


def _named(step: str, workflow: Workflow) -> str:
    return step if step in workflow.steps else f"{step} (planned)"


def _how_costs_add_up(workflow: Workflow) -> str:
    if workflow.parallel:
        return "held-out rows cost nothing more, up to the cost of the training rows"
    if workflow.held_out is None:
        return "all steps add up"
    return "all steps add up, because rows of one person may be on both sides unless they are held out by person"


def selection_table(workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> Table:
    """Return the selected features, those with the highest noisy scores first. `words` name hashed words."""
    selection = workflow.selection
    assert selection is not None  # noqa: S101  # called only after a selection
    names = [words.get(name, name) for name in workflow.encoding.names(selection.features)]
    if selection.scores is None:
        listed = [(name,) for name in names]
    else:
        pairs = sorted(zip(selection.scores, names, strict=True), key=lambda pair: -pair[0])
        listed = [(name, number(score, 0)) for score, name in pairs]  # type: ignore[misc]
    return Table(
        title="Selected",
        head=("feature",) if selection.scores is None else ("feature", _score_name(selection)),
        body=tuple(listed[:MOST_SHOWN]),
        note=_sentences(
            f"{len(names):,} of {selection.width:,} features.", _and_more(len(listed)), _of_places(workflow, words)
        ),
    )


def _score_name(selection: Selection) -> str:
    """Return the name of the score, "noisy" unless it is a count of public features."""
    public = selection.guarantee.neighbours == Neighbours.LABEL_ONLY and selection.score == "total-count"
    return selection.score if public else f"noisy {selection.score}"


def weights_table(workflow: Workflow, words: Mapping[str, str] = NO_WORDS) -> Table:
    """Return the most important features with what each adds to the log-odds. `words` name hashed words."""
    weights = list(workflow.weights().items())
    return Table(
        title=workflow.trained().kind,
        head=("feature", "log-odds"),
        body=tuple((words.get(name, name), f"{weight:+.2f}") for name, weight in weights[:MOST_SHOWN]),
        note=_sentences(
            f"With a weight: {len(weights):,} of {len(workflow.names()):,} features, the most important "
            f"first{_order(workflow)}.",
            _and_more(len(weights)),
            _of_places(workflow, words),
        ),
    )


def _order(workflow: Workflow) -> str:
    """Explain an order that the shown numbers do not follow."""
    often = workflow.trained().frequencies is not None
    return ": those with the largest weight times frequency" if often else ", whatever the sign"


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _and_more(count: int) -> str:
    return f"And {count - MOST_SHOWN:,} more; --out writes all of them." if count > MOST_SHOWN else ""


def _of_places(workflow: Workflow, words: Mapping[str, str]) -> str:
    if not any(isinstance(rule, HashedWords) for rule in workflow.encoding.rules):
        return ""
    if words:
        return "Numbers are positions of hashed words, named by words of a public list; others may share a position."
    return "Numbers are positions of hashed words; a public --dictionary names them."
