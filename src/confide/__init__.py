"""Evaluate binary classifiers on data that must not be shown.

Everything here loads on first use, so that `import confide` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confide.attacks.contest.oracle import Oracle as Oracle
    from confide.attacks.contest.recovery import recover_labels as recover_labels
    from confide.attacks.disclosure import Publication as Publication
    from confide.attacks.disclosure import Window as Window
    from confide.attacks.exposure import AttackReport as AttackReport
    from confide.attacks.from_auc.decision_tree import ranking_attack as ranking_attack
    from confide.attacks.from_auc.decision_tree import tree_attack as tree_attack
    from confide.attacks.from_auc.labelings import Labelings as Labelings
    from confide.attacks.from_auc.posterior import label_posterior as label_posterior
    from confide.attacks.from_auc.sampling import sample_labelings as sample_labelings
    from confide.counts import ScoreCounts as ScoreCounts
    from confide.curves.decision import decision_curve as decision_curve
    from confide.curves.pr import minimum_precision as minimum_precision
    from confide.curves.pr import pr_curve as pr_curve
    from confide.curves.reliability import reliability_bins as reliability_bins
    from confide.curves.reliability import smooth_calibration as smooth_calibration
    from confide.curves.roc import roc_curve as roc_curve
    from confide.curves.roc import roc_hull as roc_hull
    from confide.errors import BudgetError as BudgetError
    from confide.errors import ConfideError as ConfideError
    from confide.errors import ConfideWarning as ConfideWarning
    from confide.errors import LedgerError as LedgerError
    from confide.evaluation.evaluate import evaluate as evaluate
    from confide.evaluation.evaluation import Evaluation as Evaluation
    from confide.grid import Grid as Grid
    from confide.intervals.bands import curve_bands as curve_bands
    from confide.intervals.comparison import compare_auc as compare_auc
    from confide.intervals.comparison import compare_auc_unpaired as compare_auc_unpaired
    from confide.intervals.comparison import compare_aucs as compare_aucs
    from confide.intervals.crossvalidation import cross_validation_estimate as cross_validation_estimate
    from confide.intervals.crossvalidation import cross_validation_interval as cross_validation_interval
    from confide.intervals.crossvalidation import split_folds as split_folds
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
    from confide.ledger.ledger import Ledger as Ledger
    from confide.ledger.question import PublicQuestion as PublicQuestion
    from confide.ledger.question import score_digest as score_digest
    from confide.metrics.aggregate import mean_over_parts as mean_over_parts
    from confide.metrics.calibration import brier_score as brier_score
    from confide.metrics.calibration import calibration_intercept as calibration_intercept
    from confide.metrics.calibration import calibration_slope as calibration_slope
    from confide.metrics.calibration import expected_calibration_error as expected_calibration_error
    from confide.metrics.calibration import integrated_calibration_index as integrated_calibration_index
    from confide.metrics.calibration import log_loss as log_loss
    from confide.metrics.calibration import observed_expected_ratio as observed_expected_ratio
    from confide.metrics.calibration import scaled_brier_score as scaled_brier_score
    from confide.metrics.precision_recall import ESTIMATORS as ESTIMATORS
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
    from confide.metrics.registry import metric_names as metric_names
    from confide.metrics.registry import metric_score as metric_score
    from confide.metrics.threshold import ConfusionMatrix as ConfusionMatrix
    from confide.metrics.threshold import confusion_matrix as confusion_matrix
    from confide.metrics.threshold import youden_threshold as youden_threshold
    from confide.privacy.guarantee import Guarantee as Guarantee
    from confide.privacy.neighbours import Neighbours as Neighbours
    from confide.releases.auc import release_auc as release_auc
    from confide.releases.average_precision import release_average_precision as release_average_precision
    from confide.releases.brier import release_brier as release_brier
    from confide.releases.calibrator import Calibrator as Calibrator
    from confide.releases.confusion import ConfusionRelease as ConfusionRelease
    from confide.releases.confusion import release_confusion as release_confusion
    from confide.releases.confusion import release_prevalence as release_prevalence
    from confide.releases.curves import release_curves as release_curves
    from confide.releases.curves_release import CurvesRelease as CurvesRelease
    from confide.releases.curves_release import curves_of as curves_of
    from confide.releases.operating import OperatingPoint as OperatingPoint
    from confide.releases.plan import Plan as Plan
    from confide.releases.plan import plan as plan
    from confide.releases.registry import RELEASE_METRICS as RELEASE_METRICS
    from confide.releases.registry import prepare as prepare
    from confide.releases.release import PreparedRelease as PreparedRelease
    from confide.releases.release import Release as Release
    from confide.releases.symmetric import release_symmetric_roc as release_symmetric_roc
    from confide.report.evaluation.displays import CalibrationDisplay as CalibrationDisplay
    from confide.report.evaluation.displays import DecisionCurveDisplay as DecisionCurveDisplay
    from confide.report.evaluation.displays import PrecisionRecallDisplay as PrecisionRecallDisplay
    from confide.report.evaluation.displays import RocCurveDisplay as RocCurveDisplay
    from confide.tasks.attack import attack as attack
    from confide.tasks.audit import audit as audit
    from confide.tasks.predict import predict as predict
    from confide.tasks.select import select as select
    from confide.tasks.train import train as train

__version__ = "0.1.0"

_HOME = {
    "confide.attacks.contest.oracle": "Oracle",
    "confide.attacks.contest.recovery": "recover_labels",
    "confide.attacks.disclosure": "Publication Window",
    "confide.attacks.exposure": "AttackReport",
    "confide.attacks.from_auc.decision_tree": "ranking_attack tree_attack",
    "confide.attacks.from_auc.labelings": "Labelings",
    "confide.attacks.from_auc.posterior": "label_posterior",
    "confide.attacks.from_auc.sampling": "sample_labelings",
    "confide.counts": "ScoreCounts",
    "confide.curves.decision": "decision_curve",
    "confide.curves.pr": "minimum_precision pr_curve",
    "confide.curves.reliability": "reliability_bins smooth_calibration",
    "confide.curves.roc": "roc_curve roc_hull",
    "confide.errors": "BudgetError ConfideError ConfideWarning LedgerError",
    "confide.grid": "Grid",
    "confide.intervals.bands": "curve_bands",
    "confide.intervals.comparison": "compare_auc compare_auc_unpaired compare_aucs",
    "confide.intervals.crossvalidation": "cross_validation_estimate cross_validation_interval split_folds",
    "confide.intervals.delong": "delong_interval delong_variance hanley_mcneil_interval rank_summary",
    "confide.intervals.interval": "Estimate Interval",
    "confide.intervals.proportion": "binomial_interval logit_interval",
    "confide.intervals.resample": "bootstrap_estimate bootstrap_interval",
    "confide.ledger.ledger": "Ledger",
    "confide.ledger.question": "PublicQuestion score_digest",
    "confide.metrics.aggregate": "mean_over_parts",
    "confide.metrics.calibration": "brier_score calibration_intercept calibration_slope "
    "expected_calibration_error integrated_calibration_index log_loss observed_expected_ratio scaled_brier_score",
    "confide.metrics.precision_recall": "ESTIMATORS aucnpr_score aucpr_minimum aucpr_score "
    "average_precision_minimum average_precision_score normalised_average_precision_score",
    "confide.metrics.ranking": "auc_score hull_auc_score partial_auc_score",
    "confide.metrics.registry": "metric_names metric_score",
    "confide.metrics.threshold": "ConfusionMatrix confusion_matrix youden_threshold",
    "confide.privacy.guarantee": "Guarantee",
    "confide.privacy.neighbours": "Neighbours",
    "confide.releases.auc": "release_auc",
    "confide.releases.average_precision": "release_average_precision",
    "confide.releases.brier": "release_brier",
    "confide.releases.confusion": "ConfusionRelease release_confusion release_prevalence",
    "confide.releases.calibrator": "Calibrator",
    "confide.releases.curves_release": "CurvesRelease curves_of",
    "confide.releases.curves": "release_curves",
    "confide.releases.operating": "OperatingPoint",
    "confide.releases.plan": "Plan plan",
    "confide.releases.registry": "RELEASE_METRICS prepare",
    "confide.releases.release": "PreparedRelease Release",
    "confide.releases.symmetric": "release_symmetric_roc",
    "confide.report.evaluation.displays": "CalibrationDisplay DecisionCurveDisplay PrecisionRecallDisplay "
    "RocCurveDisplay",
    "confide.evaluation.evaluate": "evaluate",
    "confide.evaluation.evaluation": "Evaluation",
    "confide.tasks.attack": "attack",
    "confide.tasks.audit": "audit",
    "confide.tasks.predict": "predict",
    "confide.tasks.select": "select",
    "confide.tasks.train": "train",
}
_HOME_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
