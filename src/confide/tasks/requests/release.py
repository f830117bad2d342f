"""Request for a private release of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, optional

if TYPE_CHECKING:
    from confide.grid import Grid
    from confide.learning.workflow import Workflow
    from confide.ledger.payer import LedgerPlace
    from confide.ledger.question import PublicQuestion
    from confide.privacy.guarantee import Exact
    from confide.releases.operating import Target
    from confide.tasks.release_terms import ReleaseTerms

GRIDS = (
    "arcsine:32, uniform:16, uniform:16:-4:4, logit:64, edges:0,0.1,0.3,1 or public:FILE:COLUMN:16 (quantiles of "
    "public scores); or, for a fifth of epsilon, quantiles:16, quantiles:16:-4:4 (of the private ones) or medians:10"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleaseRequest:
    """Request for metrics of private rows. `confide.release` says what the fields mean.

    A request that was made is right in itself: its parameters were tried on made-up rows. `source` is a path, the
    location of a table, or rows in memory, `metrics` are names of the registry, `target` is parsed, and `terms` are
    what follows. No row was read yet.
    """

    source: Any = field(kw_only=False, repr=False)
    label: str | None = field(default=None, metadata=options.LABEL)
    score: str | None = optional(None, "-s", metavar="COL", repeat=Repeat.REFUSED, help="Column of scores, one.")
    model: str | Path | Workflow | None = optional(
        None,
        metavar="MODEL.json",
        kind=Path,
        help="Instead of columns: the file that `confide train` wrote; run on held-out rows.",
    )
    positive: object = field(default=None, metadata=options.PRIVATE_POSITIVE)
    metrics: str | Sequence[str] = optional(
        "auc",
        *("--metric", "-m"),
        metavar="NAME",
        choices=options.METRICS,
        repeat=Repeat.COMMAS,
        help="Metric to release; repeatable, or several with commas. [default: auc]",
    )
    epsilon: Exact | None = optional(
        None,
        "-e",
        metavar="E",
        help="Privacy budget of this release, for example 1 or 1/3. [default with --model: that of its workflow]",
    )
    delta: Exact = field(default=0, metadata=options.DELTA)
    neighbours: str | None = optional(
        None,
        metavar="RELATION",
        choices=options.NEIGHBOURS,
        help="What may differ: a row's values (replace-one), its presence (add-remove-one) or its label "
        "(label-only). [default: replace-one; with --model that of the training]",
    )
    mechanism: str = optional(
        "auto",
        metavar="NAME",
        help="Mechanism that adds noise; auto chooses from public facts alone. For comparison with the papers: "
        "pareto, student-t, published-cauchy, published-laplace; of curves laplace-per-point, fixed-space, "
        "recursive-medians, symmetric-binormal.",
    )
    threshold: float | None = optional(
        None,
        "-t",
        metavar="T",
        kind=float,
        repeat=Repeat.REFUSED,
        help="For confusion measures, one: score >= T is positive. [default: 0.5]",
    )
    grid: Grid | str | None = optional(
        None,
        metavar="KIND:CELLS",
        help=f"Cells of scores, for curves and private-counts: {GRIDS}. [default: cells on 0 to 1, for "
        "probabilities; under label-only cells with equally many rows]",
    )
    strategy: str = optional(
        "auto",
        metavar="NAME",
        choices=options.STRATEGIES,
        help="How cells of curves are counted: flat, tree, tree:8, haar or auto.",
    )
    shape: str | None = optional(
        None,
        metavar="NAME",
        choices=options.SHAPES,
        help="Shape of curves: concave (default), isotonic, counts, binormal or roc-glm; costs nothing.",
    )
    target: Target | str | None = optional(
        None,
        metavar="MEASURE=P",
        repeat=Repeat.REFUSED,
        help="Choose a threshold from the curves: recall=0.9 or specificity=0.9.",
    )
    safe: bool = optional(False, kind=bool, help="With --target: the lower end of its interval must reach the target.")
    with_auc: bool = optional(
        False, kind=bool, help="With curves: a quarter of epsilon for an AUC of its own; for scores with few values."
    )
    prevalence_guess: float | None = optional(
        None, metavar="P", kind=float, help="A public guess of the share of positives; steers the noise."
    )
    unit: str | None = optional(
        None,
        metavar="UNIT",
        choices=options.UNITS,
        help="What it protects: row or person. [default: row; with --model that of the training]",
    )
    rows_per_person: int | None = field(default=None, metadata=options.ROWS_PER_PERSON)
    level: float = field(default=0.95, metadata=options.LEVEL)
    data_name: str | None = optional(
        None,
        metavar="TEXT",
        help="With --table: the declared name and version of its rows, which identify them in the ledger.",
    )
    question: PublicQuestion | None = None
    ledger: LedgerPlace = field(default=None, repr=False, metadata=options.LEDGER)
    account: str | None = field(default=None, metadata=options.ACCOUNT)
    analyst: str | None = field(default=None, metadata=options.ANALYST)
    also_charge: bool = field(default=False, metadata=options.ALSO_CHARGE)
    reveal: bool = optional(
        False, kind=bool, help="Draw exact curves on the report too. It is then NOT private and must not be published."
    )

    terms: ReleaseTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from confide.releases.curves_release import CURVES
        from confide.releases.registry import metrics_named
        from confide.sources.locations import as_location
        from confide.tasks.release_terms import ReleaseTerms

        source = as_location(self.source)
        self._set("source", Path(source) if isinstance(source, str) else source)
        self._name_counts()
        self._check_scores()
        self._set("metrics", metrics_named(self.metrics))
        self._set("target", self._target())
        if self.reveal and not any(name in (*CURVES, "curves") for name in self.metrics):
            raise ParameterError("`reveal` draws exact curves; ask for roc, pr, calibration or counts, or leave it out")
        self._set("terms", ReleaseTerms.of(self))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _name_counts(self) -> None:
        """Name what a `ScoreCounts` counted as the question does, whose names are all that is known."""
        from confide.counts import ScoreCounts

        asked = self.question
        if asked is None or not isinstance(self.source, ScoreCounts):
            return
        self._set("label", self.label or asked.label or "label")
        self._set("score", self.score or str(asked.details.get("score", "score")))
        self._set("positive", asked.positive if self.positive is None else self.positive)

    def _check_scores(self) -> None:
        """Refuse names of columns that contradict the model or each other."""
        if self.model is not None:
            for name in ("label", "score", "positive"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"`{name}` is defined by the file of `model`; leave it out")
            return
        if self.label is None or self.score is None:
            raise ParameterError("name the columns of labels and of scores (`label` and `score`), or give `model`")
        if self.label == self.score:
            raise ParameterError(
                f"column {self.label!r} cannot be both label and score; name the column that holds scores"
            )

    def _target(self) -> Target | None:
        from confide.releases.operating import Target

        if self.target is None:
            if self.safe:
                raise ParameterError(
                    "`safe` is for a threshold that is chosen; give a `target`, for example recall=0.9"
                )
            return None
        return self.target if isinstance(self.target, Target) else Target.parse(self.target, safe=self.safe)
