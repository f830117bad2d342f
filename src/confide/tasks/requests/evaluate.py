"""Request for an exact evaluation."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from confide.errors import ParameterError
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, optional

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from confide.evaluation.evaluate import Progress
    from confide.evaluation.settings import IntervalChoice, PartialRegion, Settings
    from confide.sources.rows import Missing

Range = tuple[float, float]

COLUMNS = ("label", "score", "weight", "survey_weight", "group", "cluster", "fold")
"""Fields that name columns of a table."""

ARRAYS = ("scores", "weights", "survey_weights", "groups", "clusters", "folds")
"""Fields that hold arrays beside the labels."""


def split_columns(given: Iterable[str], parameter: str = "score") -> list[str]:
    """Return the columns that a repeatable option names, each time one or several with commas.

    A name with a comma stands in double quotes, as in a CSV file.

    >>> split_columns(["new,old", "age"])
    ['new', 'old', 'age']
    >>> split_columns(['"risk, adjusted",age'])
    ['risk, adjusted', 'age']
    """
    return [name for text in given for name in _split(text, parameter)]


def _split(text: str, parameter: str) -> list[str]:
    if "," not in text and not text.startswith('"'):
        return [text]
    try:
        (names,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        names = []
    if not names or not all(name.strip() for name in names):
        raise ParameterError(
            f"`{parameter}` must name columns with commas, for example new,old, and a name that has a comma in double "
            f"quotes, for example '\"risk, adjusted\",old'; got {text!r}"
        )
    return [name if '"' in text else name.strip() for name in names]


def _ranges(given: Iterable[str], parameter: str) -> list[Range]:
    """Read ranges such as 0.9:1."""
    return [_range(text, parameter) for text in given]


def _range(text: str, parameter: str) -> Range:
    low, separator, high = text.partition(":")
    try:
        if separator:
            return float(low), float(high)
    except ValueError:
        pass
    raise ParameterError(f"`{parameter}` must be a range such as 0.9:1, got {text!r}")


def _imputed_columns(given: Iterable[str], parameter: str) -> dict[str, list[str]]:
    """Read models such as risk=risk_1,risk_2."""
    models: dict[str, list[str]] = {}
    for text in given:
        name, separator, columns = text.partition("=")
        if not (name and separator and columns) or name in models:
            raise ParameterError(
                f"`{parameter}` must name each model once with its columns, such as risk=risk_1,risk_2; got {text!r}"
            )
        models[name] = split_columns([columns], parameter)
    return models


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EvaluateRequest:
    """Request for an exact evaluation. `confide.evaluate` says what the fields mean."""

    data: Any = field(kw_only=False)
    scores: ArrayLike | Mapping[str, ArrayLike] | Any | None = field(default=None, kw_only=False)
    label: str | None = optional(None, "-l", metavar="COL", required=True, help="Column of labels; it has two values.")
    score: str | Sequence[str] | None = optional(
        None,
        "-s",
        metavar="COL",
        repeat=Repeat.LISTED,
        read=split_columns,
        help="Column of scores; repeat it, or use commas, to compare models.",
    )
    imputed: Mapping[str, Sequence[str]] | None = optional(
        None,
        metavar="NAME=COL,COL",
        repeat=Repeat.LISTED,
        read=_imputed_columns,
        help="A model with one column of scores for each imputed dataset; estimates are pooled (Rubin). Repeatable.",
    )
    positive: object = field(default=None, metadata=options.POSITIVE)
    weight: str | None = optional(
        None, metavar="COL", help="Column of weights: the number of rows that a row stands for."
    )
    survey_weight: str | None = optional(
        None, metavar="COL", help="Column of sampling weights: inverse sampling probabilities."
    )
    group: str | Sequence[str] | None = optional(
        None,
        "-g",
        metavar="COL",
        repeat=Repeat.LISTED,
        read=split_columns,
        help="Evaluate each value of this column too; repeat it to cross.",
    )
    cluster: str | None = optional(
        None, metavar="COL", help="Rows with one value here depend on each other, as the stays of one patient do."
    )
    fold: str | None = optional(None, metavar="COL", help="Fold of a cross-validation; ranking is averaged over folds.")
    weights: ArrayLike | None = None
    survey_weights: ArrayLike | None = None
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None
    clusters: ArrayLike | None = None
    folds: ArrayLike | None = None
    missing: Missing | str = optional(
        "refuse", metavar="RULE", help="Rows without a score: refuse, or drop and count them."
    )
    thresholds: Sequence[float] | float | None = optional(
        None,
        *("--threshold", "-t"),
        metavar="T",
        kind=float,
        repeat=Repeat.LISTED,
        help="Call score >= T positive; repeatable. [default: 0.5]",
    )
    cost_ratio: float | None = optional(
        None,
        metavar="R",
        kind=float,
        help="Cost of a missed positive over that of a false alarm: find the best threshold.",
    )
    specificity: Range | Sequence[Range] | None = optional(
        None,
        metavar="LOW:HIGH",
        repeat=Repeat.LISTED,
        read=_ranges,
        help="Partial AUC over these specificities; repeatable.",
    )
    sensitivity: Range | Sequence[Range] | None = optional(
        None,
        metavar="LOW:HIGH",
        repeat=Repeat.LISTED,
        read=_ranges,
        help="Partial AUC over these sensitivities; repeatable.",
    )
    level: float = field(default=0.95, metadata=options.LEVEL)
    interval: IntervalChoice | str | None = optional(
        None, metavar="METHOD", help="plain, logit or bootstrap, for all numbers. [default: what suits each]"
    )
    replicates: int = optional(
        1_000, metavar="N", kind=int, help="Replicates of the bootstrap; 0 for none, which is fast."
    )
    seed: int = optional(0, metavar="N", kind=int, help="Seed of the bootstrap.")
    progress: Progress | None = None

    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        from confide.sources.locations import as_location
        from confide.sources.rows import check_missing

        object.__setattr__(self, "data", as_location(self.data))
        object.__setattr__(self, "missing", check_missing(self.missing))
        object.__setattr__(self, "settings", self._settings())

    def _settings(self) -> Settings:
        """Return the settings of the evaluation, checked."""
        import numpy as np

        from confide.evaluation.settings import Settings, check_interval

        cuts = self.thresholds
        return Settings(
            level=self.level,
            interval=None if self.interval is None else check_interval(self.interval),
            thresholds=None if cuts is None else tuple(float(each) for each in np.atleast_1d(cuts)),
            regions=(*_regions("specificity", self.specificity), *_regions("sensitivity", self.sensitivity)),
            cost_ratio=self.cost_ratio,
            replicates=self.replicates,
            seed=self.seed,
        )

    def values_of(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of fields by name."""
        return {name: getattr(self, name) for name in names}


def _regions(axis: Literal["specificity", "sensitivity"], ranges: Any) -> tuple[PartialRegion, ...]:
    """Return the regions of one range or of several."""
    if ranges is None:
        return ()
    import numpy as np

    from confide.evaluation.settings import PartialRegion

    several = np.atleast_2d(np.asarray(ranges, dtype=np.float64))
    if several.ndim != 2 or several.shape[1] != 2:
        raise ParameterError(f"`{axis}` must be a range (low, high) or several, for example (0.9, 1)")
    return tuple(PartialRegion(axis=axis, lower=float(low), upper=float(high)) for low, high in several)
