"""Names, labels and grids that the plots of an evaluation share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from confide.evaluation.evaluation import Evaluation, ModelEvaluation
from confide.report.shared.names import distinct

MOST_TOGETHER = 6
"""Lines of more models cannot be told apart in the same axes."""

_NAME_LETTERS, _LABEL_LETTERS = 80, 58
_PANEL_WIDTH, _PANEL_HEIGHT = 2.45, 2.4  # inches
_TITLE_LINE = 0.16
_TITLE_LETTERS, _LINE_LETTERS, _GROUP_LETTERS = 28, 34, 80


def model_names(evaluation: Evaluation) -> list[str]:
    """Return the names of all models, cut where they are very long, and different."""
    return distinct([model.score for model in evaluation.models], _NAME_LETTERS)


def probability_models(evaluation: Evaluation) -> list[tuple[int, ModelEvaluation]]:
    """Return the models whose scores are probabilities, with their positions."""
    return [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]


def wrapped_label(name: str, words: str) -> str:
    """Return a legend entry, on several lines if it is long."""
    label = f"{name}: {words}" if words else name
    return "\n".join(textwrap.wrap(label, _LABEL_LETTERS, break_on_hyphens=False)) or label


def group_names(evaluation: Evaluation) -> list[str]:
    """Return the names of the groups that have both classes, different and not too long."""
    return distinct([group.group for group in evaluation.groups if group.models], _GROUP_LETTERS)


def beside(name: str) -> str:
    """Return a name on as many lines as it needs beside a plot."""
    return "\n".join(textwrap.wrap(name, _LINE_LETTERS)) or name


def above(name: str) -> str:
    """Return a name on as many lines as it needs above a panel."""
    return "\n".join(textwrap.wrap(name, _TITLE_LETTERS)) or name


def label_lines(label: str) -> int:
    """Return the number of lines of a legend entry."""
    return label.count("\n") + 1


def columns_of(panels: int) -> int:
    """Return the number of columns that leaves the fewest gaps in a grid of panels."""
    if panels <= 4:
        return min(panels, 2)
    return min((4, 3), key=lambda columns: (-panels % columns, -columns))


def panels_size(titles: Sequence[str], *, extra: float = 0.0) -> tuple[float, float]:
    """Return the size of a grid of panels in inches. `extra` is what each needs besides its axes and title."""
    columns = columns_of(len(titles))
    rows = [titles[start : start + columns] for start in range(0, len(titles), columns)]
    lines = sum(max(map(label_lines, row)) for row in rows)
    return 0.5 + columns * _PANEL_WIDTH, 0.8 + len(rows) * (_PANEL_HEIGHT + extra) + _TITLE_LINE * lines
