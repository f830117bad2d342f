"""Contest of the paper's discussion: labels read from an oracle's answers, exact, rounded, and from masked labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.attacks.contest.oracle import UNKNOWN, Oracle, label_by_two_queries
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.disclosure import Publication
from confide.contest.estimators import metric_values
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.simulation import Scenario, simulate_board
from confide.counts import FloatArray
from studies.repeatable_noise import generator_for
from studies.store import Arrays
from studies.whitehill.plan import EPSILONS, SIGNAL, TEAMS
from studies.whitehill.published import CONTEST_POSITIVES, CONTEST_ROWS

AUC = ContestMetric.checked("auc")


def flip_probability(epsilon: float) -> float:
    """Return the probability with which a label is masked: randomised response, label-only neighbours."""
    return 1.0 / (1.0 + math.exp(epsilon))


def hidden_labels(contest: int, seed: int) -> NDArray[np.bool_]:
    """Return the hidden labels of a contest: 72 of 172 rows are positive."""
    rng = generator_for(seed, "whitehill", "labels", contest)
    return rng.permutation(np.arange(CONTEST_ROWS) < CONTEST_POSITIVES)


def repeated(attack: Callable[..., Arrays], arguments: tuple[object, ...], contests: int, seed: int) -> Arrays:
    """Attack several contests in the same way."""
    found = [attack(*arguments, contest, seed) for contest in range(contests)]
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def one_by_one(contest: int, seed: int) -> Arrays:
    """Ask for every label by two submissions (Proposition 1)."""
    hidden = hidden_labels(contest, seed)
    oracle = Oracle.of_labels(hidden, Publication.parse("auc"))
    found = [label_by_two_queries(oracle, row) for row in range(CONTEST_ROWS)]
    right = sum(label == bool(truth) for label, truth in zip(found, hidden, strict=True))
    return {"right": np.array([right / CONTEST_ROWS]), "queries": np.array([oracle.asked])}


def shown(how: str, contest: int, seed: int) -> Arrays:
    """Attack an oracle that shows the AUC exactly or rounded, with at most two submissions for each row."""
    hidden = hidden_labels(contest, seed)
    oracle = Oracle.of_labels(hidden, Publication.parse(f"auc:{how}"))
    return _result(oracle, hidden, contest, seed)


def masked(epsilon: float, contest: int, seed: int) -> Arrays:
    """Attack the board of an oracle that computes every answer from labels that were masked once."""
    hidden = hidden_labels(contest, seed)
    rng = generator_for(seed, "whitehill", "mask", epsilon, contest)
    flip = flip_probability(epsilon)
    labels = MaskedLabels(hidden ^ (rng.random(hidden.size) < flip), Fraction(flip))

    def answer(scores: FloatArray) -> float:
        return float(metric_values(AUC, scores, [labels])[0])

    published = Publication(metric="auc", epsilon=Fraction(epsilon))
    oracle = Oracle(answer, rows=hidden.size, published=published, limit=256)
    return _result(oracle, hidden, contest, seed)


def _result(oracle: Oracle, hidden: NDArray[np.bool_], contest: int, seed: int) -> Arrays:
    """Count the labels that are right; one that the attacker cannot name counts half."""
    budget = min(2 * hidden.size, oracle.limit or 2 * hidden.size)
    found = recover_labels(oracle, budget=budget, rng=generator_for(seed, "whitehill", "attack", contest))
    named = found.labels != UNKNOWN
    right = float((found.labels == hidden)[named].sum()) + 0.5 * float((~named).sum())
    return {"right": np.array([right / hidden.size]), "queries": np.array([found.queries])}


def boards(rows: int, answers: int, contests: int, seed: int) -> Arrays:
    """Simulate contests and return Kendall's tau of the board's order with the true one: exact, then by epsilon."""
    scenario = Scenario(rows=rows, prevalence=0.5, answers=answers, teams=TEAMS, metric=AUC, signal=SIGNAL)
    flips = (0.0, *map(flip_probability, EPSILONS))
    rng = generator_for(seed, "whitehill", "boards", rows)
    taus = [[quality.kendall_tau for quality in simulate_board(scenario, flips, rng)] for _ in range(contests)]
    return {"tau": np.array(taus)}
