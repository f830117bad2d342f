"""The registry of metrics: each name, what else it is called, its title, its direction, what it needs, who offers it.

Every face of the package reads this registry: exact metrics, private releases, contests, federations, attacks, tables
and help texts. It loads nothing, so that a command's help can name metrics. How a metric is computed or released is
said by the face: see `confide.metrics.registry` and `confide.releases.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError, did_you_mean


class Face(StrEnum):
    """Part of the package that takes names of metrics, or shows them."""

    EXACT = "exact"
    RELEASE = "release"
    CONTEST = "contest"
    FEDERATION = "federation"
    ATTACK = "attack"


class Better(StrEnum):
    """Direction in which a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"
    ZERO = "zero"  # nearest to zero
    NEITHER = "neither"  # a ratio that should be 1, a property of the data, a curve


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricName:
    """A metric, as users name and read it.

    Parameters
    ----------
    name
        The name in Python, on the command line and in documents.
    title
        The name within a sentence; `heading` begins one.
    faces
        The parts of the package that offer the metric.
    better
        The direction in which it improves.
    aliases
        Other names of the same metric, which every face takes for it.
    near
        Names that may mean this metric or another one. They are refused with a hint, unless the face has such a metric.
    row
        The title of its row in a table, where readers know the metric by another name too.
    probabilities, threshold
        Whether scores must lie in [0, 1], and whether a decision threshold is needed.
    linear
        Whether it is a function of linear forms in the labels with public coefficients: shaped finals release such
        forms alone.
    """

    name: str
    title: str
    faces: frozenset[Face]
    better: Better = Better.NEITHER
    aliases: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    row: str = ""
    probabilities: bool = False
    threshold: bool = False
    linear: bool = False

    def __post_init__(self) -> None:
        if not self.row:
            object.__setattr__(self, "row", self.title)

    @property
    def heading(self) -> str:
        """Return the title with a capital letter."""
        return f"{self.title[:1].upper()}{self.title[1:]}"

    @property
    def higher_is_better(self) -> bool | None:
        """Return whether more is better; None where neither end is best."""
        return {Better.HIGHER: True, Better.LOWER: False}.get(self.better)


_EXACT, _RELEASE, _CONTEST, _FEDERATION, _ATTACK = Face
_HIGHER, _LOWER, _ZERO, _NEITHER = Better


def _entry(name: str, title: str, better: Better, *faces: Face, **more: Any) -> MetricName:
    return MetricName(name=name, title=title, better=better, faces=frozenset(faces), **more)


_cut = partial(_entry, threshold=True)
_risk = partial(_entry, probabilities=True)

_RANKING = (
    _entry(
        *("auc", "AUC", _HIGHER, *Face),
        aliases=("auroc", "c_statistic", "roc_auc", "rocauc"),
        near=("roc",),
        linear=True,
    ),
    _entry("partial_auc", "partial AUC", _HIGHER, _EXACT),
    _entry("hull_auc", "AUC of the convex hull", _HIGHER, _EXACT),
    _entry(
        *("average_precision", "average precision", _HIGHER, *Face),
        aliases=("ap",),
        near=("aucpr", "auprc", "pr_auc", "prauc", "pr"),
    ),
    _entry("average_precision_minimum", "minimum average precision", _NEITHER, _EXACT),
    _entry("normalised_average_precision", "normalised average precision", _HIGHER, _EXACT),
    _entry("aucpr", "AUCPR", _HIGHER, _EXACT),
    _entry("aucpr_minimum", "minimum AUCPR", _NEITHER, _EXACT),
    _entry("aucnpr", "AUCNPR", _HIGHER, _EXACT),
    _entry("lower_trapezoid", "lower trapezoid", _HIGHER, _EXACT),
    _entry("upper_trapezoid", "upper trapezoid", _HIGHER, _EXACT),
    _entry("interpolated_max", "interpolated max", _HIGHER, _EXACT),
    _entry("interpolated_mean", "interpolated mean", _HIGHER, _EXACT),
    _entry("interpolated_median", "interpolated median", _HIGHER, _EXACT),
    _entry("interpolated_convex", "interpolated convex", _HIGHER, _EXACT),
    _entry("binormal", "binormal AUCPR", _HIGHER, _EXACT),
    _entry("interpolated_thresholds", "interpolated thresholds", _HIGHER, _EXACT),
    _entry("davis_goadrich", "Davis and Goadrich", _HIGHER, _EXACT),
)

