"""Estimates of metrics by name: value, standard error and interval by the method that suits each metric.

| metric | default | standard error | scale of "logit" |
|---|---|---|---|
| AUC | logit | DeLong | log-odds |
| areas under the PR curve | logit | binomial, with the positives as trials | log-odds |
| shares at a threshold | Wilson | binomial | log-odds |
| F, skew-aware F, balanced accuracy | logit | delta method | log-odds |
| Youden's J at a threshold, Matthews' correlation | logit | delta method | Fisher's z |
| likelihood ratios | logit | delta method | logarithm |
| net benefit | plain | mean over rows | none |
| Brier score | plain | mean over rows | log-odds |
| log loss | plain | mean over rows | logarithm |
| scaled Brier score | plain | delta method | logarithm of 1 less the score |
| observed : expected | logit | delta method | logarithm |
| calibration intercept, slope, intercept of the line | plain | robust (sandwich) | none |
| all others | bootstrap | bootstrap | see `RULES` |

Metrics that are not listed in `RULES` are bootstrapped: a new metric of the registry has an interval at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from confide.blocks import in_threads
from confide.counts import FloatArray, ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.reliability import check_probabilities
from confide.errors import DataError, ParameterError
from confide.intervals.calibration import (
    brier_estimate,
    intercept_estimate,
    line_estimates,
    log_loss_estimate,
    observed_expected_estimate,
    scaled_brier_estimate,
)
from confide.intervals.delong import auc_interval, delong_variance
from confide.intervals.interval import (
    IDENTITY,
    LOG,
    LOG_ODDS,
    LOG_OF_REST,
    Estimate,
    Interval,
    Method,
    Scale,
    check_level,
    normal_estimate,
)
from confide.intervals.proportions import MEASURE_RULES, binomial_interval_of, logit_interval_of, threshold_estimate
from confide.intervals.replicates import (
    CELLS,
    Cells,
    Reduction,
    SmallerCounts,
    draw_replicates,
    moved,
    reduced,
    reduction,
    replicate_values,
    spread,
)
from confide.intervals.resample import BOOTSTRAPS, check_replicates, usable_replicates
from confide.metrics.condensing import STEEPEST
from confide.metrics.precision_recall import ESTIMATORS, aucpr_score
from confide.metrics.ranking import auc_score
from confide.metrics.registry import Metric, Resampling, SharedScores, get_metric

METHODS: tuple[Method, ...] = ("plain", "logit", "wilson", "bootstrap")
SEED = 20_240_613  # any fixed number: the same data must give the same interval

Request = str | tuple[str, Mapping[str, Any]]
"""Name of a metric, or its name and options."""

_Computed = dict[Callable[..., Any], tuple[Estimate, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a metric's interval is made.

    `closed` returns the estimate from a formula: its arguments are the counts, level, method (None for its default) and
    the metric's options; it returns None where these options have no formula. If it estimates several metrics at once,
    `part` is the place of this one. If it adds up smooth functions of the score, `smooth` tells from its result for
    condensed counts whether that is exact. `scale` keeps the metric in its range, where "plain" or "logit" is requested
    of a metric without a formula.
    """

    default: Method
    closed: Callable[..., Any] | None = None
    part: int | None = None
    smooth: Callable[[Any], bool] | None = None
    scale: Scale = IDENTITY


def _auc(counts: ScoreCounts, *, level: float, method: Method) -> Estimate:
    value = auc_score(counts)
    try:
        variance = delong_variance(counts)
    except DataError:  # a class has one row
        return Estimate(value=value)
    transform: Any = "none" if method == "plain" else "logit"
    interval = auc_interval(value, variance, *counts.both_classes(), level=level, transform=transform)
    return Estimate(value=value, standard_error=math.sqrt(variance), interval=interval)


def _area(name: str | None = None) -> Callable[..., Estimate | None]:
    def area(
        counts: ScoreCounts,
        *,
        level: float,
        method: Method,
        estimator: str = "average_precision",
        recall: tuple[float, float] = (0.0, 1.0),
    ) -> Estimate | None:
        if tuple(recall) != (0.0, 1.0):  # not a share of positives
            return None
        value, trials = aucpr_score(counts, estimator=name or estimator), counts.total_positives
        if math.isnan(value):
            return Estimate(value=value)
        of = binomial_interval_of if method == "plain" else logit_interval_of
        error = math.sqrt(max(value * (1.0 - value), 0.0) / trials)
        return Estimate(value=value, standard_error=error, interval=of(value, trials, level=level))

    return area


def _measure(name: str) -> Callable[..., Estimate]:
    def measure(counts: ScoreCounts, **settings: Any) -> Estimate:
        return threshold_estimate(counts, name, **settings)

    return measure


def _intercept(counts: ScoreCounts, *, level: float, method: Method) -> Estimate:
    return intercept_estimate(counts, level=level)


def _line(counts: ScoreCounts, *, level: float, method: Method) -> tuple[Estimate, Estimate]:
    return line_estimates(counts, level=level)


def _always(found: Estimate) -> bool:
    return True


