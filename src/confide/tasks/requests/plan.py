"""Requests for a plan: of a private release, or of a study without privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError, did_you_mean
from confide.metrics.names import metric_named
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, option, optional

if TYPE_CHECKING:
    from confide.privacy.guarantee import Exact

SELECTION, NAIVE_BAYES = "selection", "naive-bayes"
TABLES = ("roc", "pr", SELECTION, NAIVE_BAYES)
"""Releases of tables that can be planned."""

_ROWS = option("-n", metavar="N", kind=int, help="Number of rows, or a guess of it.")
_PREVALENCE = option(
    metavar="P",
    kind=float,
    help="A public guess of the share of positives; give it to the release too. [default: 0.2; none for --exact]",
)
_WIDTH = option(
    metavar="W", kind=float, help="Find the epsilon, or with --exact the rows, for an interval of this width."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Request to plan a private release. `confide.plan` says what the fields mean."""

    metric: str = field(
        default="auc",
        kw_only=False,
        metadata=option("-m", metavar="NAME", help="auc, average_precision, brier, prevalence, recall, ..."),
    )
    rows: int = field(metadata=_ROWS)
    prevalence: float | None = field(default=None, metadata=_PREVALENCE)
    expected: float | None = optional(
        None,
        "--expect",
        metavar="V",
        kind=float,
        help="A guess of the value of the metric. [default: that of a model with AUC 0.8]",
    )
    epsilon: Exact | None = optional(None, "-e", metavar="E", help="Privacy budget of the release.")
    width: float | None = field(default=None, metadata=_WIDTH)
    delta: Exact = field(default=0, metadata=options.DELTA)
    questions: int | None = optional(
        None, metavar="K", kind=int, help="Divide epsilon and delta among K such releases in one account."
    )
    neighbours: str = optional(
        "replace-one", metavar="RELATION", help="What may differ: replace-one, add-remove-one or label-only."
    )
    level: float = field(default=0.95, metadata=options.LEVEL)
    curve: bool = True

    def __post_init__(self) -> None:
        if self.table is not None and not (self.expected is self.width is None is not self.epsilon):
            raise ParameterError(
                f"{self.table} has no single value or interval; give epsilon, and leave `expected` and `width` out"
            )

    @property
    def table(self) -> str | None:
        """Return the kind of table that the metric stands for; None if it is a number."""
        name = metric_named(self.metric)
        return next((kind for kind in TABLES if kind.replace("-", "_") == name), None)


_EXACT = "Exact plans (--exact)"
_VALIDATION = "Exact plans of a validation (--exact validation)"

_SHARED = ("auc", "prevalence", "rows", "level")
_TESTED = ("power", "width", "one_sided", "variance")
_WIDTHS = ("oe_width", "slope_width", "auc_width", "net_benefit_width")
_MODEL = ("lp_mean", "lp_sd", "risk_beta", "oe", "threshold", "sensitivity", "specificity")
TAKES: Mapping[str, tuple[str, ...]] = {
    "auc": (*_SHARED, "null", *_TESTED),
    "compare": (*_SHARED, *_TESTED, "correlation", "auc_correlation", "unpaired"),
    "validation": (*_SHARED, *_WIDTHS, *_MODEL),
}
"""Terms of each question."""


def _exact(metavar: str, description: str, *, panel: str = _EXACT, kind: type = float) -> Any:
    return option(metavar=metavar, kind=kind, panel=panel, help=description)


