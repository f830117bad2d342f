"""Captions of the curves of a validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.numbers import percent
from confide.report.validation.calibration_plots import not_drawn_words, site_calibrations
from confide.report.validation.plot_data import with_results

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation

WORDS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate. The further up and left, the better; "
    "the dotted diagonal is guessing.",
    "pr": "Each threshold's precision against its recall, all rows together. The hatched region cannot be reached by "
    "any model at this prevalence; the dotted line is guessing.",
    "calibration": "How often what was given a risk happened, all rows together, in bins with {level} intervals. On "
    "the diagonal risks can be taken at their word; below it they are too high.",
    "decision": "What acting on the score is worth at each threshold probability, in true positives per row after "
    "paying for false ones, all rows together. A model is useful where its line is above treating all and none.",
}

_SITE_CALIBRATION = (
    "Calibration at each site: observed shares in bins with {level} intervals. Grey: all rows together. Above the "
    "dotted diagonal risks are too low at the site, below it too high."
)


def captions(validation: Validation) -> dict[str, str]:
    """Return the caption of each plot, by name."""
    level = percent(validation.level)
    said = {name: words.format(level=level) for name, words in WORDS.items()}
    if with_results(validation):
        said["roc"] += " Thick: all rows together; thin: each site by itself."
    if validation.pooled.roc_glm is not None:
        said["roc"] += " Dashed: the binormal curve fitted to all rows (ROC-GLM)."
    if mode_of(validation.question).private:
        band = f" Shaded: where the population's curve lies as a whole, noise and sampling allowed for ({level})."
        said["roc"] += band
        said["pr"] += band
    said["calibration"] += not_drawn_words([validation.pooled])
    return said


def site_calibration_caption(validation: Validation) -> str:
    """Return the caption of the calibration plots of single sites."""
    results = [result for _, result in site_calibrations(validation)]
    return _SITE_CALIBRATION.format(level=percent(validation.level)) + not_drawn_words(results)