def _not_steep(line: tuple[Estimate, Estimate]) -> bool:
    return abs(line[1].value) <= STEEPEST  # not a NaN, either


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "auc": Rule(default="logit", closed=_auc, scale=LOG_ODDS),
        "aucpr": Rule(default="logit", closed=_area(), scale=LOG_ODDS),
        **{
            name: Rule(default="logit", closed=_area(name), scale=LOG_ODDS)
            for name in (*ESTIMATORS, "interpolated_thresholds")
        },
        **{
            name: Rule(default=rule.default, closed=_measure(name), scale=rule.scale)
            for name, rule in MEASURE_RULES.items()
        },
        "brier": Rule(default="plain", closed=brier_estimate, smooth=_always, scale=LOG_ODDS),
        "scaled_brier": Rule(default="plain", closed=scaled_brier_estimate, smooth=_always, scale=LOG_OF_REST),
        "log_loss": Rule(default="plain", closed=log_loss_estimate, smooth=_always, scale=LOG),
        "observed_expected": Rule(default="logit", closed=observed_expected_estimate, smooth=_always, scale=LOG),
        "calibration_intercept": Rule(default="plain", closed=_intercept, smooth=_always),
        "calibration_slope": Rule(default="plain", closed=_line, part=1, smooth=_not_steep),
        "joint_intercept": Rule(default="plain", closed=_line, part=0, smooth=_not_steep),
        **{
            name: Rule(default="bootstrap", scale=LOG_ODDS)
            for name in (
                *("hull_auc", "youden_index", "aucpr_minimum", "average_precision_minimum"),
                *("expected_calibration_error", "integrated_calibration_index"),
            )
        },
    }
)
"""Rule of every metric whose interval is not the plain bootstrap of `BOOTSTRAPPED`."""

BOOTSTRAPPED = Rule(default="bootstrap")
"""Rule of metrics that `RULES` does not list, such as partial AUC, AUCNPR and Youden's threshold."""


def natural_scale(metric: str) -> Scale:
    """Return the scale of a metric's normal interval by default.

    >>> [natural_scale(name).name for name in ("recall", "observed_expected", "calibration_slope")]
    ['logit', 'log', 'plain']
    """
    rule = RULES.get(metric, BOOTSTRAPPED)
    return IDENTITY if rule.default == "plain" else rule.scale


def is_closed(metric: str, method: Method | None = None) -> bool:
    """Return whether a metric's interval comes from a formula, so that nothing is resampled."""
    rule = RULES.get(metric, BOOTSTRAPPED)
    chosen = rule.default if method is None else method
    return rule.closed is not None and chosen != "bootstrap"


@accepts_predictions
def estimate(
    counts: ScoreCounts,
    /,
    metric: str,
    *,
    level: float = 0.95,
    method: Method | None = None,
    replicates: int = 1_000,
    rng: np.random.Generator | int = SEED,
    **options: Any,
) -> Estimate:
    """Estimate one metric of the registry, with standard error and interval; see `estimates`.

    >>> counts = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.8])
    >>> estimate(counts, "recall", threshold=0.5).known_interval.method
    'Wilson'
    """
    return estimates(counts, [(metric, options)], level=level, method=method, replicates=replicates, rng=rng)[0]


