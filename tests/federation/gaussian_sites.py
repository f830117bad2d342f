"""A policy that allows Gaussian noise, and a question that asks for it."""

from __future__ import annotations

from typing import Any

from confide.federation.question import Question

POLICY = (
    'noise = ["laplace", "gaussian"]\ncomposition = "zcdp"\ndelta_in_all = "1e-6"\n'
    "epsilon_per_study = 3\nepsilon_in_all = 3\n"
)
PURE = "epsilon_per_study = 3\nepsilon_in_all = 3\n"

GAUSSIAN: dict[str, Any] = {"noise": "gaussian", "delta": "1e-6", "grid": "arcsine:16"}


def asked(**given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "trial", "model": "m", "mode": "private", "sites": ["a", "b", "c"], "epsilon": 1}
    return Question.checked(**{**fixed, **GAUSSIAN, **given})
