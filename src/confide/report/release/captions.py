"""Captions of the plots of a release."""

from __future__ import annotations

from confide.releases.release import Release, ReleasedCurve
from confide.report.release.names import SHAPE_NAMES

INTERVALS = (
    "Released values (dots) with two intervals: thick, for the value that an exact evaluation of these rows would "
    "give (noise alone); thin, for the population that the rows were drawn from (noise and sampling)."
)

_CAPTIONS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate; the dotted diagonal is guessing.",
    "pr": "Each threshold's precision against its recall. The hatched region cannot be reached by any model at the "
    "released prevalence; the dotted line is guessing.",
    "calibration": "How often what was given a risk happened: dots at a bin's mean score, lines from its lower to its "
    "upper edge. On the diagonal risks can be taken at their word; below it they are too high. Bins have about equally "
    "many rows; where in a cell a score lies is not known, so that mean scores are those of the cells' middles.",
    "counts": "Positives (up) and negatives (down) in each cell of the grid, each with a scale of its own. All cells "
    "are drawn equally wide; the numbers below are edges of cells.",
}

_BANDS = (
    " Dark: where the curve of these rows lies as a whole, noise allowed for; light: where the population's does, "
    "sampling as well. {steps}"
)

_STEPS = "Between the grid's thresholds bands leave the curve open, hence their steps."


def curve_caption(release: Release) -> str:
    """Return the caption of a curve, with the assumptions that its shape rests on."""
    said = _CAPTIONS[release.metric]
    if release.curve is not None and release.curve.bands:
        said += _BANDS.format(steps=_STEPS if "threshold" in release.curve.points else "").rstrip()
    if release.metric == "calibration" and release.curve is not None and not _probabilities(release.curve):
        said += " The grid leaves [0, 1]: such scores are no probabilities, and the shares alone mean something."
    if "assumed" in release.options:
        said += (
            f" The shape is an assumption ({release.options['assumed']}): only the area was measured, and the bands "
            "hold as far as the assumption does."
        )
    elif release.options.get("shape") in SHAPE_NAMES and release.metric != "counts":
        said += f" The shape ({SHAPE_NAMES[release.options['shape']]}) is an assumption; the bands do not rest on it."
    return said


def _probabilities(curve: ReleasedCurve) -> bool:
    return curve.points["lower_edge"][0] >= 0.0 and curve.points["upper_edge"][-1] <= 1.0
