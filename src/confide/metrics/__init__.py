"""Metrics as pure functions of counts, listed in one registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.metrics.calibration import CalibrationErrors as CalibrationErrors
    from confide.metrics.calibration import brier_score as brier_score
    from confide.metrics.calibration import calibration_e50 as calibration_e50
    from confide.metrics.calibration import calibration_e90 as calibration_e90
    from confide.metrics.calibration import calibration_emax as calibration_emax
    from confide.metrics.calibration import calibration_errors as calibration_errors
    from confide.metrics.calibration import calibration_intercept as calibration_intercept
    from confide.metrics.calibration import calibration_slope as calibration_slope
    from confide.metrics.calibration import expected_calibration_error as expected_calibration_error
    from confide.metrics.calibration import integrated_calibration_index as integrated_calibration_index
    from confide.metrics.calibration import joint_intercept as joint_intercept
    from confide.metrics.calibration import log_loss as log_loss
    from confide.metrics.calibration import observed_expected_ratio as observed_expected_ratio
    from confide.metrics.calibration import scaled_brier_score as scaled_brier_score
    from confide.metrics.precision_recall import ESTIMATORS as ESTIMATORS
    from confide.metrics.precision_recall import PRROC_ESTIMATORS as PRROC_ESTIMATORS
    from confide.metrics.precision_recall import aucnpr_score as aucnpr_score
    from confide.metrics.precision_recall import aucpr_minimum as aucpr_minimum
    from confide.metrics.precision_recall import aucpr_score as aucpr_score
    from confide.metrics.precision_recall import average_precision_minimum as average_precision_minimum
    from confide.metrics.precision_recall import average_precision_score as average_precision_score
    from confide.metrics.precision_recall import (
        normalised_average_precision_score as normalised_average_precision_score,
    )
    from confide.metrics.ranking import auc_score as auc_score
    from confide.metrics.ranking import hull_auc_score as hull_auc_score
    from confide.metrics.ranking import partial_auc_score as partial_auc_score
    from confide.metrics.registry import METRICS as METRICS
    from confide.metrics.registry import Aggregate as Aggregate
    from confide.metrics.registry import Metric as Metric
    from confide.metrics.registry import mean_over_parts as mean_over_parts
    from confide.metrics.registry import metric_names as metric_names
    from confide.metrics.registry import metric_score as metric_score
    from confide.metrics.threshold import ConfusionMatrix as ConfusionMatrix
    from confide.metrics.threshold import calibrated_threshold as calibrated_threshold
    from confide.metrics.threshold import confusion_matrix as confusion_matrix
    from confide.metrics.threshold import cost_threshold as cost_threshold
    from confide.metrics.threshold import youden_index as youden_index
    from confide.metrics.threshold import youden_threshold as youden_threshold

_HOMES = {
    "confide.metrics.registry": "Aggregate METRICS Metric mean_over_parts metric_names metric_score",
    "confide.metrics.calibration": (
        "CalibrationErrors brier_score calibration_e50 calibration_e90 calibration_emax calibration_errors "
        "calibration_intercept calibration_slope expected_calibration_error integrated_calibration_index "
        "joint_intercept log_loss observed_expected_ratio scaled_brier_score"
    ),
    "confide.metrics.precision_recall": (
        "ESTIMATORS PRROC_ESTIMATORS aucnpr_score aucpr_minimum aucpr_score average_precision_minimum "
        "average_precision_score normalised_average_precision_score"
    ),
    "confide.metrics.ranking": "auc_score hull_auc_score partial_auc_score",
    "confide.metrics.threshold": (
        "ConfusionMatrix calibrated_threshold confusion_matrix cost_threshold youden_index youden_threshold"
    ),
}

__all__, __getattr__ = lazy_names("confide.metrics", _HOMES)


def __dir__() -> list[str]:
    return __all__