@accepts_predictions
def estimates(
    counts: ScoreCounts,
    /,
    metrics: Sequence[Request],
    *,
    level: float = 0.95,
    method: Method | None = None,
    replicates: int = 1_000,
    rng: np.random.Generator | int = SEED,
) -> tuple[Estimate, ...]:
    """Estimate several metrics of the registry, with standard errors and intervals.

    `method` is one of `METHODS`; by default each metric has its own, which `RULES` states. "wilson" is for shares, and
    other metrics keep their default. Metrics without a formula take the standard error of the bootstrap for "plain" and
    "logit". All bootstrapped metrics share one set of replicates, which resample rows or classes as the registry says
    (`Metric.resampling`). More than 1,000 distinct scores are first put together in 1,000 cells of equal mass, and
    replicates are moved by what that changes; measures at a threshold are exact nevertheless. With the default seed
    the same data give the same intervals, and a metric has the same interval whatever else is requested.

    An estimate has no interval where none exists: for a bootstrapped metric of float weights, which do not say what a
    row is, where a metric is undefined in most replicates, where a class has one row, and where `matrix_estimate` says
    so. Errors are those of the metric itself: a ScoreError if it needs probabilities, for example.
    """
    check_level(level)
    check_replicates(replicates)
    if method is not None and method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    requested = [_Requested.of(each, method) for each in metrics]
    smaller, computed = SmallerCounts(counts), _Computed()
    found = [each.closed(smaller, level, computed) for each in requested]
    open_places = [place for place, known in enumerate(found) if known is None]
    shared = SharedScores(counts)
    values = {place: requested[place].value(shared) for place in open_places}
    draws = _draws(counts, {place: requested[place] for place in open_places}, replicates, rng)
    parts = in_threads(lambda draw: draw(), draws, rows=replicates * min(len(counts), CELLS))
    drawn = {place: sample for part in parts for place, sample in part.items()}
    for place, value in values.items():
        sample = drawn.get(place)
        found[place] = requested[place].bootstrapped(value, None if sample is None else sample.around(value), level)
    return tuple(each for each in found if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Requested:
    """A metric with its options, its rule, the method that was requested and the one to try first."""

    metric: Metric
    options: Mapping[str, Any]
    rule: Rule
    requested: Method | None
    method: Method

    @classmethod
    def of(cls, request: Request, method: Method | None) -> _Requested:
        name, options = (request, {}) if isinstance(request, str) else request
        metric = get_metric(name)
        rule = RULES.get(metric.name, BOOTSTRAPPED)
        chosen = rule.default if method in (None, "wilson") else method
        return cls(metric=metric, options=options, rule=rule, requested=method, method=chosen)

    def closed(self, smaller: SmallerCounts, level: float, computed: _Computed) -> Estimate | None:
        """Return the estimate by formula; None if there is none, or the bootstrap is requested.

        `computed` holds what a formula for several metrics has returned, so that it is worked out once.
        """
        if self.method == "bootstrap" or self.rule.closed is None:
            return None
        self.metric.check_options(self.options)
        if self.metric.probabilities:
            check_probabilities(smaller.whole)
        if self.rule.part is None:
            alone: Estimate | None = self._worked_out(self.rule.closed, smaller, level)
            return alone
        if self.rule.closed not in computed:
            computed[self.rule.closed] = self._worked_out(self.rule.closed, smaller, level)
        return computed[self.rule.closed][self.rule.part]

    def _worked_out(self, formula: Callable[..., Any], smaller: SmallerCounts, level: float) -> Any:
        """Work out a formula, from smaller counts where they say as much."""
        work_out = partial(formula, level=level, method=self.method, **self.options)
        threshold = reduction(self.metric, self.options).cut
        if threshold is not None:
            return work_out(smaller.split(threshold))
        if self.rule.smooth is None:
            return work_out(smaller.whole)
        few = smaller.condensed()
        found = work_out(few)
        return found if few is smaller.whole or self.rule.smooth(found) else work_out(smaller.whole)

    def value(self, scores: SharedScores) -> float:
        """Compute the metric."""
        return scores.score(self.metric, self.options)

    def bootstrapped(self, value: float, drawn: FloatArray | None, level: float) -> Estimate:
        """Return the estimate from replicates of the metric."""
        usable = None if drawn is None else usable_replicates(drawn)
        if usable is None or not math.isfinite(value):
            return Estimate(value=value)
        name, error = BOOTSTRAPS[self.metric.resampling], spread(usable)
        if self.requested in ("plain", "logit"):
            scale = self.rule.scale
            text = f"{name}, normal"
            return normal_estimate(value, error, level=level, method=self.requested, scale=scale, name=text)
        low, high = np.quantile(usable, ((1.0 - level) / 2.0, (1.0 + level) / 2.0)).tolist()
        lower, upper = max(low, self.rule.scale.low), min(high, self.rule.scale.high)
        interval = Interval(lower=lower, upper=upper, level=level, method=f"{name}, percentile")
        return Estimate(value=value, standard_error=error, interval=interval)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Drawn:
    """Replicates of a metric, and its value at the cells that they were drawn from, unless these are the counts."""

    values: FloatArray
    coarse: float | None

    def around(self, value: float) -> FloatArray:
        """Return replicates around the metric's value."""
        return self.values if self.coarse is None else moved(self.values, value, self.coarse)


def _draws(
    counts: ScoreCounts, requested: Mapping[int, _Requested], replicates: int, rng: np.random.Generator | int
) -> list[Callable[[], dict[int, _Drawn]]]:
    """Return tasks that draw replicates of metrics; none with float weights: nothing can be resampled then."""
    if counts.weighted or not requested:
        return []
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    shared: dict[tuple[Resampling, Reduction], list[int]] = {}
    for place, each in requested.items():
        shared.setdefault((each.metric.resampling, reduction(each.metric, each.options)), []).append(place)

    def draw(resampling: Resampling, kind: Reduction, places: Sequence[int]) -> dict[int, _Drawn]:
        counts.both_classes()
        source = reduced(counts, kind)
        generator = np.random.default_rng([seed, _STREAMS.index(resampling)])
        sample = draw_replicates(source, replicates, generator, resampling)
        drawn = replicate_values(
            sample, {place: (requested[place].metric, requested[place].options) for place in places}
        )
        if kind.cut is not None or source is counts:
            return {place: _Drawn(values, None) for place, values in drawn.items()}
        coarse = SharedScores(source)
        return {place: _Drawn(values, requested[place].value(coarse)) for place, values in drawn.items()}

    # Each group has its own stream of random numbers, so that none waits for another.
    groups = sorted(shared.items(), key=lambda group: group[0][1].cells is not Cells.CURVE)  # the dearest first
    return [partial(draw, *kind, places) for kind, places in groups]


_STREAMS: tuple[Resampling, ...] = ("rows", "classes")
