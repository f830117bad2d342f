"""Results of a validation: performance over all sites and at each site, differences between sites, and promises.

All of it is a pure function of the outcome: the same outcome always gives the same results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.federation.coordinator.answers import pooled_answers
from confide.federation.coordinator.performance import NEARLY_ALL, Performance
from confide.federation.modes.registry import mode_of
from confide.federation.protocol import Outcome, SiteReport
from confide.federation.question import Question
from confide.intervals.delong import AucTest, auc_test
from confide.intervals.interval import Estimate, check_level, normal_quantile
from confide.intervals.random_effects import RandomEffects, auc_random_effects, ratio_random_effects
from confide.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCHEMA = "confide.validation/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteResult:
    """Report of a site and, if it may be seen, the model's performance there."""

    report: SiteReport
    result: Performance | None = None

    @property
    def name(self) -> str:
        """Name of the site."""
        return self.report.name

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.report.to_dict(), "result": None if self.result is None else self.result.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation:
    """Performance of a model over all sites, made only from what left the sites.

    `heterogeneity` has random-effects summaries over sites of "auc" and "observed_expected" where at least two sites'
    own results may be seen and are informative; `summarised` names these sites, in the order of the weights. `test` is
    the test of `AUC <= null_auc`, if one was asked for. `guarantee` is that of a private mode, for every row of every
    site.
    """

    outcome: Outcome
    level: float
    pooled: Performance
    sites: tuple[SiteResult, ...]
    heterogeneity: Mapping[str, RandomEffects]
    summarised: Mapping[str, tuple[str, ...]]
    test: AucTest | None
    guarantee: Guarantee | None

    @property
    def question(self) -> Question:
        """Question as the sites that took part answered it."""
        return self.outcome.question

    def promise(self) -> tuple[str, ...]:
        """Return what the mode promises and what it does not, a sentence each."""
        return promise_of(self.question)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "question": self.question.to_dict(),
            "level": self.level,
            "pooled": self.pooled.to_dict(),
            "sites": [site.to_dict() for site in self.sites],
            "heterogeneity": {
                name: {**found.to_dict(), "sites_summarised": list(self.summarised[name])}
                for name, found in self.heterogeneity.items()
            },
            "test": None if self.test is None else self.test.to_dict(),
            "promise": list(self.promise()),
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "rounds": self.outcome.rounds,
            "seconds": self.outcome.seconds,
        }

    def __repr__(self) -> str:
        return f"<Validation of {self.question.model} at {len(self.sites)} sites: AUC {self.pooled.auc.value:.3f}>"

    def plot(self) -> Figure:
        """Draw the curves of all rows together, and each site's ROC curve where it is known."""
        from confide.report.validation.plots import plot_validation

        return plot_validation(self)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each number.

        Columns: model, site (missing for all rows together), metric, value, lower, upper, level.
        """
        from confide.report.validation.pages import validation_frame

        return validation_frame(self)

    def _repr_html_(self) -> str:
        from confide.report.validation.pages import fragment

        return fragment(self)


def derive(outcome: Outcome, *, level: float = 0.95, null_auc: float | None = None) -> Validation:
    """Derive all results from an outcome.

    Raises DataError if performance is undefined, for example if all rows belong to one class.
    """
    check_level(level)
    answers = pooled_answers(outcome.question)
    own, pooled = answers.site_performances(outcome, level), answers.performance(outcome, level)
    heterogeneity, summarised = _summaries(own, level)
    return Validation(
        outcome=outcome,
        level=level,
        pooled=pooled,
        sites=tuple(SiteResult(report=report, result=own.get(report.name)) for report in outcome.reports),
        heterogeneity=heterogeneity,
        summarised=summarised,
        test=None if null_auc is None else _test(pooled, null_auc, level),
        guarantee=mode_of(outcome.question).guarantee(outcome.question),
    )


def _summaries(
    own: Mapping[str, Performance], level: float
) -> tuple[dict[str, RandomEffects], dict[str, tuple[str, ...]]]:
    """Return random-effects summaries over the sites with informative results, and the names of these sites."""
    aucs = _judged({name: site.auc for name, site in own.items()}, _logit_error)
    ratios = _judged({name: site.observed_expected for name, site in own.items()}, _log_error)
    found: dict[str, RandomEffects] = {}
    if len(aucs) > 1:
        variances = [(error * value * (1.0 - value)) ** 2 for value, error in aucs.values()]
        found["auc"] = auc_random_effects([value for value, _ in aucs.values()], variances, level=level, floor=True)
    if len(ratios) > 1:
        squares = [error**2 for _, error in ratios.values()]
        found["observed_expected"] = ratio_random_effects(
            [value for value, _ in ratios.values()], squares, level=level, floor=True
        )
    named = {"auc": tuple(aucs), "observed_expected": tuple(ratios)}
    return found, {name: named[name] for name in found}


def _judged(
    estimates: Mapping[str, Estimate | None], error_of: Callable[[Estimate], float | None]
) -> dict[str, tuple[float, float]]:
    """Return sites' values with their standard errors on the scale of the summary, where both exist."""
    found = {}
    for name, estimate in estimates.items():
        error = None if estimate is None else error_of(estimate)
        if estimate is not None and error is not None and math.isfinite(error) and error > 0.0:
            found[name] = (estimate.value, error)
    return found


def _logit_error(estimate: Estimate) -> float | None:
    """Return the standard error of the log-odds from the interval, which allows for noise and sampling.

    Return None if the interval leaves almost everything open: such a site is not informative.
    """
    interval = estimate.interval
    if interval is None or not 0.0 < estimate.value < 1.0 or interval.width > NEARLY_ALL:
        return None
    lower, upper = max(interval.lower, 1e-6), min(interval.upper, 1.0 - 1e-6)
    return (_logit(upper) - _logit(lower)) / (2.0 * normal_quantile(interval.level))


def _log_error(estimate: Estimate) -> float | None:
    interval = estimate.interval
    if interval is None or estimate.value <= 0.0 or interval.lower <= 0.0 or not math.isfinite(interval.upper):
        return None
    return math.log(interval.upper / interval.lower) / (2.0 * normal_quantile(interval.level))


def _logit(value: float) -> float:
    return math.log(value / (1.0 - value))


def _test(pooled: Performance, null_auc: float, level: float) -> AucTest | None:
    """Test the AUC with its own standard error or, under noise, with that of its interval, which includes the noise."""
    value, error = pooled.auc.value, pooled.auc.standard_error
    if error is None:
        on_log_odds = _logit_error(pooled.auc)
        if on_log_odds is None:
            return None
        error = on_log_odds * value * (1.0 - value)
    if pooled.rows is None or pooled.positives is None:
        return auc_test(value, error**2, null_auc, level=level)
    n, m = pooled.positives, pooled.rows - pooled.positives
    return auc_test(value, error**2, null_auc, level=level, positives=n, negatives=m)


def promise_of(question: Question) -> tuple[str, ...]:
    """Return what a question's mode promises to the people in the data and what it does not, a sentence each."""
    return mode_of(question).promise(question)
