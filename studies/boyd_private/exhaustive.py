"""Local sensitivities of AUC and average precision, by trying every dataset of a size and every neighbour.

Both metrics depend only on the order of labels from the highest score to the lowest. With the paper's rule for ties,
negatives first, tied scores are such an order as well. An order of N labels is an integer of N bits; the lowest bit is
the label with the highest score. A neighbour takes any one label out and puts any label in at any place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray

MOST_ROWS = 16
"""Orders of more labels take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSensitivities:
    """Local sensitivities of all datasets with so many positives and negatives: the least and the greatest.

    Datasets whose neighbour lacks a class are included for average precision, which is then 0 without positives. For
    AUC, neighbours without a value are left out.
    """

    positives: int
    negatives: int
    least_auc: float
    most_auc: float
    most_average_precision: float


def local_sensitivities(rows: int) -> tuple[LocalSensitivities, ...]:
    """Try all datasets of so many rows that have both classes, each with all neighbours.

    >>> [(each.positives, each.most_auc) for each in local_sensitivities(4)]
    [(1, 1.0), (2, 0.5), (3, 1.0)]
    """
    if not 2 <= rows <= MOST_ROWS:
        raise ValueError(f"rows must be from 2 to {MOST_ROWS}; got {rows}")
    orders = np.arange(2**rows)
    auc, average_precision = values(rows)
    changes = [np.zeros(orders.size), np.zeros(orders.size)]
    for without in (_removed(orders, place) for place in range(rows)):
        for place in range(rows):
            for label in (0, 1):
                neighbour = _inserted(without, place, label)
                for change, metric in zip(changes, (auc, average_precision), strict=True):
                    np.fmax(change, np.abs(metric - metric[neighbour]), out=change)
    positives = np.bitwise_count(orders)
    found = []
    for count in range(1, rows):
        ours = positives == count
        found.append(
            LocalSensitivities(
                positives=count,
                negatives=rows - count,
                least_auc=float(changes[0][ours].min()),
                most_auc=float(changes[0][ours].max()),
                most_average_precision=float(changes[1][ours].max()),
            )
        )
    return tuple(found)


def values(rows: int) -> tuple[FloatArray, FloatArray]:
    """Return AUC (NaN if a class is absent) and average precision (0 without positives) of every order."""
    orders = np.arange(2**rows)
    found, missed, wins = (np.zeros(orders.size) for _ in range(3))
    precision = np.zeros(orders.size)
    for place in range(rows):
        label = (orders >> place & 1).astype(np.float64)
        found += label
        missed += 1.0 - label
        wins += (1.0 - label) * found
        precision += label * found / (place + 1.0)
    with np.errstate(invalid="ignore"):
        auc = wins / (found * missed)
    return auc, precision / np.maximum(found, 1.0)


def _removed(orders: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    return (orders >> place + 1 << place) | (orders & (1 << place) - 1)


def _inserted(orders: NDArray[np.int64], place: int, label: int) -> NDArray[np.int64]:
    return (orders >> place << place + 1) | (label << place) | (orders & (1 << place) - 1)
