"""Evaluate binary classifiers on data that must not be shown.

This module holds the tasks and values that most users need. The rest is in its packages, such as `confide.metrics` and
`confide.intervals`. Names and packages load on first use, so `import confide` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide import attacks as attacks
    from confide import curves as curves
    from confide import intervals as intervals
    from confide import learning as learning
    from confide import ledger as ledger
    from confide import metrics as metrics
    from confide import privacy as privacy
    from confide import releases as releases
    from confide.contest.client.oracle_client import OracleClient as OracleClient
    from confide.counts import ScoreCounts as ScoreCounts
    from confide.curves.pr import pr_curve as pr_curve
    from confide.curves.roc import roc_curve as roc_curve
    from confide.errors import BudgetError as BudgetError
    from confide.errors import ConfideError as ConfideError
    from confide.errors import ConfideWarning as ConfideWarning
    from confide.errors import LedgerError as LedgerError
    from confide.evaluation.evaluation import Evaluation as Evaluation
    from confide.grid import Grid as Grid
    from confide.intervals.comparison import compare_auc as compare_auc
    from confide.intervals.delong import delong_interval as delong_interval
    from confide.intervals.interval import Estimate as Estimate
    from confide.intervals.interval import Interval as Interval
    from confide.intervals.resample import bootstrap_interval as bootstrap_interval
    from confide.ledger.ledger import Ledger as Ledger
    from confide.ledger.question import PublicQuestion as PublicQuestion
    from confide.metrics.calibration import brier_score as brier_score
    from confide.metrics.calibration import log_loss as log_loss
    from confide.metrics.precision_recall import aucpr_score as aucpr_score
    from confide.metrics.precision_recall import average_precision_score as average_precision_score
    from confide.metrics.ranking import auc_score as auc_score
    from confide.metrics.registry import metric_score as metric_score
    from confide.metrics.threshold import confusion_matrix as confusion_matrix
    from confide.privacy.guarantee import Guarantee as Guarantee
    from confide.privacy.neighbours import Neighbours as Neighbours
    from confide.releases.auc import release_auc as release_auc
    from confide.releases.average_precision import release_average_precision as release_average_precision
    from confide.releases.brier import release_brier as release_brier
    from confide.releases.confusion import release_confusion as release_confusion
    from confide.releases.curves import release_curves as release_curves
    from confide.releases.release import Release as Release
    from confide.report.evaluation.displays import CalibrationDisplay as CalibrationDisplay
    from confide.report.evaluation.displays import DecisionCurveDisplay as DecisionCurveDisplay
    from confide.report.evaluation.displays import PrecisionRecallDisplay as PrecisionRecallDisplay
    from confide.report.evaluation.displays import RocCurveDisplay as RocCurveDisplay
    from confide.sources.locations import TableLocation as TableLocation
    from confide.tasks.attack import attack as attack
    from confide.tasks.audit import audit as audit
    from confide.tasks.evaluate import evaluate as evaluate
    from confide.tasks.learning import predict as predict
    from confide.tasks.learning import select as select
    from confide.tasks.learning import train as train
    from confide.tasks.plan import plan as plan
    from confide.tasks.release import release as release
    from confide.tasks.validate import validate as validate

__version__ = "0.1.0"

_HOMES = {
    "confide.contest.client.oracle_client": "OracleClient",
    "confide.counts": "ScoreCounts",
    "confide.curves.pr": "pr_curve",
    "confide.curves.roc": "roc_curve",
    "confide.errors": "BudgetError ConfideError ConfideWarning LedgerError",
    "confide.evaluation.evaluation": "Evaluation",
    "confide.grid": "Grid",
    "confide.intervals.comparison": "compare_auc",
    "confide.intervals.delong": "delong_interval",
    "confide.intervals.interval": "Estimate Interval",
    "confide.intervals.resample": "bootstrap_interval",
    "confide.ledger.ledger": "Ledger",
    "confide.ledger.question": "PublicQuestion",
    "confide.metrics.calibration": "brier_score log_loss",
    "confide.metrics.precision_recall": "aucpr_score average_precision_score",
    "confide.metrics.ranking": "auc_score",
    "confide.metrics.registry": "metric_score",
    "confide.metrics.threshold": "confusion_matrix",
    "confide.privacy.guarantee": "Guarantee",
    "confide.privacy.neighbours": "Neighbours",
    "confide.releases.auc": "release_auc",
    "confide.releases.average_precision": "release_average_precision",
    "confide.releases.brier": "release_brier",
    "confide.releases.confusion": "release_confusion",
    "confide.releases.curves": "release_curves",
    "confide.releases.release": "Release",
    "confide.report.evaluation.displays": (
        "CalibrationDisplay DecisionCurveDisplay PrecisionRecallDisplay RocCurveDisplay"
    ),
    "confide.sources.locations": "TableLocation",
    "confide.tasks.attack": "attack",
    "confide.tasks.audit": "audit",
    "confide.tasks.evaluate": "evaluate",
    "confide.tasks.plan": "plan",
    "confide.tasks.learning": "predict select train",
    "confide.tasks.release": "release",
    "confide.tasks.validate": "validate",
}

_ROOMS = (
    "attacks",
    "curves",
    "intervals",
    "learning",
    "ledger",
    "metrics",
    "privacy",
    "releases",
)

__all__, __getattr__ = lazy_names("confide", _HOMES, _ROOMS)


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
