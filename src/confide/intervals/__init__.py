"""Confidence intervals and tests for metrics and curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.intervals.bands import curve_bands as curve_bands
    from confide.intervals.comparison import Comparison as Comparison
    from confide.intervals.comparison import compare_auc as compare_auc
    from confide.intervals.comparison import compare_auc_unpaired as compare_auc_unpaired
    from confide.intervals.comparison import compare_aucs as compare_aucs
    from confide.intervals.crossvalidation import cross_validation_estimate as cross_validation_estimate
    from confide.intervals.crossvalidation import cross_validation_interval as cross_validation_interval
    from confide.intervals.crossvalidation import split_folds as split_folds
    from confide.intervals.delong import auc_test as auc_test
    from confide.intervals.delong import delong_interval as delong_interval
    from confide.intervals.delong import delong_variance as delong_variance
    from confide.intervals.delong import hanley_mcneil_interval as hanley_mcneil_interval
    from confide.intervals.delong import rank_summary as rank_summary
    from confide.intervals.interval import Estimate as Estimate
    from confide.intervals.interval import Interval as Interval
    from confide.intervals.proportion import binomial_interval as binomial_interval
    from confide.intervals.proportion import logit_interval as logit_interval
    from confide.intervals.resample import bootstrap_estimate as bootstrap_estimate
    from confide.intervals.resample import bootstrap_interval as bootstrap_interval

_HOMES = {
    "confide.intervals.bands": "curve_bands",
    "confide.intervals.comparison": "Comparison compare_auc compare_auc_unpaired compare_aucs",
    "confide.intervals.crossvalidation": "cross_validation_estimate cross_validation_interval split_folds",
    "confide.intervals.delong": "auc_test delong_interval delong_variance hanley_mcneil_interval rank_summary",
    "confide.intervals.interval": "Estimate Interval",
    "confide.intervals.proportion": "binomial_interval logit_interval",
    "confide.intervals.resample": "bootstrap_estimate bootstrap_interval",
}

__all__, __getattr__ = lazy_names("confide.intervals", _HOMES)


def __dir__() -> list[str]:
    return __all__