_OF_A_MATRIX = (
    _cut("accuracy", "accuracy", _HIGHER, _EXACT, _RELEASE, _CONTEST, _ATTACK, aliases=("acc",), linear=True),
    _cut(
        *("recall", "recall", _HIGHER, _EXACT, _RELEASE, _CONTEST),
        aliases=("sensitivity", "tpr", "true_positive_rate"),
        row="recall (sensitivity)",
        linear=True,
    ),
    _cut("false_positive_rate", "false positive rate", _LOWER, _EXACT, _RELEASE, aliases=("fpr",)),
    _cut(
        *("specificity", "specificity", _HIGHER, _EXACT, _RELEASE, _CONTEST),
        aliases=("tnr", "true_negative_rate"),
        linear=True,
    ),
    _cut(
        *("precision", "precision", _HIGHER, _EXACT, _RELEASE, _CONTEST),
        aliases=("ppv", "positive_predictive_value"),
        row="precision (PPV)",
        linear=True,
    ),
    _cut(
        *("negative_predictive_value", "negative predictive value", _HIGHER, _EXACT, _RELEASE),
        aliases=("npv",),
        row="NPV",
    ),
    _cut("f1", "F1", _HIGHER, _EXACT, _RELEASE, _CONTEST, aliases=("f1_score",), linear=True),
    _cut("balanced_accuracy", "balanced accuracy", _HIGHER, _EXACT, _RELEASE, _CONTEST, linear=True),
    _cut(
        *("matthews_correlation", "Matthews correlation", _HIGHER, _EXACT, _RELEASE),
        aliases=("mcc",),
        row="MCC",
    ),
    _cut("youden", "Youden's J", _HIGHER, _EXACT, _RELEASE),
    _cut("positive_likelihood_ratio", "positive likelihood ratio", _HIGHER, _EXACT, _RELEASE),
    _cut("negative_likelihood_ratio", "negative likelihood ratio", _LOWER, _EXACT, _RELEASE),
    _cut("f_beta", "F beta", _HIGHER, _EXACT),
    _cut("skew_aware_f", "skew-aware F", _HIGHER, _EXACT),
    _cut("net_benefit", "net benefit", _HIGHER, _EXACT, probabilities=True),
    _entry("youden_threshold", "Youden's threshold", _NEITHER, _EXACT),
    _entry("cost_threshold", "threshold of least cost", _NEITHER, _EXACT),
    _entry("youden_index", "Youden's index", _HIGHER, _EXACT),
    _cut("true_positives", "true positives", _NEITHER, _RELEASE),
    _cut("false_positives", "false positives", _NEITHER, _RELEASE),
    _cut("false_negatives", "false negatives", _NEITHER, _RELEASE),
    _cut("true_negatives", "true negatives", _NEITHER, _RELEASE),
    _cut("confusion", "confusion matrix", _NEITHER, _RELEASE, aliases=("confusion_matrix",)),
)

