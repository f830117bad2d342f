"""Outcomes of every mode from the same rows, the same each time: what sites would send, without sites."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.curves.roc_glm import equidistant_thresholds
from confide.federation.modes.noisy_scores import NoisyScores, PlacementSums, noise_scale
from confide.federation.private_noise import noise_of
from confide.federation.protocol import Outcome, SiteReport
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from confide.federation.tables import SiteTable, disclosed

Data = Mapping[str, ScoreCounts]


def drawn_sites(rows: int | Sequence[int], names: Sequence[str], seed: int = 1) -> dict[str, ScoreCounts]:
    """Sites whose model is calibrated about as well as models are, each a little otherwise, with so many rows."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, size in zip(names, [rows] * len(names) if isinstance(rows, int) else rows, strict=True):
        odds = rng.normal(-1.0 + 0.3 * rng.normal(), 1.2, size)
        happens = 1.0 / (1.0 + np.exp(-(0.2 * rng.normal() + odds)))
        labels = (rng.random(size) < happens).astype(np.int64)
        found[name] = ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-odds)))
    return found


def asked(data: Data, mode: str, **terms: Any) -> Question:
    return Question.checked(study="stroke-2026", model="risk-score", mode=mode, sites=list(data), **terms)


def outcome_of(data: Data, mode: str, *, absent: Sequence[SiteReport] = (), **terms: Any) -> Outcome:
    """What a run would end with, some other sites having been absent."""
    question = asked(data, mode, **terms)
    makers = {"disclosure-control": _grouped, "secure-sum": _summed, "private": _private, "noisy-scores": _noisy}
    price = None
    if mode == "private":
        charged, left = ({"epsilon": epsilon, "delta": 0.0} for epsilon in (float(question.exact_epsilon), 1.5))
        price = {"charged": charged, "remaining": left, "reused": False}
    reports = [*(SiteReport(name=name, state=SiteState.ANSWERED, receipt=price) for name in data), *absent]
    return Outcome(
        question=question,
        reports=tuple(sorted(reports, key=lambda report: report.name)),
        seconds=3.21,
        **makers[mode](question, data),
    )


def _grouped(question: Question, data: Data) -> dict[str, Any]:
    tables = {
        name: disclosed(counts, question.public_grid, question.minimum_cell or 1) for name, counts in data.items()
    }
    return {"sites": json.loads(json.dumps({name: table.to_dict() for name, table in tables.items()}))}


def _summed(question: Question, data: Data) -> dict[str, Any]:
    first, *others = (SiteTable.of(counts, question.public_grid, question.bins) for counts in data.values())
    words, wide = sum(others, first).to_words()
    return {"total": {"counts": _encoded(words.astype(np.int64)), "wide": [str(value) for value in wide]}}


def _private(question: Question, data: Data) -> dict[str, Any]:
    rng, strategy, grid = np.random.default_rng(7), noise_of(question).strategy, question.public_grid
    levels = strategy.levels(len(grid))

    def noise(size: int, scale: float, shares: float = 1.0) -> NDArray[np.int64]:
        stop = 1.0 - np.exp(-1.0 / scale)
        return rng.negative_binomial(shares, stop, size) - rng.negative_binomial(shares, stop, size)

    measured = {
        name: np.concatenate(
            [np.ravel(strategy.measure(side)) for side in SiteTable.of(counts, grid, question.bins).cells]
        )
        for name, counts in data.items()
    }
    size = next(iter(measured.values())).size
    total = sum(measured.values()) + noise(size, float(levels / question.pooled_epsilon), len(data) / question.honest)
    own: dict[str, Any] = {}
    if question.own_epsilon:
        scale = float(levels / question.own_epsilon)
        own = {name: {"noisy_integers": (exact + noise(size, scale)).tolist()} for name, exact in measured.items()}
    return {"total": {"counts": _encoded(np.asarray(total)), "wide": []}, "sites": own}


def _noisy(question: Question, data: Data) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    sent = [NoisyScores.of(counts, noise_scale(question), normals=rng.standard_normal) for counts in data.values()]
    pooled = NoisyScores.pooled(sent)
    return {
        "sites": {
            name: PlacementSums.of(counts, pooled, equidistant_thresholds()).to_dict() for name, counts in data.items()
        }
    }


def _encoded(counts: NDArray[np.int64]) -> str:
    return base64.b64encode(counts.astype("<i8").tobytes()).decode("ascii")
