"""Published numbers of the paper: its Table 1, the area between curves and the grid of its Figure 5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray

BINS = 20
EDGES: FloatArray = np.linspace(0.5, 1.0, BINS + 1)
"""Bins of the empirical AUC, open on the left and closed on the right."""

REPETITIONS = 10_000
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
DELTAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
SENSITIVITIES = (0.01, 0.1, 0.2, 0.3, 0.4)

LIMIT = 0.01
"""Error that Questions 1 and 2 allow."""

DRAWN_LIMIT = 0.05
"""Error at which the paper's published code changes the colour of Figure 5, although its legend says 0.01."""

AREA, AREA_QUARTILES = 0.032, (0.021, 0.043)
"""Between the empirical curve and the ROC-GLM: mean and quartiles."""

TURN = 0.8
"""AUC at which the mean and median differences of Table 1 change their sign: positive below, negative above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinSummary:
    """Row of Table 1: the distribution of the empirical AUC less that of the ROC-GLM, in a bin of the former."""

    bin: int
    lowest: float
    first: float
    median: float
    mean: float
    third: float
    highest: float
    deviation: float
    count: int

    @classmethod
    def of(cls, number: int, differences: FloatArray) -> BinSummary:
        """Summarise the differences of a bin; NaN where there are too few."""
        quantiles = np.quantile(differences, (0, 0.25, 0.5, 0.75, 1)) if differences.size else np.full(5, np.nan)
        lowest, first, median, third, highest = quantiles.tolist()
        return cls(
            bin=number,
            lowest=lowest,
            first=first,
            median=median,
            mean=float(differences.mean()) if differences.size else math.nan,
            third=third,
            highest=highest,
            deviation=float(differences.std(ddof=1)) if differences.size > 1 else math.nan,
            count=differences.size,
        )

    @property
    def name(self) -> str:
        """Return the bin as the paper writes it."""
        return bin_name(self.bin)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what does not exist is None."""
        plain = {
            "min": self.lowest,
            "q1": self.first,
            "median": self.median,
            "mean": self.mean,
            "q3": self.third,
            "max": self.highest,
            "sd": self.deviation,
        }
        known = {name: value if math.isfinite(value) else None for name, value in plain.items()}
        return {"auc_bin": self.name, **known, "count": self.count}


def bin_name(number: int) -> str:
    """Return a bin as the paper writes it.

    >>> bin_name(0), bin_name(19)
    ('(0.5, 0.525]', '(0.975, 1]')
    """
    return f"({EDGES[number]:.4g}, {EDGES[number + 1]:.4g}]"


def written(value: float) -> str:
    """Return a small number without an exponent.

    >>> written(1e-5), written(0.1), written(10.0)
    ('0.00001', '0.1', '10')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")


def bins_of(auc: FloatArray) -> NDArray[np.int64]:
    """Return the number of each AUC's bin, from 0; -1 for AUCs of 0.5 and below."""
    return np.searchsorted(EDGES, auc, side="left") - 1


_TABLE_1 = """
-0.0044 -0.0001  0.0005  0.0040  0.0014 0.0506 0.0100 431
-0.0052  0.0001  0.0006  0.0027  0.0011 0.0986 0.0123 505
-0.0031  0.0003  0.0009  0.0014  0.0015 0.1298 0.0080 465
-0.0018  0.0006  0.0012  0.0015  0.0017 0.1567 0.0072 482
-0.0044  0.0009  0.0015  0.0014  0.0020 0.0064 0.0010 485
-0.0039  0.0012  0.0017  0.0017  0.0022 0.0069 0.0010 501
-0.0031  0.0013  0.0018  0.0018  0.0023 0.0068 0.0011 503
-0.0022  0.0012  0.0018  0.0018  0.0023 0.0064 0.0010 465
-0.0082  0.0010  0.0016  0.0016  0.0023 0.0070 0.0012 523
-0.0031  0.0008  0.0015  0.0014  0.0021 0.0087 0.0012 485
-0.0058  0.0004  0.0011  0.0010  0.0018 0.0053 0.0013 501
-0.0053 -0.0003  0.0004  0.0005  0.0012 0.0088 0.0015 523
-0.0061 -0.0013 -0.0002 -0.0004  0.0005 0.0045 0.0016 476
-0.0125 -0.0023 -0.0013 -0.0014 -0.0003 0.0059 0.0019 484
-0.0111 -0.0037 -0.0026 -0.0025 -0.0014 0.0074 0.0020 520
-0.0136 -0.0056 -0.0044 -0.0043 -0.0030 0.0076 0.0023 534
-0.0195 -0.0080 -0.0065 -0.0065 -0.0052 0.0066 0.0026 515
-0.0193 -0.0105 -0.0091 -0.0089 -0.0076 0.0056 0.0030 481
-0.0227 -0.0138 -0.0113 -0.0113 -0.0093 0.0067 0.0037 503
-0.0180 -0.0093 -0.0062 -0.0064 -0.0034 0.0013 0.0039 529
"""


def _read_table() -> tuple[BinSummary, ...]:
    names = ("lowest", "first", "median", "mean", "third", "highest", "deviation")
    rows = []
    for number, line in enumerate(_TABLE_1.split("\n")[1:-1]):
        *values, count = line.split()
        rows.append(BinSummary(bin=number, count=int(count), **dict(zip(names, map(float, values), strict=True))))
    return tuple(rows)


TABLE_1 = _read_table()
