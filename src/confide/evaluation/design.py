"""Sampling design: whether rows are independent, clustered, cross-validated, or drawn with sampling weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How rows were sampled, on which intervals depend.

    `weighted` rows stand for several rows each. `clusters` and `folds` are their numbers; None without any. `survey`
    means that weights are inverse sampling probabilities. `imputed` names the models whose scores were imputed.
    """

    weighted: bool = False
    clusters: int | None = None
    folds: int | None = None
    survey: bool = False
    imputed: tuple[str, ...] = ()

    @property
    def independent(self) -> bool:
        """Tell whether rows are independent and drawn alike, so that counts say everything."""
        return self.clusters is None and self.folds is None and not self.survey

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "weighted": self.weighted,
            "clusters": self.clusters,
            "folds": self.folds,
            "survey": self.survey,
            "imputed": list(self.imputed),
        }