_OF_PROBABILITIES = (
    _risk("brier", "Brier score", _LOWER, *Face, aliases=("brier_score",), linear=True),
    _risk("scaled_brier", "scaled Brier score", _HIGHER, _EXACT),
    _risk(
        *("log_loss", "log loss", _LOWER, _EXACT, _CONTEST, _ATTACK),
        aliases=("logloss", "cross_entropy", "crossentropy", "nll"),
        linear=True,
    ),
    _risk(
        *("observed_expected", "observed : expected", _NEITHER, _EXACT, _RELEASE, _FEDERATION),
        aliases=("o:e", "observed_expected_ratio"),
    ),
    _risk(
        *("calibration_in_the_large", "observed less expected frequency", _ZERO, _CONTEST),
        linear=True,
    ),
    _risk(
        *("calibration_intercept", "calibration intercept", _NEITHER, _EXACT, _FEDERATION),
        row="intercept, slope fixed at 1",
    ),
    _risk("calibration_slope", "calibration slope", _NEITHER, _EXACT, _FEDERATION, row="slope"),
    _risk(
        *("joint_intercept", "intercept fitted with the slope", _NEITHER, _EXACT),
        row="intercept, fitted with the slope",
    ),
    _risk(
        *("expected_calibration_error", "expected calibration error", _LOWER, _EXACT),
        aliases=("ece",),
        row="ECE, 10 bins",
    ),
    _risk(
        *("integrated_calibration_index", "integrated calibration index", _LOWER, _EXACT),
        aliases=("ici",),
        row="ICI",
    ),
    _risk("calibration_e50", "E50", _LOWER, _EXACT, aliases=("e50",)),
    _risk("calibration_e90", "E90", _LOWER, _EXACT, aliases=("e90",)),
    _risk("calibration_emax", "Emax", _LOWER, _EXACT, aliases=("emax",)),
)

_OF_THE_DATA = (_entry("prevalence", "prevalence", _NEITHER, _RELEASE, _FEDERATION),)

_CURVES = (
    _entry("curves", "curves", _NEITHER, _RELEASE),
    _entry("roc", "ROC curve", _NEITHER, _RELEASE, _ATTACK, aliases=("roc_curve",)),
    _entry("pr", "PR curve", _NEITHER, _RELEASE, aliases=("precision_recall", "precision_recall_curve")),
    _entry("calibration", "calibration curve", _NEITHER, _RELEASE, aliases=("calibration_curve",)),
    _entry("counts", "counts on a grid", _NEITHER, _RELEASE),
)

METRIC_NAMES: Mapping[str, MetricName] = MappingProxyType(
    {each.name: each for each in (*_RANKING, *_OF_A_MATRIX, *_OF_PROBABILITIES, *_OF_THE_DATA, *_CURVES)}
)
"""Every metric, number or curve, by its name."""

_ALIASES = {alias: each.name for each in METRIC_NAMES.values() for alias in each.aliases}


def names_of(face: Face) -> tuple[str, ...]:
    """Return the names of the metrics that a face offers."""
    return tuple(each.name for each in METRIC_NAMES.values() if face in each.faces)


def metric_named(name: object) -> str:
    """Return the name that stands for a name or an alias. Letter case, spaces and hyphens do not matter.

    >>> metric_named("Sensitivity"), metric_named("AUROC")
    ('recall', 'auc')
    """
    plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    return _ALIASES.get(plain, plain)


def offered_metric(name: object, face: Face, refusal: str) -> MetricName:
    """Return the metric of a name; refuse one that the face does not offer, with `refusal`, a hint and a list.

    >>> offered_metric("sensitivity", Face.CONTEST, "no contest can be scored by").title
    'recall'
    """
    known, found = names_of(face), metric_named(name)
    if found in known:
        return METRIC_NAMES[found]
    meant = next((one for one in known if found in METRIC_NAMES[one].near), None)
    hint = did_you_mean(found, known) if meant is None else f"Did you mean {meant!r}? "
    raise ParameterError(f"{refusal} {name!r}. {hint}Choose from {', '.join(known)}")


def metric_title(name: str) -> str:
    """Return the title of a metric, within a sentence; a name that is not in the registry is its own title."""
    return METRIC_NAMES[name].title if name in METRIC_NAMES else name.replace("_", " ")
