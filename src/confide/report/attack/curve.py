"""Lines of text about what a published ROC curve gives away."""

from __future__ import annotations

import math
from collections.abc import Iterator

from confide.attacks.from_curve.added import AddedOnRoc, RocPlace
from confide.attacks.from_curve.alignment import RocAlignment
from confide.attacks.from_curve.curve_report import CurveReport

_LISTED = 5


def curve_lines(report: CurveReport) -> Iterator[str]:
    """Yield a sentence for each finding."""
    pairs, first = len(report.sizes), next(iter(report.sizes))
    if pairs == 1:
        yield f"{report.points} points: {first[0]:,} positives and {first[1]:,} negatives"
    else:
        yield (
            f"{report.points} points: {pairs:,} pairs of class sizes fit, for example {first[0]:,} positives and "
            f"{first[1]:,} negatives; --rows or --positives narrows them down"
        )
    if report.certain_ranks is not None:
        yield f"labels that follow from the rank of a row alone: {report.certain_ranks:,} of {sum(first):,}"
    if report.labels is not None:
        share = 100 * report.labels.certain / report.labels.rows
        yield f"labels that follow from the scores: {report.labels.certain:,} of {report.labels.rows:,} ({share:.0f} %)"
    if report.added is not None:
        yield from _added(report.added)
    if report.known is not None:
        yield from _known(report.known)


def _added(added: AddedOnRoc) -> Iterator[str]:
    label = {True: "positive", False: "negative", None: "of either class"}[added.positive]
    yield f"added row: {label}; {len(added.places)} possible place{'' if len(added.places) == 1 else 's'}"
    for place in added.places[:_LISTED]:
        kind = "positive" if place.positive else "negative"
        tied = f", tied with {place.tied:,}" if place.tied else ""
        yield f"  {kind}, below {place.above:,} row{'' if place.above == 1 else 's'}{tied}{_score(place)}"
    if len(added.places) > _LISTED:
        yield f"  and {len(added.places) - _LISTED:,} more (--json lists all)"


def _score(place: RocPlace) -> str:
    if place.lowest is None or place.below is None:
        return ""
    below = "" if math.isinf(place.below) else f" and below {place.below:g}"
    return f", score of at least {place.lowest:g}{below}"


def _known(known: RocAlignment) -> Iterator[str]:
    yield (
        f"known scores whose place on the curve is certain: {known.located:,} of {known.scores.size:,} "
        f"({known.alignments:,} possible alignments)"
    )
    yield f"rows that are left: {known.unknown[0]:,} positives and {known.unknown[1]:,} negatives"
    certain = sum(belief in (0.0, 1.0) for belief in known.belief_between.tolist())
    yield f"gaps between known scores in which all other rows have one class: {certain:,}"
