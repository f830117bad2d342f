"""Differences between models on the same rows, and between a group and all other rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError
from confide.evaluation.evaluation import NET_BENEFIT
from confide.evaluation.model import Request, Sample
from confide.evaluation.settings import UNUSED, Settings
from confide.intervals.clusters import compare_clustered
from confide.intervals.comparison import Comparison, JointComparison, compare_checked
from confide.intervals.differences import against_rest_checked, compare_estimates_unpaired, compare_models_checked
from confide.sources.rows import Rows

_GROUP_MEASURES = ("recall", "specificity")
_REST = "all other rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModels:
    """Differences of every metric, and the joint test of all AUCs with three models or more."""

    differences: tuple[Comparison, ...]
    joint: JointComparison | None


def compare_models(rows: Rows, settings: Settings, *, probabilities: Mapping[str, bool]) -> ComparedModels:
    """Compare all pairs of models: AUC and average precision, and Brier score and net benefit of probabilities."""
    names, joint = rows.names, _compare_aucs(rows, settings)
    differences = [] if joint is None else list(joint.differences)
    differences += _compare(rows, range(len(names)), "average_precision", settings)
    calibrated = [place for place, name in enumerate(names) if probabilities[name]]
    if len(calibrated) > 1:
        differences += _compare(rows, calibrated, "brier", settings)
        for threshold in settings.thresholds_of(probabilities=True):
            if 0.0 <= threshold < 1.0:
                differences += _compare(rows, calibrated, NET_BENEFIT, settings, threshold=threshold)
    return ComparedModels(differences=tuple(differences), joint=joint if len(names) > 2 else None)


def _compare_aucs(rows: Rows, settings: Settings) -> JointComparison | None:
    """Compare AUCs; None where a class lies in one cluster only, so that there is no standard error."""
    if rows.clusters is None:
        return compare_checked(
            rows.labels, rows.names, rows.scores, rows.weights, level=settings.level, coded=rows.coded()
        )
    try:
        return compare_clustered(rows.labels, rows.names, rows.scores, rows.clusters, level=settings.level)
    except DataError:
        return None


def _compare(
    rows: Rows, places: Iterable[int], metric: str, settings: Settings, **options: Any
) -> tuple[Comparison, ...]:
    """Compare a metric between all pairs of some of the models; no pairs where there is one cluster only."""
    chosen, coded = list(places), rows.coded() if rows.clusters is None else None
    try:
        return compare_models_checked(
            rows.labels,
            [rows.names[place] for place in chosen],
            [rows.scores[place] for place in chosen],
            metric,
            codes=rows.clusters,
            weights=rows.weights,
            level=settings.level,
            replicates=settings.replicates or UNUSED,
            rng=settings.seed,
            coded=None if coded is None else [coded[place] for place in chosen],
            **options,
        )
    except DataError:
        return ()


def compare_groups(
    name: str, group: Sample, rest: Sample, *, settings: Settings, probabilities: bool
) -> Iterator[Comparison]:
    """Compare the numbers of one model in a group with those in all other rows."""
    requests = [Request.of(metric, **options) for metric, options in _group_requests(settings, probabilities)]
    for request, ours, theirs in zip(requests, group.estimates(requests), rest.estimates(requests), strict=True):
        try:
            yield compare_estimates_unpaired(
                ours,
                theirs,
                metric=request.metric,
                level=settings.level,
                names=(name, _REST),
                threshold=dict(request.options).get("threshold"),
            )
        except DataError:  # a number that does not exist, or has no standard error, as that of one row
            continue


def compare_clustered_group(
    rows: Rows, chosen: NDArray[np.bool_], settings: Settings, probabilities: Mapping[str, bool]
) -> tuple[Comparison, ...]:
    """Compare each model's numbers in a group with those in all other rows, where a cluster may lie in both."""
    sides = np.where(chosen, "group", _REST)
    found = []
    for name, scores in zip(rows.names, rows.scores, strict=True):
        for metric, options in _group_requests(settings, probabilities[name]):
            try:
                entries = against_rest_checked(
                    rows.labels,
                    scores,
                    sides,
                    metric,
                    reference=_REST,
                    codes=rows.clusters,
                    weights=rows.weights,
                    level=settings.level,
                    **options,
                )
            except DataError:  # scores of 0 or 1, or one cluster
                continue
            found += [replace(entry, first=name) for entry in entries]
    return tuple(found)


def _group_requests(settings: Settings, probabilities: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((metric, {}) for metric in ("auc", "average_precision"))
    if probabilities:
        calibration = ("brier", "observed_expected", "calibration_intercept", "calibration_slope")
        yield from ((metric, {}) for metric in calibration)
    for threshold in settings.thresholds_of(probabilities=probabilities):
        yield from ((metric, {"threshold": threshold}) for metric in _GROUP_MEASURES)
