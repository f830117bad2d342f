"""Show what publishing exact numbers would give away. Nothing is published or charged to a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from confide.attacks.contest.rehearsal import Rehearsal, rehearse_contest
from confide.attacks.disclosure import Publication, Window
from confide.attacks.exposure import USUAL as USUAL
from confide.attacks.exposure import AttackReport, attack_counts, check_levels
from confide.attacks.from_auc.labeling_count import LabelingCount, count_labelings
from confide.attacks.from_auc.labelings import Labelings
from confide.attacks.from_curve.curve_report import CurveReport, attack_points
from confide.attacks.from_curve.points import RocPoints
from confide.counts import FloatArray, ScoreCounts
from confide.errors import ColumnError, DataError, ParameterError, UsageError
from confide.sources.engine_tables import fetch_rows, is_engine_table
from confide.sources.fit_rows import as_number
from confide.sources.tables import as_table, discreet
from confide.tasks.requests.attack import AttackRequest, ContestAttackRequest, CurveAttackRequest
from confide.tasks.requests.options import verb_of

NAMES = {
    "false_positive_rate": ("false_positive_rate", "fpr"),
    "true_positive_rate": ("true_positive_rate", "tpr"),
    "thresholds": ("threshold", "thresholds"),
}
"""Names that a column may have."""


def read_curve_points(source: str | Path) -> dict[str, FloatArray]:
    """Return the rates of a curve and, where there is such a column, its thresholds.

    Columns are `false_positive_rate` or `fpr`, `true_positive_rate` or `tpr`, and `threshold`. An empty threshold of
    the first point stands for infinity.
    """
    with discreet(source):
        table = as_table(source)
        known = list(table.columns)
        found = {name: next((each for each in each_of if each in known), None) for name, each_of in NAMES.items()}
        for name in ("false_positive_rate", "true_positive_rate"):
            if found[name] is None:
                ColumnError.require([name], known)
        wanted = {name: column for name, column in found.items() if column is not None}
        columns = {name: _numbers(table, column) for name, column in wanted.items()}
    rates = [columns[name] for name in ("false_positive_rate", "true_positive_rate")]
    if any(np.isnan(rate).any() for rate in rates):
        raise DataError("a point of the curve has no rate; fill it in, or remove the point")
    if "thresholds" in columns and columns["thresholds"].size and np.isnan(columns["thresholds"][0]):
        columns["thresholds"][0] = np.inf
    return columns


def _numbers(table: Any, column: str) -> FloatArray:
    if not table[column].type().is_numeric():
        raise DataError(f"column {column!r} does not hold numbers alone; check that decimals have a point")
    rows = fetch_rows(table.select(value=as_number(table[column])))
    return np.array([row["value"] for row in rows], dtype=np.float64)


@verb_of(AttackRequest)
def attack(request: AttackRequest) -> AttackReport:
    """Find what publishing each of some numbers of a dataset would give away of its labels.

    Parameters
    ----------
    source
        A `ScoreCounts`, the path of a file (CSV, TSV, JSON lines, Parquet), or an Ibis table.
    releases
        Publications to examine, each by itself: "auc:exact", "auc:digits=4", "auc:epsilon=1",
        "auc:epsilon=0.1,times=10".
    label, score, positive
        Columns of a table, and the positive label unless labels are 0/1, -1/1 or false/true.
    level
        Probability from which on a label counts as known.
    sure
        Upper bound on any adversary's posterior probability; the report names the epsilon that ensures it.
    class_sizes
        Whether the exact numbers of positives and negatives are published too.
    trials
        Number of games that an insider plays against a release with noise.
    effort
        Bounds on the outsider's work.
    seed, generator
        Source of rows, labelings and coins; noise is always new. Give one of them at most.
    starting
        Function that is called with each publication before it is examined.

    >>> counts = ScoreCounts.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> attack(counts, ["auc:exact"]).exposures[0].outsider.certain
    6
    """
    publications = _publications(USUAL if request.releases is None else request.releases)
    check_levels(level=request.level, sure=request.sure)
    return attack_counts(
        _counts(request.source, request.label, request.score, request.positive),
        publications,
        level=request.level,
        sure=request.sure,
        class_sizes=request.class_sizes,
        trials=request.trials,
        effort=request.effort,
        generator=request.generator or np.random.default_rng(request.seed),
        starting=request.starting,
    )


def attack_labelings(
    rows: int,
    auc: str,
    *,
    positives: int | None = None,
    cut: bool = False,
    ties: Sequence[int] | None = None,
    queries: bool = False,
) -> LabelingCount:
    """Count the labelings of ranked rows that a published AUC leaves possible. Needs no data.

    See `possible_labelings` for the parameters. With `queries`, also find how many submissions to a scoring oracle
    tell the labelings apart.

    >>> attack_labelings(106, "1387/1440").count > 0
    True
    """
    return count_labelings(possible_labelings(rows, auc, positives=positives, cut=cut, ties=ties), auc, queries=queries)


def possible_labelings(
    rows: int, auc: str, *, positives: int | None = None, cut: bool = False, ties: Sequence[int] | None = None
) -> Labelings:
    """Return the labelings of ranked rows that a published AUC leaves possible (Whitehill 2019).

    `auc` is as published: a fraction is exact, decimals are rounded to that many digits, or cut off there (`cut`).
    `positives` is the number of positive rows, if it is known. `ties` are the numbers of rows that share each score,
    from the lowest.
    """
    if cut and "/" in auc:
        raise UsageError("`cut` is for decimals; a fraction is exact")
    window = Window.written(auc, cut=cut)
    untied = Labelings.untied(rows, window, positives=positives)
    if ties is None:
        return untied
    if sum(ties) != rows:
        raise ParameterError(f"ties must add up to `rows`, {rows}; got {sum(ties)}")
    return Labelings(groups=tuple(ties), window=window, positives=positives)


@verb_of(ContestAttackRequest)
def attack_contest(request: ContestAttackRequest) -> Rehearsal:
    """Rehearse a contest: attack its scoring oracle with `queries` submissions, without any learning. Needs no data.

    `oracle` is what is answered, such as "auc:digits=5", which is the default ("accuracy" with a Ladder). `positives`
    is half of the rows by default. `ladder` is the step of the Ladder of Blum & Hardt, if it defends the contest.
    """
    usual = "auc:digits=5" if request.ladder is None else "accuracy"
    (published,) = _publications([request.oracle or usual])
    return rehearse_contest(
        request.rows,
        published,
        queries=request.queries,
        positives=request.positives,
        step=request.ladder,
        generator=request.generator or np.random.default_rng(request.seed),
    )


@verb_of(CurveAttackRequest)
def attack_curve(request: CurveAttackRequest) -> CurveReport:
    """Find what the points of a published ROC curve give away.

    Parameters
    ----------
    curve
        File with the columns `false_positive_rate` (or `fpr`), `true_positive_rate` (or `tpr`) and, where published,
        `threshold`; from (0, 0) to (1, 1). Or its points.
    digits
        Number of decimals that the rates were rounded to; None if they are exact.
    rows, positives, negatives
        Class sizes, as far as the adversary knows them.
    before
        Earlier curve of the same rows without one of them. Finds the class, rank and score of that row.
    scores
        File with the score of every row, in the column `score`. Finds the labels that follow.
    known
        File with rows that the adversary knows, with the columns `label` and `score`. Finds their places on the curve.
    label, score, positive
        Columns of these files, and the positive label unless labels are 0/1, -1/1 or false/true.
    """
    score, known, digits = str(request.score), request.known, request.digits
    return attack_points(
        _points(request.curve, digits),
        rows=request.rows,
        positives=request.positives,
        negatives=request.negatives,
        scores=None if request.scores is None else _scores(request.scores, score),
        before=None if request.before is None else _points(request.before, digits),
        known=None if known is None else _count_known_rows(known, str(request.label), score, request.positive),
    )


def _publications(releases: Sequence[str | Publication]) -> tuple[Publication, ...]:
    parsed = (each if isinstance(each, Publication) else Publication.parse(each) for each in releases)
    return tuple(dict.fromkeys(parsed))


def _counts(source: Any, label: str | None, score: str | None, positive: str | None) -> ScoreCounts:
    if isinstance(source, ScoreCounts):
        if (label, score, positive) != (None, None, None):
            raise ParameterError("`label`, `score` and `positive` are for tables; leave them out with counts")
        return source
    if label is None or score is None:
        raise ParameterError("name the columns of labels and of scores: give `label` and `score`")
    if label == score:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    from confide.sources.tables import count_table

    return count_table(source, label=label, score=score, positive=positive).counts


def _points(curve: str | Path | RocPoints, digits: int | None) -> RocPoints:
    if isinstance(curve, RocPoints):
        return curve

    return RocPoints(**read_curve_points(curve), digits=digits)


def _scores(source: Any, score: str) -> Any:
    if not isinstance(source, str | Path) and not is_engine_table(source):
        return source
    from confide.sources.tables import table_column

    return table_column(source, score)


def _count_known_rows(source: Any, label: str, score: str, positive: str | None) -> ScoreCounts:
    if isinstance(source, ScoreCounts):
        return source
    from confide.sources.tables import count_table

    return count_table(source, label=label, score=score, positive=positive, one_class=True).counts
