"""The part of an evaluation's page that says what publishing its numbers would give away."""

from __future__ import annotations

from confide.attacks.exposure import attack
from confide.attacks.outsider import Effort
from confide.report.attack import attack_table, sentences
from confide.report.model import Evaluation
from confide.report.page import bullets, html_table

_PUBLICATIONS = ("auc:exact", "auc:digits=3", "roc:exact")
_MOST_ROWS = 1_000
_EFFORT = Effort(work=10**8, drawn=0)  # half a second

_MORE = (
    "<p>This was computed for the first score. <code>confide attack FILE --label COL --score COL --report OUT.html"
    "</code> shows more, other numbers and private releases among it; <code>confide release</code> makes numbers that "
    "may be published.</p>"
)


def gives_away(evaluation: Evaluation) -> list[str]:
    """The section, empty where rows are too many, weighted or too few to be attacked in passing."""
    rows = evaluation.rows
    if evaluation.weighted or rows is None or rows > _MOST_ROWS or min(evaluation.positives, evaluation.negatives) < 2:
        return []
    found = attack(evaluation.models[0].counts, _PUBLICATIONS, effort=_EFFORT)
    return [
        "<h2>What publishing these numbers gives away</h2>",
        bullets(sentences(found)),
        html_table(attack_table(found), caption=False),
        _MORE,
    ]
