"""Curves as pure functions of counts: ROC, precision-recall, calibration and decision curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.curves.binormal_roc import BinormalRoc as BinormalRoc
    from confide.curves.binormal_roc import smooth_roc as smooth_roc
    from confide.curves.calibration_spline import Spline as Spline
    from confide.curves.pr import PrCurve as PrCurve
    from confide.curves.pr import minimum_precision as minimum_precision
    from confide.curves.pr import pr_curve as pr_curve
    from confide.curves.reliability import DecisionCurve as DecisionCurve
    from confide.curves.reliability import ReliabilityBins as ReliabilityBins
    from confide.curves.reliability import decision_curve as decision_curve
    from confide.curves.reliability import reliability_bins as reliability_bins
    from confide.curves.roc import RocCurve as RocCurve
    from confide.curves.roc import roc_curve as roc_curve
    from confide.curves.roc import roc_hull as roc_hull
    from confide.curves.smoothing import Loess as Loess
    from confide.curves.smoothing import SmoothCalibration as SmoothCalibration
    from confide.curves.smoothing import smooth_calibration as smooth_calibration

_HOMES = {
    "confide.curves.binormal_roc": "BinormalRoc smooth_roc",
    "confide.curves.calibration_spline": "Spline",
    "confide.curves.reliability": "DecisionCurve ReliabilityBins decision_curve reliability_bins",
    "confide.curves.smoothing": "Loess SmoothCalibration smooth_calibration",
    "confide.curves.pr": "PrCurve minimum_precision pr_curve",
    "confide.curves.roc": "RocCurve roc_curve roc_hull",
}

__all__, __getattr__ = lazy_names("confide.curves", _HOMES)


def __dir__() -> list[str]:
    return __all__
