"""Registry of metrics that can be released; several share a divided budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Unpack

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.metrics.names import Face, names_of, offered_metric
from confide.privacy.accounting import split_evenly
from confide.privacy.guarantee import Exact, checked_delta, checked_epsilon
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases import auc, average_precision, brier, confusion, curves
from confide.releases.curves_release import CURVES
from confide.releases.operating import Target
from confide.releases.release import PreparedRelease
from confide.releases.terms import TermOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasable:
    """A metric, the mechanisms that release it and the function that prepares a release."""

    mechanisms: tuple[str, ...]
    prepare: Callable[..., PreparedRelease]
    options: tuple[str, ...] = ()


RELEASABLE: Mapping[str, Releasable] = MappingProxyType(
    {
        "auc": Releasable(mechanisms=auc.MECHANISMS, prepare=auc.prepare_auc),
        "average_precision": Releasable(
            mechanisms=average_precision.MECHANISMS,
            prepare=average_precision.prepare_average_precision,
            options=("grid",),
        ),
        "brier": Releasable(mechanisms=brier.MECHANISMS, prepare=brier.prepare_brier),
        "prevalence": Releasable(mechanisms=("laplace",), prepare=confusion.prepare_prevalence),
        "confusion": Releasable(
            mechanisms=confusion.MECHANISMS, prepare=confusion.prepare_confusion, options=("threshold",)
        ),
        "curves": Releasable(
            mechanisms=curves.MECHANISMS,
            prepare=curves.prepare_curves,
            options=("grid", "strategy", "shape", "threshold", "target", "with_auc"),
        ),
    }
)
"""Metrics with their own noise; the measures of a confusion matrix share one, and so do curves with all numbers."""

ONLY_BY_CURVES = ("curves", *CURVES, "observed_expected")
"""Metrics that need a table of noisy counts, which then answers all other requested metrics too."""

RELEASE_METRICS = names_of(Face.RELEASE)
"""Names of all metrics that can be released."""


def prepare(
    metrics: str | Sequence[str],
    counts: ScoreCounts,
    *,
    epsilon: Exact,
    mechanism: str = "auto",
    threshold: float | None = None,
    grid: Grid | str | None = None,
    strategy: str = "auto",
    shape: str | None = None,
    target: Target | str | None = None,
    with_auc: bool = False,
    noise: Noise = SYSTEM_NOISE,
    **terms: Unpack[TermOptions],
) -> tuple[PreparedRelease, ...]:
    """Check a request for one or more metrics; epsilon (and delta) are divided evenly among the noises they need.

    All measures of the confusion matrix at the threshold (0.5 unless given) share one noise and one part of the budget;
    "confusion" stands for all of them. With a curve among the metrics ("curves" stands for roc, pr and calibration)
    all of them follow from the curve's noise, undivided; `target`, such as "recall=0.9", chooses a "threshold".
    `with_auc` spends a quarter of a curve's epsilon on an AUC of its own.

    >>> counts = ScoreCounts.from_arrays([0, 1] * 50, range(100))
    >>> [float(part.guarantee.epsilon) for part in prepare(["auc", "recall", "precision"], counts, epsilon=1)]
    [0.5, 0.5]
    """
    requested = metrics_named(metrics)
    wanted = None if target is None else target if isinstance(target, Target) else Target.parse(target)
    if wanted is not None or set(requested) & set(ONLY_BY_CURVES):
        how = {"epsilon": epsilon, "mechanism": mechanism, "grid": grid, "strategy": strategy, "shape": shape, **terms}
        how["with_auc"] = with_auc
        return (_by_curves(requested, counts, threshold=threshold, target=wanted, noise=noise, **how),)
    if strategy != "auto" or shape is not None:
        raise ParameterError("strategy and shape are for curves; ask for roc, pr or calibration, or leave them out")
    if with_auc:
        raise ParameterError("`with_auc` releases AUC beside curves; ask for roc, or leave it out and ask for auc")
    grid = Grid.named(grid) if isinstance(grid, str) else grid
    measures = [name for name in requested if name in confusion.CONFUSION_METRICS]
    kinds = [name for name in requested if name in RELEASABLE and name != "confusion"]
    if measures or "confusion" in requested:
        kinds.append("confusion")
    if threshold is not None and "confusion" not in kinds:
        raise ParameterError("a threshold is for the measures of a confusion matrix; ask for one, or leave it out")
    if grid is not None and "average_precision" not in kinds:
        raise ParameterError("a grid is for average_precision; ask for it, or leave the grid out")
    shares = split_evenly(checked_epsilon(epsilon), len(kinds))
    terms["delta"] = checked_delta(terms.get("delta", 0)) / len(kinds)
    given: dict[str, dict[str, Any]] = {
        "average_precision": {"grid": grid},
        "confusion": {
            "threshold": 0.5 if threshold is None else threshold,
            "measures": confusion.CONFUSION_METRICS if "confusion" in requested else tuple(measures),
        },
    }
    return tuple(
        RELEASABLE[kind].prepare(
            counts, epsilon=share, mechanism=mechanism, noise=noise, **given.get(kind, {}), **terms
        )
        for kind, share in zip(kinds, shares, strict=True)
    )


def _by_curves(
    requested: Sequence[str], counts: ScoreCounts, *, threshold: float | None, target: Target | None, **given: Any
) -> PreparedRelease:
    """Prepare one table of noisy counts for all requested metrics."""
    names: list[str] = []
    for name in requested:
        stands_for = {"curves": CURVES[:3], "confusion": confusion.CONFUSION_METRICS}.get(name, (name,))
        names += [one for one in stands_for if one not in names]
    if target is not None:
        names.append("threshold")
    of_matrix = any(name in confusion.CONFUSION_METRICS for name in names)
    if threshold is not None and not of_matrix:
        raise ParameterError("a threshold is for the measures of a confusion matrix; ask for one, or leave it out")
    cut = 0.5 if of_matrix and threshold is None else threshold
    return curves.prepare_curves(counts, threshold=cut, target=target, metrics=names, **given)


def metrics_named(given: object) -> tuple[str, ...]:
    """Return the metrics of one name or several, each once. Refuse names of metrics that cannot be released."""
    every = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
    if not every:
        raise ParameterError(f"name at least one metric: {', '.join(RELEASE_METRICS)}")
    metrics = [offered_metric(name, Face.RELEASE, "no metric that can be released is called").name for name in every]
    return tuple(dict.fromkeys(metrics))
