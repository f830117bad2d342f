"""Plan a release, tables of noisy counts, or an exact study, before anything is read or spent.

Such a release has no single interval. A plan compares the noise instead: for curves the error that the strategy of
counting predicts, for features the noise of one count. No data are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.intervals.sample_size import (
    SamplePlan,
    auc_power,
    auc_sample_size,
    comparison_power,
    comparison_sample_size,
)
from confide.intervals.validation_size import ValidationPlan, validation_sample_size
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.learning.selection import DEFAULT_MOST_FEATURES
from confide.learning.selection_methods import prepare_selection
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import LEAST_EPSILON, Exact, Guarantee
from confide.privacy.mechanisms.feature_counts import concentrated_feature_counts, feature_counts
from confide.privacy.mechanisms.row_limits import UNITS
from confide.privacy.mechanisms.score_perturbation import concentrated_scores, perturbed_scores
from confide.privacy.mechanisms.strategies import best_strategy, predicted_error
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery
from confide.releases import plan as planner
from confide.releases.counting import FAMILIES, Counting
from confide.releases.grids import balanced_cells, cell_deviation, worthwhile_cells
from confide.releases.plan import USUAL_PREVALENCE
from confide.releases.plan_result import Plan, QuestionPlan, QuestionWay, Share, checked_questions, question_shares
from confide.releases.simulation import make_stand_in
from confide.releases.terms import Terms
from confide.tasks.requests.options import verb_of
from confide.tasks.requests.plan import NAIVE_BAYES, SELECTION, ExactPlanRequest, PlanRequest

ExactPlan = SamplePlan | ValidationPlan


@verb_of(ExactPlanRequest)
def plan_exact(request: ExactPlanRequest) -> ExactPlan:
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
    return _QUESTIONS[request.exact](request.terms())


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


SCHEMA = "confide.table-plan/1"

_FEATURES = 10 * DEFAULT_MOST_FEATURES  # of rows that stand for others: more than count of one row


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Ways to release a number of tables of one kind from one account. `error` says what the error of a way is."""

    kind: str
    rows: int
    neighbours: Neighbours
    error: str
    questions: QuestionPlan
    assumptions: tuple[str, ...]

    @property
    def in_rows(self) -> bool:
        """True if errors are numbers of rows, False if they are rates."""
        return self.kind in (SELECTION, NAIVE_BAYES)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        plain = self.questions.to_dict()
        ways = [_without_width(way) for way in plain["ways"]]
        return {
            "schema": SCHEMA,
            "metric": self.kind,
            "rows": self.rows,
            "neighbours": self.neighbours.value,
            "error": self.error,
            **plain,
            "best": _without_width(plain["best"]),
            "ways": ways,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of table: the guarantee of a release with a noise, and its error, at an epsilon and a delta."""

    guarantee: Callable[[str, Fraction, Fraction], Guarantee]
    error: Callable[[str, Fraction, Fraction], float]


def plan_tables(
    kind: str,
    *,
    rows: int,
    epsilon: Exact,
    prevalence: float | None = None,
    delta: Exact = 0,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    questions: int = 1,
) -> TablePlan:
    """Divide an account's epsilon and delta among tables of one kind, by each noise and composition.

    `kind` is one of `TABLES`. `prevalence` is a guess of the share of positives, for curves.

    >>> plan_tables("roc", rows=5000, epsilon=3, delta="1e-6", questions=50).questions.best.share.composition
    'zcdp'
    """
    many = checked_questions(questions)
    terms = Terms.checked(epsilon=epsilon, delta=delta, neighbours=neighbours)
    of_features = kind in (SELECTION, NAIVE_BAYES)
    if of_features and prevalence is not None:
        raise ParameterError(f"a prevalence does not matter to the noise of {kind}; leave it out")
    share = USUAL_PREVALENCE if prevalence is None else prevalence
    stand_in = make_stand_in("auc", rows, share)  # refuses wrong numbers
    found = _features(kind, terms.neighbours) if of_features else _curve(stand_in.positives, stand_in.negatives, terms)
    ways = tuple(sorted(_ways(found, many, terms), key=lambda way: way.share.composition))
    if not ways:
        raise ParameterError(
            f"epsilon is too small for {many:,} questions; ask fewer, or open the account with a larger one"
        )
    return TablePlan(
        kind=kind,
        rows=stand_in.rows,
        neighbours=terms.neighbours,
        error=_ERRORS[kind],
        questions=QuestionPlan(questions=many, epsilon=terms.epsilon, delta=terms.delta, ways=ways),
        assumptions=_assumptions(kind, terms.neighbours, prevalence),
    )


def table_parameters(planned: TablePlan) -> dict[str, object]:
    """Return the parameters of each release of the best way."""
    share, kind = planned.questions.best.share, planned.kind
    return {
        **({} if kind in (SELECTION, NAIVE_BAYES) else {"metrics": kind}),
        "epsilon": share.epsilon,
        **({"delta": share.delta} if share.delta else {}),
        "neighbours": planned.neighbours.value,
        "mechanism": share.mechanism,
    }


def _ways(kind: _Kind, questions: int, terms: Terms) -> Iterator[QuestionWay]:
    for noise in FAMILIES:
        if noise == "gaussian" and not terms.delta:
            continue
        try:
            guarantee = kind.guarantee(noise, terms.epsilon, _delta(noise, terms.delta))
        except ParameterError:
            continue

        def rho_of(epsilon: Fraction) -> Fraction:
            return kind.guarantee("gaussian", epsilon, terms.delta).rho or Fraction(0)

        for share in question_shares(questions, terms, noise, guarantee, rho_of=rho_of):
            if share.epsilon >= LEAST_EPSILON and (error := _error(kind, share)) is not None:
                yield QuestionWay(share=share, mean_absolute_error=error, population_width=math.nan)


def _error(kind: _Kind, share: Share) -> float | None:
    """Return the error of a way; None where its noise is too large for the mechanism."""
    try:
        return kind.error(share.mechanism, share.epsilon, share.delta)
    except ParameterError:
        return None


def _curve(positives: int, negatives: int, terms: Terms) -> _Kind:
    """Return curves of so many rows, on cells that follow the scores."""
    sizes, neighbours = np.array([positives, negatives], dtype=np.float64), terms.neighbours

    def counting(noise: str, epsilon: Fraction, delta: Fraction) -> Counting:
        asked = Terms.checked(epsilon=epsilon, delta=delta, neighbours=neighbours)
        return Counting.checked(asked, mechanism=noise)

    def guarantee(noise: str, epsilon: Fraction, delta: Fraction) -> Guarantee:
        asked = Terms.checked(epsilon=epsilon, delta=delta, neighbours=neighbours)
        rho = counting(noise, epsilon, delta).whole_rho
        return asked.guarantee(needs_delta=rho is not None, rho=rho)

    def error(noise: str, epsilon: Fraction, delta: Fraction) -> float:
        found = counting(noise, epsilon, delta)
        deviation = cell_deviation(neighbours, found.left, found.rho)
        if neighbours == Neighbours.LABEL_ONLY:
            cells = worthwhile_cells(positives + negatives, epsilon)
        else:
            cells = balanced_cells(sizes, deviation)
        return curve_error(sizes, deviation, cells, gaussian=found.rho is not None)

    return _Kind(guarantee=guarantee, error=error)


def curve_error(sizes: Any, deviation: float, cells: int, *, gaussian: bool) -> float:
    """Return the root mean square error of both rates of a ROC curve at the edges of cells.

    Noise of one level has the `deviation`; the best strategy says how it adds up. Within a cell rows lie
    `sqrt(n / 6K)` rows off a smooth curve, by chance: see `following_cells.balanced_cells`.
    """
    strategy = best_strategy(cells, gaussian=gaussian)
    noise = predicted_error(strategy, cells, gaussian=gaussian) * deviation**2
    return math.sqrt(float(((noise + sizes / (6.0 * cells)) / sizes**2).sum()))


def _features(kind: str, neighbours: Neighbours) -> _Kind:
    """Return a selection by perturbed scores or a naive Bayes model, with their default limits on rows."""
    rows = FeatureRows.from_matrix(np.zeros((2, _FEATURES)), np.array([True, False]))
    score, recipe = _score(neighbours), Recipe()
    counted = recipe.limit

    def guarantee(noise: str, epsilon: Fraction, delta: Fraction) -> Guarantee:
        given: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "mechanism": noise,
            "neighbours": neighbours,
        }
        if kind == NAIVE_BAYES:
            return prepare_naive_bayes(rows, recipe=recipe, **given).guarantee
        return prepare_selection(rows, method="score-perturbation", score=score, k=1, **given).guarantee

    def query(noise: str, epsilon: Fraction, delta: Fraction) -> tuple[IntegerQuery, int]:
        rho = _counts_rho(guarantee(noise, epsilon, delta), kind, recipe)
        if kind == SELECTION:
            most = DEFAULT_MOST_FEATURES
            if rho is None:
                return perturbed_scores(rows, score, epsilon, neighbours, most_features=most), 1
            return concentrated_scores(rows, score, rho, neighbours, most_features=most), 1
        if rho is None:
            return feature_counts(rows, epsilon * (1 - recipe.calibration), neighbours, limit=counted), UNITS
        return concentrated_feature_counts(rows, rho, neighbours, limit=counted), UNITS

    def error(noise: str, epsilon: Fraction, delta: Fraction) -> float:
        found, units = query(noise, epsilon, delta)
        return float(found.scales[0]) / units * (math.sqrt(2.0) if found.family == "laplace" else 1.0)

    return _Kind(guarantee=guarantee, error=error)


def _counts_rho(guarantee: Guarantee, kind: str, recipe: Recipe) -> Fraction | None:
    """Return the rho of the counts, without that of a model's pure histogram of scores; None for Laplace noise."""
    if guarantee.rho is None or kind == SELECTION:
        return guarantee.rho
    return guarantee.rho - rho_of_pure(guarantee.epsilon * recipe.calibration)


def _score(neighbours: Neighbours) -> str:
    """Return the score of features: counts of rows are public under label-only."""
    return "difference-count" if neighbours == Neighbours.LABEL_ONLY else "total-count"


def _delta(noise: str, delta: Fraction) -> Fraction:
    return delta if noise == "gaussian" else Fraction(0)


_RATES = "root mean square error of both rates of the ROC curve, at the edges of cells"
_ERRORS = {
    "roc": _RATES,
    "pr": f"{_RATES}, which come from the same table",
    SELECTION: "standard deviation of the noise of a feature's score, in rows",
    NAIVE_BAYES: "standard deviation of the noise of a feature's count in a class, in rows",
}


def _assumptions(kind: str, neighbours: Neighbours, prevalence: float | None) -> tuple[str, ...]:
    if kind == SELECTION:
        return (
            f"The plan assumes the method score-perturbation and the score {_score(neighbours)}, with at most "
            f"{DEFAULT_MOST_FEATURES} features of a row.",
        )
    if kind == NAIVE_BAYES:
        return ("The plan assumes the default row weight and calibration of `confide train`.",)
    guess = [] if prevalence is not None else [f"No prevalence was given: the plan assumes {USUAL_PREVALENCE:g}."]
    return (*guess, "The plan assumes the default cells, which follow the scores.")


def _without_width(way: dict[str, Any]) -> dict[str, Any]:
    """Return a way without the width of an interval, which a table has none of."""
    return {name: value for name, value in way.items() if name != "population_width"}


@verb_of(PlanRequest)
def plan(request: PlanRequest) -> Plan | TablePlan:
    """Return the error of a private metric and the widths of its intervals, for each mechanism.

    No data are read: a stand-in with the guessed rows is released many times. Curves ("roc", "pr"), "selection" of
    features and "naive-bayes" have no single interval: for them the plan compares the noise of each way to divide
    epsilon and delta.

    Parameters
    ----------
    metric, rows
        The metric, and the number of rows or a guess of it.
    prevalence, expected
        Guesses of the share of positives and of the value of the metric. Give the same `prevalence` to the release.
    epsilon, width
        The budget of the release, or the width that an interval should have, or both.
    delta, neighbours, level
        The other terms of the release.
    curve
        Whether to compute the widths at other epsilons, which takes most of the time.
    questions
        Number of such releases in one account, whose caps are `epsilon` and `delta`. The plan then says what each gets
        if epsilons add up, and what in an account of composition zcdp, and which error is smaller.

    >>> plan("auc", rows=1000, prevalence=0.2, expected=0.8, epsilon=1, curve=False).auto
    'local'
    """
    rows, epsilon = request.rows, request.epsilon
    if request.table is not None and epsilon is not None:
        return plan_tables(
            request.table,
            rows=rows,
            epsilon=epsilon,
            prevalence=request.prevalence,
            delta=request.delta,
            neighbours=request.neighbours,
            questions=1 if request.questions is None else request.questions,
        )
    return planner.plan(
        request.metric,
        rows=rows,
        prevalence=request.prevalence,
        expected=request.expected,
        epsilon=epsilon,
        width=request.width,
        delta=request.delta,
        neighbours=request.neighbours,
        level=request.level,
        curve=request.curve,
        questions=request.questions,
    )


def release_parameters(planned: Plan | TablePlan, *, prevalence: float | None = None) -> dict[str, object]:
    """Return the parameters of `confide.release` that do what was planned, with the recommended mechanism.

    If many questions were planned, they are the parameters of each question. For a selection or a model they are those
    of `confide.select` or `confide.train`.
    """
    if isinstance(planned, TablePlan):
        return table_parameters(planned)
    epsilon, delta, mechanism = planned.epsilon, planned.delta, planned.recommended.mechanism
    if planned.questions is not None:
        share = planned.questions.best.share
        epsilon, delta, mechanism = share.epsilon, share.delta, share.mechanism
    return {
        "metrics": planned.metric,
        "epsilon": epsilon,
        **({"delta": delta} if delta else {}),
        **({"neighbours": planned.neighbours.value} if planned.neighbours != "replace-one" else {}),
        **({"mechanism": mechanism} if mechanism != planned.auto else {}),
        **({"prevalence_guess": prevalence} if prevalence is not None else {}),
    }
