"""Plan an exact evaluation: the rows that it needs, or what a number of rows gives. No data are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from confide.errors import ParameterError, did_you_mean
from confide.intervals.sample_size import (
    SamplePlan,
    auc_power,
    auc_sample_size,
    comparison_power,
    comparison_sample_size,
)
from confide.intervals.validation_size import ValidationPlan, validation_sample_size

ExactPlan = SamplePlan | ValidationPlan


class ExactTerms(TypedDict, total=False):
    """Terms of an exact plan. One that is missing or None has its default, if there is one."""

    auc: float | Sequence[float] | None
    rows: int | None
    prevalence: float | None
    null: float | None
    power: float | None
    width: float | None
    one_sided: bool | None
    variance: str | None
    correlation: float | tuple[float, float] | None
    auc_correlation: float | None
    unpaired: bool | None
    lp_mean: float | None
    lp_sd: float | None
    risk_beta: tuple[float, float] | None
    oe: float | None
    oe_width: float | None
    slope_width: float | None
    auc_width: float | None
    threshold: float | None
    sensitivity: float | None
    specificity: float | None
    net_benefit_width: float | None
    level: float | None


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


def plan_exact(exact: str, **terms: Unpack[ExactTerms]) -> ExactPlan:
    """Return the rows that an exact evaluation needs, or what `rows` of them give.

    Parameters
    ----------
    exact
        The question: "auc" (one AUC, tested against `null` or estimated), "compare" (two AUCs), or "validation" (an
        external validation by the criteria of Riley et al.).
    **terms
        The terms of the question. See `auc_sample_size`, `comparison_sample_size` and `validation_sample_size` of
        `confide.intervals`; with `rows`, those of `auc_power` and `comparison_power`.

    >>> plan_exact("auc", auc=0.8, null=0.7, prevalence=0.3, power=0.9).rows
    295
    """
    if exact not in TAKES:
        known = ", ".join(TAKES)
        raise ParameterError(f"`exact` must be one of {known}; got {exact!r}. {did_you_mean(exact, TAKES)}".strip())
    given: dict[str, Any] = {name: value for name, value in terms.items() if value is not None}
    for name in given:
        if name not in TAKES[exact]:
            raise ParameterError(f"`exact={exact}` takes no `{name}`; {_who_takes(name)}")
    for name in ("auc", "prevalence"):
        if name not in given:
            raise ParameterError(f"`exact={exact}` needs `{name}`, as it is expected; give it")
    return _QUESTIONS[exact](given)


def _one_auc(given: dict[str, Any]) -> SamplePlan:
    expected = _one(given.pop("auc"))
    return (auc_power if _has_rows(given) else auc_sample_size)(expected, **given)


def _two_aucs(given: dict[str, Any]) -> SamplePlan:
    expected = given.pop("auc")
    return (comparison_power if _has_rows(given) else comparison_sample_size)(expected, **given)


def _validation(given: dict[str, Any]) -> ValidationPlan:
    return validation_sample_size(**{**given, "auc": _one(given["auc"])})


_QUESTIONS: Mapping[str, Callable[[dict[str, Any]], ExactPlan]] = {
    "auc": _one_auc,
    "compare": _two_aucs,
    "validation": _validation,
}


def _one(auc: float | Sequence[float]) -> float:
    if not isinstance(auc, Sequence):
        return auc
    if len(auc) != 1:
        raise ParameterError("give `auc` once; two are for `exact=compare`")
    return auc[0]


def _has_rows(given: Mapping[str, object]) -> bool:
    for name in ("power", "width"):
        if "rows" in given and name in given:
            raise ParameterError(
                f"`rows` and `{name}` exclude each other; give `rows` to see what they give, or `{name}` to see how "
                "many rows it needs"
            )
    return "rows" in given


def _who_takes(name: str) -> str:
    takers = " or ".join(f"`exact={question}`" for question, names in TAKES.items() if name in names)
    return f"it belongs to {takers}; leave it out" if takers else "leave it out"
