"""Releases: metrics and curves with noise that may be published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.releases.auc import release_auc as release_auc
    from confide.releases.average_precision import release_average_precision as release_average_precision
    from confide.releases.brier import release_brier as release_brier
    from confide.releases.confusion import ConfusionRelease as ConfusionRelease
    from confide.releases.confusion import release_confusion as release_confusion
    from confide.releases.confusion import release_prevalence as release_prevalence
    from confide.releases.curves import curves_of as curves_of
    from confide.releases.curves import release_curves as release_curves
    from confide.releases.curves_release import Calibrator as Calibrator
    from confide.releases.curves_release import CurvesRelease as CurvesRelease
    from confide.releases.operating import OperatingPoint as OperatingPoint
    from confide.releases.operating import Target as Target
    from confide.releases.plan_result import Plan as Plan
    from confide.releases.registry import RELEASE_METRICS as RELEASE_METRICS
    from confide.releases.registry import prepare as prepare
    from confide.releases.release import PreparedRelease as PreparedRelease
    from confide.releases.release import Release as Release
    from confide.releases.symmetric import release_symmetric_roc as release_symmetric_roc

_HOMES = {
    "confide.releases.auc": "release_auc",
    "confide.releases.average_precision": "release_average_precision",
    "confide.releases.brier": "release_brier",
    "confide.releases.curves_release": "Calibrator CurvesRelease",
    "confide.releases.confusion": "ConfusionRelease release_confusion release_prevalence",
    "confide.releases.curves": "curves_of release_curves",
    "confide.releases.operating": "OperatingPoint Target",
    "confide.releases.plan_result": "Plan",
    "confide.releases.registry": "RELEASE_METRICS prepare",
    "confide.releases.release": "PreparedRelease Release",
    "confide.releases.symmetric": "release_symmetric_roc",
}

__all__, __getattr__ = lazy_names("confide.releases", _HOMES)


def __dir__() -> list[str]:
    return __all__
