"""Captions of the curves of a validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.numbers import percent
from confide.report.validation.calibration_plots import not_drawn_words, site_calibrations
from confide.report.validation.plot_data import with_results

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation

_CAPTIONS = {
    "roc": "True-positive rate against false-positive rate at each threshold. Higher and further left is better; the "
    "dotted diagonal is guessing.",
    "pr": "Precision against recall at each threshold, over all rows. No model can reach the hatched region at this "
    "prevalence; the dotted line is guessing.",
    "calibration": "Observed frequency of the outcome at each predicted risk, over all rows, in bins with {level} "
    "intervals. On the diagonal the model is calibrated; below it, predicted risks are too high.",
    "decision": "Net benefit of acting on the score at each threshold probability, over all rows: true positives per "
    "row minus weighted false positives. A model is useful where its line is above both treating all and treating "
    "none.",
}

_SITE_CALIBRATION = (
    "Calibration at each site: observed frequency of the outcome in bins, with {level} intervals. Grey: all rows "
    "together. Above the dotted diagonal predicted risks are too low at the site, below it too high."
)


def captions(validation: Validation) -> dict[str, str]:
    """Return the caption of each plot, by name."""
    level = percent(validation.level)
    texts = {name: words.format(level=level) for name, words in _CAPTIONS.items()}
    if with_results(validation):
        texts["roc"] += " Thick: all rows together. Thin: each site alone."
    if validation.pooled.roc_glm is not None:
        texts["roc"] += " Dashed: the binormal curve fitted to all rows (ROC-GLM)."
    if mode_of(validation.question).private:
        band = f" Shaded: {level} band for the whole curve of the population (noise and sampling)."
        texts["roc"] += band
        texts["pr"] += band
    texts["calibration"] += not_drawn_words([validation.pooled])
    return texts


def site_calibration_caption(validation: Validation) -> str:
    """Return the caption of the calibration plots of single sites."""
    results = [result for _, result in site_calibrations(validation)]
    return _SITE_CALIBRATION.format(level=percent(validation.level)) + not_drawn_words(results)
