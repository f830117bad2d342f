"""Confidence intervals and tests for metrics and curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.intervals.clusters import cluster_codes as cluster_codes
    from confide.intervals.clusters import cluster_estimate as cluster_estimate
    from confide.intervals.clusters import compare_aucs_clustered as compare_aucs_clustered
    from confide.intervals.comparison import Comparison as Comparison
    from confide.intervals.comparison import compare_auc as compare_auc
    from confide.intervals.comparison import compare_auc_unpaired as compare_auc_unpaired
    from confide.intervals.comparison import compare_aucs as compare_aucs
    from confide.intervals.delong import auc_test as auc_test
    from confide.intervals.delong import binormal_interval as binormal_interval
    from confide.intervals.delong import delong_interval as delong_interval
    from confide.intervals.delong import delong_variance as delong_variance
    from confide.intervals.delong import hanley_mcneil_interval as hanley_mcneil_interval
    from confide.intervals.delong import rank_summary as rank_summary
    from confide.intervals.differences import against_rest as against_rest
    from confide.intervals.differences import compare_estimates_unpaired as compare_estimates_unpaired
    from confide.intervals.differences import compare_models as compare_models
    from confide.intervals.folds import cross_validated_auc as cross_validated_auc
    from confide.intervals.folds import cross_validation_estimate as cross_validation_estimate
    from confide.intervals.folds import cross_validation_interval as cross_validation_interval
    from confide.intervals.folds import fold_estimate as fold_estimate
    from confide.intervals.folds import split_folds as split_folds
    from confide.intervals.imputation import pool as pool
    from confide.intervals.interval import Estimate as Estimate
    from confide.intervals.interval import Interval as Interval
    from confide.intervals.metric_estimates import estimate as estimate
    from confide.intervals.metric_estimates import estimates as estimates
    from confide.intervals.proportions import binomial_interval as binomial_interval
    from confide.intervals.proportions import logit_interval as logit_interval
    from confide.intervals.proportions import matrix_estimate as matrix_estimate
    from confide.intervals.resample import bootstrap_estimate as bootstrap_estimate
    from confide.intervals.resample import bootstrap_interval as bootstrap_interval
    from confide.intervals.resample import curve_bands as curve_bands
    from confide.intervals.resample import decision_bands as decision_bands
    from confide.intervals.roc_equality import CurveEquality as CurveEquality
    from confide.intervals.roc_equality import compare_curves as compare_curves
    from confide.intervals.roc_equality import compare_curves_unpaired as compare_curves_unpaired
    from confide.intervals.sample_size import auc_power as auc_power
    from confide.intervals.sample_size import auc_sample_size as auc_sample_size
    from confide.intervals.sample_size import comparison_power as comparison_power
    from confide.intervals.sample_size import comparison_sample_size as comparison_sample_size
    from confide.intervals.survey import survey_estimate as survey_estimate
    from confide.intervals.validation_size import validation_sample_size as validation_sample_size

_HOMES = {
    "confide.intervals.resample": "bootstrap_estimate bootstrap_interval curve_bands decision_bands",
    "confide.intervals.delong": (
        "auc_test binormal_interval delong_interval delong_variance hanley_mcneil_interval rank_summary"
    ),
    "confide.intervals.clusters": "cluster_codes cluster_estimate compare_aucs_clustered",
    "confide.intervals.comparison": "Comparison compare_auc compare_auc_unpaired compare_aucs",
    "confide.intervals.folds": (
        "cross_validated_auc cross_validation_estimate cross_validation_interval fold_estimate split_folds"
    ),
    "confide.intervals.imputation": "pool",
    "confide.intervals.interval": "Estimate Interval",
    "confide.intervals.metric_estimates": "estimate estimates",
    "confide.intervals.differences": "against_rest compare_estimates_unpaired compare_models",
    "confide.intervals.proportions": "binomial_interval logit_interval matrix_estimate",
    "confide.intervals.roc_equality": "CurveEquality compare_curves compare_curves_unpaired",
    "confide.intervals.sample_size": "auc_power auc_sample_size comparison_power comparison_sample_size",
    "confide.intervals.survey": "survey_estimate",
    "confide.intervals.validation_size": "validation_sample_size",
}

__all__, __getattr__ = lazy_names("confide.intervals", _HOMES)


def __dir__() -> list[str]:
    return __all__
