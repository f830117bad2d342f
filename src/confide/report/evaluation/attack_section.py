"""Section of an evaluation's page: what publishing its numbers would reveal about labels."""

from __future__ import annotations

import numpy as np

from confide.attacks.exposure import attack_counts
from confide.attacks.outsider import Effort
from confide.evaluation.evaluation import Evaluation
from confide.report.attack.tables import attack_table
from confide.report.attack.text import CLASS_SIZES, sentences
from confide.report.shared.page import bullets, html_table

_PUBLICATIONS = ("auc:exact", "auc:digits=3", "roc:exact")
_MOST_ROWS = 1_000
_WORK = 10**8  # half a second
_DRAWN, _DRAWN_ROWS = 100, 500  # a second or two; more rows would take several

_TITLE = "<h2>What publishing these numbers would reveal</h2>"

_MORE = (
    "<p><code>confide attack FILE --label COL --score COL --report OUT.html</code> examines other numbers and private "
    "releases too; <code>confide release</code> makes numbers that may be published.</p>"
)


def attack_section(evaluation: Evaluation) -> list[str]:
    """Return the section. It is empty where rows are weighted or too few; for many rows it names the command.

    The page shows the class sizes too, so they count as published.
    """
    rows = evaluation.rows
    if evaluation.weighted or rows is None or min(evaluation.positives, evaluation.negatives) < 2:
        return []
    if rows > _MOST_ROWS:
        text = f"{CLASS_SIZES} An exact ROC curve reveals the label of every row whose score no other row has."
        return [_TITLE, f"<p>{text}</p>", _MORE]
    effort = Effort(work=_WORK, drawn=_DRAWN if rows <= _DRAWN_ROWS else 0)
    generator = np.random.default_rng(0)  # the same data must give the same page
    counts = evaluation.models[0].counts
    report = attack_counts(counts, _PUBLICATIONS, class_sizes=True, effort=effort, generator=generator)
    return [
        _TITLE,
        bullets(sentences(report)),
        html_table(attack_table(report), caption=False),
        "<p>Computed for the first score.</p>",
        _MORE,
    ]
