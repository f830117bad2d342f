"""What was counted and attacked, by table and figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.claims import Mean
from studies.store import Arrays
from studies.whitehill.plan import EPSILONS, PUBLISHED_HOW, Settings
from studies.whitehill.running import masked_name

METHODS = ("one by one", *PUBLISHED_HOW, *map(masked_name, EPSILONS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Settings, and the results of all pieces by name."""

    settings: Settings
    found: Mapping[str, Arrays]

    def number(self, piece: str, name: str) -> int:
        """Return a single number of a piece."""
        return int(self.found[piece][name][0])

    def right(self, method: str) -> Mean:
        """Return the mean share of labels that an attack gets right, over contests."""
        return Mean.of(self.found[method]["right"])

    def failures(self, method: str) -> int:
        """Count the contests in which an attack does not get every label right."""
        return int(np.count_nonzero(self.found[method]["right"] < 1.0))

    def failing(self, method: str) -> Mean:
        """Return the share of contests in which an attack does not get every label right."""
        return Mean.share(self.failures(method), len(self.found[method]["right"]))

    def queries(self, method: str) -> Mean:
        """Return the mean number of submissions."""
        return Mean.of(self.found[method]["queries"].astype(np.float64))

    def tau(self, rows: int, place: int) -> Mean:
        """Return the mean of Kendall's tau of the board: exact labels at place 0, then by epsilon."""
        return Mean.of(self.found[f"boards of {rows:,} rows"]["tau"][:, place])

    def tau_lost(self, rows: int, place: int) -> Mean:
        """Return how much lower it is than with exact labels, contest by contest."""
        tau = self.found[f"boards of {rows:,} rows"]["tau"]
        return Mean.of(tau[:, 0] - tau[:, place])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        attacks = {
            method: {"right": self.right(method).to_dict(), "submissions": self.queries(method).to_dict()}
            for method in METHODS
        }
        boards = {
            str(rows): {
                name: self.tau(rows, place).to_dict()
                for place, name in enumerate(("exact", *map(masked_name, EPSILONS)))
            }
            for rows in self.settings.board_rows
        }
        rises = self.found["conjecture"]
        return {
            "growth": self.found["counts"]["growth"].tolist(),
            "conjecture": {name: rises[name].tolist() for name in ("tried", "inside", "at_limit")},
            "tree_submissions": {name: self.found["attacks"][name].tolist() for name in ("tree", "rankings")},
            "contest": attacks,
            "boards": boards,
        }
