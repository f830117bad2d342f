"""Captions of the plots of a release."""

from __future__ import annotations

from confide.releases.release import Release, ReleasedCurve
from confide.report.release.names import SHAPE_NAMES

INTERVALS = (
    "Released values (dots) with two intervals. Thick: for the exact value of these rows (noise). Thin: for the "
    "population that the rows were drawn from (noise and sampling)."
)

_CAPTIONS = {
    "roc": "True-positive rate against false-positive rate at each threshold. The dotted diagonal is guessing.",
    "pr": "Precision against recall at each threshold. No model can reach the hatched region at the released "
    "prevalence; the dotted line is guessing.",
    "calibration": "Observed frequency of the outcome at each predicted risk: dots at the mean score of a bin, lines "
    "from its lower to its upper edge. On the diagonal the model is calibrated; below it, predicted risks are too "
    "high. Bins have about equal numbers of rows. Mean scores use the middle of each cell, since scores within cells "
    "are unknown.",
    "counts": "Positives (up) and negatives (down) in each cell of the grid, each on its own scale. All cells are "
    "drawn equally wide; the numbers below are edges of cells.",
}

_BANDS = (
    " Strong colour: band for the whole exact curve of these rows (noise). Faint colour: band for the whole "
    "curve of the population (noise and sampling). {steps}"
)

_STEPS = "Bands have steps because nothing is known between the thresholds of the grid."


def curve_caption(release: Release) -> str:
    """Return the caption of a curve, with the assumptions that its shape rests on."""
    text = _CAPTIONS[release.metric]
    if release.curve is not None and release.curve.bands:
        text += _BANDS.format(steps=_STEPS if "threshold" in release.curve.points else "").rstrip()
    if release.metric == "calibration" and release.curve is not None and not _probabilities(release.curve):
        text += " The grid extends beyond [0, 1]: such scores are not probabilities, and only observed shares count."
    if "assumed" in release.options:
        text += (
            f" The shape is an assumption ({release.options['assumed']}): only the area was measured, and the bands "
            "are valid only under that assumption."
        )
    elif release.options.get("shape") in SHAPE_NAMES and release.metric != "counts":
        text += f" The shape ({SHAPE_NAMES[release.options['shape']]}) is an assumption; the bands do not depend on it."
    return text


def _probabilities(curve: ReleasedCurve) -> bool:
    return curve.points["lower_edge"][0] >= 0.0 and curve.points["upper_edge"][-1] <= 1.0
