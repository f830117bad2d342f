"""The least error that any private mechanism can have on AUC, by linear programming.

Let the smaller class have q rows and the class sizes be known. Moving one row then changes AUC by up to 1/q. AUC takes
the values j/q, and those of neighbours differ by one step. A mechanism is a table of probabilities, of each output for
each value. That it is epsilon-differentially private and that its mean error is at most t for every value are linear
conditions on the table and t. The least t is a bound for all mechanisms, since outputs may be taken from the same
values: rounding an output at random to one of the two values beside it, so that its mean stays, keeps the mean error at
every value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from benchmarks.timing import table
from confide.privacy.mechanisms.local_auc import LEAST
from confide.privacy.noisy_numbers import NoiseSide, ParetoNoise

SMALLER_CLASS = 40
PRODUCTS = (5.0, 10.0, 20.0)
"""Epsilon times the rows of the smaller class."""


def run(*, quick: bool = False) -> None:
    smaller = 16 if quick else SMALLER_CLASS
    noise = ParetoNoise(above=NoiseSide(core=1 / LEAST, tail=0.0), below=NoiseSide(core=1 / LEAST, tail=0.0))
    print("worst mean error of AUC over 1/(q epsilon), at known class sizes; ours without the cut")
    table(
        ("epsilon q", "any mechanism, at least", "Laplace, true sensitivity", "ours"),
        [
            (f"{product:g}", f"{least_worst_error(smaller, product / smaller):.3f}", "1", f"{noise.mean_absolute:.3f}")
            for product in PRODUCTS
        ],
    )


def least_worst_error(smaller: int, epsilon: float) -> float:
    """The least mean error of the worst value, over `1/(q epsilon)`."""
    values = smaller + 1
    table_size = values * values
    # Probabilities of one value are at most exp(epsilon) times those of the next, both ways.
    one, next_ = (np.arange(table_size - values) + shift for shift in (0, values))
    ratios: Any = vstack(
        [_difference(a, b, math.exp(epsilon), table_size + 1) for a, b in ((one, next_), (next_, one))]
    )
    away = np.abs(np.subtract.outer(np.arange(values), np.arange(values))) / smaller
    rows = np.repeat(np.arange(values), values)
    columns = np.arange(table_size)
    errors: Any = coo_array((away.ravel(), (rows, columns)), shape=(values, table_size + 1)).tocsr()
    worst: Any = coo_array(
        (-np.ones(values), (np.arange(values), np.full(values, table_size))), shape=errors.shape
    ).tocsr()
    sums: Any = coo_array((np.ones(table_size), (rows, columns)), shape=errors.shape).tocsr()
    solved: Any = linprog(
        np.concatenate((np.zeros(table_size), [1.0])),
        A_ub=vstack([ratios, errors + worst]),
        b_ub=np.zeros(ratios.shape[0] + values),
        A_eq=sums,
        b_eq=np.ones(values),
        method="highs",
    )
    return float(solved.fun) * smaller * epsilon


def _difference(ours: NDArray[np.int64], theirs: NDArray[np.int64], factor: float, width: int) -> Any:
    rows = np.arange(ours.size)
    entries = np.concatenate((np.ones(ours.size), np.full(ours.size, -factor)))
    places = (np.concatenate((rows, rows)), np.concatenate((ours, theirs)))
    return coo_array((entries, places), shape=(ours.size, width)).tocsr()
