"""Plan a contest: what its board and its final will be worth, before anything is read.

Contests are simulated (see `simulation`) with exact labels and with labels masked at the planned epsilon, at half of it
and at twice it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.estimators import ratio_form, score_entry
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.ranks import difference_variances
from confide.contest.shaped_final import ShapedFinal
from confide.contest.simulation import (
    LEAST_ERROR,
    MOST_ERROR,
    TYPICAL_ERROR,
    BoardQuality,
    Scenario,
    draw_labels,
    draw_signal,
    entry_scores,
    signal_of,
    simulate_board,
)
from confide.contest.terms import FinalMechanism
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.metrics.names import Better
from confide.privacy.accounting import rho_for
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import checked_delta, checked_epsilon
from confide.privacy.mechanisms.masked_labels import flip_probability
from confide.privacy.mechanisms.shaped_gaussian import shaped_scale

MOST_SIMULATED_FINAL_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPlan:
    """Worth of a final: standard deviations of the difference of two finalists, by noise and by sampling."""

    mechanism: FinalMechanism
    epsilon: Fraction
    delta: Fraction
    rows: int
    finalists: int
    certainty: float
    noise: float
    sampling: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "mechanism": self.mechanism.value,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "rows": self.rows,
            "finalists": self.finalists,
            "certainty": self.certainty,
            "noise": self.noise,
            "sampling": self.sampling,
        }


def plan_final(
    scenario: Scenario, rows: int, *, epsilon: Fraction, delta: Fraction, finalists: int, rng: np.random.Generator
) -> FinalPlan:
    """Return the noise of a final of the best teams, simulated: shaped if delta is above 0 and the metric is linear.

    More than 20,000 rows are simulated with 20,000; a standard deviation falls with the root of rows, and that of
    shaped noise with the number of rows.
    """
    shaped = delta > 0 and scenario.metric.kind.linear
    simulated = replace(scenario, rows=min(rows, MOST_SIMULATED_FINAL_ROWS))
    labels = draw_labels(simulated, rng)
    seen = draw_signal(simulated, labels, rng)
    worst = LEAST_ERROR + (MOST_ERROR - LEAST_ERROR) * min(finalists / scenario.teams, 1.0)
    scores = []
    for _ in range(finalists):
        own = rng.standard_normal(simulated.rows, dtype=np.float32)
        scores.append(entry_scores(simulated, seen, own, rng.uniform(LEAST_ERROR, worst), rng))
    noise = _shaped_noise if shaped else _masked_noise
    smaller = simulated.rows / rows
    return FinalPlan(
        mechanism=FinalMechanism.SHAPED if shaped else FinalMechanism.MASKED,
        epsilon=epsilon,
        delta=delta if shaped else Fraction(0),
        rows=rows,
        finalists=finalists,
        certainty=success_bound(float(epsilon), float(delta) if shaped else 0.0),
        noise=noise(scenario.metric, scores, labels, epsilon, delta) * (smaller if shaped else math.sqrt(smaller)),
        sampling=_sampling(scenario.metric, scores, labels) * math.sqrt(smaller),
    )


def _sampling(metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_]) -> float:
    exact = MaskedLabels(labels, Fraction(0))
    influence = np.array([score_entry(metric, one, exact).influence for one in scores])
    return _typical_difference(influence @ influence.T / labels.size**2)


def _masked_noise(
    metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_], epsilon: Fraction, delta: Fraction
) -> float:
    exact = MaskedLabels(labels, Fraction(0))
    gradients = []
    for one in scores:
        form = ratio_form(metric, one, exact)
        gradients.append(form.in_rows(form.gradient[0] - form.value * form.gradient[1]) / form.safe_denominator)
    flip = float(flip_probability(epsilon))
    matrix = np.array(gradients)
    return _typical_difference(flip * (1.0 - flip) / (1.0 - 2.0 * flip) ** 2 * (matrix @ matrix.T))


def _shaped_noise(
    metric: ContestMetric, scores: Sequence[FloatArray], labels: NDArray[np.bool_], epsilon: Fraction, delta: Fraction
) -> float:
    final = ShapedFinal.of(metric, scores)
    scale = float(shaped_scale(final.strategy.lines, rho_for(epsilon, delta)))
    jacobian = np.zeros((len(scores), len(final.strategy.back)))
    for number, form in enumerate(final.forms):
        total, positives = float(form.coefficients[labels].sum()), float(labels.sum())
        by_total, by_positives = form.derivatives(total, positives, labels.size)
        jacobian[number, number] = by_total
        jacobian[number, -1] = by_positives
    spread = scale * jacobian @ final.strategy.back
    return _typical_difference(spread @ spread.T)


def _typical_difference(covariance: FloatArray) -> float:
    """Return the root of the mean variance of the difference of two entries."""
    differences = difference_variances(covariance)
    return math.sqrt(float(differences.sum()) / (len(differences) * (len(differences) - 1)))


SCHEMA = "confide.contest-plan/1"
MOST_SIMULATED_ROWS = 100_000
_WORK = 60_000_000  # scores in all repetitions together, unless their number is given
_FEWEST, _MOST = 2, 40
_PRICED_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Mean of a number over repetitions, with the standard error of the mean."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Expected:
        """Average the numbers of all repetitions."""
        spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0
        return cls(value=float(np.mean(numbers)), standard_error=spread / math.sqrt(len(numbers)))

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return {"value": self.value, "standard_error": self.standard_error}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """Worth of a board whose answers are exact (`epsilon` is None) or come from labels masked at an epsilon.

    `rows_price` is the factor by which masking multiplies the variance of a score: the board is worth as much as an
    exact one with so many times fewer rows. `certainty` is the most that anybody can become sure of one label.
    """

    epsilon: Fraction | None
    certainty: float
    error: Expected
    kendall_tau: Expected
    leader_gap: Expected
    rows_price: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "answers": "exact" if self.epsilon is None else "masked",
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "certainty": self.certainty,
            "error": self.error.to_dict(),
            "kendall_tau": self.kendall_tau.to_dict(),
            "leader_gap": self.leader_gap.to_dict(),
            "rows_price": self.rows_price,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestPlan:
    """Plan of a contest: the worth of its board, by kind of answers, and of its final if there is one."""

    rows: int
    public_rows: int
    prevalence: float
    answers: int
    teams: int
    metric: ContestMetric
    auc: float
    epsilon: Fraction
    repetitions: int
    boards: tuple[AnswerPlan, ...]
    final: FinalPlan | None = None

    @property
    def planned(self) -> AnswerPlan:
        """Return the board at the planned epsilon."""
        return next(board for board in self.boards if board.epsilon == self.epsilon)

    @property
    def exact(self) -> AnswerPlan:
        """Return the board of exact answers."""
        return next(board for board in self.boards if board.epsilon is None)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what was assumed, in sentences."""
        teams = f"{self.teams:,} teams" if self.teams > 1 else "one team"
        lines = [
            f"Assumed: {teams}, whose entries get better and are correlated; normal scores with equal spread in both "
            f"classes; a typical team reaches AUC {self.auc:g}.",
        ]
        if self.public_rows > MOST_SIMULATED_ROWS:
            lines.append(f"Simulated with {MOST_SIMULATED_ROWS:,} rows: with more, scores are at least as good.")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "rows": self.rows,
            "public_rows": self.public_rows,
            "prevalence": self.prevalence,
            "answers": self.answers,
            "teams": self.teams,
            "metric": self.metric.to_dict(),
            "auc": self.auc,
            "epsilon": float(self.epsilon),
            "repetitions": self.repetitions,
            "boards": [board.to_dict() for board in self.boards],
            "final": None if self.final is None else self.final.to_dict(),
            "assumptions": list(self.assumptions),
        }


