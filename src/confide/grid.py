"""Public grids: cells chosen without looking at the data, on which private scores are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray, read_only
from confide.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells `[edge_i, edge_i+1)`, the last one closed; scores outside go to the nearest cell.

    Cells are closed on the left, so a threshold at an inner edge splits the data exactly as it does
    before projection: `score >= edge` if and only if the cell lies at or above that edge. A cell is
    represented by its midpoint.

    >>> Grid.uniform(4).edges
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    edges: FloatArray

    def __post_init__(self) -> None:
        edges = np.ascontiguousarray(self.edges, dtype=np.float64)
        if edges.ndim != 1 or edges.size < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
            raise ParameterError("edges must be two or more finite ascending numbers")
        object.__setattr__(self, "edges", read_only(edges))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.edges.tobytes())

    def __len__(self) -> int:
        return self.edges.size - 1

    @classmethod
    def uniform(cls, cells: int, low: float = 0.0, high: float = 1.0) -> Grid:
        """Make cells of equal width."""
        if not np.isfinite(high - low):
            raise ParameterError("a grid runs between two finite numbers that are not too far apart")
        edges = low + (high - low) * np.arange(_checked(cells) + 1) / cells  # tenths are the nearest to tenths
        edges[-1] = high
        return cls(edges)

    @classmethod
    def logit(cls, cells: int, smallest: float = 1e-3) -> Grid:
        """Make cells on [0, 1] of equal width in log-odds between `smallest` and `1 - smallest`."""
        if not 0.0 < smallest < 0.5:
            raise ParameterError(f"smallest must lie between 0 and 0.5, got {smallest!r}")
        if _checked(cells) == 1:
            return cls.uniform(1)
        reach = np.log((1.0 - smallest) / smallest)
        inner = 1.0 / (1.0 + np.exp(-np.linspace(-reach, reach, cells - 1))) if cells > 2 else np.array([0.5])
        return cls(np.concatenate(([0.0], inner, [1.0])))

    @classmethod
    def arcsine(cls, cells: int) -> Grid:
        """Make cells on [0, 1] of equal width in `arcsin(sqrt(score))`, narrower towards 0 and 1.

        A step is worth the same number of standard errors of a share everywhere (variance-stabilising).
        Between equal widths and equal log-odds, it suits probabilities of any kind.

        >>> Grid.arcsine(4).edges.round(3)
        array([0.   , 0.146, 0.5  , 0.854, 1.   ])
        """
        edges = np.sin(np.pi / 2.0 * np.arange(_checked(cells) + 1) / cells) ** 2
        edges[-1] = 1.0
        return cls(edges)

    @classmethod
    def named(cls, text: str) -> Grid:
        """Read `arcsine:32`, `uniform:16`, `uniform:16:-4:4`, `logit:64` or `edges:0,0.1,0.3,1`.

        >>> len(Grid.named("logit:64"))
        64
        """
        kind, *numbers = str(text).split(":")
        try:
            if kind == "uniform" and len(numbers) in (1, 3):
                return cls.uniform(int(numbers[0]), *(float(end) for end in numbers[1:]))
            if kind == "edges" and len(numbers) == 1:
                return cls(np.array([float(edge) for edge in numbers[0].split(",")]))
            if kind in ("logit", "arcsine") and len(numbers) == 1:
                return cls.logit(int(numbers[0])) if kind == "logit" else cls.arcsine(int(numbers[0]))
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
        raise ParameterError(
            f"grid must look like arcsine:32, uniform:16, uniform:16:-4:4, logit:64 or edges:0,0.1,0.3,1; got {text!r}"
        )

    @classmethod
    def quantiles(cls, public_scores: ArrayLike, cells: int) -> Grid:
        """Make cells of equal mass for scores that are public; never pass private scores here."""
        scores = np.asarray(public_scores, dtype=np.float64)
        if scores.size == 0 or not np.isfinite(scores).all():
            raise ParameterError("public_scores must be finite numbers, at least one")
        edges = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _checked(cells) + 1)))
        if edges.size < 2:
            raise ParameterError("public_scores are all equal; give scores that vary, or use Grid.uniform")
        return cls(edges)

    def with_edge(self, threshold: float) -> Grid:
        """Return the grid with an inner edge at a public threshold; the same grid if the threshold is not inside it."""
        if not self.edges[0] < threshold < self.edges[-1] or threshold in self.edges:
            return self
        return Grid(np.sort(np.append(self.edges, threshold)))

    @property
    def representatives(self) -> FloatArray:
        """Midpoint of each cell."""
        midpoints: FloatArray = self.edges[:-1] + np.diff(self.edges) / 2.0
        return midpoints

    def cells(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Return the number of each score's cell."""
        result = np.searchsorted(self.edges, np.asarray(scores, dtype=np.float64), side="right") - 1
        return np.clip(result, 0, len(self) - 1).astype(np.int64)


def _checked(cells: int) -> int:
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or cells < 1:
        raise ParameterError(f"cells must be a whole number of at least 1, got {cells!r}")
    return int(cells)