def _validation(metavar: str, description: str, *, kind: type = float) -> Any:
    return _exact(metavar, description, panel=_VALIDATION, kind=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPlanRequest:
    """Request to plan a study without privacy. A term that is None has its default, if there is one."""

    exact: str = field(
        kw_only=False,
        metadata=_exact(
            "QUESTION",
            "Plan without privacy: auc (one AUC), compare (two AUCs) or validation (Riley et al. 2021).",
            kind=str,
        ),
    )
    auc: float | Sequence[float] | None = optional(
        None,
        metavar="A",
        kind=float,
        repeat=Repeat.LISTED,
        panel=_EXACT,
        help="AUC that is expected; twice for compare.",
    )
    rows: int | None = field(default=None, metadata=_ROWS)
    prevalence: float | None = field(default=None, metadata=_PREVALENCE)
    width: float | None = field(default=None, metadata=_WIDTH)
    level: float | None = field(default=None, metadata=options.LEVEL)
    null: float | None = field(default=None, metadata=_exact("A", "AUC to test against. [default: 0.5 with --power]"))
    power: float | None = field(default=None, metadata=_exact("P", "Find the rows that test with this power."))
    correlation: float | tuple[float, float] | None = field(
        default=None, metadata=_exact("R", "Correlation of the two scores within a class.")
    )
    auc_correlation: float | None = field(
        default=None, metadata=_exact("R", "Correlation of the two AUCs, in place of --correlation.")
    )
    unpaired: bool = optional(False, kind=bool, panel=_EXACT, help="The two models score different rows.")
    one_sided: bool = optional(False, kind=bool, panel=_EXACT, help="Plan a one-sided test.")
    variance: str | None = field(
        default=None,
        metadata=_exact(
            "MODEL",
            "Variance of AUC: normal, hanley-mcneil, or obuchowski as in R's pROC. [default: normal]",
            kind=str,
        ),
    )
    lp_mean: float | None = field(
        default=None,
        metadata=_validation(
            "M",
            "Mean of the linear predictor (log-odds), with --lp-sd. [default: follows from AUC and prevalence]",
        ),
    )
    lp_sd: float | None = field(default=None, metadata=_validation("S", "Standard deviation of the linear predictor."))
    risk_beta: tuple[float, float] | None = field(
        default=None,
        metadata=_validation("A B", "Beta distribution of risks, in place of --lp-mean.", kind=tuple[float, float]),
    )
    oe: float | None = field(default=None, metadata=_validation("R", "Observed : expected to plan for. [default: 1]"))
    oe_width: float | None = field(
        default=None, metadata=_validation("W", "Width for observed : expected. [default: 0.2]")
    )
    slope_width: float | None = field(
        default=None, metadata=_validation("W", "Width for the calibration slope. [default: 0.2]")
    )
    auc_width: float | None = field(default=None, metadata=_validation("W", "Width for AUC. [default: 0.1]"))
    threshold: float | None = field(default=None, metadata=_validation("T", "Also plan net benefit at this threshold."))
    net_benefit_width: float | None = field(
        default=None, metadata=_validation("W", "Width for standardised net benefit. [default: 0.2]")
    )
    sensitivity: float | None = field(
        default=None,
        metadata=_validation("P", "Sensitivity at the threshold. [default: follows from the linear predictor]"),
    )
    specificity: float | None = field(
        default=None, metadata=_validation("P", "Specificity at the threshold, likewise.")
    )

    def __post_init__(self) -> None:
        if self.exact not in TAKES:
            hint = did_you_mean(self.exact, TAKES)
            raise ParameterError(f"`exact` must be one of {', '.join(TAKES)}; got {self.exact!r}. {hint}".strip())
        given = self.terms()
        for name in given:
            if name not in TAKES[self.exact]:
                raise ParameterError(f"`exact={self.exact}` takes no `{name}`; {_who_takes(name)}")
        for name in ("auc", "prevalence"):
            if name not in given:
                raise ParameterError(f"`exact={self.exact}` needs `{name}`, as it is expected; give it")

    def terms(self) -> dict[str, Any]:
        """Return the terms that were given."""
        every = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "exact"}
        return {name: value for name, value in every.items() if value is not None and value is not False}


def _who_takes(name: str) -> str:
    takers = " or ".join(f"`exact={question}`" for question, names in TAKES.items() if name in names)
    return f"it belongs to {takers}; leave it out" if takers else "leave it out"