def usual_repetitions(public_rows: int, answers: int) -> int:
    """Return how often to simulate a contest, so that it takes seconds."""
    work = min(public_rows, MOST_SIMULATED_ROWS) * answers
    return min(max(_WORK // max(work, 1), _FEWEST), _MOST)


def plan_contest(
    rows: int,
    prevalence: float,
    answers: int,
    epsilon: object,
    *,
    teams: int = 50,
    public: float = 1.0,
    metric: str | ContestMetric = "auc",
    auc: float = 0.8,
    final_epsilon: object | None = None,
    final_delta: object = 0,
    finalists: int = 20,
    repetitions: int | None = None,
    rng: np.random.Generator,
    begin: Callable[[str], None] | None = None,
) -> ContestPlan:
    """Return what the board and the final of a contest will be worth.

    Parameters
    ----------
    rows, prevalence
        The number of rows with labels, and a guess of the share of positives.
    answers, teams
        The number of submissions in all, and of teams.
    epsilon
        The promise of the public part: labels are masked once.
    public
        The share of rows that the board is computed from; the others are for the final.
    metric, auc
        The metric of the contest, and the AUC that the last entry of a typical team has.
    final_epsilon, final_delta, finalists
        The promise of the final, and the number of finalists; no final without `final_epsilon`.
    repetitions
        The number of simulated contests; by default as many as take seconds.
    rng
        The source of randomness.
    begin
        Called with a name as each repetition begins.
    """
    chosen = metric if isinstance(metric, ContestMetric) else ContestMetric.checked(metric)
    price = checked_epsilon(epsilon)
    public_rows = _checked(rows, prevalence, answers, teams, public, auc, chosen)
    many = usual_repetitions(public_rows, answers) if repetitions is None else _whole(repetitions, "repetitions", 1)
    final_rows = rows - public_rows
    if final_epsilon is not None:
        _whole(finalists, "finalists", 2)
        if final_rows < 10:
            raise ParameterError("the final needs rows of its own; give `public` below 1, for example 0.5")
    scenario = Scenario(
        rows=min(public_rows, MOST_SIMULATED_ROWS),
        prevalence=float(prevalence),
        answers=answers,
        teams=min(teams, answers),
        metric=chosen,
        signal=signal_of(auc),
    )
    steps = begin or (lambda name: None)
    epsilons = (None, price / 2, price, price * 2)
    flips = [0.0 if one is None else float(flip_probability(one)) for one in epsilons]
    simulated = []
    for repetition in range(many):
        steps(f"contest {repetition + 1}")
        simulated.append(simulate_board(scenario, flips, rng))
    prices = _row_prices(scenario, flips, rng)
    boards = tuple(_answer_plan(one, [boards[k] for boards in simulated], prices[k]) for k, one in enumerate(epsilons))
    final = None
    if final_epsilon is not None:
        final = plan_final(
            scenario,
            final_rows,
            epsilon=checked_epsilon(final_epsilon),
            delta=checked_delta(final_delta),
            finalists=finalists,
            rng=rng,
        )
    return ContestPlan(
        rows=rows,
        public_rows=public_rows,
        prevalence=float(prevalence),
        answers=answers,
        teams=scenario.teams,
        metric=chosen,
        auc=auc,
        epsilon=price,
        repetitions=many,
        boards=boards,
        final=final,
    )


def _answer_plan(epsilon: Fraction | None, boards: Sequence[BoardQuality], price: float) -> AnswerPlan:
    return AnswerPlan(
        epsilon=epsilon,
        certainty=1.0 if epsilon is None else success_bound(float(epsilon)),
        error=Expected.of([board.error for board in boards]),
        kendall_tau=Expected.of([board.kendall_tau for board in boards]),
        leader_gap=Expected.of([board.leader_gap for board in boards]),
        rows_price=price,
    )


def _row_prices(scenario: Scenario, flips: Sequence[float], rng: np.random.Generator) -> list[float]:
    """Return the factor by which masking multiplies the variance of a typical entry's score."""
    typical = Scenario(
        rows=_PRICED_ROWS,
        prevalence=scenario.prevalence,
        answers=1,
        teams=1,
        metric=scenario.metric,
        signal=scenario.signal,
    )
    labels = draw_labels(typical, rng)
    seen = draw_signal(typical, labels, rng)
    own = rng.standard_normal(_PRICED_ROWS, dtype=np.float32)
    scores = entry_scores(typical, seen, own, TYPICAL_ERROR, rng)
    form = ratio_form(scenario.metric, scores, MaskedLabels(labels, Fraction(0)))
    projection = form.projection[0] - form.value * form.projection[1]
    gradient = form.gradient[0] - form.value * form.gradient[1]
    ratio = float(gradient @ gradient) / float(projection @ projection)
    return [1.0 + flip * (1.0 - flip) / (1.0 - 2.0 * flip) ** 2 * ratio for flip in flips]


def _checked(
    rows: int, prevalence: float, answers: int, teams: int, public: float, auc: float, metric: ContestMetric
) -> int:
    """Refuse parameters that no contest has; return the number of public rows."""
    for name, number, least in (("rows", rows, 10), ("answers", answers, 1), ("teams", teams, 1)):
        _whole(number, name, least)
    if min(teams, answers) < 2:
        raise ParameterError("a board needs at least two teams with an answer each; give more `teams` or `answers`")
    for name, share in (("prevalence", prevalence), ("auc", auc)):
        if not 0.0 < share < 1.0:
            raise ParameterError(f"`{name}` must lie strictly between 0 and 1; got {share!r}")
    if not 0.5 < auc <= 0.999:
        raise ParameterError(f"`auc` must lie above 0.5 and not above 0.999; got {auc!r}")
    if not 0.0 < public <= 1.0:
        raise ParameterError(f"`public` must lie above 0 and not above 1; got {public!r}")
    if metric.kind.better == Better.ZERO:
        raise ParameterError(f"all simulated entries are equally good by {metric.name}; plan with another metric")
    public_rows = round(rows * public)
    if public_rows < 10:
        raise ParameterError("the public part needs at least 10 rows; make `rows` or `public` larger")
    return public_rows


def _whole(number: object, name: str, least: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ParameterError(f"`{name}` must be a whole number of at least {least}; got {number!r}")
    return number
